#include "engine/model/config/stage_config.h"

#include "engine/base/doc.h"

#include <math.h>
#include <string.h>

enum {
    SIZE_LIMIT = 65536,
    LAYERS_LIMIT = 1024, /* most layers of all stages */
    WINDOW_MIN = 2,      /* a window of one patch attends to nothing else */
    WINDOW_LIMIT = 256,
    DEFAULT_WIDTH = 96,
    DEFAULT_WINDOW = 7,
    DEFAULT_STAGES = 4,
};

/* Reads a list of integers from 1 to `max`; absent: the default. */
static enum err_code read_list(const struct json_t *config, const char *key, unsigned max,
                               const unsigned *fallback, unsigned *out, unsigned *count,
                               struct err *err)
{
    const struct json_t *list = doc_member(config, key);
    *count = DEFAULT_STAGES;
    if (list == NULL) {
        memcpy(out, fallback, DEFAULT_STAGES * sizeof *out);
        return ERR_OK;
    }
    size_t found = doc_array_count(list);
    if (found < 1 || found > STAGES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s has to be a list of 1 to %d stages, not %zu", key,
                       STAGES_MAX, found);
    for (size_t i = 0; i < found; i++) {
        double value = 0; /* files are parsed with integers as reals */
        if (!doc_as_number(doc_array_item(list, i), &value) ||
            !(value >= 1 && value <= max && value == floor(value)))
            return err_set(err, ERR_UNSUPPORTED, "%s has to be a list of integers from 1 to %u",
                           key, max);
        out[i] = (unsigned)value;
    }
    *count = (unsigned)found;
    return ERR_OK;
}

/* Fills the stages: each is twice as wide as the one before; its heads must divide it. */
static enum err_code fill_stages(struct stage_config *out, const unsigned *depths,
                                 const unsigned *heads, unsigned first_width, struct err *err)
{
    unsigned layers = 0;
    for (unsigned i = 0; i < out->count; i++) {
        const unsigned width = first_width << i;
        if (width > SIZE_LIMIT)
            return err_set(err, ERR_UNSUPPORTED,
                           "embed_dim makes stage %u %u wide; at most %d is supported", i + 1,
                           width, SIZE_LIMIT);
        if (width % heads[i] != 0)
            return err_set(err, ERR_UNSUPPORTED,
                           "embed_dim makes stage %u %u wide, no multiple of num_heads %u", i + 1,
                           width, heads[i]);
        out->stage[i] = (struct stage){
            .first = layers, .end = layers + depths[i], .hidden = width, .heads = heads[i]};
        layers += depths[i];
    }
    if (layers > LAYERS_LIMIT)
        return err_set(err, ERR_UNSUPPORTED, "depths sums up to %u; at most %d is supported",
                       layers, LAYERS_LIMIT);
    return ERR_OK;
}

enum err_code stage_config_read(struct stage_config *out, const struct json_t *config,
                                struct err *err)
{
    static const unsigned default_depths[DEFAULT_STAGES] = {2, 2, 6, 2};
    static const unsigned default_heads[DEFAULT_STAGES] = {3, 6, 12, 24};
    long long width = DEFAULT_WIDTH, window = DEFAULT_WINDOW;
    unsigned depths[STAGES_MAX], heads[STAGES_MAX], heads_count;
    *out = (struct stage_config){0};
    doc_get_integer(config, "$", "embed_dim", 1, SIZE_LIMIT, &width, err);
    if (doc_get_integer(config, "$", "window_size", WINDOW_MIN, WINDOW_LIMIT, &window, err) ||
        read_list(config, "depths", LAYERS_LIMIT, default_depths, depths, &out->count, err) ||
        read_list(config, "num_heads", SIZE_LIMIT, default_heads, heads, &heads_count, err))
        return err->code;
    if (heads_count != out->count)
        return err_set(err, ERR_UNSUPPORTED, "depths has %u stages, num_heads has %u", out->count,
                       heads_count);
    out->window = (unsigned)window;
    return fill_stages(out, depths, heads, (unsigned)width, err);
}
