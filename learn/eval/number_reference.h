/* number_reference.h - writes the reference of a regression with one output (drift_reference.h)
 * into its attnd.json, from its answers to validation inputs.
 *
 *     number_reference_write(dir, NULL, &assessment, &err);
 *
 * Threads: one writer of a directory at a time.
 */
#ifndef ATTND_LEARN_EVAL_NUMBER_REFERENCE_H
#define ATTND_LEARN_EVAL_NUMBER_REFERENCE_H

#include "learn/eval/measure/number_assessment.h"

/* Replaces `reference` of dir/attnd.json, and `version` unless it is NULL; the rest stays.
 * ERR_UNSUPPORTED for several outputs; ERR_UNUSABLE without an answer; as attnd_json_write. */
enum err_code number_reference_write(const char *dir, const char *version,
                                     const struct number_assessment *assessment, struct err *err);

#endif
