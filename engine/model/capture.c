#include "engine/model/capture.h"

#include "engine/model/attention.h"
#include "engine/tensor/attention_bf16.h"

#include <stdatomic.h>
#include <string.h>

/* ---- memory ---- */

enum { ARRAYS = 6 };

static bool has_last(const struct spec *spec)
{
    return spec_end_layer(spec) == spec->layers;
}

/* Windows have no token that the classifier reads before others. */
static bool has_first_token(const struct spec *spec)
{
    return spec->window == 0;
}

/* Of one sequence. */
static void array_sizes(const struct spec *spec, unsigned tokens, const struct capture_wish *wish,
                        size_t sizes[ARRAYS])
{
    size_t n = tokens, kept = spec_kept_tokens(spec, tokens), hidden = spec->hidden;
    sizes[0] = n * n * (wish->to - wish->from);
    sizes[1] = has_first_token(spec) ? n * spec->heads * spec_head_tokens(spec) : 0;
    sizes[2] = has_last(spec) ? n * 3 * hidden : 0;
    sizes[3] = sizes[4] = has_last(spec) ? kept * hidden : 0;
    sizes[5] = wish->logits ? spec->label_count : 0;
}

/* A wish for the layers of a stage alone. */
static struct capture_wish wish_in(const struct spec *stage, const struct capture_wish *wish)
{
    const unsigned first = spec_first_layer(stage), end = spec_end_layer(stage);
    struct capture_wish own = {.from = wish->from > first ? wish->from : first,
                               .to = wish->to < end ? wish->to : end};
    if (own.from > own.to)
        own.from = own.to;
    return own;
}

static size_t sequence_bytes(const struct spec *spec, unsigned tokens,
                             const struct capture_wish *wish)
{
    size_t sizes[ARRAYS], total = 0;
    array_sizes(spec, tokens, wish, sizes);
    for (size_t i = 0; i < ARRAYS; i++)
        total += sizes[i] * sizeof(float);
    return total;
}

size_t capture_bytes(const struct spec *spec, unsigned tokens, const struct capture_wish *wish)
{
    size_t total = 0;
    if (has_first_token(spec))
        return sequence_bytes(spec, tokens, wish);
    for (unsigned i = 0; i < spec_stages(spec); i++) {
        const struct spec stage = spec_at(spec, i);
        const struct capture_wish own = wish_in(&stage, wish);
        const size_t bytes = sequence_bytes(&stage, (unsigned)spec_sequence(&stage), &own);
        total += spec_windows(&stage) * (bytes + sizeof(struct capture));
    }
    return total;
}

/* [CLS] and [SEP] enclose a text; an image's patches follow the tokens of the classifier. */
static struct attention_layout layout_of(const struct spec *spec, unsigned tokens)
{
    if (spec->patch == 0)
        return (struct attention_layout){.tokens = tokens, .first = 1, .end = tokens - 1};
    return (struct attention_layout){.tokens = tokens,
                                     .first = spec->window > 0 ? 0 : tokens - spec->patches,
                                     .end = tokens,
                                     .columns = spec_window(spec)};
}

static enum err_code open_sequence(struct capture *out, const struct spec *spec, unsigned tokens,
                                   const struct capture_wish *wish, struct arena *arena,
                                   struct err *err)
{
    size_t sizes[ARRAYS], stats = wish->stats ? (size_t)spec->layers * spec->heads : 0;
    *out = (struct capture){
        .tokens = tokens, .from = wish->from, .to = wish->to, .layout = layout_of(spec, tokens)};
    float **arrays[] = {&out->mean,    &out->last,    &out->projected,
                        &out->sums[0], &out->sums[1], &out->logits};
    array_sizes(spec, tokens, wish, sizes);
    for (size_t i = 0; i < ARRAYS; i++) {
        *arrays[i] = arena_alloc(arena, sizes[i] * sizeof(float));
        if (*arrays[i] == NULL)
            return err_no_memory(err, sizes[i] * sizeof(float));
    }
    if (!wish->logits)
        out->logits = NULL;
    if (stats > 0)
        out->stats = arena_alloc_array(arena, stats, sizeof *out->stats);
    return stats > 0 && out->stats == NULL ? err_no_memory(err, stats * sizeof *out->stats)
                                           : ERR_OK;
}

static enum err_code open_windows(struct capture *out, const struct spec *spec,
                                  const struct capture_wish *wish, struct arena *arena,
                                  struct err *err)
{
    size_t count = 0;
    for (unsigned i = 0; i < spec_stages(spec); i++) {
        const struct spec stage = spec_at(spec, i);
        count += spec_windows(&stage);
    }
    struct capture *window = arena_alloc_array(arena, count, sizeof *window);
    out->windows = window;
    if (window == NULL)
        return err_no_memory(err, count * sizeof *window);
    for (unsigned i = 0; i < spec_stages(spec); i++) {
        const struct spec stage = spec_at(spec, i);
        const struct capture_wish own = wish_in(&stage, wish);
        for (unsigned v = 0; v < spec_windows(&stage); v++)
            if (open_sequence(window++, &stage, (unsigned)spec_sequence(&stage), &own, arena, err))
                return err->code;
    }
    return ERR_OK;
}

enum err_code capture_open(struct capture *out, const struct spec *spec, unsigned tokens,
                           const struct capture_wish *wish, struct arena *arena, struct err *err)
{
    if (has_first_token(spec))
        return open_sequence(out, spec, tokens, wish, arena, err);
    *out = (struct capture){.tokens = tokens, .from = wish->from, .to = wish->to};
    return open_windows(out, spec, wish, arena, err);
}

struct capture *capture_window(const struct capture *capture, const struct spec *stage,
                               unsigned window)
{
    size_t before = 0;
    for (unsigned i = 0; i < stage->stage; i++) { /* half as many across in the next */
        const size_t across = (size_t)spec_windows_across(stage) << (stage->stage - i);
        before += across * across;
    }
    return capture->windows + before + window;
}

/* ---- a layer ---- */

struct taking {
    const struct spec *spec;
    const struct workspace *workspace;
    const struct layer *layer;
    unsigned index;
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

/* The lower layers are read where they lie, in the encoder's precision. */
static bool is_copied(const struct taking *taking)
{
    return taking->index + 1 == taking->spec->layers;
}

/* One head or several of fp32 queries and keys; `bias` is seen from the first of them. */
static void average_fp32(const struct kernels *kernels, float *out, size_t out_stride,
                         const float *q, const float *k, size_t stride, size_t count, size_t n,
                         size_t heads, size_t width, const struct attention_bias *bias,
                         float *scratch)
{
    if (bias->at != NULL)
        kernels->attention_mean_biased(out, out_stride, q, k, stride, count, n, heads, width, bias,
                                       scratch);
    else
        kernels->attention_mean(out, out_stride, q, k, stride, count, n, heads, width, scratch);
}

/* What `heads` heads from `head` on add to the scores of `count` queries of a row, from query
 * `first` on. `scratch` is the member's. */
static struct attention_bias bias_of(const struct taking *taking, unsigned row, size_t first,
                                     size_t count, size_t head, size_t heads, float *scratch)
{
    const struct layer *layer = taking->layer;
    const struct workspace *w = taking->workspace;
    if (layer->bias.at != NULL) {
        const struct attention_bias own =
            attention_bias_of_kind(&layer->bias, patch_windows_kind(taking->spec, row));
        return attention_bias_at(&own, head, first);
    }
    if (layer->relative.gemm == NULL)
        return (struct attention_bias){0};
    const struct query_block block = {.first = w->offset[row] + (unsigned)first,
                                      .count = (unsigned)count,
                                      .sequence = w->offset[row],
                                      .sequence_tokens = w->captures[row]->tokens};
    float *matrix = scratch + w->capture_relative_at;
    size_t step = (size_t)block.sequence_tokens * ATTENTION_QUERIES;
    for (size_t h = 0; h < heads; h++)
        attention_relative(taking->spec, w, layer, &block, head + h, matrix + h * step,
                           matrix + heads * step);
    return (struct attention_bias){matrix, ATTENTION_QUERIES, step, 0};
}

/* A block of a row's queries: out [count][N], the mean of `heads` heads from `head` on. Returns the
 * count. `scratch` is the member's, from the probabilities of a block on. */
static size_t average(const struct taking *taking, unsigned row, size_t block, size_t head,
                      size_t heads, float *out, float *scratch)
{
    const struct spec *spec = taking->spec;
    const struct workspace *w = taking->workspace;
    const struct capture *capture = w->captures[row];
    size_t n = capture->tokens, first = block * ATTENTION_QUERIES,
           width = spec->hidden / spec->heads;
    size_t count = n - first < ATTENTION_QUERIES ? n - first : ATTENTION_QUERIES;
    size_t hidden = spec->hidden, stride = is_copied(taking) ? 3 * hidden : w->qkv_stride;
    size_t row_at = is_copied(taking) ? 0 : w->offset[row] * stride;
    size_t query = row_at + first * stride + head * width, key = row_at + hidden + head * width;
    const float *fp32 = is_copied(taking) ? capture->projected : w->qkv;
    const struct attention_bias bias = bias_of(taking, row, first, count, head, heads, scratch);
    scratch += w->capture_block_floats;
    if (fp32 != NULL)
        average_fp32(w->kernels, out, n, fp32 + query, fp32 + key, stride, count, n, heads, width,
                     &bias, scratch);
    else
        attention_bf16_mean(out, n, w->qkv_bf16 + query, w->qkv_bf16 + key, stride, count, n, heads,
                            width, &bias, scratch);
    return count;
}

static void take_block(const struct taking *taking, unsigned row, size_t block, float *scratch)
{
    const struct capture *capture = taking->workspace->captures[row];
    size_t n = capture->tokens, first = block * ATTENTION_QUERIES;
    average(taking, row, block, 0, taking->spec->heads,
            capture_mean(capture, taking->index) + first * n, scratch);
}

/* The last layer: one head of the tokens that the classifier reads. */
static void take_head(const struct taking *taking, unsigned row, size_t head, float *scratch)
{
    const struct spec *spec = taking->spec;
    const struct workspace *w = taking->workspace;
    const struct capture *capture = w->captures[row];
    size_t n = capture->tokens, width = spec->hidden / spec->heads;
    const float *q = capture->projected + head * width;
    const struct attention_bias bias =
        bias_of(taking, row, 0, spec_head_tokens(spec), head, 1, scratch);
    average_fp32(w->kernels, capture->last + head * n, spec->heads * n, q, q + spec->hidden,
                 3 * (size_t)spec->hidden, spec_head_tokens(spec), n, 1, width, &bias,
                 scratch + w->capture_block_floats);
}

/* Whether a row keeps anything of this layer. */
static bool is_taken(const struct capture *capture, const struct spec *spec, unsigned layer)
{
    if (capture == NULL)
        return false;
    return layer + 1 == spec->layers || (layer >= capture->from && layer < capture->to);
}

/* Tasks of a row: heads of the last layer, or blocks of queries where the mean is kept. */
static size_t part_count(const struct spec *spec, const struct capture *capture, unsigned layer)
{
    if (layer + 1 == spec->layers && has_first_token(spec))
        return spec->heads;
    return layer >= capture->from && layer < capture->to ? block_count(capture) : 0;
}

static void take_share(void *context, unsigned index, unsigned count)
{
    struct taking *taking = context;
    const struct spec *spec = taking->spec;
    const struct workspace *w = taking->workspace;
    float *scratch = w->capture_scratch + index * w->capture_scratch_floats;
    bool by_head = taking->index + 1 == spec->layers && has_first_token(spec);
    unsigned mine = atomic_fetch_add_explicit(&taking->next, 1, memory_order_relaxed), task = 0;
    (void)count;
    for (unsigned row = 0; row < w->rows; row++) {
        if (!is_taken(w->captures[row], spec, taking->index))
            continue;
        size_t parts = part_count(spec, w->captures[row], taking->index);
        for (size_t part = 0; part < parts; part++, task++) {
            if (task != mine)
                continue;
            if (by_head)
                take_head(taking, row, part, scratch);
            else
                take_block(taking, row, part, scratch);
            mine = atomic_fetch_add_explicit(&taking->next, 1, memory_order_relaxed);
        }
    }
}

/* One head of a row that wants statistics, all queries. */
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
    float *scratch = w->capture_scratch + index * w->capture_scratch_floats;
    for (unsigned row = 0; row < w->rows; row++)
        for (size_t h = index; has_stats(w->captures[row]) && h < taking->spec->heads; h += count)
            judge_head(taking, row, h, scratch);
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

void capture_layer(const struct spec *spec, struct workspace *workspace, const struct layer *layer,
                   unsigned index)
{
    struct taking taking = {.spec = spec, .workspace = workspace, .layer = layer, .index = index};
    bool taken = false, judged = false;
    for (unsigned row = 0; workspace->captured && row < workspace->rows; row++) {
        taken = taken || is_taken(workspace->captures[row], spec, index);
        judged = judged || has_stats(workspace->captures[row]);
    }
    if (taken && is_copied(&taking))
        thread_pool_run(workspace->pool, copy_share, &taking);
    if (taken)
        thread_pool_run(workspace->pool, take_share, &taking);
    if (judged)
        thread_pool_run(workspace->pool, judge_share, &taking);
}

/* ---- the last block's sums ---- */

void capture_sum(const struct spec *spec, const struct workspace *workspace, enum capture_sum which,
                 const float *sum)
{
    size_t numbers = spec->hidden, stride = workspace->hidden_stride;
    for (size_t row = 0; workspace->captured && row < workspace->rows; row++) {
        const struct capture *capture = workspace->captures[row];
        size_t kept = capture != NULL ? spec_kept_tokens(spec, capture->tokens) : 0;
        size_t first = spec_head_reads_all(spec) ? workspace->offset[row] : row * kept;
        for (size_t t = 0; t < kept; t++)
            memcpy(capture->sums[which] + t * numbers, sum + (first + t) * stride,
                   numbers * sizeof *sum);
    }
}
