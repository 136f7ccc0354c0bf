/* network.c - see network.h. The parts are files of their own: network_embed, network_block
 * (network_attention in it), network_head; they share struct network (network_state.h), the linear
 * layer (network_linear) and the steps that work by rows (network_rows). */
#include "learn/train/network/network.h"

#include "engine/model/input.h"
#include "learn/train/network/network_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- open and close ---- */

static enum err_code check(const struct network_options *options, struct err *err)
{
    if (options->precision != PRECISION_F32 && options->precision != PRECISION_BF16)
        return err_set(err, ERR_UNSUPPORTED,
                       "training in %s is not supported (supported: f32, bf16)",
                       precision_name(options->precision));
    if (options->threads == 0 || options->tokens_max == 0)
        return err_set(err, ERR_UNSUPPORTED, "a network needs at least one thread and one token");
    return ERR_OK;
}

/* If the layer moves rows into windows, the block has an x of its own; else x is `in`. */
static void open_input(struct network *network, unsigned layer, struct err *err)
{
    struct network_block *block = &network->blocks[layer];
    bool is_first = layer == spec_first_layer(network->spec);
    block->in = is_first ? network_memory_rows(network, network->spec->hidden, err)
                         : network->blocks[layer - 1].out;
    block->x = network_stages_move(network, layer) != NULL
                   ? network_memory_rows(network, network->spec->hidden, err)
                   : block->in;
}

static enum err_code open_blocks(struct network *network, struct err *err)
{
    unsigned layers = network->spec->layers;
    network->blocks = arena_alloc_array(&network->arena, layers, sizeof *network->blocks);
    if (network->blocks == NULL)
        return err_no_memory(err, layers * sizeof *network->blocks);
    for (unsigned i = 0; i < layers && err->code == ERR_OK; i++) {
        network_stages_select(network, i);
        open_input(network, i, err);
        if (!network_stages_open_merging(network, i, err))
            network_block_open(network, &network->blocks[i], i, err);
    }
    return err->code;
}

/* Opens one side of a pair, or all of another model. `source`: the encoder of this decoder, whose
 * pool and gradient it uses; or NULL. */
static enum err_code open_side(struct network **out, const struct parameters *parameters,
                               const struct network_options *options, struct network *source,
                               struct err *err)
{
    *out = NULL;
    struct network *network = calloc(1, sizeof *network);
    if (network == NULL)
        return err_no_memory(err, sizeof *network);
    arena_init(&network->arena);
    network->parameters = parameters;
    network->options = *options;
    network->kernels = kernels_best();
    network->backward = backward_best();
    network->gemm = gemm_best(options->precision);
    network->source = source;
    network->pool = source != NULL ? source->pool : NULL;
    network->gradient = source != NULL ? source->gradient : NULL;
    if ((source == NULL && thread_pool_open(&network->pool, options->threads, err)) ||
        network_stages_open(network, err) || network_memory_open(network, err) ||
        network_attention_open(network, err) || network_rotary_open(network, err) ||
        network_relative_open(network, err) || network_global_open(network, err) ||
        network_embed_open(network, err) || open_blocks(network, err) ||
        network_head_open(network, err) || network_words_open(network, err) ||
        (parameters->target != NULL &&
         open_side(&network->target, parameters->target, options, network, err))) {
        network_close(network);
        return err->code;
    }
    *out = network;
    return ERR_OK;
}

enum err_code network_open(struct network **out, const struct parameters *parameters,
                           const struct network_options *options, struct err *err)
{
    *out = NULL;
    return check(options, err) ? err->code : open_side(out, parameters, options, NULL, err);
}

void network_close(struct network *network)
{
    if (network == NULL)
        return;
    network_close(network->target);
    if (network->pool != NULL && network->source == NULL)
        thread_pool_close(network->pool);
    arena_deinit(&network->arena);
    free(network);
}

void network_repack(struct network *network, const float *values)
{
    network->values = values;
    network_attention_pack(network);
    network_relative_pack(network);
    network_embed_pack(network);
    for (unsigned i = 0; i < network->spec->layers; i++) {
        network_stages_select(network, i);
        network_stages_pack_merging(network, i);
        network_block_pack(network, &network->blocks[i]);
    }
    network_head_pack(network);
    network_words_pack(network);
    if (network->target != NULL)
        network_repack(network->target, values);
}

/* ---- the micro-batch ---- */

static void add_row(struct network *network, const struct engine_input *window)
{
    const unsigned first = network->tokens;
    assert(window->tokens <= network->options.tokens_max - first);
    if (window->ids != NULL)
        network_embed_list(network, window, first);
    for (unsigned t = 0; window->ids == NULL && t < window->tokens; t++)
        network->places[first + t] = t;
    network->tokens += window->tokens;
    network->offset[++network->rows] = network->tokens;
}

static void list_tokens(struct network *network, const struct network_batch *batch)
{
    network->rows = network->tokens = network->offset[0] = 0;
    network->inputs = batch->rows;
    for (unsigned i = 0; i < batch->rows; i++) {
        network->input_first[i] = network->rows;
        for (unsigned w = 0; w < engine_input_windows(batch->inputs[i]); w++) {
            const struct engine_input window = engine_input_window(batch->inputs[i], w);
            add_row(network, &window);
        }
    }
    network->input_first[batch->rows] = network->rows;
}

/* Keeps the first tokens of each sequence, or all tokens if the head reads them all. */
static void keep_head_tokens(struct network *network)
{
    unsigned each = spec_head_tokens(network->spec);
    if (spec_head_reads_all(network->spec)) {
        memcpy(network->kept_first, network->offset, (network->rows + 1) * sizeof *network->offset);
        for (unsigned t = 0; t < network->tokens; t++)
            network->kept[t] = t;
        network->kept_count = network->tokens;
        return;
    }
    for (unsigned r = 0; r <= network->rows; r++)
        network->kept_first[r] = r * each;
    for (unsigned i = 0; i < network->rows * each; i++)
        network->kept[i] = network->offset[i / each] + i % each;
    network->kept_count = network->rows * each;
}

static void keep_listed(struct network *network, const struct network_batch *batch)
{
    unsigned i = 0;
    for (unsigned r = 0; r < network->rows; r++) {
        network->kept_first[r] = i;
        while (i < batch->kept_count && batch->kept[i] < network->offset[r + 1]) {
            assert(i == 0 || batch->kept[i - 1] < batch->kept[i]);
            network->kept[i] = batch->kept[i];
            i++;
        }
    }
    assert(i == batch->kept_count);
    network->kept_first[network->rows] = i;
    network->kept_count = i;
}

/* ---- passes ---- */

void network_forward(struct network *network, const struct network_batch *batch)
{
    network_stages_select(network, 0);
    list_tokens(network, batch);
    if (network->parameters->head == HEAD_MLM || network->parameters->head == HEAD_TAGS)
        keep_listed(network, batch);
    else
        keep_head_tokens(network);
    network->dropping = batch->training;
    network->dropout = batch->dropout;
    network->penalty = 0;
    network_embed_forward(network, batch->inputs, network->blocks[0].in);
    for (unsigned i = 0; i < network->spec->layers; i++) {
        network_stages_enter(network, i);
        network_block_forward(network, &network->blocks[i]);
    }
    network_stages_leave(network);
    network_head_forward(network);
    if (network->target != NULL)
        network_forward(network->target, &(struct network_batch){.inputs = batch->targets,
                                                                 .rows = batch->rows,
                                                                 .training = batch->training,
                                                                 .dropout = ~batch->dropout});
}

void network_words(struct network *network, const struct network_judge *judge, bool learns)
{
    network_words_run(network->target, judge, learns);
}

void network_backward(struct network *network, const float *dlogits, float share)
{
    if (network->target != NULL)
        network_backward(network->target, NULL, share);
    unsigned frozen = network->options.frozen_depth;
    unsigned lowest = 0; /* the first layer whose block learns; beyond the last if none does */
    network_head_backward(network, dlogits);
    while (lowest < network->spec->layers && !network_block_learns(network, lowest))
        lowest++;
    network_stages_return(network);
    for (unsigned i = network->spec->layers; i > lowest; i--) {
        network_block_backward(network, &network->blocks[i - 1], share);
        network_stages_backward(network, i - 1);
    }
    network_attention_unpack(network);
    network_relative_unpack(network);
    if (frozen == 0)
        network_embed_backward(network);
}

const float *network_logits(const struct network *network)
{
    return network->head.logits[0].x;
}

float *network_gradient(struct network *network)
{
    return network->gradient;
}

struct thread_pool *network_pool(struct network *network)
{
    return network->pool;
}

const float *network_attention_input(const struct network *network, unsigned layer, size_t *stride)
{
    *stride = network->blocks[layer].n.stride;
    return network->blocks[layer].n.x;
}
