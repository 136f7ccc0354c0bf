/* conclusion.h - the results of a finished run. Threads: plain data. */
#ifndef ATTND_LEARN_TRAIN_CONCLUSION_H
#define ATTND_LEARN_TRAIN_CONCLUSION_H

#include "learn/ngrams/ngram_branch.h"

#include <stdbool.h>

/* Figures on the validation part. */
struct conclusion {
    bool judged;
    char
        *remarks; /* lines of the report that a person should read; NULL: not judged. To be freed */
    double accuracy, macro_f1, ece, temperature;
    double automatic, right; /* shares: of inputs, and of the automatic ones */
    double macro_f1_before;  /* without class biases */
    double macro_f1_crossed; /* with biases that were fitted on other inputs */
    struct ngram_result ngrams;
};

#endif
