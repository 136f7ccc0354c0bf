/* task_report.h - the reports of models that do not choose one label: for a terminal, as one JSON
 * object, and for some as a page.
 *
 *     struct task_report report = {&task_report_numbers, dir, &assessment};
 *     report.kind->print(&report, stdout);
 *     task_report_write(&report, "reports", &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_REPORT_TASK_REPORT_H
#define ATTND_LEARN_EVAL_REPORT_TASK_REPORT_H

#include "learn/eval/measure/number_assessment.h"
#include "learn/eval/measure/rerank.h"
#include "learn/eval/measure/retrieval.h"
#include "learn/eval/measure/set_assessment.h"
#include "learn/eval/measure/span_assessment.h"

#include <stdio.h>

struct json_t; /* jansson's */

struct task_report {
    const struct task_report_kind *kind;
    const char *model_dir;
    const void *of;                    /* what was run: the kind says of which type */
    const struct report_epoch *epochs; /* [epoch_count]; 0: no training */
    unsigned epoch_count;
};

struct task_report_kind {
    void (*print)(const struct task_report *report, FILE *file);
    struct json_t *(*json)(const struct task_report *report);   /* NULL: there is no memory */
    void (*page)(const struct task_report *report, FILE *file); /* report.html; NULL: has none */
};

/* A regression (struct number_assessment): one output has its figures in the object itself, of
 * several each has them in the object `outputs`, by name. A multi-label model (struct
 * set_assessment), a model of tags (struct span_assessment), an embedding (struct retrieval), a
 * model that scores pairs (struct rerank), and one that writes texts (struct writing_assessment of
 * texts/writing_assessment.h). */
extern const struct task_report_kind task_report_numbers, task_report_sets, task_report_spans,
    task_report_vectors, task_report_pairs, task_report_texts;

/* ERR_IO or ERR_NO_MEMORY. */
enum err_code task_report_print_json(const struct task_report *report, FILE *file, struct err *err);
/* Writes FOLDER/report.json and, if the kind has a page, report.html, each whole or not at all. */
enum err_code task_report_write(const struct task_report *report, const char *folder,
                                struct err *err);

/* For the kinds: the first inputs that failed, a line each. */
void task_report_problems(FILE *file, const struct evaluation *evaluation,
                          const struct dataset *dataset);
/* The object with the members of `parts`, and the epochs of a training if it has some, by the name
 * of what they measure. Both are taken. NULL: there is no memory, also for either of the two. */
struct json_t *task_report_json(struct json_t *object, struct json_t *parts,
                                const struct task_report *report, const char *measure);

#endif
