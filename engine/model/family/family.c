#include "engine/model/family/family.h"

#include "engine/model/family/family_rows.h"

#include <stdio.h>
#include <string.h>

const struct family *family_of_labels(void)
{
    return &family_clip_text;
}

/* Returns row `index` of the table; NULL behind the last. */
static const struct family *row_at(size_t index)
{
    if (index < family_text_count)
        return &family_texts[index];
    index -= family_text_count;
    return index < family_image_count ? &family_images[index] : NULL;
}

const struct family *family_find(const char *model_type, const char *architecture)
{
    for (size_t i = 0; row_at(i) != NULL; i++) {
        const struct family *family = row_at(i);
        if (model_type == NULL || strcmp(family->model_type, model_type) != 0)
            continue;
        if (family->architecture == NULL ||
            (architecture != NULL && strcmp(family->architecture, architecture) == 0))
            return family;
    }
    return NULL;
}

/* Families that share a model_type stand side by side in the table. */
void family_model_types(char *out, size_t size)
{
    const char *last = "";
    size_t used = 0;
    for (size_t i = 0; row_at(i) != NULL && used < size; i++) {
        const char *type = row_at(i)->model_type;
        if (strcmp(type, last) != 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", type);
        last = type;
    }
}

size_t family_root(const struct family *family)
{
    return strcspn(family->tensors[TENSOR_ATTENTION_OUT], ".") + 1;
}
