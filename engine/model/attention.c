#include "engine/model/attention.h"

#include "engine/model/reach.h"
#include "engine/tensor/attention_bf16.h"

#include <stdatomic.h>

enum {
    QUERIES_MIN = ATTENTION_QUERIES / 2, /* a smaller block leaves vector lanes unused */
    TASKS_PER_MEMBER = 4,                /* with fewer, a member may wait long for the last one */
};

struct run {
    const struct spec *spec;
    const struct workspace *workspace;
    const struct layer *layer;
    atomic_uint next; /* the next task; partners: the members of the pool */
};

/* Cuts the first `kept` queries of every sequence (0: all) into blocks of `queries`, the last of
 * each perhaps smaller. */
static void cut(struct workspace *workspace, unsigned kept, unsigned queries)
{
    struct query_block *block = workspace->blocks;
    unsigned out = 0;
    for (unsigned row = 0; row < workspace->rows; row++) {
        unsigned first = workspace->offset[row], tokens = workspace->offset[row + 1] - first;
        unsigned count = kept > 0 ? kept : tokens;
        for (unsigned done = 0; done < count; done += queries)
            *block++ =
                (struct query_block){.first = first + done,
                                     .count = count - done < queries ? count - done : queries,
                                     .out = out + done,
                                     .sequence = first,
                                     .sequence_tokens = tokens};
        out += count;
    }
    workspace->block_count = (unsigned)(block - workspace->blocks);
}

void attention_plan(const struct spec *spec, struct workspace *workspace, unsigned kept)
{
    cut(workspace, kept, ATTENTION_QUERIES);
    if (workspace->block_count * spec->heads < TASKS_PER_MEMBER * thread_pool_size(workspace->pool))
        cut(workspace, kept, QUERIES_MIN);
}

/* One head of a block, over the keys that it reaches. */
static void attend(const struct run *run, const struct query_block *block, unsigned head,
                   float *scratch)
{
    const struct layer *layer = run->layer;
    const unsigned first = block->first - block->sequence;
    const struct key_span span = reach_span(layer->reach, block->sequence_tokens, first);
    const struct workspace *w = run->workspace;
    size_t hidden = run->spec->hidden, width = hidden / run->spec->heads, stride = w->qkv_stride;
    size_t query = block->first * stride + head * width;
    size_t key = (block->sequence + span.first) * stride + hidden + head * width;
    size_t value = key + hidden;
    float *out = w->context + block->out * w->hidden_stride + head * width;
    struct attention_bias bias = {0};
    if (layer->bias.at != NULL)
        bias = attention_bias_at(&layer->bias, head, first - span.first);
    if (w->qkv_bf16 != NULL)
        attention_bf16(out, w->hidden_stride, w->qkv_bf16 + query, w->qkv_bf16 + key,
                       w->qkv_bf16 + value, stride, block->count, span.count, width, &bias,
                       scratch);
    else if (bias.at != NULL)
        w->kernels->attention_biased(out, w->hidden_stride, w->qkv + query, w->qkv + key,
                                     w->qkv + value, stride, block->count, span.count, width, &bias,
                                     scratch);
    else
        w->kernels->attention(out, w->hidden_stride, w->qkv + query, w->qkv + key, w->qkv + value,
                              stride, block->count, span.count, width, scratch);
}

static void store_rows(const struct run *run, const struct query_block *block)
{
    const struct workspace *workspace = run->workspace;
    for (size_t row = block->out; row < block->out + block->count; row++)
        operand_store(&workspace->attended, workspace->kernels, row,
                      workspace->context + row * workspace->hidden_stride, run->spec->hidden);
}

static void attend_share(void *context, unsigned index, unsigned count)
{
    struct run *run = context;
    const struct workspace *workspace = run->workspace;
    float *scratch = workspace->scratch + index * workspace->scratch_floats;
    unsigned heads = run->spec->heads, tasks = workspace->block_count * heads;
    (void)count;
    for (;;) {
        unsigned task = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
        if (task >= tasks)
            return;
        const struct query_block *block = &workspace->blocks[task / heads];
        attend(run, block, task % heads, scratch);
        if (atomic_fetch_sub_explicit(&workspace->heads_left[task / heads], 1,
                                      memory_order_acq_rel) == 1)
            store_rows(run, block);
    }
}

void attention_run(const struct spec *spec, struct workspace *workspace, const struct layer *layer)
{
    struct run run = {.spec = spec, .workspace = workspace, .layer = layer};
    for (unsigned i = 0; i < workspace->block_count; i++)
        atomic_store_explicit(&workspace->heads_left[i], spec->heads, memory_order_relaxed);
    thread_pool_run(workspace->pool, attend_share, &run);
}
