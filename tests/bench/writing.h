/* writing.h - a co-process that writes texts of a fixed length, so that a driver (writing.py) can
 * alternate this engine and a peer run by run:
 *
 *     ROWS BEAMS WORDS TOKENS  ->  MILLISECONDS SOURCE ID0 ID1 ...  (of the first row's best text)
 *                              or  refused REASON
 *
 * WORDS words, which are SOURCE tokens, are read and TOKENS tokens are written, the same text in
 * each row.
 */
#ifndef ATTND_TESTS_BENCH_WRITING_H
#define ATTND_TESTS_BENCH_WRITING_H

#include "engine/base/err.h"

#include <stdio.h>

struct writing_options {
    const char *model; /* a directory */
    const char *dtype; /* NULL: f32 */
    unsigned threads;
};

/* Answers until the end of `in`. The errors of engine_open, ERR_NO_MEMORY, or ERR_IO if `out`
 * cannot be written. */
enum err_code writing_run(const struct writing_options *options, FILE *in, FILE *out,
                          struct err *err);

#endif
