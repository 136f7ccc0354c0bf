/* trainer.h - a training run from options to a checkpoint directory.
 *
 *     trainer_run(&options, &hooks, &result, &err);
 *     trainer_result_free(&result);
 *
 * Written to --out: the checkpoint as attnd and Hugging Face open it, with attnd.json and
 * report.json and report.html (conclude.h), and, while the run is not finished,
 * training-state.safetensors, from which the same call resumes. The state is written after every
 * epoch, every five minutes, and when *stop is set: then the run ends early without an error and
 * result->interrupted is true. A finished run leaves training-run.safetensors instead (record.h),
 * by which the same call recognises it.
 *
 * Threads: one run at a time in a directory; `stop` may be set by a signal handler.
 */
#ifndef ATTND_LEARN_TRAIN_TRAINER_H
#define ATTND_LEARN_TRAIN_TRAINER_H

#include "engine/base/err.h"
#include "learn/train/checkpoint/history.h"
#include "learn/train/conclusion.h"
#include "learn/train/loop/options.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trainer_phase { TRAINER_READING, TRAINER_LEARNING, TRAINER_JUDGING, TRAINER_CONCLUDING };

/* The progress of a run. */
struct trainer_progress {
    enum trainer_phase phase;
    size_t done, total; /* inputs: read, of the epoch, of the validation part */
    unsigned epoch, epochs;
    unsigned image_size;      /* 0 for texts */
    double loss, rate;        /* learning: the epoch's mean so far; the last step's rate */
    double inputs_per_second; /* of this epoch; 0: not known yet */
    double seconds_left;      /* of the whole run; negative: not known yet */
};

/* The start of a run, reported once. */
struct trainer_plan {
    const char *family, *precision;
    size_t train, validation, unusable;          /* inputs */
    const char *unusable_name, *unusable_reason; /* the first of them */
    unsigned labels, epochs, threads;
    size_t parameters;
    unsigned tensors_missing; /* of the source: initialised instead */
    const char *remarks;      /* lines on the data that a person should read; may be empty */
    bool resumed;
    const char *replaced_version; /* of an attnd.json in --out that will be kept as
                                     attnd.json.before; NULL: nothing is lost */
    uint64_t step, steps;         /* done before, and of the whole run */
};

/* What the second step of this process says of the rest: the first is slower. */
struct trainer_estimate {
    bool is_image;
    size_t parameters;
    double seconds; /* of all steps that are left; judging and concluding come to it */
};

/* Any may be NULL. */
struct trainer_hooks {
    void (*plan)(void *context, const struct trainer_plan *plan);
    void (*progress)(void *context, const struct trainer_progress *progress);
    /* `rises`: the validation loss has done so for a while (history.h): time to say it. */
    void (*epoch)(void *context, const struct history_epoch *epoch, bool is_best, bool rises);
    void (*estimate)(void *context, const struct trainer_estimate *estimate);
    void *context;
    const atomic_bool *stop;
};

struct trainer_result {
    bool is_image, is_mlm;
    struct conclusion conclusion;
    struct history history;
    unsigned best_epoch;
    bool interrupted;  /* by *stop: the checkpoint is not written, the state is */
    bool early;        /* by --patience */
    bool was_finished; /* by an earlier call: nothing was done, and nothing is told */
};

enum err_code trainer_run(const struct train_options *options, const struct trainer_hooks *hooks,
                          struct trainer_result *result, struct err *err);
void trainer_result_free(struct trainer_result *result);

#endif
