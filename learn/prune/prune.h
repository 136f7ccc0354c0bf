/* prune.h - a smaller model from a larger one: whole attention heads and columns of the MLPs are
 * cut out, the least important ones first (importance.h, choice.h, cut.h), and what is left is
 * fine-tuned with the model as it was for a teacher (train/trainer.h).
 *
 *     prune_options_check(&options, &err);
 *     prune_run(&options, &hooks, &result, &err);
 *
 * Heads are cut from layers as they turn out (config.json's pruned_heads), MLP columns in equal
 * numbers from each (its intermediate_size), so that transformers opens what is written. Which ones
 * is measured on inputs to learn; the figures before, after the cut and after the fine-tuning are
 * of the validation part, which neither sees.
 *
 * Written to --out: the checkpoint as attnd-train writes it, with attnd.json and the report; and in
 * --out/cut-DIGEST the model as it was cut, before the fine-tuning and without decisions. Nothing
 * of the original's attnd.json is kept but how inputs are read and class codes; a table of n-grams
 * is fitted again, of what the original's reads if nothing else is asked for. A run that was
 * stopped goes on with the same call: the cut is a function of model, data and options and is made
 * once more, the fine-tuning resumes. The digest is of the cut weights, so that the trainer takes a
 * run that cuts otherwise for another one.
 *
 * Threads: one run at a time in a directory; hooks->trainer.stop may be set by a signal handler.
 */
#ifndef ATTND_LEARN_PRUNE_PRUNE_H
#define ATTND_LEARN_PRUNE_PRUNE_H

#include "learn/eval/measure/interval.h"
#include "learn/train/trainer.h"

struct prune_options {
    struct train_options train; /* first: its rows (prune_options.h) are relative to it */
    double heads, mlp;          /* shares that go, from 0 to below 1 */
    unsigned inputs;            /* that importance is measured on, at most */
};

/* A model on the validation part. */
struct prune_figures {
    double accuracy, macro_f1;
    struct interval accuracy_interval, macro_f1_interval; /* 95 % */
    size_t inputs, parameters;
    double ms; /* of processor time an input: preparing, computing in batches, and the figures */
};

enum prune_phase { PRUNE_BEFORE, PRUNE_IMPORTANCE, PRUNE_CUT, PRUNE_AFTER };

struct prune_result {
    struct prune_figures before, cut, tuned; /* as far as the run went */
    unsigned layers, heads, heads_gone;      /* heads of all layers */
    unsigned columns, columns_gone;          /* of each layer */
    size_t inputs;                           /* that importance was measured on */
    bool interrupted;
    bool has_trained; /* the trainer was reached, and what it says: */
    struct trainer_result trainer;
};

struct prune_hooks {
    /* The inputs of a phase, `done` of `total`; NULL: not called. */
    void (*progress)(void *context, enum prune_phase phase, size_t done, size_t total);
    void *context;
    struct trainer_hooks trainer;
};

/* ERR_UNUSABLE. */
enum err_code prune_options_check(struct prune_options *options, struct err *err);

/* ERR_UNSUPPORTED for a model that cannot be pruned so, or has several labels an input;
 * ERR_UNUSABLE for data whose labels are not the model's. Free the result in any case. */
enum err_code prune_run(const struct prune_options *options, const struct prune_hooks *hooks,
                        struct prune_result *result, struct err *err);
void prune_result_free(struct prune_result *result);

#endif
