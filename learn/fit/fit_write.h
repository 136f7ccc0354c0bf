/* fit_write.h - what a fit found, as a checkpoint directory that attnd and transformers open: the
 * weights of the encoder as they were, the new classifier with its labels, attnd.json with
 * temperature, thresholds, OOD score and reference from the answers that were left out, a bank of
 * examples for the next fit (attnd_head.safetensors), the report (report.json, report.html) and the
 * digests of what was learnt.
 *
 * All of it is made in a directory beside `out` and renamed at the end: there is never half of it.
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_WRITE_H
#define ATTND_LEARN_FIT_FIT_WRITE_H

#include "learn/fit/fit.h"

#include <stdio.h>

/* After fit_head. The text of the report goes to `shown` (NULL: nowhere). ERR_IO; ERR_UNUSABLE if
 * `out` has been made meanwhile. */
enum err_code fit_write(struct fit *fit, FILE *shown, struct err *err);

/* The version behind another one: its last number one higher, or a number where it has none. The
 * arena's; NULL without memory. */
const char *fit_next_version(const char *version, struct arena *arena);

#endif
