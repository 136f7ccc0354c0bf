/* offline.h - one line per model, dtype and batch, through engine.h alone: milliseconds, tokens a
 * second, operations a second as a share of the measured peak, and how far the logits are from fp32
 * ones. */
#ifndef ATTND_TESTS_BENCH_OFFLINE_H
#define ATTND_TESTS_BENCH_OFFLINE_H

#include "tests/bench/machine.h"

struct offline_options {
    const char *bert, *vit; /* checkpoint directories */
    unsigned threads;
};

/* A dtype that the engine refuses is a line with its reason, not an error. */
enum err_code offline_print(const struct offline_options *options, const struct machine *machine,
                            FILE *file, struct err *err);

#endif
