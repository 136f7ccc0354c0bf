#include "engine/model/config/image_reading.h"

#include <string.h>

static const char *const reductions[] = {
    [REDUCTION_FILTER] = "filter", [REDUCTION_LINES] = "lines"};

const struct image_reading image_reading_default = {.views = 1};

bool image_reading_is_default(const struct image_reading *reading)
{
    return reading->views == 1 && reading->reduction == REDUCTION_FILTER;
}

const char *image_reduction_name(enum image_reduction reduction)
{
    return reductions[reduction];
}

bool image_reduction_find(const char *name, enum image_reduction *out)
{
    for (unsigned i = 0; i < sizeof reductions / sizeof reductions[0]; i++)
        if (strcmp(reductions[i], name) == 0) {
            *out = (enum image_reduction)i;
            return true;
        }
    return false;
}

enum err_code image_reading_read(struct image_reading *out, const struct json_t *object,
                                 struct err *err)
{
    const char *word = reductions[out->reduction];
    double views = out->views;
    if (doc_get_number(object, "$", "views", &views, err) ||
        doc_get_string(object, "$", "reduction", &word, err))
        return err->code;
    if (views != 1 && views != 2 && views != 4 && views != 8)
        return err_set(err, ERR_UNSUPPORTED, "$.views must be 1, 2, 4 or 8");
    out->views = (unsigned)views;
    if (!image_reduction_find(word, &out->reduction))
        return err_set(err, ERR_UNSUPPORTED, "$.reduction must be \"filter\" or \"lines\"");
    return ERR_OK;
}
