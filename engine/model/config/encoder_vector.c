#include "engine/model/config/encoder_vector.h"

#include <string.h>

enum err_code encoder_vector_read(struct encoder_vector *out, const struct json_t *object,
                                  struct err *err)
{
    static const char task[] = "embed";
    const struct json_t *pooling = doc_member(object, "pooling");
    const char *name = doc_as_string(pooling);
    *out = (struct encoder_vector){.is_normalized_told = doc_member(object, "normalize") != NULL};
    out->is_asked =
        doc_member(object, "task") != NULL || pooling != NULL || out->is_normalized_told;
    if (doc_expect_string(object, "$", "task", task, err) ||
        doc_get_bool(object, "$", "normalize", &out->is_normalized, err))
        return err->code;
    out->pooling.include_prompt = true;
    out->is_pooler = name != NULL && strcmp(name, "pooler") == 0;
    if (pooling == NULL || out->is_pooler)
        return ERR_OK;
    return sentence_pooling_read(&out->pooling, pooling, "$.pooling", err);
}

void encoder_vector_make(struct sentence_modules *out, const struct sentence_pooling *pooling,
                         bool is_normalized, unsigned hidden, unsigned width)
{
    *out = (struct sentence_modules){.transformer_path = "",
                                     .transformer_dir = "",
                                     .hidden = hidden,
                                     .pooling = *pooling,
                                     .width = width};
    if (is_normalized)
        out->steps[out->step_count++] =
            (struct sentence_step){.kind = SENTENCE_NORMALIZE, .path = "", .dir = ""};
}
