/* prune.h - makes a smaller model from a larger one: cuts out the least important attention heads
 * and MLP columns (importance.h, choice.h) and fine-tunes the rest with the original model
 * as teacher (train/trainer.h).
 *
 *     prune_options_default(&options);             then cli_parse with prune_cli_options
 *     prune_options_check(&options, &err);
 *     prune_run(&options, &hooks, &result, &err);
 *
 * Layers may lose different numbers of heads (config.json's pruned_heads) but lose equal numbers of
 * MLP columns (its intermediate_size), so that transformers can open the result. Importance is
 * measured on training inputs. The figures before the cut, after it and after the fine-tuning are
 * of the validation part, which neither step sees.
 *
 * A run writes to --out the checkpoint as attnd-train writes it, with attnd.json and the report,
 * and to --out/cut-DIGEST the cut model before the fine-tuning, without decisions. From the
 * original's attnd.json only how inputs are read and the class codes are kept. A table of n-grams
 * is fitted again; by default it reads what the original's table reads. A stopped run continues
 * with the same call: the cut, a function of model, data and options, is made again, and the
 * fine-tuning resumes. DIGEST is of the cut weights, so that the trainer sees a run with another
 * cut as another run.
 *
 * Threads: one run at a time in a directory; hooks->trainer.stop may be set by a signal handler.
 */
#ifndef ATTND_LEARN_PRUNE_PRUNE_H
#define ATTND_LEARN_PRUNE_PRUNE_H

#include "learn/eval/measure/interval.h"
#include "learn/train/trainer.h"

struct prune_options {
    struct train_options train; /* must be first: its rows' offsets start here */
    double heads, mlp;          /* shares to cut, from 0 to below 1 */
    unsigned inputs;            /* most inputs that importance is measured on */
};

/* Figures of a model on the validation part. */
struct prune_figures {
    double accuracy, macro_f1;
    struct interval accuracy_interval, macro_f1_interval; /* 95 % */
    size_t inputs, parameters;
    double ms; /* processor time an input: preparing, computing in batches, and the figures */
};

enum prune_phase { PRUNE_BEFORE, PRUNE_IMPORTANCE, PRUNE_CUT, PRUNE_AFTER };

struct prune_result {
    struct prune_figures before, cut, tuned; /* those that the run reached */
    unsigned layers, heads, heads_gone;      /* heads of all layers */
    unsigned columns, columns_gone;          /* of each layer */
    size_t inputs;                           /* number that importance was measured on */
    bool interrupted;
    bool has_trained; /* the trainer has run: `trainer` is its result */
    struct trainer_result trainer;
};

struct prune_hooks {
    /* Called with the inputs of a phase, `done` of `total`; NULL: not called. */
    void (*progress)(void *context, enum prune_phase phase, size_t done, size_t total);
    void *context;
    struct trainer_hooks trainer;
};

/* The rows for cli.h: attnd-prune's own, and those of attnd-train that the fine-tuning has, some
 * with other defaults. The target is a struct prune_options. Call it once before other threads read
 * the table. */
const struct cli_option *prune_cli_options(size_t *count);

/* Sets every option to its default, also options of attnd-train that have no row here. cli_parse
 * sets only the rows, so a program must call this first. */
void prune_options_default(struct prune_options *options);

/* ERR_UNUSABLE for shares that are out of bounds or both 0, and as train_options_check. */
enum err_code prune_options_check(struct prune_options *options, struct err *err);

/* ERR_UNSUPPORTED for a model that cannot be pruned this way, or has several labels an input;
 * ERR_UNUSABLE for data whose labels are not the model's. Free the result in any case. */
enum err_code prune_run(const struct prune_options *options, const struct prune_hooks *hooks,
                        struct prune_result *result, struct err *err);
void prune_result_free(struct prune_result *result);

#endif
