/* survey.h - measures the importance of a model's heads and columns on the inputs of a corpus: one
 * forward and one backward pass for each input. Threads: one caller. */
#ifndef ATTND_LEARN_PRUNE_SURVEY_H
#define ATTND_LEARN_PRUNE_SURVEY_H

#include "learn/prune/importance.h"
#include "learn/train/loop/corpus.h"
#include "learn/train/loop/learner.h"
#include "learn/train/loop/options.h"

#include <stdatomic.h>

struct survey {
    const struct train_options *options; /* how texts are read */
    struct corpus *corpus;
    unsigned inputs_max, threads;
    const atomic_bool *stop; /* NULL: never */
    void (*progress)(void *context, size_t done, size_t total);
    void *context;
};

/* Opens a learner with the weights of options->model. Close it in any case. */
enum err_code survey_open_model(struct learner *out, const struct survey *survey,
                                const struct spec *spec, struct err *err);

/* Opens and fills *out, from every n-th training input, prepared without augmentation, in fp32.
 * Close *out in any case. If *stop is set it ends early without an error. */
enum err_code survey_run(const struct survey *survey, struct learner *learner,
                         struct importance *out, struct err *err);

#endif
