/* codec_labels.h - candidate_labels and hypothesis_template of a call, as JSON members and as
 * options of a query string. Private to the codec.
 *
 *     codec_labels_read(&labels, tree, &elided, arena, &err);    {"candidate_labels": ["a", "b"]}
 *     codec_labels_set(&labels, "a", arena, &err);               ?candidate_labels=a&...=b
 *     codec_labels_check(&labels, "?", &err);
 *
 * Errors are ERR_UNUSABLE with the place of the label. Threads: no state.
 */
#ifndef ATTND_WIRE_CODEC_LABELS_H
#define ATTND_WIRE_CODEC_LABELS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/engine.h"

struct elided;
struct json_t;

/* Reads candidate_labels and hypothesis_template of an object whose long strings were cut out. */
enum err_code codec_labels_read(struct engine_labels *out, const struct json_t *object,
                                const struct elided *elided, struct arena *arena, struct err *err);

/* One more label or, of a value that begins with "[", the JSON array of all. */
enum err_code codec_labels_set(struct engine_labels *labels, const char *value, struct arena *arena,
                               struct err *err);

/* All of them together, once the last member and the last option are read. */
enum err_code codec_labels_check(const struct engine_labels *labels, const char *path,
                                 struct err *err);

/* The most memory that labels in a query take, in bytes, beside the query's own. */
enum { CODEC_LABELS_BYTES = 384 * 1024 };

#endif
