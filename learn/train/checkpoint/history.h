/* history.h - the results of each epoch of a run. Threads: plain data. */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_HISTORY_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_HISTORY_H

/* Every field is a number, so that a state file holds an epoch as a row. */
struct history_epoch {
    double epoch;      /* from 1 */
    double image_size; /* in pixels; 0 for texts */
    double rate;       /* at its end */
    double train_loss, validation_loss;
    double accuracy, macro_f1; /* on the validation part; of MLM: of the masked words, and 0 */
    double seconds;
    double skipped; /* steps whose gradient was not finite */
};

enum { HISTORY_FIELDS = 9, HISTORY_EPOCHS_MAX = 100000 };
_Static_assert(sizeof(struct history_epoch) == HISTORY_FIELDS * sizeof(double), "only numbers");

struct history {
    struct history_epoch *epochs; /* [count] */
    unsigned count;
};

#endif
