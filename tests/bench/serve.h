/* serve.h - a co-process that computes one batch for each line it reads, so that a driver can
 * alternate this engine and a peer run by run:
 *
 *     DTYPE KIND BATCH TOKENS  ->  MILLISECONDS LOGIT0 LOGIT1 ...   (of the batch's first row)
 *                              or  refused REASON
 *
 * KIND is the checkpoint MODELS/KIND-base. TOKENS is ignored for images; of texts 0 is mixed
 * lengths (inputs.h). One model is open at a time; a batch that was not asked for just before runs
 * three times untimed.
 */
#ifndef ATTND_TESTS_BENCH_SERVE_H
#define ATTND_TESTS_BENCH_SERVE_H

#include "engine/base/err.h"

#include <stdio.h>

struct serve_options {
    const char *models; /* the folder of the checkpoints */
    unsigned threads;
};

/* Answers until the end of `in`. ERR_UNUSABLE without a folder, ERR_NO_MEMORY, or ERR_IO if `out`
 * cannot be written. */
enum err_code serve_run(const struct serve_options *options, FILE *in, FILE *out, struct err *err);

#endif
