#include "engine/model/decoder/decoder.h"

#include "engine/model/embed.h"
#include "engine/model/encoder.h"
#include "engine/tensor/lanes.h"

#include <assert.h>
#include <string.h>

/* ---- caches ---- */

/* Returns the numbers of a token's keys and values in one layer. */
static size_t pair_floats(const struct spec *spec)
{
    return 2 * (size_t)spec_heads_width(spec);
}

size_t decoder_cache_bytes(const struct spec *spec, size_t source_tokens, size_t slots)
{
    const size_t token = memory_product(spec->layers, pair_floats(spec) * sizeof(float));
    return memory_product(memory_sum(source_tokens, slots), token);
}

void decoder_cache_place(struct decoder_cache *out, const struct spec *spec, unsigned source_tokens,
                         unsigned slots, void *memory)
{
    *out = (struct decoder_cache){.source_tokens = source_tokens, .slots = slots, .source = memory};
    out->tokens = out->source + spec->layers * (size_t)source_tokens * pair_floats(spec);
}

/* Returns the keys of a layer, and behind each its value. */
static float *source_of(const struct spec *spec, const struct decoder_cache *cache, unsigned layer)
{
    return cache->source + layer * (size_t)cache->source_tokens * pair_floats(spec);
}

static float *tokens_of(const struct spec *spec, const struct decoder_cache *cache, unsigned layer)
{
    return cache->tokens + layer * (size_t)cache->slots * pair_floats(spec);
}

/* ---- the workspace ---- */

static bool reads_in_place(const struct linear_backend *backend)
{
    return backend->precision == PRECISION_F32 && !linear_reads_parts(backend);
}

static size_t row_floats(size_t width)
{
    return operand_stride(width, sizeof(float)) / sizeof(float);
}

static size_t most_keys(const struct decoder_sizes *sizes)
{
    return simd_round_up(sizes->tokens > sizes->source_tokens ? sizes->tokens
                                                              : sizes->source_tokens);
}

enum err_code decoder_workspace_open(struct decoder_workspace *out, const struct spec *spec,
                                     const struct linear_backend *backend,
                                     const struct decoder_sizes *sizes, struct thread_pool *pool,
                                     const struct kernels *kernels, struct err *err)
{
    const size_t rows = sizes->rows;
    *out = (struct decoder_workspace){.sizes = *sizes,
                                      .backend = backend,
                                      .query_stride = row_floats(spec_heads_width(spec)),
                                      .scores_step = most_keys(sizes),
                                      .logits_stride = row_floats(spec->vocab_size)};
    struct arena *arena = &out->block.arena;
    if (workspace_open(&out->block, spec, backend, sizes->rows, pool, kernels, err))
        return err->code;
    const size_t scores = spec->heads * out->scores_step;
    out->query = arena_alloc_array(arena, rows * out->query_stride, sizeof(float));
    out->scores = arena_alloc_array(arena, rows * scores, sizeof(float));
    out->logits = arena_alloc_array(arena, rows * out->logits_stride, sizeof(float));
    if (spec->projects_states)
        out->projected =
            arena_alloc_array(arena, sizes->source_tokens, spec->hidden * sizeof(float));
    if (out->query == NULL || out->scores == NULL || out->logits == NULL ||
        (spec->projects_states && out->projected == NULL))
        err_no_memory(err,
                      rows * (out->query_stride + scores + out->logits_stride) * sizeof(float));
    else if (!reads_in_place(backend))
        linear_operand(&out->states, arena, backend, sizes->source_tokens, spec_states(spec), err);
    if (err->code != ERR_OK)
        decoder_workspace_close(out);
    return err->code;
}

void decoder_workspace_close(struct decoder_workspace *workspace)
{
    workspace_close(&workspace->block);
    *workspace = (struct decoder_workspace){0};
}

size_t decoder_workspace_bytes(const struct spec *spec, const struct linear_backend *backend,
                               const struct decoder_sizes *sizes, unsigned threads)
{
    enum { SMALL_BYTES = 4096, SCALE_BYTES = 8 }; /* lines of the arena; an int8 row's scale */
    const size_t row = row_floats(spec_heads_width(spec)) + spec->heads * most_keys(sizes) +
                       row_floats(spec->vocab_size);
    const size_t state = reads_in_place(backend) ? 0
                         : linear_reads_parts(backend)
                             ? operand_parts_stride(spec_states(spec))
                             : row_floats(spec_states(spec)) * sizeof(float);
    const size_t projected = spec->projects_states ? spec->hidden * sizeof(float) : 0;
    return workspace_bytes(spec, backend, sizes->rows, threads) +
           sizes->rows * row * sizeof(float) +
           sizes->source_tokens * (state + projected + SCALE_BYTES) + SMALL_BYTES;
}

/* ---- the source ---- */

void decoder_begin(const struct spec *spec, const struct weights *weights,
                   struct decoder_workspace *workspace, struct decoder_cache *cache,
                   const float *states, size_t stride)
{
    struct workspace *w = &workspace->block;
    struct operand x = workspace->states;
    assert(cache->source_tokens <= workspace->sizes.source_tokens);
    if (spec->projects_states) {
        struct linear_io io = {.x = operand_f32(states, stride),
                               .rows = cache->source_tokens,
                               .y = workspace->projected,
                               .y_stride = spec->hidden};
        linear_run(&weights->states_project, w->kernels, w->pool, &io);
        states = workspace->projected;
        stride = spec->hidden;
    }
    if (x.data == NULL)
        x = operand_f32(states, stride);
    for (unsigned t = 0; t < cache->source_tokens && workspace->states.data != NULL; t++)
        operand_store(&x, w->kernels, t, states + t * stride, spec_states(spec));
    for (unsigned i = 0; i < spec->layers; i++) {
        struct linear_io io = {.x = x,
                               .rows = cache->source_tokens,
                               .y = source_of(spec, cache, i),
                               .y_stride = pair_floats(spec)};
        linear_run(&weights->layers[i].cross_kv, w->kernels, w->pool, &io);
    }
}

/* ---- attention ---- */

struct attend_run {
    const struct spec *spec;
    const struct layer *layer;
    struct decoder_workspace *workspace;
    const struct decoder_row *rows;
    unsigned index; /* of the layer */
    bool is_cross;  /* of the states; else of the row's own tokens */
    unsigned parts; /* of a row's heads */
    struct lanes lanes;
};

/* Copies a part of a row's new key and value into its slot. */
static void fill_slot(const struct attend_run *run, const struct decoder_row *row, const float *qkv,
                      size_t first, size_t width)
{
    const size_t all = spec_heads_width(run->spec);
    assert(row->slots[row->before] < row->cache->slots);
    float *to = tokens_of(run->spec, row->cache, run->index) +
                row->slots[row->before] * pair_floats(run->spec) + first;
    memcpy(to, qkv + all + first, width * sizeof *to);
    memcpy(to + all, qkv + 2 * all + first, width * sizeof *to);
}

/* Computes some heads of a row. */
static void attend(const struct attend_run *run, unsigned r, unsigned part)
{
    const struct spec *spec = run->spec;
    struct decoder_workspace *workspace = run->workspace;
    const struct workspace *w = &workspace->block;
    const struct decoder_row *row = &run->rows[r];
    const size_t d = spec_head_width(spec), all = spec_heads_width(spec);
    const size_t head = (size_t)spec->heads * part / run->parts;
    const size_t heads = (size_t)spec->heads * (part + 1) / run->parts - head;
    const struct attention_bias *bias = &run->layer->bias;
    const float *qkv = w->qkv + r * w->qkv_stride;
    struct decode_io io = {.out = w->context + r * w->context_stride + head * d,
                           .kv_stride = pair_floats(spec),
                           .d = d,
                           .heads = heads,
                           .scores = workspace->scores +
                                     (r * spec->heads + head) * workspace->scores_step,
                           .scores_step = workspace->scores_step};
    if (run->is_cross) {
        io.q = workspace->query + r * workspace->query_stride + head * d;
        io.k = source_of(spec, row->cache, run->index) + head * d;
        io.n = row->cache->source_tokens;
    } else {
        fill_slot(run, row, qkv, head * d, heads * d);
        io.q = qkv + head * d;
        io.k = tokens_of(spec, row->cache, run->index) + head * d;
        io.n = row->before + 1;
        io.slots = row->slots;
        io.bias = bias->at != NULL ? bias->at + head * bias->head_step : NULL;
        io.bias_step = bias->head_step;
    }
    io.v = io.k + all;
    w->kernels->attention_decode(&io);
}

static void attend_share(void *context, unsigned index, unsigned count)
{
    struct attend_run *run = context;
    struct lane_cursor at = lanes_begin(&run->lanes, index);
    (void)count;
    for (size_t round, task; lanes_take(&run->lanes, &at, &round, &task);)
        attend(run, (unsigned)(task / run->parts), (unsigned)(task % run->parts));
}

/* out [source tokens] = the mean over the heads of a row's scores. */
static void align(const struct spec *spec, const struct decoder_workspace *workspace, unsigned r,
                  unsigned tokens, float *out)
{
    const float *scores = workspace->scores + r * spec->heads * workspace->scores_step;
    for (unsigned t = 0; t < tokens; t++) {
        float sum = 0;
        for (unsigned h = 0; h < spec->heads; h++)
            sum += scores[h * workspace->scores_step + t];
        out[t] = sum / (float)spec->heads;
    }
}

/* attended = the attention of all rows. A few rows are cut into heads, so that each member of the
 * pool has some. */
static void attend_all(struct attend_run *run)
{
    const struct spec *spec = run->spec;
    struct workspace *w = &run->workspace->block;
    const unsigned members = thread_pool_size(w->pool);
    const unsigned each = w->tokens < members ? members : 1;
    run->parts = each < spec->heads ? each : spec->heads;
    lanes_init(&run->lanes, members, 1, (size_t)w->tokens * run->parts);
    thread_pool_run(w->pool, attend_share, run);
    for (unsigned r = 0; run->is_cross && r < w->tokens; r++) {
        const struct decoder_row *row = &run->rows[r];
        const unsigned tokens = row->cache->source_tokens;
        if (row->alignment != NULL)
            align(spec, run->workspace, r, tokens, row->alignment + (size_t)run->index * tokens);
    }
    encoder_store(w, &w->attended, w->context, w->context_stride, spec_heads_width(spec));
}

/* ---- a step ---- */

/* out = W_o attention(normed) + x, over the rows' own tokens */
static void attend_tokens(struct attend_run *run, float *out, const float *x)
{
    struct workspace *w = &run->workspace->block;
    run->is_cross = false;
    encoder_project(w, &run->layer->qkv);
    attend_all(run);
    encoder_multiply(w, &run->layer->attention_out, &w->attended, out, x);
}

/* out = W_c attention(normed, states) + x */
static void attend_states(struct attend_run *run, float *out, const float *x)
{
    struct workspace *w = &run->workspace->block;
    struct linear_io io = {.x = w->normed,
                           .rows = w->tokens,
                           .y = run->workspace->query,
                           .y_stride = run->workspace->query_stride};
    run->is_cross = true;
    linear_run(&run->layer->cross_query, w->kernels, w->pool, &io);
    attend_all(run);
    encoder_multiply(w, &run->layer->cross_out, &w->attended, out, x);
}

static void norm_after_block(struct attend_run *run)
{
    struct workspace *w = &run->workspace->block;
    attend_tokens(run, w->y, w->x);
    encoder_norm(run->spec, w, &run->layer->attention_norm, w->x, w->y);
    attend_states(run, w->y, w->x);
    encoder_norm(run->spec, w, &run->layer->cross_norm, w->x, w->y);
    encoder_mlp(run->spec, run->layer, w, w->y, w->x, run->index);
    encoder_norm(run->spec, w, &run->layer->mlp_norm, w->x, w->y);
}

static void norm_before_block(struct attend_run *run)
{
    struct workspace *w = &run->workspace->block;
    encoder_norm(run->spec, w, &run->layer->attention_norm, w->y, w->x);
    attend_tokens(run, w->z, w->x);
    encoder_norm(run->spec, w, &run->layer->cross_norm, w->y, w->z);
    attend_states(run, w->x, w->z);
    encoder_norm(run->spec, w, &run->layer->mlp_norm, w->y, w->x);
    encoder_mlp(run->spec, run->layer, w, w->z, w->x, run->index);
    float *out = w->z;
    w->z = w->x;
    w->x = out;
}

static void embed_rows(const struct spec *spec, const struct weights *weights, struct workspace *w,
                       const struct decoder_row *rows)
{
    const struct norm *norm = &weights->embedding_norm;
    for (unsigned r = 0; r < w->tokens; r++) {
        const struct decoder_row *row = &rows[r];
        float *x = w->x + r * w->hidden_stride;
        unsigned counted = row->before;
        assert(row->before < spec_text_tokens(spec) && (unsigned)row->token < spec->vocab_size);
        embed_token(spec, weights, x, row->token, position_next(spec, row->token, &counted));
        if (norm->gamma != NULL)
            norm_apply(w->kernels, spec, norm, x, w->hidden_stride, x, w->hidden_stride, 1,
                       spec->hidden, spec->norm_eps);
    }
}

void decoder_step(const struct spec *spec, const struct weights *weights,
                  struct decoder_workspace *workspace, const struct decoder_row *rows,
                  unsigned count)
{
    struct workspace *w = &workspace->block;
    const bool is_after = spec->family->block.norm == NORM_AFTER;
    assert(count > 0 && count <= workspace->sizes.rows);
    w->tokens = count;
    embed_rows(spec, weights, w, rows);
    if (is_after)
        encoder_store(w, &w->normed, w->x, w->hidden_stride, spec->hidden);
    struct attend_run run = {.spec = spec, .workspace = workspace, .rows = rows};
    for (unsigned i = 0; i < spec->layers; i++) {
        run.layer = &weights->layers[i];
        run.index = i;
        (is_after ? norm_after_block : norm_before_block)(&run);
        workspace_rest(w);
    }
    if (weights->final_norm.gamma != NULL) {
        encoder_norm(spec, w, &weights->final_norm, w->y, w->x);
        memcpy(w->x, w->y, count * w->hidden_stride * sizeof *w->x);
    } else if (!is_after) {
        encoder_store(w, &w->normed, w->x, w->hidden_stride, spec->hidden);
    }
    struct linear_io io = {.x = w->normed,
                           .rows = count,
                           .y = workspace->logits,
                           .y_stride = workspace->logits_stride};
    linear_run(&weights->output, w->kernels, w->pool, &io);
}
