#include "engine/tensor/gemm/operand.h"

#include <math.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* Steps from a row's smallest to its largest number: a little less than 254, so that the roundings
 * of the two ends and of the zero between them do not leave the byte. */
#define STEPS 253.99f

static const struct {
    const char *name;
    size_t bytes;
} precisions[PRECISION_COUNT] = {{"f32", 4}, {"bf16", 2}, {"int8", 1}};

const char *precision_name(enum precision precision)
{
    return precisions[precision].name;
}

bool precision_find(const char *name, enum precision *out)
{
    for (unsigned i = 0; i < PRECISION_COUNT; i++)
        if (strcmp(precisions[i].name, name) == 0) {
            *out = (enum precision)i;
            return true;
        }
    return false;
}

size_t precision_bytes(enum precision precision)
{
    return precisions[precision].bytes;
}

size_t operand_stride(size_t width, size_t bytes)
{
    size_t lines = (width * bytes + CACHE_LINE - 1) / CACHE_LINE;
    return (lines | 1) * CACHE_LINE;
}

enum err_code operand_alloc(struct operand *out, struct arena *arena, enum precision precision,
                            size_t rows, size_t width, struct err *err)
{
    size_t stride = operand_stride(width, precision_bytes(precision));
    *out = (struct operand){.precision = precision, .stride = stride};
    out->data = arena_alloc_array(arena, rows, stride);
    if (precision == PRECISION_INT8) {
        out->scale = arena_alloc_array(arena, rows, sizeof *out->scale);
        out->zero = arena_alloc_array(arena, rows, sizeof *out->zero);
    }
    if (out->data == NULL ||
        (precision == PRECISION_INT8 && (out->scale == NULL || out->zero == NULL)))
        return err_no_memory(err, rows * stride);
    return ERR_OK;
}

size_t operand_parts_stride(size_t width)
{
    const size_t steps = (width + OPERAND_STEP - 1) / OPERAND_STEP;
    return operand_stride(steps * OPERAND_STEP * OPERAND_PARTS, sizeof(uint16_t));
}

enum err_code operand_alloc_parts(struct operand *out, struct arena *arena, size_t rows,
                                  size_t width, struct err *err)
{
    *out = (struct operand){.in_parts = true, .stride = operand_parts_stride(width)};
    out->data = arena_alloc_array(arena, rows, out->stride);
    return out->data != NULL ? ERR_OK : err_no_memory(err, rows * out->stride);
}

struct operand operand_from(const struct operand *operand, size_t first)
{
    struct operand rest = *operand;
    rest.data = (char *)operand->data + first * operand->stride;
    if (rest.scale != NULL) {
        rest.scale += first;
        rest.zero += first;
    }
    return rest;
}

void operand_store(const struct operand *operand, const struct kernels *kernels, size_t row,
                   const float *x, size_t width)
{
    void *out = (char *)operand->data + row * operand->stride;
    float low, high, inverse;
    switch (operand->precision) {
    case PRECISION_BF16:
        kernels->round_bf16(out, x, width);
        break;
    case PRECISION_INT8:
        kernels->range(&low, &high, x, width);
        operand->scale[row] = high / STEPS - low / STEPS;
        inverse = operand->scale[row] > 0 ? 1 / operand->scale[row] : 0;
        operand->zero[row] = inverse > 0 ? (int)lrintf(-low * inverse) - 127 : 0;
        kernels->quantize(out, x, width, inverse, operand->zero[row]);
        break;
    default:
        if (operand->in_parts)
            kernels->cut_f32(out, x, width);
        else if (out != x)
            memcpy(out, x, width * sizeof *x);
    }
}
