#include "engine/model/attention.h"

#include "engine/model/attention_rows.h"
#include "engine/model/bias/reach.h"
#include "engine/tensor/attention_bf16.h"
#include "engine/tensor/attention_parts.h"
#include "engine/tensor/lanes.h"
#include "engine/tensor/tile_state.h"

#include <stdatomic.h>
#include <string.h>

enum {
    QUERIES_MIN = ATTENTION_QUERIES / 2, /* a smaller block leaves vector lanes unused */
    TASKS_PER_MEMBER = 4,                /* with fewer, a member may wait long for the last one */
    GROUP = ATTENTION_PARTS_QUERIES / ATTENTION_QUERIES, /* blocks of a task in parts */
};

struct run {
    const struct spec *spec;
    const struct workspace *workspace;
    const struct layer *layer;
    bool shares_rows;
    struct lanes lanes; /* heads, in rounds of blocks: cut like the columns of encoder_project; or
                           blocks, in rounds of heads: cut like its rows; in parts: groups of
                           blocks, in rounds of heads */
};

/* Counts a row's queries; `kept` as in attention_plan. */
static unsigned count_queries(const struct spec *spec, const struct workspace *workspace,
                              unsigned row, unsigned kept)
{
    const unsigned tokens = workspace->offset[row + 1] - workspace->offset[row];
    if (kept == ATTENTION_PRUNED)
        return attention_pruned_tokens(spec, workspace, row);
    return kept > 0 ? kept : tokens;
}

/* Cuts the first or last `kept` queries of every sequence (0: all) into blocks of `queries`; the
 * last block of a sequence may be smaller. */
static void cut(const struct spec *spec, struct workspace *workspace, unsigned kept,
                unsigned queries)
{
    bool is_last = spec_pooling(spec) == POOLING_LAST;
    struct query_block *block = workspace->blocks;
    unsigned out = 0;
    for (unsigned row = 0; row < workspace->rows; row++) {
        unsigned first = workspace->offset[row], tokens = workspace->offset[row + 1] - first;
        unsigned count = count_queries(spec, workspace, row, kept);
        unsigned begin = is_last ? tokens - count : 0;
        unsigned kind = patch_windows_kind(spec, row);
        for (unsigned done = 0; done < count; done += queries)
            *block++ =
                (struct query_block){.first = first + begin + done,
                                     .count = count - done < queries ? count - done : queries,
                                     .out = out + done,
                                     .sequence = first,
                                     .sequence_tokens = tokens,
                                     .kind = kind};
        out += count;
    }
    workspace->block_count = (unsigned)(block - workspace->blocks);
}

void attention_plan(const struct spec *spec, struct workspace *workspace, unsigned kept)
{
    workspace->kept = kept;
    cut(spec, workspace, kept, ATTENTION_QUERIES);
    if (workspace->block_count * spec->heads < TASKS_PER_MEMBER * thread_pool_size(workspace->pool))
        cut(spec, workspace, kept, QUERIES_MIN);
}

void attention_relative(const struct spec *spec, const struct workspace *workspace,
                        const struct layer *layer, const struct query_block *block, size_t head,
                        float *matrix, float *scratch)
{
    bool is_bf16 = workspace->qkv_bf16 != NULL;
    size_t bytes = is_bf16 ? sizeof(uint16_t) : sizeof(float);
    size_t stride = workspace->qkv_stride * bytes, width = spec_head_width(spec) * bytes;
    const char *rows = is_bf16 ? (const void *)workspace->qkv_bf16 : (const void *)workspace->qkv;
    const char *query = rows + block->first * stride + head * width;
    const char *key = rows + block->sequence * stride + spec->hidden * bytes + head * width;
    relative_scores_run(&layer->relative, head, query, key, stride, block->first - block->sequence,
                        block->count, block->sequence_tokens, matrix, scratch);
}

/* True if the first query of a block is the sequence's global token. */
static bool has_global_query(const struct run *run, const struct query_block *block)
{
    return spec_has_global(run->spec) && block->first == block->sequence;
}

/* Returns the bias of a layer with relative positions for a head of a block; empty for another
 * layer. */
static struct attention_bias relative_of(const struct run *run, const struct query_block *block,
                                         unsigned head, float *scratch)
{
    const struct layer *layer = run->layer;
    if (layer->relative.gemm == NULL)
        return (struct attention_bias){0};
    float *matrix = scratch + run->workspace->scratch.relative_at;
    attention_relative(run->spec, run->workspace, layer, block, head, matrix,
                       matrix + block->sequence_tokens * ATTENTION_QUERIES);
    return (struct attention_bias){.at = matrix, .key_step = ATTENTION_QUERIES};
}

/* Returns keys and bias of a head of a block, whose first query is number `first` of its
 * sequence. */
static struct key_span keys_of(const struct run *run, const struct query_block *block,
                               unsigned head, unsigned first, struct attention_bias *bias,
                               float *scratch)
{
    const struct layer *layer = run->layer;
    const bool has_global = spec_has_global(run->spec);
    const struct key_span span =
        (has_global ? reach_span_beside : reach_span)(layer->reach, block->sequence_tokens, first);
    *bias = relative_of(run, block, head, scratch);
    if (layer->bias.at != NULL) {
        *bias = attention_bias_of_kind(&layer->bias, block->kind);
        *bias = attention_bias_at(bias, head, first - span.first);
    }
    bias->global_rows = has_global ? span.first : 0;
    return span;
}

/* Computes one head of a block, over the keys in its reach; without the global token. */
static void attend(const struct run *run, const struct query_block *block, unsigned head,
                   float *scratch)
{
    const struct workspace *w = run->workspace;
    const unsigned skipped = has_global_query(run, block), count = block->count - skipped;
    const unsigned first = block->first + skipped;
    size_t width = spec_head_width(run->spec), stride = w->qkv_stride;
    size_t attended = run->layer->attended;
    if (count == 0)
        return;
    struct attention_io io = {.out = w->context + (block->out + skipped) * w->context_stride +
                                     head * width,
                              .out_stride = w->context_stride,
                              .q_stride = stride,
                              .kv_stride = stride,
                              .count = count,
                              .d = width,
                              .scratch = scratch};
    const struct key_span span =
        keys_of(run, block, head, first - block->sequence, &io.bias, scratch);
    size_t query = first * stride + head * width;
    size_t key = (block->sequence + span.first) * stride + attended + head * width;
    size_t value = key + attended;
    const char *qkv = w->qkv_bf16 != NULL ? (const void *)w->qkv_bf16 : (const void *)w->qkv;
    const size_t bytes = w->qkv_bf16 != NULL ? sizeof *w->qkv_bf16 : sizeof *w->qkv;
    io.n = span.count;
    io.q = qkv + query * bytes;
    io.k = qkv + key * bytes;
    io.v = qkv + value * bytes;
    if (w->qkv_bf16 == NULL)
        w->kernels->attention(&io);
    else
        (w->attends_by_tiles ? attention_amx : attention_bf16)(&io);
}

/* Computes all heads of the global token, if the block has it. */
static void attend_global(const struct run *run, const struct query_block *block, float *scratch)
{
    const struct workspace *w = run->workspace;
    const struct global_token token = {.kernels = w->kernels,
                                       .projections = &run->layer->global,
                                       .x = w->x + block->sequence * w->hidden_stride,
                                       .stride = w->hidden_stride,
                                       .tokens = block->sequence_tokens,
                                       .heads = run->spec->heads,
                                       .hidden = run->spec->hidden};
    if (has_global_query(run, block))
        global_token_attend(&token, w->context + block->out * w->context_stride, scratch);
}

/* Stores whole rows: if the layer before had more heads, zeros follow the outputs of this layer's,
 * as operand.h requires. */
static void store_rows(const struct run *run, const struct query_block *block)
{
    const struct workspace *workspace = run->workspace;
    const size_t all = spec_heads_width(run->spec), attended = run->layer->attended;
    for (size_t row = block->out; row < block->out + block->count; row++) {
        float *context = workspace->context + row * workspace->context_stride;
        if (row + 1 < block->out + block->count)
            lanes_prefetch(context + workspace->context_stride, attended);
        memset(context + attended, 0, (all - attended) * sizeof *context);
        operand_store(&workspace->attended, workspace->kernels, row, context, all);
    }
}

/* Counts a block's tasks: its heads and, before them, one for the global token. */
static unsigned parts_of(const struct spec *spec, const struct layer *layer)
{
    return layer->heads + spec_has_global(spec);
}

static void finish_part(const struct run *run, size_t number)
{
    if (atomic_fetch_sub_explicit(&run->workspace->parts_left[number], 1, memory_order_acq_rel) ==
        1)
        store_rows(run, &run->workspace->blocks[number]);
}

static void attend_share(void *context, unsigned index, unsigned count)
{
    struct run *run = context;
    const struct workspace *workspace = run->workspace;
    float *scratch = workspace->scratch.floats + index * workspace->scratch.each;
    const unsigned globals = parts_of(run->spec, run->layer) - run->layer->heads;
    struct lane_cursor at = lanes_begin(&run->lanes, index);
    (void)count;
    for (size_t round, thing; lanes_take(&run->lanes, &at, &round, &thing);) {
        const size_t number = run->shares_rows ? thing : round;
        const size_t part = run->shares_rows ? round : thing;
        const struct query_block *block = &workspace->blocks[number];
        if (part < globals)
            attend_global(run, block, scratch);
        else
            attend(run, block, (unsigned)part - globals, scratch);
        finish_part(run, number);
    }
    tile_state_release();
}

/* ---- fp32 in parts: attention_parts.h ---- */

/* True if the layer's scores have no term that the kernel lacks, for queries that are worth cutting
 * keys and values. So the choice depends on the model and, by is_long, on the sequence alone. */
static bool can_cut(const struct run *run)
{
    const struct workspace *w = run->workspace;
    const struct layer *layer = run->layer;
    return w->attends_by_tiles && w->qkv != NULL && layer->bias.at == NULL &&
           layer->relative.gemm == NULL && layer->reach == 0 && !spec_has_global(run->spec) &&
           (w->kept == 0 || w->kept == ATTENTION_PRUNED);
}

static bool is_long(const struct query_block *block)
{
    return block->sequence_tokens >= ATTENTION_PARTS_TOKENS;
}

static bool has_long(const struct workspace *workspace)
{
    for (unsigned i = 0; i < workspace->block_count; i++)
        if (is_long(&workspace->blocks[i]))
            return true;
    return false;
}

/* Computes one head of `count` neighbouring blocks of a long sequence. *held: the keys that the
 * scratch holds in parts; NULL: none. */
static void attend_in_parts(const struct run *run, const struct query_block *block, size_t count,
                            size_t head, float *scratch, const float **held)
{
    const struct workspace *w = run->workspace;
    const size_t width = spec_head_width(run->spec), stride = w->qkv_stride;
    const size_t attended = run->layer->attended;
    const float *k = w->qkv + block->sequence * stride + attended + head * width;
    const struct query_block *last = block + count - 1;
    if (*held != k)
        attention_parts_cut(scratch, k, k + attended, stride, block->sequence_tokens, width);
    *held = k;
    attention_parts_run(
        &(struct attention_io){.out = w->context + block->out * w->hidden_stride + head * width,
                               .out_stride = w->hidden_stride,
                               .q = w->qkv + block->first * stride + head * width,
                               .q_stride = stride,
                               .count = last->first + last->count - block->first,
                               .n = block->sequence_tokens,
                               .d = width,
                               .scratch = scratch});
}

static void attend_share_in_parts(void *context, unsigned index, unsigned count)
{
    struct run *run = context;
    const struct workspace *w = run->workspace;
    float *scratch = w->scratch.floats + index * w->scratch.each;
    struct lane_cursor at = lanes_begin(&run->lanes, index);
    const float *held = NULL;
    (void)count;
    for (size_t head, group; lanes_take(&run->lanes, &at, &head, &group);) {
        const size_t end =
            (group + 1) * GROUP < w->block_count ? (group + 1) * GROUP : w->block_count;
        for (size_t i = group * GROUP, next; i < end; i = next) {
            const struct query_block *block = &w->blocks[i];
            next = i + 1;
            while (is_long(block) && next < end && w->blocks[next].sequence == block->sequence)
                next++;
            if (is_long(block)) {
                attend_in_parts(run, block, next - i, head, scratch, &held);
            } else {
                attend(run, block, (unsigned)head, scratch);
                held = NULL;
            }
            for (size_t done = i; done < next; done++)
                finish_part(run, done);
        }
    }
    tile_state_release();
}

void attention_run(const struct spec *spec, struct workspace *workspace, const struct layer *layer)
{
    struct run run = {.spec = spec, .workspace = workspace, .layer = layer};
    const unsigned parts = parts_of(spec, layer), members = thread_pool_size(workspace->pool);
    const bool cuts = can_cut(&run) && has_long(workspace);
    run.shares_rows = linear_shares_rows(workspace->tokens, members);
    for (unsigned i = 0; i < workspace->block_count; i++)
        atomic_store_explicit(&workspace->parts_left[i], parts, memory_order_relaxed);
    if (cuts)
        lanes_init(&run.lanes, members, parts, (workspace->block_count + GROUP - 1) / GROUP);
    else if (run.shares_rows)
        lanes_init(&run.lanes, members, parts, workspace->block_count);
    else
        lanes_init(&run.lanes, members, workspace->block_count, parts);
    thread_pool_run(workspace->pool, cuts ? attend_share_in_parts : attend_share, &run);
}

/* ---- the attention that tokens receive ---- */

struct receiving {
    const struct spec *spec;
    const struct workspace *workspace;
    const struct layer *layer;
};

/* received [tokens of the sequence] = the maximum of itself and the attention of a block's
 * queries. */
static void receive(const struct receiving *run, const struct query_block *block, float *received,
                    float *scratch)
{
    const struct workspace *w = run->workspace;
    const size_t at = block->sequence * w->qkv_stride, n = block->sequence_tokens;
    const struct attention_bias none = {0};
    const struct attention_rows rows = {.kernels = w->kernels,
                                        .qkv = w->qkv != NULL ? w->qkv + at : NULL,
                                        .qkv_bf16 = w->qkv == NULL ? w->qkv_bf16 + at : NULL,
                                        .stride = w->qkv_stride,
                                        .tokens = n,
                                        .attended = run->layer->attended,
                                        .width = spec_head_width(run->spec)};
    attention_rows_mean(&rows, block->first - block->sequence, block->count, 0, run->layer->heads,
                        &none, scratch, n, scratch + w->capture_scratch.rows_at);
    for (size_t i = 0; i < block->count; i++)
        for (size_t t = 0; t < n; t++)
            received[t] = scratch[i * n + t] > received[t] ? scratch[i * n + t] : received[t];
}

static void receive_share(void *context, unsigned index, unsigned count)
{
    const struct receiving *run = context;
    const struct workspace *w = run->workspace;
    float *received = w->pruning.received + (size_t)index * w->tokens_max;
    memset(received, 0, w->tokens * sizeof *received);
    for (unsigned i = index; i < w->block_count; i += count)
        receive(run, &w->blocks[i], received + w->blocks[i].sequence,
                w->capture_scratch.floats + index * w->capture_scratch.each);
}

void attention_receive(const struct spec *spec, struct workspace *workspace,
                       const struct layer *layer)
{
    const unsigned members = thread_pool_size(workspace->pool);
    float *received = workspace->pruning.received;
    thread_pool_run(workspace->pool, receive_share, &(struct receiving){spec, workspace, layer});
    for (size_t m = 1; m < members; m++)
        for (size_t t = 0; t < workspace->tokens; t++) {
            const float other = received[m * workspace->tokens_max + t];
            received[t] = other > received[t] ? other : received[t];
        }
}
