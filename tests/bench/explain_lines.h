/* explain_lines.h - what an explanation costs: one input alone without it and with each method, by
 * turns, so that both see the same machine. The cost is everything from the room for the attention
 * (fresh memory each time, as a request has it) to the relevance of each token. */
#ifndef ATTND_TESTS_BENCH_EXPLAIN_LINES_H
#define ATTND_TESTS_BENCH_EXPLAIN_LINES_H

#include "engine/base/err.h"

#include <stdio.h>

struct explain_lines_options {
    const char *bert, *vit; /* checkpoint directories */
    unsigned threads;
};

enum err_code explain_lines_print(const struct explain_lines_options *options, FILE *file,
                                  struct err *err);

#endif
