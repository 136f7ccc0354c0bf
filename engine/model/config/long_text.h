/* long_text.h - what a model does with a text that is longer than it reads at once: attnd.json's
 * "long_text", "window_stride" and "window_pooling".
 *
 *     {"long_text": "windows", "window_stride": 96, "window_pooling": "max"}
 *
 * "truncate" (the default) reads its beginning. "windows" reads all of it in windows as long as the
 * model reads, each `stride` tokens behind the one before, and pools what the classifier is given
 * of each: the largest number in each place (the default: models/README.md measures both), or
 * their mean, which is the mean of logits, since the classifier is linear. Without a stride windows
 * follow each other without overlap.
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
    unsigned stride; /* in tokens; 0: as long as a window */
    enum window_pooling pooling;
};

/* Reads the members of attnd.json's object over the defaults. ERR_UNSUPPORTED; a stride that is too
 * large or small for the tokenizer is found by pipeline_open. */
enum err_code long_text_read(struct long_text *out, const struct json_t *object, struct err *err);

/* "mean" or "max". */
const char *window_pooling_name(enum window_pooling pooling);

#endif
