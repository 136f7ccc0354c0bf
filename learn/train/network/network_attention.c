/* network_attention.c - see network_state.h. A head's scores may have a bias: of the network's
 * relative positions, of a window, of the reach of local attention, or of terms by distance. Heads
 * whose gradients add to one bias are tasks of whole heads, not of single sequences. */
#include "learn/train/network/network_state.h"

#include "engine/base/rng.h"
#include "engine/model/bias/reach.h"
#include "engine/model/bias/relative_bias.h"
#include "engine/model/bias/window_bias.h"
#include "engine/tensor/backward/attention_train.h"
#include "engine/tensor/backward/relative_train.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static const float masked = -1e30f; /* finite: the softmax of it is 0 */

struct run {
    struct network *network;
    const struct network_block *block;
    void (*task)(const struct run *run, unsigned sequence, unsigned head, float *scratch);
    const unsigned *query_first; /* [rows + 1] */
    float dropout, entropy, sparsity;
    uint32_t key;
    struct matrix dcontext, dquery, dqkv;
    unsigned tasks;
    atomic_uint next; /* the next task; partners: the members of the pool */
};

/* ---- terms by distance ---- */

/* Scores with terms by distance (disentangled attention): a matrix of these terms is computed from
 * the block's rows (network_relative.c) and becomes the bias of the head. Its gradient goes back to
 * queries, keys and rows. Backward, the sequences of one head may not run in parallel. */
struct distances {
    struct relative_train head;
    float *matrix, *dmatrix; /* [n, m] by keys */
    float *scratch;
};

static size_t width_of(const struct network *network)
{
    return network->spec->hidden / network->spec->heads;
}

static bool has_distances(const struct network *network)
{
    return network->spec->disentangled.span > 0;
}

/* Floats of scratch for sequences of up to `tokens` tokens; 0 if there are no such terms. */
static size_t distances_floats(const struct network *network, size_t tokens)
{
    size_t rows = 2 * (size_t)network->spec->disentangled.span;
    if (!has_distances(network))
        return 0;
    return simd_round_up(2 * simd_round_up(tokens * tokens) +
                         relative_train_scratch(tokens, rows, width_of(network)));
}

static struct relative_train relative_of(const struct network *network,
                                         const struct network_block *block, unsigned head,
                                         const struct attention_train *one)
{
    const struct spec *spec = network->spec;
    const struct disentangled *disentangled = &spec->disentangled;
    const float *rows = block->relative_rows.x + head * width_of(network);
    return (struct relative_train){
        .gemm = gemm_best(PRECISION_F32),
        .q = one->q,
        .q_stride = one->q_stride,
        .m = one->m,
        .k = one->k,
        .k_stride = one->kv_stride,
        .n = one->n,
        .d = one->d,
        .kr = disentangled->content_to_position ? rows + spec->hidden : NULL,
        .qr = disentangled->position_to_content ? rows : NULL,
        .r_stride = block->relative_rows.stride,
        .row_of = network->relative.row_of + spec_text_tokens(spec) - 1,
        .divisor = sqrtf((float)(one->d * one->terms)),
    };
}

/* Fills the head's bias, which `one` borrows. The matrices lie in `scratch` (64-byte aligned);
 * dmatrix starts as zeros. */
static struct distances add_distances(const struct network *network,
                                      const struct network_block *block, unsigned head,
                                      struct attention_train *one, struct attention_bias *bias,
                                      float *scratch)
{
    size_t numbers = one->n * one->m;
    struct distances by = {.head = relative_of(network, block, head, one), .matrix = scratch};
    by.dmatrix = by.matrix + simd_round_up(numbers);
    by.scratch = by.dmatrix + simd_round_up(numbers);
    memset(by.dmatrix, 0, numbers * sizeof *by.dmatrix);
    relative_train_forward(&by.head, by.matrix, by.scratch);
    *bias = (struct attention_bias){.at = by.matrix, .key_step = (ptrdiff_t)one->m};
    one->bias = bias;
    return by;
}

/* Adds the gradients that follow from dmatrix to dq [m, d], dk [n, d] and the gradient of the
 * block's rows. */
static void distances_backward(const struct network *network, const struct distances *by,
                               unsigned head, float *dq, size_t dq_stride, float *dk,
                               size_t dk_stride)
{
    float *dqr = network->relative.drows.x + head * width_of(network);
    relative_train_backward(&by->head, by->dmatrix, dq, dq_stride, dk, dk_stride,
                            dqr + network->spec->hidden, dqr, by->scratch);
}

/* ---- scratch ---- */

/* Tokens of the longest sequence of a stage in a micro-batch. */
static size_t longest_of(const struct network *network, const struct spec *stage)
{
    size_t tokens = spec_sequence(stage);
    return tokens < network->options.tokens_max ? tokens : network->options.tokens_max;
}

/* Scratch floats of the attention: the largest of a stage's layers. */
static size_t stage_floats(const struct network *network, const struct spec *stage)
{
    size_t tokens = longest_of(network, stage), width = spec_head_width(stage), most = 0;
    size_t keys = network->source != NULL ? longest_of(network, network->source->spec) : tokens;
    for (unsigned i = spec_first_layer(stage); i < spec_end_layer(stage); i++) {
        unsigned reach = spec_reach(stage, i);
        size_t floats = reach > 0
                            ? network_local_scratch(reach, tokens, width, spec_has_global(stage))
                            : attention_train_scratch(tokens, keys > tokens ? keys : tokens, width);
        most = floats > most ? floats : most;
    }
    return most;
}

/* Scratch floats of the attention without terms by distance: the largest of all stages. Each
 * member of the pool has its own. */
static size_t attention_floats(const struct network *network)
{
    const struct spec *whole = &network->parameters->spec;
    size_t most = 0;
    for (unsigned i = 0; i < spec_stages(whole); i++) {
        const struct spec stage = spec_at(whole, i);
        size_t floats = stage_floats(network, &stage);
        most = floats > most ? floats : most;
    }
    return simd_round_up(most);
}

size_t network_attention_floats(const struct network *network)
{
    return attention_floats(network) +
           distances_floats(network, longest_of(network, network->spec));
}

/* ---- a bias of the scores ---- */

static size_t offset_of_bias(const struct network *network, const struct network_block *block)
{
    return network->parameters->map.layers[spec_block(network->spec, block->layer)].own_bias;
}

static enum err_code open_band(struct network *network, struct network_block *block,
                               struct err *err)
{
    size_t floats = reach_bias_floats(block->reach);
    float *table = arena_alloc_array(&network->arena, floats, sizeof *table);
    if (table == NULL)
        return err_no_memory(err, floats * sizeof *table);
    block->band = reach_bias(table, block->reach);
    return ERR_OK;
}

/* Numbers of the table that a block has for itself. A text has no patches to make windows of. */
static size_t own_floats(const struct network *network, const struct network_block *block)
{
    if (network->spec->buckets > 0)
        return relative_bias_floats(block->heads, spec_text_tokens(network->spec));
    const struct window_bias shape = spec_window_bias(network->spec, block->layer);
    return window_bias_floats(&shape);
}

/* Masks the keys behind the query, in tables of `step` numbers, one a head. */
static void mask_later(const struct spec *spec, float *table, size_t floats, size_t step)
{
    for (size_t head = 0; head < floats && spec->family->block.is_decoder; head += step)
        for (size_t i = 0; i + 1 < spec_text_tokens(spec); i++)
            table[head + i] = masked;
}

enum err_code network_attention_open_block(struct network *network, struct network_block *block,
                                           struct err *err)
{
    block->reach = spec_reach(network->spec, block->layer);
    if (block->reach > 0)
        return open_band(network, block, err);
    if (offset_of_bias(network, block) == SIZE_MAX)
        return ERR_OK;
    const size_t floats = own_floats(network, block);
    block->bias_table = arena_alloc_array(&network->arena, floats, sizeof *block->bias_table);
    block->dbias_table = arena_alloc_array(&network->arena, floats, sizeof *block->dbias_table);
    if (block->bias_table == NULL || block->dbias_table == NULL)
        return err_no_memory(err, floats * sizeof *block->bias_table);
    return ERR_OK;
}

void network_attention_pack_block(struct network *network, struct network_block *block)
{
    if (block->bias_table == NULL)
        return;
    const struct spec *spec = network->spec;
    const float *learnt = network->values + offset_of_bias(network, block);
    if (spec->buckets > 0) {
        block->bias = relative_bias_expand(block->bias_table, &spec->relative, learnt, block->heads,
                                           spec_text_tokens(spec));
        mask_later(spec, block->bias_table, own_floats(network, block), block->bias.head_step);
        return;
    }
    const struct window_bias shape = spec_window_bias(spec, block->layer);
    block->bias = window_bias_expand(&shape, block->bias_table, learnt);
}

static bool is_learnt(const struct network *network, const struct network_block *block)
{
    return block->layer + 1 >= network->options.frozen_depth;
}

static bool learns_own(const struct network *network, const struct network_block *block)
{
    return block->bias_table != NULL && is_learnt(network, block);
}

void network_attention_unpack_block(struct network *network, struct network_block *block)
{
    if (!learns_own(network, block))
        return;
    const struct spec *spec = network->spec;
    float *dlearnt = network->gradient + offset_of_bias(network, block);
    if (spec->buckets > 0) {
        relative_bias_fold(dlearnt, &spec->relative, block->dbias_table, block->heads,
                           spec_text_tokens(spec));
    } else {
        const struct window_bias shape = spec_window_bias(spec, block->layer);
        window_bias_fold(&shape, dlearnt, block->dbias_table);
    }
    memset(block->dbias_table, 0, own_floats(network, block) * sizeof *block->dbias_table);
}

/* The scores of a decoder have a bias that masks later keys: alone, or in the table of relative
 * positions. Without these one table is all heads'. */
enum err_code network_attention_open(struct network *network, struct err *err)
{
    const bool is_relative = network->parameters->map.relative_bias != SIZE_MAX;
    if (!is_relative && !network->spec->family->block.is_decoder)
        return ERR_OK;
    network->bias_floats = relative_bias_floats(is_relative ? network->spec->heads : 1,
                                                spec_text_tokens(network->spec));
    network->bias_table = arena_alloc_array(&network->arena, network->bias_floats, sizeof(float));
    network->dbias_table = arena_alloc_array(&network->arena, network->bias_floats, sizeof(float));
    if (network->bias_table == NULL || network->dbias_table == NULL)
        return err_no_memory(err, network->bias_floats * sizeof(float));
    return ERR_OK;
}

void network_attention_pack(struct network *network)
{
    const struct spec *spec = network->spec;
    const size_t tokens = spec_text_tokens(spec), relative = network->parameters->map.relative_bias;
    float *table = network->bias_table;
    if (table == NULL)
        return;
    network->bias = (struct attention_bias){.at = table + tokens - 1, .key_step = -1};
    if (relative != SIZE_MAX)
        network->bias = relative_bias_expand(table, &spec->relative, network->values + relative,
                                             spec->heads, tokens);
    mask_later(spec, table, network->bias_floats,
               network->bias.head_step > 0 ? network->bias.head_step : network->bias_floats);
}

static bool learns_bias(const struct network *network)
{
    return network->parameters->map.relative_bias != SIZE_MAX && network->options.frozen_depth == 0;
}

void network_attention_unpack(struct network *network)
{
    if (!learns_bias(network))
        return;
    relative_bias_fold(network->gradient + network->parameters->map.relative_bias,
                       &network->spec->relative, network->dbias_table, network->spec->heads,
                       spec_text_tokens(network->spec));
    memset(network->dbias_table, 0, network->bias_floats * sizeof *network->dbias_table);
}

/* ---- a head of a sequence ---- */

/* In the last layer the kept queries are the first ones of their sequence, or all. `bias` is filled
 * for the head, which borrows it. */
static struct attention_train head_of(const struct run *run, unsigned sequence, unsigned head,
                                      struct attention_bias *bias)
{
    const struct network *network = run->network;
    const struct network_block *block = run->block;
    size_t attended = block->attended, width = attended / block->heads;
    unsigned first = network->offset[sequence], query = run->query_first[sequence];
    const struct attention_bias *own = block->bias.at != NULL ? &block->bias : &network->bias;
    bool is_biased = own->at != NULL;
    if (is_biased) {
        *bias = attention_bias_of_kind(own, patch_windows_kind(network->spec, sequence));
        *bias = attention_bias_at(bias, head, 0);
    }
    const float *keys =
        block->qkv_rows.x + first * block->qkv_rows.stride + attended + head * width;
    return (struct attention_train){.kernels = network->kernels,
                                    .backward = network->backward,
                                    .gemm = network->gemm,
                                    .q = block->query_rows.x + query * block->query_rows.stride +
                                         head * width,
                                    .q_stride = block->query_rows.stride,
                                    .m = run->query_first[sequence + 1] - query,
                                    .k = keys,
                                    .v = keys + attended,
                                    .kv_stride = block->qkv_rows.stride,
                                    .n = network->offset[sequence + 1] - first,
                                    .d = width,
                                    .terms = disentangled_terms(&network->spec->disentangled),
                                    .is_unscaled = network->spec->family->block.is_unscaled,
                                    .dropout = run->dropout,
                                    .key = rng_hash(run->key, sequence * block->heads + head),
                                    .entropy = run->entropy,
                                    .sparsity = run->sparsity,
                                    .bias = is_biased ? bias : NULL};
}

static void run_tasks(void *context, unsigned index, unsigned count)
{
    struct run *run = context;
    const struct network *network = run->network;
    unsigned heads = run->block->heads, tasks = run->tasks;
    float *scratch = network->attention_scratch + index * network->attention_floats;
    (void)count;
    for (;;) {
        unsigned task = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
        if (task >= tasks)
            return;
        run->task(run, task / heads, task % heads, scratch);
    }
}

static struct run begin(struct network *network, const struct network_block *block)
{
    bool drops = network_rows_drops(network, NETWORK_SITE_ATTENTION);
    return (struct run){.network = network,
                        .block = block,
                        .tasks = network->rows * block->heads,
                        .query_first = block->is_last ? network->kept_first : network->offset,
                        .dropout = drops ? network->options.attention_dropout : 0,
                        .key = network_rows_key(network, NETWORK_SITE_ATTENTION, block->layer)};
}

/* False for the last block of a family with a global token, which is the only query there. */
static bool has_queries(const struct network *network, const struct network_block *block)
{
    return !block->is_last || !spec_has_global(network->spec);
}

/* 1 / (layers x heads x queries): weight of a head's sum over its queries in the mean. */
static double weight_of(const struct network *network, const struct network_block *block)
{
    double queries = block->is_last ? network->kept_count : network->tokens;
    return queries > 0 ? 1 / (queries * block->heads * network->spec->layers) : 0;
}

static struct network_local local_of(const struct run *run)
{
    return (struct network_local){run->block->reach, &run->block->band,
                                  spec_has_global(run->network->spec)};
}

static struct network_global_run global_of(const struct run *run)
{
    return (struct network_global_run){.network = run->network,
                                       .block = run->block,
                                       .dropout = run->dropout,
                                       .entropy = run->entropy,
                                       .sparsity = run->sparsity,
                                       .key = run->key,
                                       .learns = is_learnt(run->network, run->block)};
}

static void forward_task(const struct run *run, unsigned sequence, unsigned head, float *scratch)
{
    const struct network *network = run->network;
    const struct matrix *context = &run->block->context;
    struct attention_bias bias;
    struct attention_train one = head_of(run, sequence, head, &bias);
    double *penalty = &network->penalties[sequence * run->block->heads + head];
    float *out = context->x + run->query_first[sequence] * context->stride + head * one.d;
    if (run->block->reach > 0) {
        *penalty = network_local_forward(&one, local_of(run), out, context->stride, scratch);
        return;
    }
    if (has_distances(network) && one.m > 0)
        add_distances(network, run->block, head, &one, &bias, scratch + attention_floats(network));
    *penalty = one.m > 0 ? attention_train_forward(&one, out, context->stride, scratch) : 0;
}

void network_attention_forward(struct network *network, const struct network_block *block)
{
    struct run run = begin(network, block);
    const size_t count = (size_t)network->rows * block->heads;
    double sum = 0;
    run.task = forward_task;
    run.entropy = network->options.entropy;
    run.sparsity = network->options.sparsity;
    if (has_queries(network, block))
        thread_pool_run(network->pool, run_tasks, &run);
    else
        memset(network->penalties, 0, count * sizeof *network->penalties);
    if (spec_has_global(network->spec)) {
        const struct network_global_run global = global_of(&run);
        network_global_forward(&global);
    }
    for (size_t i = 0; i < count; i++)
        sum += network->penalties[i];
    network->penalty += sum * weight_of(network, block);
}

static void backward_task(const struct run *run, unsigned sequence, unsigned head, float *scratch)
{
    struct attention_bias bias;
    struct attention_train one = head_of(run, sequence, head, &bias);
    size_t attended = run->block->attended, query = run->query_first[sequence];
    float *dk =
        run->dqkv.x + run->network->offset[sequence] * run->dqkv.stride + attended + head * one.d;
    if (learns_own(run->network, run->block))
        one.dbias = run->block->dbias_table + (bias.at - run->block->bias_table);
    else if (learns_bias(run->network))
        one.dbias = run->network->dbias_table + (bias.at - run->network->bias_table);
    for (size_t t = 0; t < one.n; t++) {
        memset(dk + t * run->dqkv.stride, 0, one.d * sizeof *dk);
        memset(dk + t * run->dqkv.stride + attended, 0, one.d * sizeof *dk);
    }
    const float *dout = run->dcontext.x + query * run->dcontext.stride + head * one.d;
    float *dq = run->dquery.x + query * run->dquery.stride + head * one.d;
    if (run->block->reach > 0)
        network_local_backward(&one, local_of(run), dout, run->dcontext.stride, dq,
                               run->dquery.stride, dk, dk + attended, run->dqkv.stride, scratch);
    if (run->block->reach > 0 || one.m == 0)
        return;
    struct distances by;
    bool by_distance = has_distances(run->network);
    if (by_distance) {
        by = add_distances(run->network, run->block, head, &one, &bias,
                           scratch + attention_floats(run->network));
        one.dbias = by.dmatrix;
    }
    attention_train_backward(&one, dout, run->dcontext.stride, dq, run->dquery.stride, dk,
                             dk + attended, run->dqkv.stride, scratch);
    if (by_distance)
        distances_backward(run->network, &by, head, dq, run->dquery.stride, dk, run->dqkv.stride);
}

/* All sequences of one head, one after another, because they add to the same gradient: that of the
 * bias or of the rows by distance. */
static void backward_head_task(const struct run *run, unsigned none, unsigned head, float *scratch)
{
    (void)none;
    for (unsigned sequence = 0; sequence < run->network->rows; sequence++)
        backward_task(run, sequence, head, scratch);
}

void network_attention_backward(struct network *network, const struct network_block *block,
                                struct matrix dcontext, struct matrix dquery, struct matrix dqkv,
                                struct matrix dglobal, float share)
{
    struct run run = begin(network, block);
    float weight = (float)(weight_of(network, block) * share);
    run.task = backward_task;
    if (learns_own(network, block) || learns_bias(network) || has_distances(network)) {
        run.task = backward_head_task;
        run.tasks = block->heads;
    }
    run.entropy = network->options.entropy * weight;
    run.sparsity = network->options.sparsity * weight;
    run.dcontext = dcontext;
    run.dquery = dquery;
    run.dqkv = dqkv;
    if (has_queries(network, block))
        thread_pool_run(network->pool, run_tasks, &run);
    if (spec_has_global(network->spec)) {
        const struct network_global_run global = global_of(&run);
        network_global_backward(&global, dcontext, dglobal);
    }
}
