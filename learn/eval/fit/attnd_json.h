/* attnd_json.h - the only writer of attnd.json: the calibration of a checkpoint on validation data,
 * as model/spec.h reads it.
 *
 *     spec_read(&spec, dir, &arena, &err);     with the old attnd.json, if there is one
 *     spec.temperature = temperature;          spec.policy.thresholds, .target_precision, .ood
 *     attnd_json_write(dir, &spec, &err);       or the encoder's, of pair_spec_read
 *
 * The file reads back to the same spec: thresholds and scores bit for bit, statistics to 7
 * significant digits. Equal labels get the values of the first one. The file is replaced as a whole
 * (base/replace.h). Threads: one writer of a directory at a time.
 */
#ifndef ATTND_LEARN_EVAL_FIT_ATTND_JSON_H
#define ATTND_LEARN_EVAL_FIT_ATTND_JSON_H

#include "engine/model/spec.h"

/* Writes DIR/attnd.json. ERR_IO with the path. ERR_UNUSABLE, with the reader's error, for a value
 * that spec_read would refuse; nothing is written then. */
enum err_code attnd_json_write(const char *dir, const struct spec *spec, struct err *err);

#endif
