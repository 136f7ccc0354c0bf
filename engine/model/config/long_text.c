#include "engine/model/config/long_text.h"

#include <string.h>

static const char *const poolings[] = {[WINDOW_MEAN] = "mean", [WINDOW_MAX] = "max"};

const char *window_pooling_name(enum window_pooling pooling)
{
    return poolings[pooling];
}

static enum err_code read_pooling(struct long_text *out, const struct json_t *object,
                                  struct err *err)
{
    const char *word = poolings[out->pooling];
    if (doc_get_string(object, "$", "window_pooling", &word, err))
        return err->code;
    for (unsigned i = 0; i < sizeof poolings / sizeof poolings[0]; i++)
        if (strcmp(poolings[i], word) == 0) {
            out->pooling = (enum window_pooling)i;
            return ERR_OK;
        }
    return err_set(err, ERR_UNSUPPORTED, "$.window_pooling must be \"mean\" or \"max\"");
}

enum err_code long_text_read(struct long_text *out, const struct json_t *object, struct err *err)
{
    const char *word = out->in_windows ? "windows" : "truncate";
    double stride = out->stride;
    if (doc_get_string(object, "$", "long_text", &word, err) ||
        doc_get_number(object, "$", "window_stride", &stride, err) ||
        read_pooling(out, object, err))
        return err->code;
    out->in_windows = strcmp(word, "windows") == 0;
    if (!out->in_windows && strcmp(word, "truncate") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.long_text must be \"truncate\" or \"windows\"");
    if (!(stride >= 0 && stride <= 1 << 20) || stride != (double)(unsigned)stride)
        return err_set(err, ERR_UNSUPPORTED, "$.window_stride must be a number of tokens");
    out->stride = (unsigned)stride;
    return ERR_OK;
}
