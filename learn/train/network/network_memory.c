#include "learn/train/network/network_memory.h"

#include "learn/train/network/network_attention.h"

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct matrix take(struct network *network, size_t width, size_t stride, struct err *err)
{
    size_t rows = network->options.tokens_max;
    struct matrix matrix = {.stride = stride, .width = width};
    if (err->code != ERR_OK)
        return (struct matrix){0};
    if (stride <= SIZE_MAX / 8 / rows)
        matrix.x = arena_alloc(&network->arena, rows * stride * sizeof *matrix.x);
    if (matrix.x == NULL) {
        err_no_memory(err, stride * sizeof *matrix.x);
        return (struct matrix){0};
    }
    return matrix;
}

struct matrix network_memory_rows(struct network *network, size_t width, struct err *err)
{
    return take(network, width, operand_stride(width, sizeof(float)) / sizeof(float), err);
}

struct matrix network_memory_dense(struct network *network, size_t width, struct err *err)
{
    return take(network, width, width, err);
}

static enum err_code open_lists(struct network *network, struct err *err)
{
    struct arena *arena = &network->arena;
    size_t tokens = network->options.tokens_max, heads = network->spec->heads;
    size_t widest = larger(spec_features(network->spec), spec_embedding(network->spec));
    network->attention_floats = network_attention_floats(network);
    network->offset = arena_alloc_array(arena, tokens + 1, sizeof *network->offset);
    network->input_first = arena_alloc_array(arena, tokens + 1, sizeof *network->input_first);
    network->kept = arena_alloc_array(arena, tokens, sizeof *network->kept);
    network->kept_first = arena_alloc_array(arena, tokens + 1, sizeof *network->kept_first);
    network->ids = arena_alloc_array(arena, tokens, sizeof *network->ids);
    network->types = arena_alloc_array(arena, tokens, sizeof *network->types);
    network->places = arena_alloc_array(arena, tokens, sizeof *network->places);
    network->stats = arena_alloc_array(arena, 2 * tokens, sizeof *network->stats);
    network->no_beta = arena_alloc_array(arena, widest, sizeof *network->no_beta);
    network->no_dbeta = arena_alloc_array(arena, widest, sizeof *network->no_dbeta);
    network->penalties = arena_alloc_array(arena, tokens * heads, sizeof *network->penalties);
    network->attention_scratch =
        arena_alloc_array(arena, network->attention_floats * network->options.threads,
                          sizeof *network->attention_scratch);
    network->gradient =
        arena_alloc_array(arena, network->parameters->numbers, sizeof *network->gradient);
    if (network->offset == NULL || network->input_first == NULL || network->kept == NULL ||
        network->kept_first == NULL || network->ids == NULL || network->types == NULL ||
        network->places == NULL || network->stats == NULL || network->no_beta == NULL ||
        network->no_dbeta == NULL || network->penalties == NULL ||
        network->attention_scratch == NULL || network->gradient == NULL)
        return err_no_memory(err, network->parameters->numbers * sizeof *network->gradient);
    return ERR_OK;
}

/* Room for the largest product of a precision: inputs [T, in], gradients [T, out] transposed. */
static enum err_code open_buffers(struct network *network, enum precision precision, size_t in,
                                  size_t out, struct err *err)
{
    struct network_buffers *buffers = &network->buffers[precision];
    size_t tokens = network->options.tokens_max, unit = GEMM_COLUMNS;
    size_t padded_tokens = (tokens + unit - 1) / unit * unit;
    size_t panels = padded_tokens * ((in + unit - 1) / unit * unit);
    size_t widest = larger(in, out);
    if (rows_alloc(&buffers->operand, &network->arena, precision, tokens, widest, err) ||
        rows_alloc(&buffers->transposed, &network->arena, precision, out, tokens, err))
        return err->code;
    return panels_alloc(&buffers->panels, &network->arena, gemm_best(precision), panels, err);
}

static enum err_code open_scratch(struct network *network, struct err *err)
{
    size_t hidden = network->spec->hidden;
    network->d = network_memory_rows(network, hidden, err);
    network->e = network_memory_rows(network, hidden, err);
    network->f = network_memory_rows(network, hidden, err);
    network->g = network_memory_rows(network, hidden, err);
    network->dqkv = network_memory_rows(network, 3 * hidden, err);
    network->dquery = network_memory_rows(network, hidden, err);
    network->du = network_memory_rows(network, network->spec->intermediate, err);
    if (network->spec->is_gated)
        network->dgate = network_memory_rows(network, 2 * (size_t)network->spec->intermediate, err);
    return err->code;
}

enum err_code network_memory_open(struct network *network, struct err *err)
{
    const struct spec *spec = network->spec;
    size_t mlp = (spec->is_gated ? 2 : 1) * (size_t)spec->intermediate;
    size_t hidden = spec->hidden, widest = larger(3 * hidden, mlp);
    size_t features = spec_features(spec);
    size_t patch = (size_t)spec->channels * spec->patch * spec->patch;
    size_t labels = larger(spec->label_count, spec->vocab_size);
    patch = larger(patch, spec_embedding(spec)); /* what fp32 layers read beside hidden states */
    labels = larger(labels, spec_embedding(spec));
    enum precision precision = network->options.precision;
    if (open_lists(network, err) || open_scratch(network, err))
        return err->code;
    if (precision != PRECISION_F32)
        return open_buffers(network, PRECISION_F32, larger(features, patch), larger(hidden, labels),
                            err) ||
                       open_buffers(network, precision, widest, widest, err)
                   ? err->code
                   : ERR_OK;
    return open_buffers(network, PRECISION_F32, larger(widest, patch), larger(widest, labels), err);
}
