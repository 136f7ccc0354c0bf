/* network_embed.c - see network_state.h. The patches of all images are multiplied in one product.
 * Learnt tokens have rows of zeros in it, so that their gradients add nothing to the patch weights.
 * Gradients of tables are sums over tokens: each member of the pool sums some of the columns. */
#include "learn/train/network/network_state.h"

#include "engine/model/embed.h"
#include "engine/model/positions.h"

#include <string.h>

enum { COLUMNS_UNIT = 16 };

struct embedding {
    struct network *network;
    const struct engine_input *const *inputs;
    struct matrix x;
};

static bool is_text(const struct network *network)
{
    return network->spec->family->kind == ENGINE_TEXT;
}

/* True for texts and for images with windows. */
static bool has_norm(const struct network *network)
{
    return network->parameters->map.embedding_gamma != SIZE_MAX;
}

static enum err_code open_projection(struct network *network, struct err *err)
{
    const struct parameters_map *map = &network->parameters->map;
    size_t width = spec_embedding(network->spec);
    bool is_learnt = network->options.frozen_depth == 0;
    network->project = (struct network_linear){.weight = map->project_weight,
                                               .bias = map->project_bias,
                                               .in = width,
                                               .out = network->spec->hidden,
                                               .precision = PRECISION_F32,
                                               .learns_weight = is_learnt,
                                               .learns_bias = is_learnt};
    network->unprojected = network_memory_rows(network, width, err);
    network->dunprojected = network_memory_rows(network, width, err);
    network->dembedded = network_memory_rows(network, width, err);
    return err->code != ERR_OK ? err->code : network_linear_open(network, &network->project, err);
}

/* Makes the positions that the family computes; they are not learnt. */
static enum err_code open_positions(struct network *network, struct err *err)
{
    const struct spec *spec = network->spec;
    const size_t width = spec_embedding(spec);
    if (spec->family->kind != ENGINE_TEXT || spec->family->position_table == POSITIONS_LEARNT)
        return ERR_OK;
    network->positions =
        arena_alloc_array(&network->arena, spec->positions, width * sizeof *network->positions);
    if (network->positions == NULL)
        return err_no_memory(err, spec->positions * width * sizeof *network->positions);
    if (spec->family->position_table == POSITIONS_SINES)
        positions_sines(network->positions, spec->positions, width);
    else
        positions_sines_fairseq(network->positions, spec->positions, width, spec->pad_id);
    return ERR_OK;
}

enum err_code network_embed_open(struct network *network, struct err *err)
{
    const struct spec *spec = network->spec;
    if (open_positions(network, err))
        return err->code;
    const struct parameters_map *map = &network->parameters->map;
    bool is_learnt = network->options.frozen_depth == 0;
    network->embedding_norm = (struct network_norm){map->embedding_gamma, map->embedding_beta,
                                                    is_learnt, spec_embedding_eps(spec)};
    if (has_norm(network))
        network->embedded = network_memory_rows(network, spec_embedding(spec), err);
    if (is_text(network)) {
        return spec_projects(spec) ? open_projection(network, err) : err->code;
    }
    size_t in = spec->channels * extent_area(spec->patch);
    network->patch = (struct network_linear){.weight = map->patch_weight,
                                             .bias = map->patch_bias,
                                             .in = in,
                                             .out = spec->hidden,
                                             .precision = PRECISION_F32,
                                             .learns_weight = is_learnt};
    network->patches = network_memory_rows(network, in, err);
    return err->code != ERR_OK ? err->code : network_linear_open(network, &network->patch, err);
}

void network_embed_pack(struct network *network)
{
    if (!is_text(network))
        network_linear_pack(network, &network->patch);
    else if (spec_projects(network->spec))
        network_linear_pack(network, &network->project);
}

/* ---- forward ---- */

static void add(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

static void run_shares(struct embedding *embedding,
                       void (*share)(void *context, unsigned index, unsigned count))
{
    thread_pool_run(embedding->network->pool, share, embedding);
}

void network_embed_list(struct network *network, const struct engine_input *input, unsigned first)
{
    unsigned counted = 0;
    for (unsigned t = 0; t < input->tokens; t++) {
        network->ids[first + t] = input->ids[t];
        network->types[first + t] = input->types != NULL ? input->types[t] : 0;
        network->places[first + t] = position_next(network->spec, input->ids[t], &counted);
    }
}

static size_t type_at(const struct network *network, size_t t)
{
    return network->parameters->map.token_type + network->types[t] * spec_embedding(network->spec);
}

static void look_up_words(void *context, unsigned index, unsigned count)
{
    const struct embedding *embedding = context;
    const struct network *network = embedding->network;
    const struct parameters_map *map = &network->parameters->map;
    const float *values = network->values, scale = network->spec->embedding_scale;
    size_t width = spec_embedding(network->spec);
    size_t last = share_begin(network->tokens, 1, index + 1, count);
    for (size_t t = share_begin(network->tokens, 1, index, count); t < last; t++) {
        float *row = embedding->x.x + t * embedding->x.stride;
        memcpy(row, values + map->word + (size_t)network->ids[t] * width, width * sizeof *row);
        for (size_t i = 0; scale > 0 && i < width; i++)
            row[i] *= scale;
        if (network->positions != NULL)
            add(row, network->positions + network->places[t] * width, width);
        if (map->position != SIZE_MAX)
            add(row, values + map->position + network->places[t] * width, width);
        if (map->token_type != SIZE_MAX)
            add(row, values + type_at(network, t), width);
    }
}

static void copy_patches(void *context, unsigned index, unsigned count)
{
    const struct embedding *embedding = context;
    const struct network *network = embedding->network;
    size_t specials = spec_image_specials(network->spec), width = network->patches.width;
    size_t last = share_begin(network->rows, 1, index + 1, count);
    for (size_t r = share_begin(network->rows, 1, index, count); r < last; r++) {
        const float *patches = embedding->inputs[r]->patches;
        for (size_t t = network->offset[r]; t < network->offset[r + 1]; t++) {
            float *row = network->patches.x + t * network->patches.stride;
            size_t place = network->places[t];
            if (place < specials)
                memset(row, 0, width * sizeof *row);
            else
                memcpy(row, patches + (place - specials) * width, width * sizeof *row);
        }
    }
}

static size_t learnt_token(const struct network *network, size_t place)
{
    const struct parameters_map *map = &network->parameters->map;
    size_t placed = network->spec->family->image_specials;
    if (place >= placed)
        return map->registers + (place - placed) * network->spec->hidden;
    return place == 0 ? map->cls_token : map->distillation_token;
}

/* Offset of a token's position embedding. SIZE_MAX: none, for registers and for families without
 * position embeddings. */
static size_t position_of(const struct network *network, size_t place)
{
    size_t table = network->parameters->map.position, registers = network->spec->registers;
    size_t placed = network->spec->family->image_specials;
    if (table == SIZE_MAX || (place >= placed && place < placed + registers))
        return SIZE_MAX;
    return table + (place < placed ? place : place - registers) * network->spec->hidden;
}

static void add_positions(void *context, unsigned index, unsigned count)
{
    const struct embedding *embedding = context;
    const struct network *network = embedding->network;
    const struct spec *spec = network->spec;
    size_t width = spec->hidden, last = share_begin(network->tokens, 1, index + 1, count);
    for (size_t t = share_begin(network->tokens, 1, index, count); t < last; t++) {
        float *row = embedding->x.x + t * embedding->x.stride;
        size_t place = network->places[t], position = position_of(network, place);
        if (place < spec_image_specials(spec))
            memcpy(row, network->values + learnt_token(network, place), width * sizeof *row);
        if (position != SIZE_MAX)
            add(row, network->values + position, width);
    }
}

static void drop(struct network *network, struct matrix x)
{
    if (network_rows_drops(network, NETWORK_SITE_EMBEDDING))
        network_rows_dropout(network, NETWORK_SITE_EMBEDDING, 0, x, x, NULL, network->tokens);
}

static void text_forward(struct embedding *embedding)
{
    struct network *network = embedding->network;
    struct matrix x = embedding->x;
    bool projects = spec_projects(network->spec);
    struct matrix normed = projects ? network->unprojected : x;
    embedding->x = has_norm(network) ? network->embedded : normed;
    run_shares(embedding, look_up_words);
    if (has_norm(network))
        network_rows_norm(network, &network->embedding_norm, normed, network->embedded,
                          network->tokens);
    drop(network, normed);
    if (projects)
        network_linear_forward(network, &network->project, x, normed, NULL, network->tokens);
}

void network_embed_forward(struct network *network, const struct engine_input *const *inputs,
                           struct matrix x)
{
    struct embedding embedding = {network, inputs, x};
    if (is_text(network)) {
        text_forward(&embedding);
        return;
    }
    run_shares(&embedding, copy_patches);
    embedding.x = has_norm(network) ? network->embedded : x;
    network_linear_forward(network, &network->patch, embedding.x, network->patches, NULL,
                           network->tokens);
    run_shares(&embedding, add_positions);
    if (has_norm(network))
        network_rows_norm(network, &network->embedding_norm, x, embedding.x, network->tokens);
    drop(network, x);
}

/* ---- backward ---- */

static void add_scaled(float *y, const float *x, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += scale * x[i];
}

static void add_word_gradients(void *context, unsigned index, unsigned count)
{
    const struct embedding *embedding = context;
    const struct network *network = embedding->network;
    const struct parameters_map *map = &network->parameters->map;
    const float scale = network->spec->embedding_scale;
    float *gradient = network->gradient;
    size_t width = spec_embedding(network->spec);
    size_t first = share_begin(width, COLUMNS_UNIT, index, count);
    size_t columns = share_begin(width, COLUMNS_UNIT, index + 1, count) - first;
    for (size_t t = 0; t < network->tokens; t++) {
        const float *d = embedding->x.x + t * embedding->x.stride + first;
        /* The lookups of some families do not teach the pad's word. */
        const struct spec *spec = network->spec;
        if (!spec->family->pads_words || network->ids[t] != (int32_t)spec->pad_id)
            add_scaled(gradient + map->word + (size_t)network->ids[t] * width + first, d,
                       scale > 0 ? scale : 1, columns);
        if (map->position != SIZE_MAX)
            add(gradient + map->position + network->places[t] * width + first, d, columns);
        if (map->token_type != SIZE_MAX)
            add(gradient + type_at(network, t) + first, d, columns);
    }
}

static void add_image_gradients(void *context, unsigned index, unsigned count)
{
    const struct embedding *embedding = context;
    const struct network *network = embedding->network;
    const struct parameters_map *map = &network->parameters->map;
    size_t width = network->spec->hidden, specials = spec_image_specials(network->spec);
    size_t first = share_begin(width, COLUMNS_UNIT, index, count);
    size_t columns = share_begin(width, COLUMNS_UNIT, index + 1, count) - first;
    float *gradient = network->gradient + first;
    for (size_t t = 0; t < network->tokens; t++) {
        const float *d = embedding->x.x + t * embedding->x.stride + first;
        size_t place = network->places[t], position = position_of(network, place);
        if (position != SIZE_MAX)
            add(gradient + position, d, columns);
        add(gradient + (place < specials ? learnt_token(network, place) : map->patch_bias), d,
            columns);
    }
}

static void text_backward(struct network *network)
{
    bool projects = spec_projects(network->spec);
    struct matrix d = projects ? network->dunprojected : network->d;
    struct matrix dembedded = projects ? network->dembedded : network->e;
    struct embedding embedding = {.network = network, .x = has_norm(network) ? dembedded : d};
    if (projects)
        network_linear_backward(network, &network->project, &d, network->d, network->unprojected,
                                NULL, network->tokens);
    drop(network, d);
    if (has_norm(network))
        network_rows_norm_backward(network, &network->embedding_norm, dembedded, d,
                                   network->embedded, NULL, network->tokens);
    run_shares(&embedding, add_word_gradients);
}

void network_embed_backward(struct network *network)
{
    struct embedding embedding = {.network = network, .x = network->d};
    if (is_text(network)) {
        text_backward(network);
        return;
    }
    drop(network, network->d);
    if (has_norm(network)) {
        embedding.x = network->e;
        network_rows_norm_backward(network, &network->embedding_norm, network->e, network->d,
                                   network->embedded, NULL, network->tokens);
    }
    network_linear_backward(network, &network->patch, NULL, embedding.x, network->patches, NULL,
                            network->tokens);
    run_shares(&embedding, add_image_gradients);
}
