#include "learn/train/network/network_state.h"

#include <string.h>

static bool has_stages(const struct network *network)
{
    return network->parameters->spec.stages != NULL;
}

static struct network_stage *stage_of(const struct network *network, unsigned layer)
{
    return &network->stages[spec_stage_of(&network->parameters->spec, layer)];
}

/* True if patches are merged in front of the layer. */
static bool merges(const struct network *network, unsigned layer)
{
    return has_stages(network) && layer > 0 &&
           layer == spec_first_layer(&stage_of(network, layer)->spec);
}

/* ---- open ---- */

enum err_code network_stages_open(struct network *network, struct err *err)
{
    const struct spec *spec = &network->parameters->spec;
    const unsigned count = spec_stages(spec);
    network->spec = spec;
    network->tokens_max = network->options.tokens_max;
    if (!has_stages(network))
        return ERR_OK;
    const unsigned images = network->options.tokens_max / spec->patches;
    network->stages = arena_alloc_array(&network->arena, count, sizeof *network->stages);
    if (network->stages == NULL)
        return err_no_memory(err, count * sizeof *network->stages);
    for (unsigned i = 0; i < count; i++) {
        struct network_stage *stage = &network->stages[i];
        stage->spec = spec_at(spec, i);
        stage->tokens_max = i > 0 ? images * stage->spec.patches : network->options.tokens_max;
        if (patch_windows_open(&stage->windows, &stage->spec, &network->arena, err))
            return err->code;
    }
    network->spec = &network->stages[0].spec;
    return ERR_OK;
}

void network_stages_select(struct network *network, unsigned layer)
{
    if (!has_stages(network))
        return;
    const struct network_stage *stage = stage_of(network, layer);
    network->spec = &stage->spec;
    network->tokens_max = stage->tokens_max;
    network_memory_shape(network);
}

enum err_code network_stages_open_merging(struct network *network, unsigned layer, struct err *err)
{
    if (!merges(network, layer))
        return ERR_OK;
    struct network_stage *stage = stage_of(network, layer);
    const struct parameters_layer *map = &network->parameters->map.layers[layer - 1];
    const bool is_learnt = network_block_learns(network, layer - 1);
    const size_t width = 2 * (size_t)stage->spec.hidden;
    stage->norm = (struct network_norm){map->merge_gamma, map->merge_beta, is_learnt,
                                        spec_embedding_eps(&stage->spec)};
    stage->merge = (struct network_linear){.weight = map->merge_weight,
                                           .bias = SIZE_MAX,
                                           .in = width,
                                           .out = stage->spec.hidden,
                                           .precision = network->options.precision,
                                           .learns_weight = is_learnt};
    stage->four = network_memory_rows(network, width, err);
    stage->normed = network_memory_rows(network, width, err);
    stage->dfour = network_memory_rows(network, width, err);
    stage->dnormed = network_memory_rows(network, width, err);
    return err->code != ERR_OK ? err->code : network_linear_open(network, &stage->merge, err);
}

void network_stages_pack_merging(struct network *network, unsigned layer)
{
    if (merges(network, layer))
        network_linear_pack(network, &stage_of(network, layer)->merge);
}

const unsigned *network_stages_move(const struct network *network, unsigned layer)
{
    return has_stages(network) ? patch_windows_move(&stage_of(network, layer)->windows, layer)
                               : NULL;
}

/* ---- sequences ---- */

/* Cuts the batch's inputs into sequences of `each` tokens; all tokens are kept. */
static void cut(struct network *network, unsigned each)
{
    network->tokens = network->inputs * network->spec->patches;
    network->rows = network->tokens / each;
    for (unsigned r = 0; r <= network->rows; r++)
        network->offset[r] = network->kept_first[r] = r * each;
    network->kept_count = network->tokens;
}

static void cut_windows(struct network *network)
{
    cut(network, (unsigned)spec_sequence(network->spec));
}

void network_stages_leave(struct network *network)
{
    if (has_stages(network))
        cut(network, network->spec->patches);
}

void network_stages_return(struct network *network)
{
    if (has_stages(network))
        cut_windows(network);
}

/* ---- merging ---- */

struct merging {
    struct network *network;
    const struct network_stage *below, *above;
    struct matrix rows, four;
    bool is_backward;
};

/* Forward: row p of `four` <- four rows, concatenated. Backward: the four rows <- their parts. */
static void copy_four(void *context, unsigned index, unsigned count)
{
    const struct merging *merging = context;
    const struct spec *below = &merging->below->spec, *above = &merging->above->spec;
    const size_t width = below->hidden;
    const size_t patches = (size_t)merging->network->inputs * above->patches;
    const size_t last = share_begin(patches, 1, index + 1, count);
    for (size_t p = share_begin(patches, 1, index, count); p < last; p++)
        for (unsigned part = 0; part < 4; part++) {
            const size_t image = p / above->patches * below->patches;
            const size_t row = image + patch_windows_merged(below, &merging->below->windows,
                                                            (unsigned)(p % above->patches), part);
            float *one = merging->rows.x + row * merging->rows.stride;
            float *four = merging->four.x + p * merging->four.stride + part * width;
            memcpy(merging->is_backward ? one : four, merging->is_backward ? four : one,
                   width * sizeof *one);
        }
}

static void merge(struct network *network, unsigned layer)
{
    struct network_stage *above = stage_of(network, layer), *below = above - 1;
    struct merging merging = {network,     below, above, network->blocks[layer - 1].out,
                              above->four, false};
    thread_pool_run(network->pool, copy_four, &merging);
    const size_t rows = (size_t)network->inputs * above->spec.patches;
    network_rows_norm(network, &above->norm, above->normed, above->four, rows);
    network_linear_forward(network, &above->merge, network->blocks[layer].in, above->normed, NULL,
                           rows);
}

/* network->d, the gradient of the layer's `in`, becomes that of the `out` of the layer below. */
static void merge_backward(struct network *network, unsigned layer)
{
    struct network_stage *above = stage_of(network, layer), *below = above - 1;
    const size_t rows = (size_t)network->inputs * above->spec.patches;
    network_linear_backward(network, &above->merge, &above->dnormed, network->d, above->normed,
                            NULL, rows);
    network_rows_norm_backward(network, &above->norm, above->dfour, above->dnormed, above->four,
                               NULL, rows);
    network_stages_select(network, layer - 1);
    cut_windows(network);
    struct merging merging = {network, below, above, network->d, above->dfour, true};
    thread_pool_run(network->pool, copy_four, &merging);
}

/* ---- a layer ---- */

void network_stages_enter(struct network *network, unsigned layer)
{
    if (!has_stages(network))
        return;
    const struct network_block *block = &network->blocks[layer];
    const unsigned *from = network_stages_move(network, layer);
    network_stages_select(network, layer);
    if (merges(network, layer))
        merge(network, layer);
    cut_windows(network);
    if (from != NULL)
        network_rows_move(network, block->x, block->in, from, network->spec->patches, false);
}

void network_stages_backward(struct network *network, unsigned layer)
{
    if (!has_stages(network))
        return;
    const unsigned *from = network_stages_move(network, layer);
    if (from != NULL) {
        const struct matrix moved = network->d;
        network_rows_move(network, network->e, moved, from, network->spec->patches, true);
        network->d = network->e;
        network->e = moved;
    }
    if (merges(network, layer))
        merge_backward(network, layer);
}
