/* long_text.h - how a model reads a text beyond its longest input: attnd.json's "long_text",
 * "window_stride" and "window_pooling".
 *
 *     {"long_text": "windows", "window_stride": 96, "window_pooling": "max"}
 *
 * "truncate" (the default) reads its beginning. "windows" reads all of it in windows of the longest
 * input, each `stride` tokens behind the one before, and pools the classifier's inputs: by the
 * maximum of each number (the default: models/README.md measures both), or by their mean, which is
 * the mean of logits, because the classifier is linear. Without a stride windows do not overlap.
 *
 * Threads: plain data.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_LONG_TEXT_H
#define ATTND_ENGINE_MODEL_CONFIG_LONG_TEXT_H

#include "engine/base/doc.h"
#include "engine/base/err.h"

#include <stdbool.h>

enum window_pooling { WINDOW_MAX, WINDOW_MEAN };

struct long_text {
    bool in_windows;
    unsigned stride; /* in tokens; 0: the length of a window */
    enum window_pooling pooling;
};

/* Reads the members of attnd.json's object over the defaults. ERR_UNSUPPORTED. pipeline_open finds
 * a stride that is too large or small for the tokenizer. */
enum err_code long_text_read(struct long_text *out, const struct json_t *object, struct err *err);

/* "mean" or "max". */
const char *window_pooling_name(enum window_pooling pooling);

#endif
