#include "engine/model/attention.h"

#include <stdatomic.h>

enum {
    QUERIES_MIN = ATTENTION_QUERIES / 2, /* a block of fewer fills its vectors badly */
    TASKS_PER_MEMBER = 4,                /* with fewer, a member may wait long for the last one */
};

struct run {
    const struct spec *spec;
    const struct workspace *workspace;
    atomic_uint next; /* the next task; partners: the members of the team */
};

/* Cuts every sequence into blocks of `queries`, the last of each perhaps smaller. */
static void cut(struct workspace *workspace, unsigned queries)
{
    struct query_block *block = workspace->blocks;
    for (unsigned row = 0; row < workspace->rows; row++) {
        unsigned first = workspace->offset[row], end = workspace->offset[row + 1];
        for (unsigned query = first; query < end; query += queries)
            *block++ = (struct query_block){.first = query,
                                            .count = end - query < queries ? end - query : queries,
                                            .sequence = first,
                                            .sequence_tokens = end - first};
    }
    workspace->block_count = (unsigned)(block - workspace->blocks);
}

void attention_plan(const struct spec *spec, struct workspace *workspace)
{
    cut(workspace, ATTENTION_QUERIES);
    if (workspace->block_count * spec->heads < TASKS_PER_MEMBER * team_size(workspace->team))
        cut(workspace, QUERIES_MIN);
}

static void attend(const struct run *run, const struct query_block *block, unsigned head,
                   float *scratch)
{
    const struct workspace *workspace = run->workspace;
    size_t hidden = run->spec->hidden, width = hidden / run->spec->heads;
    size_t stride = workspace->qkv_stride, out_stride = workspace->hidden_stride;
    const float *q = workspace->qkv + block->first * stride + head * width;
    const float *k = workspace->qkv + block->sequence * stride + hidden + head * width;
    float *out = workspace->context + block->first * out_stride + head * width;
    workspace->kernels->attention(out, out_stride, q, k, k + hidden, stride, block->count,
                                  block->sequence_tokens, width, scratch);
}

static void attend_share(void *context, unsigned index, unsigned count)
{
    struct run *run = context;
    float *scratch = run->workspace->scratch + index * run->workspace->scratch_floats;
    unsigned heads = run->spec->heads, tasks = run->workspace->block_count * heads;
    (void)count;
    for (;;) {
        unsigned task = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
        if (task >= tasks)
            return;
        attend(run, &run->workspace->blocks[task / heads], task % heads, scratch);
    }
}

void attention_run(const struct spec *spec, struct workspace *workspace)
{
    struct run run = {.spec = spec, .workspace = workspace};
    team_run(workspace->team, attend_share, &run);
}
