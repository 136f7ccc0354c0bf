/* history.h - the results of each epoch of a run. Threads: plain data. */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_HISTORY_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_HISTORY_H

#include <stdbool.h>

/* Every field is a double, so that a state file can hold an epoch as a row. A new field is the last
 * one: states from before lack it. */
struct history_epoch {
    double epoch;      /* from 1 */
    double image_size; /* in pixels; 0 for texts */
    double rate;       /* at the epoch's end */
    double train_loss, validation_loss;
    double accuracy, macro_f1; /* on the validation part; MLM: of the masked words, and 0 */
    double seconds;
    double skipped;         /* steps whose gradient was not finite */
    double rmse, rmse_mean; /* of a regression (judge.h), else 0 */
    double ndcg;            /* of an embedding (judge.h), else 0 */
    double span_f1;         /* of a model of tags (judge.h), else 0 */
    double exact;           /* of a model that writes (judge.h), else 0 */
};

enum {
    HISTORY_FIELDS = 14,
    HISTORY_FIELDS_FIRST = 9,   /* in states from before rmse */
    HISTORY_FIELDS_SECOND = 11, /* in those from before ndcg */
    HISTORY_FIELDS_THIRD = 12,  /* in those from before span_f1 */
    HISTORY_FIELDS_FOURTH = 13, /* in those from before exact */
    HISTORY_EPOCHS_MAX = 100000
};
_Static_assert(sizeof(struct history_epoch) == HISTORY_FIELDS * sizeof(double), "only numbers");

struct history {
    struct history_epoch *epochs; /* [count] */
    unsigned count;
};

enum { HISTORY_RISES = 3 };

/* True if the validation loss has risen for exactly HISTORY_RISES consecutive epochs at one image
 * size while the training loss fell: true only once in a row of such epochs. */
static inline bool history_rises(const struct history *history)
{
    unsigned rises = 0;
    for (unsigned i = history->count; i >= 2; i--, rises++) {
        const struct history_epoch *now = &history->epochs[i - 1], *before = now - 1;
        if (now->image_size != before->image_size ||
            !(now->validation_loss > before->validation_loss) ||
            !(now->train_loss < before->train_loss))
            break;
    }
    return rises == HISTORY_RISES;
}

#endif
