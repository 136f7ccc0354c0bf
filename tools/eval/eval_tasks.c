/* eval_tasks.c - see eval.h: models that do not choose one label. A row of the table is a task: its
 * models, what measures it, its report, the options that it takes, and what --calibrate writes. */
#include "learn/eval/number_reference.h"
#include "learn/eval/report/task_report.h"
#include "learn/eval/span_thresholds.h"
#include "tools/eval/eval.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SPANS = 1, VECTORS = 2, PAIRS = 4, NUMBERS = 8, SETS = 16, TEXTS = 32 };

struct eval_task {
    unsigned bit;
    bool (*is_for)(const struct eval *eval);
    const char *wants, *answers; /* of models that take a refused option, and what this one does */
    enum err_code (*take)(struct eval *eval, struct err *err);
    enum err_code (*run)(struct eval *eval, const struct evaluation_options *how, struct err *err);
    const struct task_report_kind *report;
    size_t of, evaluation; /* offsets in struct eval: what is measured, and its evaluation */
    enum err_code (*write)(struct eval *eval, struct err *err); /* --calibrate, --reference */
    const char *label_other;                                    /* dataset_options */
    bool labels_many, labels_numbers, labels_optional, reads_spans, reads_targets;
};

static bool is_of_texts(const struct eval *eval)
{
    return engine_describe(eval->assessment.model)->task == ENGINE_GENERATE;
}

static bool is_of_spans(const struct eval *eval)
{
    return engine_describe(eval->assessment.model)->task == ENGINE_TAG;
}

static bool is_of_vectors(const struct eval *eval)
{
    return engine_describe(eval->assessment.model)->task == ENGINE_EMBED;
}

static bool is_of_pairs(const struct eval *eval)
{
    return !eval->multi_label && rerank_is_for(eval->assessment.model);
}

static bool is_of_numbers(const struct eval *eval)
{
    return number_assessment_is_for(eval->assessment.model);
}

static bool is_of_sets(const struct eval *eval)
{
    return eval->multi_label;
}

static enum err_code take_numbers(struct eval *eval, struct err *err)
{
    const unsigned outputs = engine_describe(eval->assessment.model)->label_count;
    if ((eval->calibrates || eval->refers) && outputs > 1)
        return err_set(err, ERR_UNUSABLE,
                       "%s: the model answers %u numbers. A reference can be written for one only",
                       eval->how.dir, outputs);
    return number_assessment_take(&eval->numbers, eval->assessment.model, &eval->dataset,
                                  eval->data, err);
}

static enum err_code write_numbers(struct eval *eval, struct err *err)
{
    return number_reference_write(eval->how.dir, NULL, &eval->numbers, err);
}

static enum err_code write_spans(struct eval *eval, struct err *err)
{
    struct span_decided decided;
    if (span_thresholds_write(eval->how.dir, NULL, &eval->spans, eval->how.target_precision,
                              &decided, err))
        return err_prefix(err, "--calibrate: ");
    fprintf(stderr,
            "attnd-eval: %s/attnd.json: thresholds for %u of %u labels; with them %zu of %zu spans "
            "here are automatic, of which %zu are right\n",
            eval->how.dir, decided.labels, eval->spans.set.count, decided.automatic,
            eval->spans.verdict_count, decided.right);
    return ERR_OK;
}

/* attnd.json records the checksum of texts alone. */
static enum err_code take_texts(struct eval *eval, struct err *err)
{
    if (eval->calibrates && eval->write.unrecorded != NULL)
        return err_set(err, ERR_UNUSABLE,
                       "--calibrate and --%s exclude each other: a threshold holds for texts that "
                       "are written as here, and attnd.json records of the options --checksum "
                       "alone; generation_config.json has beams and lengths",
                       eval->write.unrecorded);
    return writing_assessment_take(&eval->texts, eval->assessment.model, &eval->dataset, eval->data,
                                   eval->how.target_precision, err);
}

static enum err_code write_texts(struct eval *eval, struct err *err)
{
    const struct text_findings *findings = &eval->texts.findings;
    const struct selective_decisions *decisions = &findings->fitted.decisions;
    const char *checksum =
        eval->write.is_given ? engine_checksum_name(eval->write.writing.checksum) : NULL;
    if (text_findings_write(eval->how.dir, findings, checksum, err))
        return err_prefix(err, "--calibrate: ");
    fprintf(stderr,
            "attnd-eval: wrote %s/attnd.json: %s and %s; with them %zu of %zu texts here are "
            "automatic, of which %zu are right\n",
            eval->how.dir,
            findings->fitted.by.scale > 0 ? "confidence as fitted" : "confidence, not scaled,",
            findings->threshold.reachable ? "its threshold"
                                          : "no threshold, since none reaches --target-precision",
            decisions->automatic, decisions->count, decisions->right);
    return ERR_OK;
}

#define TAKE_AND_RUN(name, member, prefix)                                                         \
    static enum err_code take_##name(struct eval *eval, struct err *err)                           \
    {                                                                                              \
        return prefix##_take(&eval->member, eval->assessment.model, &eval->dataset, eval->data,    \
                             err);                                                                 \
    }                                                                                              \
    RUN(name, member, prefix)
#define RUN(name, member, prefix)                                                                  \
    static enum err_code run_##name(struct eval *eval, const struct evaluation_options *how,       \
                                    struct err *err)                                               \
    {                                                                                              \
        return prefix##_run(&eval->member, how, err);                                              \
    }
TAKE_AND_RUN(spans, spans, span_assessment)
TAKE_AND_RUN(vectors, retrieval, retrieval)
TAKE_AND_RUN(pairs, rerank, rerank)
TAKE_AND_RUN(sets, sets, set_assessment)
RUN(numbers, numbers, number_assessment)
RUN(texts, texts, writing_assessment)
#define ROW(bit_, name, member)                                                                    \
    .bit = bit_, .is_for = is_of_##name, .take = take_##name, .run = run_##name,                   \
    .report = &task_report_##name, .of = offsetof(struct eval, member),                            \
    .evaluation = offsetof(struct eval, member.evaluation)

static const struct eval_task tasks[] = {
    {ROW(TEXTS, texts, texts), .wants = "answer a label of each input", .answers = "writes texts",
     .write = write_texts, .reads_targets = true},
    {ROW(SPANS, spans, spans), .wants = "answer a label of each input", .answers = "answers spans",
     .write = write_spans, .reads_spans = true},
    {ROW(VECTORS, vectors, retrieval), .wants = "answer labels", .answers = "answers vectors",
     .label_other = "value", .labels_optional = true},
    {ROW(PAIRS, pairs, rerank), .wants = "choose among labels", .answers = "scores pairs",
     .label_other = "value"},
    {ROW(NUMBERS, numbers, numbers), .wants = "answer labels", .answers = "answers a number",
     .write = write_numbers, .label_other = "value", .labels_many = true, .labels_numbers = true},
    {ROW(SETS, sets, sets), .label_other = "labels", .labels_many = true},
};

const struct eval_task *eval_task_of(const struct eval *eval)
{
    for (const struct eval_task *task = tasks; task < tasks + sizeof tasks / sizeof *tasks; task++)
        if (task->is_for(eval))
            return task;
    return NULL;
}

const struct evaluation *eval_evaluation(const struct eval *eval)
{
    const struct eval_task *task = eval_task_of(eval);
    return task != NULL ? (const void *)((const char *)eval + task->evaluation)
                        : &eval->assessment.evaluation;
}

void eval_task_fields(const struct eval *eval, struct dataset_options *fields)
{
    const struct eval_task *task = eval_task_of(eval);
    const char *named = fields->label_field;
    if (task == NULL)
        return;
    fields->labels_numbers = task->labels_numbers;
    fields->labels_optional = task->labels_optional;
    fields->reads_spans = task->reads_spans;
    fields->reads_targets = task->reads_targets;
    fields->labels_many = task->labels_many || eval->multi_label;
    if (named == NULL || strcmp(named, "label") == 0)
        fields->label_other = eval->multi_label ? "labels" : task->label_other;
}

static enum err_code refuse_options(const struct eval *eval, const struct eval_task *task,
                                    struct err *err)
{
    const struct {
        bool is_given;
        const char *name;
        unsigned takers; /* tasks that take it */
    } rows[] = {
        {eval->calibrates, "calibrate", SPANS | NUMBERS | TEXTS}, /* which sets class_prior */
        {eval->how.engine.class_prior != NULL && !eval->calibrates, "class-prior", 0},
        {eval->multi_label, "multi-label", SETS | PAIRS},
        {eval->examples != NULL, "examples", VECTORS | PAIRS | SETS},
        {eval->foreign != NULL, "foreign", VECTORS | PAIRS | SETS},
        {eval->agrees, "write-agreement", VECTORS | PAIRS | NUMBERS | SETS},
        {eval->against != NULL, "against", 0},
        {eval->stream != NULL, "estimate-prior", 0},
        {eval->unseen_count > 0, "unseen", 0},
        {eval->logits != NULL, "logits", 0},
        {eval->out_of_fold_count > 0, "out-of-fold", 0},
        {eval->refers, "reference", NUMBERS},
        {eval->selftest_cases > 0, "write-selftest", 0},
        {eval->ood_data != NULL, "ood-data", 0},
        {eval->explains, "explain", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!rows[i].is_given || (rows[i].takers & task->bit) != 0)
            continue;
        if (task->wants == NULL)
            return err_set(err, ERR_UNUSABLE, "--%s does not go with --multi-label", rows[i].name);
        return err_set(err, ERR_UNUSABLE, "--%s is for models that %s; %s %s", rows[i].name,
                       task->wants, eval->how.dir, task->answers);
    }
    return ERR_OK;
}

enum err_code eval_task_open(struct eval *eval, struct err *err)
{
    const struct eval_task *task = eval_task_of(eval);
    return refuse_options(eval, task, err) ? err->code : task->take(eval, err);
}

enum err_code eval_task_run(struct eval *eval, struct err *err)
{
    const struct eval_task *task = eval_task_of(eval);
    const struct task_report report = {task->report, eval->how.dir, (char *)eval + task->of, NULL,
                                       0};
    const char *dtype = engine_describe(eval->assessment.model)->dtype;
    struct screen_counter progress;
    struct evaluation_options how = eval_watched(eval, &progress, dtype, eval->dataset.count);
    how.writing = eval->write.is_given ? &eval->write.writing : NULL;
    task->run(eval, &how, err);
    screen_clear(&progress.screen);
    if (err->code != ERR_OK || eval_check_learnt(eval, err) ||
        (eval->out != NULL && task_report_write(&report, eval->out, err)) ||
        (eval->json && task_report_print_json(&report, stdout, err)))
        return err->code;
    if (!eval->json)
        report.kind->print(&report, stdout);
    fflush(stdout); /* the next lines go to stderr */
    if (eval_warn_learnt(eval, err) || !(eval->calibrates || eval->refers))
        return err->code;
    return task->write(eval, err);
}
