/* serve.h - a co-process that computes one batch for each line it reads, so that a driver can
 * alternate this engine and a peer run by run:
 *
 *     DTYPE KIND BATCH TOKENS  ->  MILLISECONDS LOGIT0 LOGIT1 ...   (of the batch's first row)
 *                              or  refused REASON
 *
 * KIND is bert, vit (TOKENS is ignored) or bert-mixed (TOKENS is ignored: inputs.h). A model is
 * opened when it is first asked for and runs three times untimed.
 */
#ifndef ATTND_TESTS_BENCH_SERVE_H
#define ATTND_TESTS_BENCH_SERVE_H

#include "engine/base/err.h"

#include <stdio.h>

struct serve_options {
    const char *bert, *vit; /* checkpoint directories; NULL: that kind is refused */
    unsigned threads;
};

/* Until the end of `in`. ERR_NO_MEMORY, or ERR_IO if `out` cannot be written. */
enum err_code serve_run(const struct serve_options *options, FILE *in, FILE *out, struct err *err);

#endif
