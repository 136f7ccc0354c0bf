/* strangeness.h - measures a model on strange inputs, which it has not learnt: how many get an
 * automatic answer, and how well their OOD scores separate them from known inputs. Separation from
 * known defects is the stricter measure: most inputs of a fab have one label, the majority, and
 * almost everything is separated from that.
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
    const char *const *labels; /* [strange->count] their labels; NULL: unknown */
};

/* Strange inputs of one label, or all of them. */
struct strangeness_group {
    const char *label;                    /* the source's; NULL: all */
    struct selective_decisions decisions; /* no answer is right */
    struct separation all, defects;       /* from all known inputs; without the majority's */
    struct separation *classes;           /* [label_count] from the inputs of each label */
};

struct strangeness {
    unsigned label_count;
    unsigned majority; /* the label with the most known inputs, the first of equal ones */
    unsigned group_count;
    struct strangeness_group *groups; /* all, then each label in the order of its first input */
    struct arena arena;
};

enum { STRANGENESS_LABELS_MAX = 64 };

/* ERR_UNUSABLE for too many labels; ERR_NO_MEMORY. Close it in any case. */
enum err_code strangeness_measure(struct strangeness *out, const struct strangeness_source *source,
                                  struct err *err);
void strangeness_close(struct strangeness *strangeness);

/* Returns the OOD scores [*count] of the inputs that have logits, in their order, out of the arena.
 * The evaluation must have features. NULL with ERR_NO_MEMORY. */
float *strangeness_scores(const struct engine_model *model, const struct evaluation *evaluation,
                          struct arena *arena, size_t *count, struct err *err);

#endif
