/* attnd_json.h - the only writer of attnd.json: the calibration of a checkpoint on validation data,
 * as model/spec.h reads it.
 *
 *     spec_read(&spec, dir, &arena, &err);     with the old attnd.json, if there is one
 *     spec.temperature = temperature;          spec.policy.thresholds, .target_precision, .ood
 *     attnd_json_write(dir, &spec, &err);
 *
 * What is written reads back to the same spec: thresholds and scores to the bit, statistics to 7
 * significant digits; of labels that are equal the first one's. The file is replaced whole
 * (base/replace.h). Threads: one writer of a directory at a time.
 */
#ifndef ATTND_LEARN_EVAL_FIT_ATTND_JSON_H
#define ATTND_LEARN_EVAL_FIT_ATTND_JSON_H

#include "engine/model/spec.h"

/* DIR/attnd.json. ERR_IO with the path; ERR_UNUSABLE, and nothing is written, for a value that
 * spec_read would refuse: the text is the reader's. */
enum err_code attnd_json_write(const char *dir, const struct spec *spec, struct err *err);

#endif
