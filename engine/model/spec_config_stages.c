/* spec_config_stages.c - see spec_config_stages.h. Defaults are SwinConfig's. transformers pads a
 * grid that its windows or a merging do not divide; published checkpoints have none, and it is
 * refused here. */
#include "engine/model/spec_config_stages.h"

#include <math.h>
#include <string.h>

enum {
    SIZE_LIMIT = 65536,
    LAYERS_LIMIT = 1024, /* of all stages */
    WINDOW_MIN = 2,      /* a window of one patch attends to nothing else */
    WINDOW_LIMIT = 256,
    DEFAULT_WIDTH = 96,
    DEFAULT_WINDOW = 7,
    DEFAULT_STAGES = 4,
};

/* A list of integers from 1 to `max`; absent: the default. */
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
    if (found < 1 || found > SPEC_STAGES_MAX)
        return err_set(err, ERR_UNSUPPORTED, "%s has to be a list of 1 to %d stages, not %zu", key,
                       SPEC_STAGES_MAX, found);
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

static enum err_code fill_stage(struct spec *spec, unsigned stage, unsigned depth, unsigned heads,
                                unsigned width, struct err *err)
{
    const char *key = spec->family->key_hidden;
    if (width > SIZE_LIMIT)
        return err_set(err, ERR_UNSUPPORTED, "%s makes stage %u %u wide; at most %d is supported",
                       key, stage + 1, width, SIZE_LIMIT);
    if (width % heads != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s makes stage %u %u wide, no multiple of %s %u", key,
                       stage + 1, width, spec->family->key_heads, heads);
    spec->stages[stage] = (struct spec_stage){
        .first = spec->layers, .end = spec->layers + depth, .hidden = width, .heads = heads};
    spec->layers += depth;
    spec->hidden = width;
    spec->heads = heads;
    if (spec->layers > LAYERS_LIMIT)
        return err_set(err, ERR_UNSUPPORTED, "%s sums up to more than %d, the most supported",
                       spec->family->key_layers, LAYERS_LIMIT);
    return ERR_OK;
}

enum err_code spec_config_stages(struct spec *spec, const struct json_t *config, struct err *err)
{
    static const unsigned default_depths[DEFAULT_STAGES] = {2, 2, 6, 2};
    static const unsigned default_heads[DEFAULT_STAGES] = {3, 6, 12, 24};
    const struct family *family = spec->family;
    unsigned depths[SPEC_STAGES_MAX], heads[SPEC_STAGES_MAX], head_lists;
    long long width = DEFAULT_WIDTH, window = DEFAULT_WINDOW;
    doc_get_integer(config, "$", family->key_hidden, 1, SIZE_LIMIT, &width, err);
    if (doc_get_integer(config, "$", family->key_window, WINDOW_MIN, WINDOW_LIMIT, &window, err) ||
        read_list(config, family->key_layers, LAYERS_LIMIT, default_depths, depths,
                  &spec->stage_count, err) ||
        read_list(config, family->key_heads, SIZE_LIMIT, default_heads, heads, &head_lists, err))
        return err->code;
    if (head_lists != spec->stage_count)
        return err_set(err, ERR_UNSUPPORTED, "%s has %u stages, %s has %u", family->key_layers,
                       spec->stage_count, family->key_heads, head_lists);
    spec->window = (unsigned)window;
    for (unsigned i = 0; i < spec->stage_count; i++)
        if (fill_stage(spec, i, depths[i], heads[i], (unsigned)width << i, err))
            return err->code;
    return ERR_OK;
}

enum err_code spec_config_stages_fit(const struct spec *spec, unsigned image_size, struct err *err)
{
    unsigned unit = spec_image_unit(spec);
    if (spec->stage_count == 0 || image_size % unit == 0)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "image_size %u with patch_size %u, window_size %u and %u stages is not "
                   "supported (supported: multiples of %u, so that windows divide every grid)",
                   image_size, spec->patch, spec->window, spec->stage_count, unit);
}
