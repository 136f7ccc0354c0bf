#include "learn/train/network/network_state.h"

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct matrix take(struct network *network, size_t rows, size_t width, size_t stride,
                          struct err *err)
{
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

struct matrix network_memory_matrix(struct network *network, size_t rows, size_t width,
                                    struct err *err)
{
    return take(network, rows, width, operand_stride(width, sizeof(float)) / sizeof(float), err);
}

struct matrix network_memory_rows(struct network *network, size_t width, struct err *err)
{
    return network_memory_matrix(network, network->tokens_max, width, err);
}

struct matrix network_memory_dense(struct network *network, size_t width, struct err *err)
{
    return take(network, network->tokens_max, width, width, err);
}

/* Rows of the largest matrix that is multiplied or normalised. */
static size_t rows_max(const struct network *network)
{
    return larger(network->options.tokens_max, 2 * (size_t)network->spec->disentangled.span);
}

static unsigned stage_count(const struct network *network)
{
    return spec_stages(&network->parameters->spec);
}

/* A stage's spec, and the most tokens it has. */
static const struct spec *stage_at(const struct network *network, unsigned i, size_t *tokens)
{
    *tokens = network->stages != NULL ? network->stages[i].tokens_max : network->options.tokens_max;
    return network->stages != NULL ? &network->stages[i].spec : network->spec;
}

static enum err_code open_lists(struct network *network, struct err *err)
{
    struct arena *arena = &network->arena;
    size_t tokens = network->options.tokens_max, heads = 0, unused;
    size_t widest = larger(spec_features(network->spec), spec_embedding(network->spec));
    for (unsigned i = 0; i < stage_count(network); i++)
        heads = larger(heads, stage_at(network, i, &unused)->heads);
    network->attention_floats = network_attention_floats(network);
    network->offset = arena_alloc_array(arena, tokens + 1, sizeof *network->offset);
    network->input_first = arena_alloc_array(arena, tokens + 1, sizeof *network->input_first);
    network->kept = arena_alloc_array(arena, tokens, sizeof *network->kept);
    network->kept_first = arena_alloc_array(arena, tokens + 1, sizeof *network->kept_first);
    network->ids = arena_alloc_array(arena, tokens, sizeof *network->ids);
    network->types = arena_alloc_array(arena, tokens, sizeof *network->types);
    network->places = arena_alloc_array(arena, tokens, sizeof *network->places);
    network->stats = arena_alloc_array(arena, 2 * rows_max(network), sizeof *network->stats);
    network->no_beta = arena_alloc_array(arena, widest, sizeof *network->no_beta);
    network->no_dbeta = arena_alloc_array(arena, widest, sizeof *network->no_dbeta);
    network->penalties = arena_alloc_array(arena, tokens * heads, sizeof *network->penalties);
    network->attention_scratch =
        arena_alloc_array(arena, network->attention_floats * network->options.threads,
                          sizeof *network->attention_scratch);
    if (network->source == NULL)
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

/* Memory for the largest product of a precision: inputs [T, in], gradients [T, out] transposed, of
 * which a piece of the tokens is multiplied at a time. */
static enum err_code open_buffers(struct network *network, enum precision precision, size_t tokens,
                                  size_t in, size_t out, struct err *err)
{
    struct network_buffers *buffers = &network->buffers[precision];
    size_t piece = tokens < NETWORK_PIECE_TOKENS ? tokens : NETWORK_PIECE_TOKENS;
    size_t panels = gemm_padded(piece) * gemm_padded(in);
    if (rows_alloc(&buffers->operand, &network->arena, precision, tokens, larger(in, out), err) ||
        rows_alloc(&buffers->transposed, &network->arena, precision, out, piece, err))
        return err->code;
    return panels_alloc(&buffers->panels, &network->arena, gemm_best(precision), panels, err);
}

/* The scratch `matrix` with another width, and with the stride that follows from it. */
static struct matrix shape(struct matrix matrix, size_t width)
{
    return (struct matrix){matrix.x, operand_stride(width, sizeof(float)) / sizeof(float), width};
}

/* Width of a token, or of its heads side by side if they are wider. */
static size_t widest_of(const struct spec *spec)
{
    return larger(spec->hidden, spec_heads_width(spec));
}

void network_memory_shape(struct network *network)
{
    size_t hidden = network->spec->hidden, intermediate = network->spec->intermediate;
    size_t heads = widest_of(network->spec);
    network->d = shape(network->d, hidden);
    network->e = shape(network->e, hidden);
    network->f = shape(network->f, hidden);
    network->g = shape(network->g, hidden);
    network->dqkv = shape(network->dqkv, 3 * heads);
    network->dquery = shape(network->dquery, heads);
    network->dcontext = shape(network->dcontext, heads);
    network->dkey_value = shape(network->dkey_value, 2 * heads);
    network->du = shape(network->du, intermediate);
    network->dgate = shape(network->dgate, 2 * intermediate);
}

/* Memory for rows of hidden x hidden_size + inner x intermediate_size floats, in the stage that
 * needs most. network_memory_shape sets the shape later. */
static float *take_scratch(struct network *network, size_t hidden, size_t inner, struct err *err)
{
    size_t floats = 0, tokens;
    for (unsigned i = 0; i < stage_count(network); i++) {
        const struct spec *spec = stage_at(network, i, &tokens);
        size_t width = hidden * widest_of(spec) + inner * spec->intermediate;
        floats = larger(floats, tokens * (operand_stride(width, sizeof(float)) / sizeof(float)));
    }
    float *x = arena_alloc(&network->arena, floats * sizeof *x);
    if (x == NULL)
        err_no_memory(err, floats * sizeof *x);
    return x;
}

static enum err_code open_scratch(struct network *network, struct err *err)
{
    network->d.x = take_scratch(network, 1, 0, err);
    network->e.x = take_scratch(network, 1, 0, err);
    network->f.x = take_scratch(network, 1, 0, err);
    network->g.x = take_scratch(network, 1, 0, err);
    network->dqkv.x = take_scratch(network, 3, 0, err);
    network->dquery.x = take_scratch(network, 1, 0, err);
    if (spec_heads_width(network->spec) > network->spec->hidden)
        network->dcontext.x = take_scratch(network, 1, 0, err);
    if (network->source != NULL)
        network->dkey_value.x = take_scratch(network, 2, 0, err);
    network->du.x = take_scratch(network, 0, 1, err);
    if (network->spec->is_gated)
        network->dgate.x = take_scratch(network, 0, 2, err);
    network_memory_shape(network);
    return err->code;
}

enum err_code network_memory_open(struct network *network, struct err *err)
{
    const struct spec *spec = network->spec, *whole = &network->parameters->spec;
    size_t widest = 0, most_tokens = rows_max(network), tokens;
    size_t hidden = larger(spec->hidden, whole->hidden), features = spec_features(whole);
    size_t patch = spec->channels * extent_area(spec->patch);
    size_t labels = larger(spec->label_count, spec->vocab_size);
    /* inputs and outputs of the products of a block and of the merging in front of it */
    for (unsigned i = 0; i < stage_count(network); i++) {
        const struct spec *stage = stage_at(network, i, &tokens);
        const size_t mlp_columns = (stage->is_gated ? 2 : 1) * (size_t)stage->intermediate;
        widest = larger(widest, larger(3 * widest_of(stage), mlp_columns));
    }
    widest = larger(widest, spec->source);
    if (whole->head == HEAD_STATES || whole->head == HEAD_WORDS)
        labels = 0; /* network_words.c multiplies its logits piece by piece, in fp32 */
    patch = larger(patch, spec_embedding(spec)); /* fp32 layers also read embeddings */
    labels = larger(labels, spec_embedding(spec));
    enum precision precision = network->options.precision;
    if (open_lists(network, err) || open_scratch(network, err))
        return err->code;
    if (precision != PRECISION_F32)
        return open_buffers(network, PRECISION_F32, most_tokens, larger(features, patch),
                            larger(hidden, labels), err) ||
                       open_buffers(network, precision, most_tokens, widest, widest, err)
                   ? err->code
                   : ERR_OK;
    return open_buffers(network, PRECISION_F32, most_tokens, larger(widest, patch),
                        larger(widest, labels), err);
}
