/* capture_layer.c - records a layer into captures while the encoder runs: see capture.h. */
#include "engine/model/attention.h"
#include "engine/model/attention_rows.h"
#include "engine/model/capture.h"
#include "engine/tensor/dot.h"
#include "engine/tensor/global_token.h"

#include <stdatomic.h>
#include <string.h>

struct taking {
    const struct spec *spec;
    const struct workspace *workspace;
    const struct layer *layer;
    unsigned index;   /* the layer's number */
    atomic_uint next; /* the next block of queries; partners: the members of the pool */
};

static bool has_stats(const struct capture *capture)
{
    return capture != NULL && capture->stats != NULL;
}

static size_t block_count(const struct capture *capture)
{
    return (capture->tokens + ATTENTION_QUERIES - 1) / ATTENTION_QUERIES;
}

static bool is_last(const struct taking *taking)
{
    return taking->index + 1 == taking->spec->layers;
}

/* True for the last layer, which is copied. Lower layers are read in place, in the encoder's
 * precision. */
static bool is_copied(const struct taking *taking)
{
    return is_last(taking) && !spec_has_global(taking->spec);
}

/* True if the layer is kept head by head, for the tokens that the classifier reads; not for
 * windows, all of whose tokens it reads. */
static bool is_by_head(const struct taking *taking)
{
    return is_last(taking) && taking->spec->stages == NULL;
}

/* Returns the attention of a row's queries in this layer. */
static struct attention_rows rows_of(const struct taking *taking, unsigned row)
{
    const struct spec *spec = taking->spec;
    const struct workspace *w = taking->workspace;
    const struct capture *capture = w->captures[row];
    const size_t attended = taking->layer->attended, at = w->offset[row] * w->qkv_stride;
    struct attention_rows rows = {
        .kernels = w->kernels,
        .qkv = capture->projected,
        .stride = 3 * attended,
        .tokens = capture->tokens,
        .attended = attended,
        .width = spec_head_width(spec),
        .bias = attention_bias_of_kind(&taking->layer->bias, patch_windows_kind(spec, row)),
        .reach = taking->layer->reach,
        .has_global = spec_has_global(spec)};
    if (!is_copied(taking)) {
        rows.qkv = w->qkv != NULL ? w->qkv + at : NULL;
        rows.qkv_bf16 = w->qkv == NULL ? w->qkv_bf16 + at : NULL;
        rows.stride = w->qkv_stride;
    }
    return rows;
}

/* Returns the bias of a layer with relative positions for `heads` heads from `head` on and `count`
 * queries of a row, from query `first` on; empty for another layer. `scratch` is the member's. */
static struct attention_bias relative_of(const struct taking *taking, unsigned row, size_t first,
                                         size_t count, size_t head, size_t heads, float *scratch)
{
    const struct layer *layer = taking->layer;
    const struct workspace *w = taking->workspace;
    if (layer->relative.gemm == NULL)
        return (struct attention_bias){0};
    const struct query_block block = {.first = w->offset[row] + (unsigned)first,
                                      .count = (unsigned)count,
                                      .sequence = w->offset[row],
                                      .sequence_tokens = w->captures[row]->tokens};
    float *matrix = scratch + w->capture_scratch.relative_at;
    size_t step = (size_t)block.sequence_tokens * ATTENTION_QUERIES;
    for (size_t h = 0; h < heads; h++)
        attention_relative(taking->spec, w, layer, &block, head + h, matrix + h * step,
                           matrix + heads * step);
    return (struct attention_bias){.at = matrix, .key_step = ATTENTION_QUERIES, .head_step = step};
}

/* Computes [count][N] probabilities of a row's queries, the mean of `heads` heads from `head` on.
 * `scratch` is the member's, from the probabilities of a block on. */
static void average_rows(const struct taking *taking, unsigned row, size_t first, size_t count,
                         size_t head, size_t heads, float *out, size_t out_stride, float *scratch)
{
    const struct attention_rows rows = rows_of(taking, row);
    const struct attention_bias relative =
        relative_of(taking, row, first, count, head, heads, scratch);
    attention_rows_mean(&rows, first, count, head, heads, &relative, out, out_stride,
                        scratch + taking->workspace->capture_scratch.rows_at);
}

/* Computes a block of a row's queries: out [count][N]. Returns the count. */
static size_t average(const struct taking *taking, unsigned row, size_t block, size_t head,
                      size_t heads, float *out, float *scratch)
{
    size_t tokens = taking->workspace->captures[row]->tokens, first = block * ATTENTION_QUERIES;
    size_t left = tokens - first, count = left < ATTENTION_QUERIES ? left : ATTENTION_QUERIES;
    average_rows(taking, row, first, count, head, heads, out, tokens, scratch);
    return count;
}

/* Returns the global token with the layer's input. */
static struct global_token global_of(const struct taking *taking, unsigned row)
{
    const struct workspace *w = taking->workspace;
    return (struct global_token){.kernels = w->kernels,
                                 .projections = &taking->layer->global,
                                 .x = w->x + w->offset[row] * w->hidden_stride,
                                 .stride = w->hidden_stride,
                                 .tokens = w->captures[row]->tokens,
                                 .heads = taking->spec->heads,
                                 .hidden = taking->spec->hidden};
}

static void take_block(const struct taking *taking, unsigned row, size_t block, float *scratch)
{
    const struct capture *capture = taking->workspace->captures[row];
    size_t n = capture->tokens, first = block * ATTENTION_QUERIES;
    float *out = capture_mean(capture, taking->index) + first * n;
    average(taking, row, block, 0, taking->layer->heads, out, scratch);
    if (first == 0 && spec_has_global(taking->spec)) {
        /* The global token's row, which is zero so far: out [N] <- the mean over the heads. */
        const struct global_token token = global_of(taking, row);
        const float share = 1 / (float)token.heads;
        float *rows = scratch;
        for (size_t head = 0, count; head < token.heads; head += count) {
            count = token.heads - head < ATTENTION_QUERIES ? token.heads - head : ATTENTION_QUERIES;
            global_token_rows(&token, head, count, rows,
                              scratch + taking->workspace->capture_scratch.rows_at);
            for (size_t h = 0; h < count; h++)
                add_scaled(out, share, rows + h * token.tokens, token.tokens);
        }
    }
}

/* Takes one head of the last layer, for the tokens that the classifier reads. */
static void take_head(const struct taking *taking, unsigned row, size_t head, float *scratch)
{
    const struct spec *spec = taking->spec;
    const struct capture *capture = taking->workspace->captures[row];
    float *out = capture->last + head * capture->tokens;
    if (spec_has_global(spec)) {
        const struct global_token token = global_of(taking, row);
        global_token_rows(&token, head, 1, out, scratch);
        return;
    }
    average_rows(taking, row, 0, spec_head_tokens(spec), head, 1, out,
                 taking->layer->heads * (size_t)capture->tokens, scratch);
}

/* True if a row keeps anything of this layer. */
static bool is_taken(const struct capture *capture, const struct spec *spec, unsigned layer)
{
    if (capture == NULL)
        return false;
    return layer + 1 == spec->layers || (layer >= capture->from && layer < capture->to);
}

/* Counts the tasks of a row: heads of the last layer, or blocks of queries if the mean is kept. */
static size_t part_count(const struct taking *taking, const struct capture *capture)
{
    if (is_by_head(taking))
        return taking->layer->heads;
    return taking->index >= capture->from && taking->index < capture->to ? block_count(capture) : 0;
}

static void take_share(void *context, unsigned index, unsigned count)
{
    struct taking *taking = context;
    const struct spec *spec = taking->spec;
    const struct workspace *w = taking->workspace;
    float *scratch = w->capture_scratch.floats + index * w->capture_scratch.each;
    unsigned mine = atomic_fetch_add_explicit(&taking->next, 1, memory_order_relaxed), task = 0;
    (void)count;
    for (unsigned row = 0; row < w->rows; row++) {
        if (!is_taken(w->captures[row], spec, taking->index))
            continue;
        size_t parts = part_count(taking, w->captures[row]);
        for (size_t part = 0; part < parts; part++, task++) {
            if (task != mine)
                continue;
            if (is_by_head(taking))
                take_head(taking, row, part, scratch);
            else
                take_block(taking, row, part, scratch);
            mine = atomic_fetch_add_explicit(&taking->next, 1, memory_order_relaxed);
        }
    }
}

/* Computes statistics of one head of a row that wants them, over all queries. */
static void judge_head(const struct taking *taking, unsigned row, size_t head, float *scratch)
{
    const struct spec *spec = taking->spec;
    const struct capture *capture = taking->workspace->captures[row];
    struct attention_stats *stats = &capture->stats[taking->index * spec->heads + head];
    *stats = (struct attention_stats){0};
    for (size_t block = 0; block < block_count(capture); block++) {
        size_t count = average(taking, row, block, head, 1, scratch, scratch);
        attention_stats_add(stats, &capture->layout, scratch, block * ATTENTION_QUERIES, count);
    }
    attention_stats_finish(stats, &capture->layout);
}

static void judge_share(void *context, unsigned index, unsigned count)
{
    const struct taking *taking = context;
    const struct workspace *w = taking->workspace;
    float *scratch = w->capture_scratch.floats + index * w->capture_scratch.each;
    for (unsigned row = 0; row < w->rows; row++)
        for (size_t h = index; has_stats(w->captures[row]) && h < taking->layer->heads; h += count)
            judge_head(taking, row, h, scratch);
}

static void widen(float *to, const uint16_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(&to[i], &bits, sizeof bits);
    }
}

static void copy_states(void *context, unsigned index, unsigned count)
{
    const struct taking *taking = context;
    const struct workspace *w = taking->workspace;
    size_t hidden = taking->spec->hidden;
    for (unsigned row = 0; row < w->rows; row++) {
        struct capture *capture = w->captures[row];
        for (size_t t = index; capture != NULL && t < capture->tokens; t += count)
            memcpy(capture->states + t * hidden, w->x + (w->offset[row] + t) * w->hidden_stride,
                   hidden * sizeof *w->x);
    }
}

static void copy_projected(void *context, unsigned index, unsigned count)
{
    const struct taking *taking = context;
    const struct workspace *w = taking->workspace;
    size_t numbers = 3 * (size_t)taking->layer->attended;
    for (unsigned row = 0; row < w->rows; row++) {
        struct capture *capture = w->captures[row];
        for (size_t t = index; capture != NULL && t < capture->tokens; t += count) {
            size_t at = (w->offset[row] + t) * w->qkv_stride;
            if (w->qkv == NULL)
                widen(capture->projected + t * numbers, w->qkv_bf16 + at, numbers);
            else
                memcpy(capture->projected + t * numbers, w->qkv + at, numbers * sizeof *w->qkv);
        }
    }
}

bool capture_judges(const struct workspace *workspace)
{
    for (unsigned row = 0; workspace->captured && row < workspace->rows; row++)
        if (has_stats(workspace->captures[row]))
            return true;
    return false;
}

void capture_layer(const struct spec *spec, struct workspace *workspace, const struct layer *layer,
                   unsigned index)
{
    struct taking taking = {.spec = spec, .workspace = workspace, .layer = layer, .index = index};
    bool taken = false;
    for (unsigned row = 0; workspace->captured && row < workspace->rows; row++)
        taken = taken || is_taken(workspace->captures[row], spec, index);
    if (taken && is_last(&taking))
        thread_pool_run(workspace->pool, spec_has_global(spec) ? copy_states : copy_projected,
                        &taking);
    if (taken)
        thread_pool_run(workspace->pool, take_share, &taking);
    if (capture_judges(workspace))
        thread_pool_run(workspace->pool, judge_share, &taking);
}
