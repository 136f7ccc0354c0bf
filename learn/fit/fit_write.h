/* fit_write.h - writes a fit as a checkpoint directory that attnd and transformers open: the
 * unchanged weights of the encoder, the new classifier with its labels, attnd.json with
 * temperature, thresholds, OOD score and reference from the left-out answers, a bank of examples
 * for the next fit (attnd_head.safetensors), the report (report.json, report.html) and the digests
 * of the learnt inputs.
 *
 * Everything is written to a temporary directory beside `out`, which is renamed at the end, so
 * `out` is complete or absent. Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_WRITE_H
#define ATTND_LEARN_FIT_FIT_WRITE_H

#include "learn/fit/fit.h"

#include <stdio.h>

/* Called after fit_head. The text of the report is printed to `shown` (NULL: nowhere). ERR_IO;
 * ERR_UNUSABLE if `out` has been made meanwhile. */
enum err_code fit_write(struct fit *fit, FILE *shown, struct err *err);

/* The version after `version`: its last number plus one; ".1" is appended if it does not end in a
 * number. The arena owns it; NULL without memory. */
const char *fit_next_version(const char *version, struct arena *arena);

#endif
