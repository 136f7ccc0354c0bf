#include "learn/train/network/network_state.h"

#include "engine/base/rng.h"
#include "engine/tensor/backward/attention_train.h"

#include <stdatomic.h>
#include <string.h>

static enum err_code open_linear(struct network *network, struct network_linear *linear,
                                 struct parameters_linear map, size_t in, size_t out, bool learns,
                                 struct err *err)
{
    *linear = (struct network_linear){.weight = map.weight,
                                      .bias = map.bias,
                                      .in = in,
                                      .out = out,
                                      .precision = network->options.precision,
                                      .learns_weight = learns,
                                      .learns_bias = learns};
    return network_linear_open(network, linear, err);
}

enum err_code network_cross_open(struct network *network, struct network_block *block, bool learns,
                                 struct err *err)
{
    const struct spec *spec = network->spec;
    const struct parameters_layer *map = &network->parameters->map.layers[block->layer];
    const size_t attended = block->attended, hidden = spec->hidden;
    if (!spec->family->block.is_decoder)
        return ERR_OK;
    struct network_cross *cross = arena_alloc_array(&network->arena, 1, sizeof *cross);
    if (cross == NULL)
        return err_no_memory(err, sizeof *cross);
    cross->norm = (struct network_norm){map->cross_gamma, map->cross_beta, learns, spec->norm_eps};
    cross->n = network_memory_rows(network, hidden, err);
    cross->query_rows = network_memory_rows(network, attended, err);
    cross->key_value_rows = network_memory_rows(network, 2 * attended, err);
    cross->context = network_memory_rows(network, attended, err);
    cross->sum = network_memory_rows(network, hidden, err);
    block->cross = cross;
    if (spec->projects_states && block->layer == 0) {
        const struct parameters_map *all = &network->parameters->map;
        network->states = network_memory_rows(network, hidden, err);
        network->dstates = network_memory_rows(network, hidden, err);
        open_linear(network, &network->project_states,
                    (struct parameters_linear){all->states_weight, all->states_bias}, spec->source,
                    hidden, learns, err);
    }
    if (err->code != ERR_OK ||
        open_linear(network, &cross->query, map->cross_query, hidden, attended, learns, err) ||
        open_linear(network, &cross->key_value, map->cross_key_value, spec_states(spec),
                    2 * attended, learns, err))
        return err->code;
    return open_linear(network, &cross->out, map->cross_out, attended, hidden, learns, err);
}

void network_cross_pack(struct network *network, struct network_block *block)
{
    if (block->cross == NULL)
        return;
    if (network->spec->projects_states && block->layer == 0)
        network_linear_pack(network, &network->project_states);
    network_linear_pack(network, &block->cross->query);
    network_linear_pack(network, &block->cross->key_value);
    network_linear_pack(network, &block->cross->out);
}

/* The encoder's states, or their projection, which the first layer makes. */
static struct matrix states_of(const struct network *network)
{
    return network->spec->projects_states ? network->states : network->source->head.normed;
}

/* ---- a head of a sequence ---- */

struct run {
    struct network *network;
    const struct network_block *block;
    void (*task)(const struct run *run, unsigned sequence, unsigned head, float *scratch);
    float dropout;
    uint32_t key;
    struct matrix dcontext; /* [T, A] */
    atomic_uint next;       /* the next task; partners: the members of the pool */
};

static struct attention_train head_of(const struct run *run, unsigned sequence, unsigned head)
{
    const struct network *network = run->network;
    const struct network_cross *cross = run->block->cross;
    const size_t attended = run->block->attended, width = attended / run->block->heads;
    const unsigned *source = network->source->offset, first = network->offset[sequence];
    const float *keys = cross->key_value_rows.x + source[sequence] * cross->key_value_rows.stride;
    return (struct attention_train){.kernels = network->kernels,
                                    .backward = network->backward,
                                    .gemm = network->gemm,
                                    .q = cross->query_rows.x + first * cross->query_rows.stride +
                                         head * width,
                                    .q_stride = cross->query_rows.stride,
                                    .m = network->offset[sequence + 1] - first,
                                    .k = keys + head * width,
                                    .v = keys + attended + head * width,
                                    .kv_stride = cross->key_value_rows.stride,
                                    .n = source[sequence + 1] - source[sequence],
                                    .d = width,
                                    .is_unscaled = network->spec->family->block.is_unscaled,
                                    .dropout = run->dropout,
                                    .key = rng_hash(run->key, sequence * run->block->heads + head)};
}

static void run_tasks(void *context, unsigned index, unsigned count)
{
    struct run *run = context;
    const struct network *network = run->network;
    const unsigned heads = run->block->heads, tasks = network->rows * heads;
    float *scratch = network->attention_scratch + index * network->attention_floats;
    (void)count;
    for (;;) {
        unsigned task = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
        if (task >= tasks)
            return;
        run->task(run, task / heads, task % heads, scratch);
    }
}

static void
run_all(struct network *network, const struct network_block *block, struct matrix dcontext,
        void (*task)(const struct run *run, unsigned sequence, unsigned head, float *scratch))
{
    const bool drops = network_rows_drops(network, NETWORK_SITE_CROSS);
    struct run run = {.network = network,
                      .block = block,
                      .task = task,
                      .dropout = drops ? network->options.attention_dropout : 0,
                      .key = network_rows_key(network, NETWORK_SITE_CROSS, block->layer),
                      .dcontext = dcontext};
    thread_pool_run(network->pool, run_tasks, &run);
}

static void forward_task(const struct run *run, unsigned sequence, unsigned head, float *scratch)
{
    const struct attention_train one = head_of(run, sequence, head);
    const struct matrix *context = &run->block->cross->context;
    float *out = context->x + run->network->offset[sequence] * context->stride + head * one.d;
    attention_train_forward(&one, out, context->stride, scratch);
}

void network_cross_forward(struct network *network, struct network_block *block)
{
    struct network_cross *cross = block->cross;
    const struct network *source = network->source;
    if (network->spec->projects_states && block->layer == 0)
        network_linear_forward(network, &network->project_states, network->states,
                               source->head.normed, NULL, source->tokens);
    network_linear_forward(network, &cross->query, cross->query_rows, cross->n, NULL,
                           network->tokens);
    network_linear_forward(network, &cross->key_value, cross->key_value_rows, states_of(network),
                           NULL, source->tokens);
    run_all(network, block, (struct matrix){0}, forward_task);
}

static void backward_task(const struct run *run, unsigned sequence, unsigned head, float *scratch)
{
    const struct network *network = run->network;
    const struct attention_train one = head_of(run, sequence, head);
    const struct matrix *dquery = &network->dquery, *dkv = &network->dkey_value;
    const size_t first = network->offset[sequence], column = head * one.d;
    float *dk = dkv->x + network->source->offset[sequence] * dkv->stride + column;
    for (size_t t = 0; t < one.n; t++) {
        memset(dk + t * dkv->stride, 0, one.d * sizeof *dk);
        memset(dk + t * dkv->stride + run->block->attended, 0, one.d * sizeof *dk);
    }
    attention_train_backward(&one, run->dcontext.x + first * run->dcontext.stride + column,
                             run->dcontext.stride, dquery->x + first * dquery->stride + column,
                             dquery->stride, dk, dk + run->block->attended, dkv->stride, scratch);
}

void network_cross_backward(struct network *network, struct network_block *block, struct matrix dn,
                            struct matrix dcontext, const struct matrix *residual)
{
    struct network_cross *cross = block->cross;
    const struct network *source = network->source;
    const bool is_first = block->layer + 1 == network->spec->layers;
    const bool projects = network->spec->projects_states;
    const struct matrix *dstates = projects ? &network->dstates : &source->g;
    run_all(network, block, dcontext, backward_task);
    network_linear_backward(network, &cross->key_value, dstates, network->dkey_value,
                            states_of(network), is_first ? NULL : dstates, source->tokens);
    if (projects && block->layer == 0)
        network_linear_backward(network, &network->project_states, &source->g, network->dstates,
                                source->head.normed, NULL, source->tokens);
    network_linear_backward(network, &cross->query, &dn, network->dquery, cross->n, residual,
                            network->tokens);
}
