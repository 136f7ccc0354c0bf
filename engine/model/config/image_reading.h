/* image_reading.h - how a model reads an image, beyond preprocessor_config.json: attnd.json's
 * "views" and "reduction".
 *
 *     {"views": 4, "reduction": "lines"}
 *
 * With several views the answer is the mean of the features of the image and of its rotations or
 * reflections (engine/prepare/views.h), and so the mean of their logits. The reduction is the
 * method for details smaller than a pixel when an image is shrunk (engine/vision/resize_lines.h).
 *
 * Threads: plain data.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_IMAGE_READING_H
#define ATTND_ENGINE_MODEL_CONFIG_IMAGE_READING_H

#include "engine/base/doc.h"
#include "engine/base/err.h"

#include <stdbool.h>

enum image_reduction { REDUCTION_FILTER, REDUCTION_LINES };

struct image_reading {
    unsigned views; /* 1, 2, 4 or 8 */
    enum image_reduction reduction;
};

extern const struct image_reading image_reading_default; /* one view, the filter */
bool image_reading_is_default(const struct image_reading *reading);

/* Reads the members of attnd.json's object; absent ones leave *out unchanged. ERR_UNSUPPORTED. */
enum err_code image_reading_read(struct image_reading *out, const struct json_t *object,
                                 struct err *err);

/* "filter" or "lines". */
const char *image_reduction_name(enum image_reduction reduction);
bool image_reduction_find(const char *name, enum image_reduction *out);

#endif
