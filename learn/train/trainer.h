/* trainer.h - a training run from options to a checkpoint directory.
 *
 *     trainer_run(&options, &hooks, &result, &err);
 *     trainer_result_free(&result);
 *
 * A run writes to --out: the checkpoint as attnd and Hugging Face open it, attnd.json, report.json
 * and report.html (conclude.h). While it is not finished, it also writes
 * training-state.safetensors, from which the same call resumes. The state is written after every
 * epoch, every five minutes, and when *stop is set. If *stop is set, the run ends early without an
 * error and result->interrupted is true. A finished run leaves training-run.safetensors instead
 * (record.h), by which the same call recognises it.
 *
 * Threads: one run at a time in a directory; `stop` may be set by a signal handler.
 */
#ifndef ATTND_LEARN_TRAIN_TRAINER_H
#define ATTND_LEARN_TRAIN_TRAINER_H

#include "engine/base/err.h"
#include "learn/train/checkpoint/history.h"
#include "learn/train/conclude.h"
#include "learn/train/loop/options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trainer_phase { TRAINER_READING, TRAINER_LEARNING, TRAINER_JUDGING, TRAINER_CONCLUDING };

/* The progress of a run. */
struct trainer_progress {
    enum trainer_phase phase;
    size_t done, total; /* inputs: to read, of the epoch, or of the validation part, by phase */
    unsigned epoch, epochs;
    unsigned image_size;      /* 0 for texts */
    double loss, rate;        /* learning: the epoch's mean loss so far; the last step's rate */
    double inputs_per_second; /* of this epoch; 0: not known yet */
    double seconds_left;      /* of the whole run; negative: not known yet */
};

/* The start of a run, reported once. */
struct trainer_plan {
    const char *family, *precision;
    size_t train, validation, unusable;          /* inputs */
    const char *unusable_name, *unusable_reason; /* of the first unusable input */
    unsigned labels, epochs, threads;            /* labels: of a regression outputs, of tags those
                                                    of spans */
    size_t pairs;                                /* of an embedding: those of an epoch */
    enum train_task task;
    size_t parameters;
    unsigned tensors_missing; /* missing in the source: initialised instead */
    const char *remarks;      /* lines on the data that a person should read; may be empty */
    bool resumed;
    const char *replaced_version; /* version of an attnd.json in --out that will be renamed to
                                     attnd.json.before; NULL: nothing is replaced */
    uint64_t step, steps;         /* steps done before; steps of the whole run */
};

/* The time left, estimated from this process's second step, since the first is slower. */
struct trainer_estimate {
    bool is_image;
    size_t parameters;
    double seconds; /* all remaining steps, without evaluations and the conclusion */
};

/* Any member may be NULL. */
struct trainer_hooks {
    void (*plan)(void *context, const struct trainer_plan *plan);
    void (*progress)(void *context, const struct trainer_progress *progress);
    /* `rises`: history_rises; the caller should warn that the validation loss rises. */
    void (*epoch)(void *context, const struct history_epoch *epoch, bool is_best, bool rises);
    void (*estimate)(void *context, const struct trainer_estimate *estimate);
    void *context;
    const atomic_bool *stop;
};

struct trainer_result {
    bool is_image;
    enum train_task task;
    struct conclusion conclusion;
    struct history history;
    unsigned best_epoch;
    bool interrupted;  /* ended by *stop: the state is written, the checkpoint is not */
    bool early;        /* ended by --patience */
    bool was_finished; /* an earlier call finished it: nothing was done, no hook was called */
};

enum err_code trainer_run(const struct train_options *options, const struct trainer_hooks *hooks,
                          struct trainer_result *result, struct err *err);
void trainer_result_free(struct trainer_result *result);

#endif
