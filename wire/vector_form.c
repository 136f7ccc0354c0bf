#include "wire/vector_form.h"

#include <math.h>
#include <string.h>

static const char *const names[VECTOR_ENCODINGS] = {
    [VECTOR_FLOAT] = "float", [VECTOR_BASE64] = "base64", [VECTOR_INT8] = "int8",
    [VECTOR_UINT8] = "uint8", [VECTOR_BINARY] = "binary", [VECTOR_UBINARY] = "ubinary",
};

static const char *const chunks_names[] = {
    [VECTORS_ONE] = NULL, [VECTORS_TOKENS] = "tokens", [VECTORS_LINES] = "lines"};

static bool is_name(const char *name, const char *bytes, size_t len)
{
    return name != NULL && strlen(name) == len && memcmp(name, bytes, len) == 0;
}

bool vector_encoding_find(const char *name, size_t len, enum vector_encoding *out)
{
    for (int i = 0; i < VECTOR_ENCODINGS; i++)
        if (is_name(names[i], name, len)) {
            *out = (enum vector_encoding)i;
            return true;
        }
    return false;
}

const char *vector_encoding_name(enum vector_encoding encoding)
{
    return names[encoding];
}

bool vector_chunks_find(const char *name, size_t len, enum engine_vectors *out)
{
    for (int i = 0; i <= VECTORS_LINES; i++)
        if (is_name(chunks_names[i], name, len)) {
            *out = (enum engine_vectors)i;
            return true;
        }
    return false;
}

const char *vector_chunks_name(enum engine_vectors chunks)
{
    return chunks_names[chunks];
}

static bool has_range(enum vector_encoding encoding)
{
    return encoding == VECTOR_INT8 || encoding == VECTOR_UINT8;
}

static bool has_bits(enum vector_encoding encoding)
{
    return encoding == VECTOR_BINARY || encoding == VECTOR_UBINARY;
}

enum err_code vector_form_check(const struct vector_form *form, const struct engine_info *info,
                                struct err *err)
{
    if (info->task != ENGINE_EMBED) {
        if (form->dimensions == 0 && form->encoding == VECTOR_FLOAT && !form->is_scaled)
            return ERR_OK;
        return err_set(err, ERR_UNUSABLE,
                       "dimensions, encoding, normalize: the model answers no vectors");
    }
    if (form->chunks == VECTORS_TOKENS &&
        (form->dimensions > 0 || form->is_scaled || form->encoding > VECTOR_BASE64))
        return err_set(err, ERR_UNUSABLE,
                       "chunks: the states of tokens are neither cut nor scaled nor rounded: "
                       "\"tokens\" takes no dimensions, no normalize, and of encoding float or "
                       "base64");
    if (form->dimensions > info->vector_size)
        return err_set(err, ERR_UNUSABLE,
                       "dimensions: the model's vectors have %u numbers, %u are asked for",
                       info->vector_size, form->dimensions);
    if (has_range(form->encoding) && info->vector_least == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "encoding: %s needs a range for each number, and the model's attnd.json "
                       "has no \"ranges\"",
                       names[form->encoding]);
    if (has_range(form->encoding) && form->is_scaled)
        return err_set(err, ERR_UNUSABLE,
                       "encoding: the ranges for %s are of vectors as the model gives them, "
                       "without \"normalize\"",
                       names[form->encoding]);
    return ERR_OK;
}

unsigned vector_form_size(const struct vector_form *form, const struct engine_info *info)
{
    return form->dimensions > 0 ? form->dimensions : info->vector_size;
}

unsigned vector_form_count(const struct vector_form *form, const struct engine_info *info)
{
    const unsigned size = vector_form_size(form, info);
    return has_bits(form->encoding) ? (size + 7) / 8 : size;
}

void vector_form_scale(const struct vector_form *form, const struct engine_info *info,
                       const struct engine_input *input, struct engine_result *result)
{
    const unsigned size = vector_form_size(form, info);
    if (!form->is_scaled || result->vector == NULL)
        return;
    engine_normalize(result->vector, size);
    for (unsigned i = 0; i < input->part_count; i++)
        engine_normalize(result->rows + (size_t)i * input->row_size, size);
}

static int quantized(float number, float least, float largest)
{
    const float range = (largest - least) / 255, step = range == 0 ? 1 : range;
    const float level = floorf((number - least) / step);
    return level < 0 ? 0 : level > 255 ? 255 : (int)level;
}

int vector_form_integer(const struct vector_form *form, const struct engine_info *info,
                        const float *vector, unsigned index)
{
    const unsigned size = vector_form_size(form, info);
    const bool is_signed = form->encoding == VECTOR_INT8 || form->encoding == VECTOR_BINARY;
    int number = 0;
    if (has_range(form->encoding))
        number = quantized(vector[index], info->vector_least[index], info->vector_largest[index]);
    else
        for (unsigned bit = 0; bit < 8; bit++) {
            const unsigned at = 8 * index + bit;
            number = 2 * number + (at < size && vector[at] > 0);
        }
    return is_signed ? number - 128 : number;
}
