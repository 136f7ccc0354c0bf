#include "engine/model/trace.h"

#include "engine/tensor/simd.h"

#include <stdatomic.h>
#include <string.h>

/* ---- memory ---- */

static size_t longest(const struct spec *spec)
{
    return spec->patch > 0 ? spec_image_tokens(spec) : spec->positions;
}

size_t trace_scratch(const struct spec *spec)
{
    return simd_round_up(attention_mean_scratch(longest(spec), spec->hidden / spec->heads));
}

enum err_code trace_open(struct trace *out, const struct spec *spec, unsigned tokens,
                         struct arena *arena, struct err *err)
{
    size_t n = tokens, kept = spec_head_tokens(spec), hidden = spec->hidden;
    size_t sizes[] = {n * n * (spec->layers - 1), n * spec->heads * kept, n * 3 * hidden,
                      kept * hidden, kept * hidden};
    *out = (struct trace){.tokens = tokens};
    float **arrays[] = {&out->mean, &out->last, &out->projected, &out->sums[0], &out->sums[1]};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        *arrays[i] = arena_alloc(arena, sizes[i] * sizeof(float));
        if (*arrays[i] == NULL)
            return err_no_memory(err, sizes[i] * sizeof(float));
    }
    return ERR_OK;
}

/* ---- a layer ---- */

struct taking {
    const struct spec *spec;
    const struct workspace *workspace;
    unsigned layer;
    atomic_uint next; /* the next block of queries; partners: the members of the team */
};

static size_t block_count(const struct trace *trace)
{
    return (trace->tokens + ATTENTION_QUERIES - 1) / ATTENTION_QUERIES;
}

/* The first layers of an fp32 encoder are read where they lie. */
static bool is_copied(const struct taking *taking)
{
    return taking->workspace->qkv == NULL || taking->layer + 1 == taking->spec->layers;
}

static void take_block(const struct taking *taking, unsigned row, size_t block, float *scratch)
{
    const struct spec *spec = taking->spec;
    const struct workspace *w = taking->workspace;
    const struct trace *trace = w->traces[row];
    size_t n = trace->tokens, first = block * ATTENTION_QUERIES;
    size_t count = n - first < ATTENTION_QUERIES ? n - first : ATTENTION_QUERIES;
    size_t stride = is_copied(taking) ? 3 * (size_t)spec->hidden : w->qkv_stride;
    const float *q = is_copied(taking) ? trace->projected : w->qkv + w->offset[row] * w->qkv_stride;
    w->kernels->attention_mean(trace->mean + (taking->layer * n + first) * n, n, q + first * stride,
                               q + spec->hidden, stride, count, n, spec->heads,
                               spec->hidden / spec->heads, scratch);
}

/* The last layer: one head of the tokens that the classifier reads. */
static void take_head(const struct taking *taking, unsigned row, size_t head, float *scratch)
{
    const struct spec *spec = taking->spec;
    const struct workspace *w = taking->workspace;
    const struct trace *trace = w->traces[row];
    size_t n = trace->tokens, width = spec->hidden / spec->heads;
    const float *q = trace->projected + head * width;
    w->kernels->attention_mean(trace->last + head * n, spec->heads * n, q, q + spec->hidden,
                               3 * (size_t)spec->hidden, spec_head_tokens(spec), n, 1, width,
                               scratch);
}

static void take_share(void *context, unsigned index, unsigned count)
{
    struct taking *taking = context;
    const struct spec *spec = taking->spec;
    const struct workspace *w = taking->workspace;
    float *scratch = w->trace_scratch + index * w->trace_scratch_floats;
    bool is_last = taking->layer + 1 == spec->layers;
    unsigned mine = atomic_fetch_add_explicit(&taking->next, 1, memory_order_relaxed), task = 0;
    (void)count;
    for (unsigned row = 0; row < w->rows; row++) {
        if (w->traces[row] == NULL)
            continue;
        size_t parts = is_last ? spec->heads : block_count(w->traces[row]);
        for (size_t part = 0; part < parts; part++, task++) {
            if (task != mine)
                continue;
            if (is_last)
                take_head(taking, row, part, scratch);
            else
                take_block(taking, row, part, scratch);
            mine = atomic_fetch_add_explicit(&taking->next, 1, memory_order_relaxed);
        }
    }
}

static void widen(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(&to[i], &bits, sizeof bits);
    }
}

static void copy_share(void *context, unsigned index, unsigned count)
{
    const struct taking *taking = context;
    const struct workspace *w = taking->workspace;
    size_t numbers = 3 * (size_t)taking->spec->hidden;
    for (unsigned row = 0; row < w->rows; row++) {
        struct trace *trace = w->traces[row];
        for (size_t t = index; trace != NULL && t < trace->tokens; t += count) {
            size_t at = (w->offset[row] + t) * w->qkv_stride;
            if (w->qkv == NULL)
                widen(trace->projected + t * numbers, w->qkv_bf16 + at, numbers);
            else
                memcpy(trace->projected + t * numbers, w->qkv + at, numbers * sizeof *w->qkv);
        }
    }
}

void trace_layer(const struct spec *spec, struct workspace *workspace, unsigned layer)
{
    struct taking taking = {.spec = spec, .workspace = workspace, .layer = layer};
    if (!workspace->traced)
        return;
    if (is_copied(&taking))
        team_run(workspace->team, copy_share, &taking);
    team_run(workspace->team, take_share, &taking);
}

/* ---- the last block's sums ---- */

void trace_sum(const struct spec *spec, const struct workspace *workspace, enum trace_sum which,
               const float *sum)
{
    size_t kept = spec_head_tokens(spec), numbers = spec->hidden;
    for (size_t row = 0; workspace->traced && row < workspace->rows; row++) {
        const struct trace *trace = workspace->traces[row];
        for (size_t t = 0; trace != NULL && t < kept; t++)
            memcpy(trace->sums[which] + t * numbers,
                   sum + (row * kept + t) * workspace->hidden_stride, numbers * sizeof *sum);
    }
}
