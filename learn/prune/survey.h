/* survey.h - the importance of a model's heads and columns on the inputs of a corpus: a forward and
 * a backward pass over each by itself. Threads: one caller. */
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

/* Opens the weights of options->model as they are trained. Close it in any case. */
enum err_code survey_open_model(struct learner *out, const struct survey *survey,
                                const struct spec *spec, struct err *err);

/* Opens and fills *out, from every n-th input to learn, prepared as they are judged, in fp32; to be
 * closed in any case. With *stop set it ends early, without an error. */
enum err_code survey_run(const struct survey *survey, struct learner *learner,
                         struct importance *out, struct err *err);

#endif
