/* strangeness.h - what a model says of inputs that it has not learnt: how many pass as automatic,
 * and how well their OOD scores stand out. The stricter question is against known defects: most
 * inputs of a fab are of one label, the majority, and almost anything stands out against that.
 *
 *     const struct strangeness_source source = {model, &known, classes, &strange, labels};
 *     strangeness_measure(&strangeness, &source, &err);
 *     strangeness.groups[0].defects.auroc;
 *     strangeness_close(&strangeness);
 *
 * Threads: plain data.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_STRANGENESS_H
#define ATTND_LEARN_EVAL_MEASURE_STRANGENESS_H

#include "engine/engine.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/measure/selective.h"
#include "learn/eval/measure/separation.h"

/* Evaluations with features. */
struct strangeness_source {
    const struct engine_model *model;
    const struct evaluation *known;
    const unsigned *classes; /* [known->count] */
    const struct evaluation *strange;
    const char *const *labels; /* [strange->count] of what was not learnt; NULL: not told */
};

/* Strange inputs of one label, or all of them. */
struct strangeness_group {
    const char *label;                    /* the source's; NULL: all */
    struct selective_decisions decisions; /* none is right */
    struct separation all, defects;       /* against known ones; and without the majority */
    struct separation *classes;           /* [label_count] against each label's */
};

struct strangeness {
    unsigned label_count;
    unsigned majority; /* the label with the most known inputs, the first of equal ones */
    unsigned group_count;
    struct strangeness_group *groups; /* all, then each label in the order of its first input */
};

enum { STRANGENESS_LABELS_MAX = 64 };

/* ERR_UNUSABLE for more labels than that; ERR_NO_MEMORY. Close it in any case. */
enum err_code strangeness_measure(struct strangeness *out, const struct strangeness_source *source,
                                  struct err *err);
void strangeness_close(struct strangeness *strangeness);

#endif
