#include "engine/model/workspace.h"

#include "engine/model/attention_rows.h"
#include "engine/model/sentence_pooling.h"
#include "engine/tensor/attention_bf16.h"
#include "engine/tensor/attention_parts.h"
#include "engine/tensor/gemm/relative_scores.h"
#include "engine/tensor/global_token.h"
#include "engine/tensor/linear/precision_speed.h"
#include "engine/tensor/simd.h"

#include <string.h>

/* Takes zeroed memory: so no request touches a page of it first. */
static enum err_code take(struct workspace *workspace, float **out, size_t rows, size_t columns,
                          struct err *err)
{
    *out = arena_alloc_array(&workspace->arena, rows * columns, sizeof(float));
    return *out != NULL ? ERR_OK : err_no_memory(err, rows * columns * sizeof(float));
}

/* Returns the columns of the MLP's first product. */
static size_t mlp_columns(const struct spec *spec)
{
    return spec->is_gated ? 2 * (size_t)spec->intermediate : spec->intermediate;
}

/* Returns the most rows of the MLP that are computed at a time, so that their numbers stay in the
 * second-level caches. Of two pieces or more each is large enough for linear_shares_rows. */
static size_t mlp_rows(size_t tokens, size_t members)
{
    const size_t most = 3 * LINEAR_ROWS_A_MEMBER * members;
    return most < tokens ? most : tokens;
}

/* Returns the longest sequence. tokens_max of workspace_open may be less than the positions. */
static size_t longest(const struct spec *spec, size_t tokens_max)
{
    size_t tokens = spec_sequence(spec);
    return tokens < tokens_max ? tokens : tokens_max;
}

/* Returns the numbers of the longest text's embeddings, before they are projected. */
static size_t embedded_floats(const struct spec *spec, size_t tokens_max)
{
    return spec_projects(spec) ? longest(spec, tokens_max) * spec_embedding(spec) : 0;
}

static bool is_last(const struct spec *spec)
{
    return spec_end_layer(spec) == spec->layers;
}

/* Returns the width of pooled vectors, which before a projection may exceed the features'. */
static size_t pooled_columns(const struct spec *spec)
{
    size_t features = spec_features(spec);
    return features > spec->hidden ? features : spec->hidden;
}

static size_t sentence_numbers(const struct spec *spec)
{
    return spec->sentence != NULL ? sentence_scratch(spec->sentence) : 0;
}

static size_t vocabulary_numbers(const struct spec *spec)
{
    return spec->head == HEAD_SPARSE ? (size_t)HEAD_SPARSE_TOKENS * spec->vocab_size : 0;
}

/* Returns the most sequences of a batch: each has two tokens at least, but a text that is written
 * from, which may be empty. */
static size_t most_rows(const struct spec *spec, size_t tokens_max)
{
    return spec->head == HEAD_STATES ? tokens_max + 1 : tokens_max / 2 + 1;
}

/* Returns the inputs of a row of a stage's x: four rows of the stage before, half as wide. */
static size_t merging_columns(const struct spec *spec)
{
    return spec->stage > 0 ? 2 * (size_t)spec->hidden : 0;
}

/* Products read fp32 where it lies, but for fp32 in parts. */
static bool reads_in_place(const struct linear_backend *encoder)
{
    return encoder->precision == PRECISION_F32 && !linear_reads_parts(encoder);
}

static enum err_code take_merging(struct workspace *w, const struct spec *spec,
                                  const struct linear_backend *encoder, struct err *err)
{
    const size_t columns = merging_columns(spec);
    if (columns == 0)
        return ERR_OK;
    const size_t stride = operand_stride(columns, sizeof(float)) / sizeof(float);
    struct stage_workspace *stage = &w->stage;
    if (take(w, &stage->merging, w->tokens_max, stride, err))
        return err->code;
    stage->merging_stride = stride;
    stage->merged = operand_f32(stage->merging, stride);
    return reads_in_place(encoder)
               ? ERR_OK
               : linear_operand(&stage->merged, &w->arena, encoder, w->tokens_max, columns, err);
}

static enum err_code take_matrices(struct workspace *w, const struct spec *spec, struct err *err)
{
    size_t tokens = w->tokens_max, hidden = spec->hidden;
    size_t embedded = embedded_floats(spec, w->tokens_max);
    if (embedded > 0 && take(w, &w->embedded, embedded, 1, err))
        return err->code;
    w->hidden_stride = operand_stride(hidden, sizeof(float)) / sizeof(float);
    w->context_stride = operand_stride(spec_heads_width(spec), sizeof(float)) / sizeof(float);
    if (take(w, &w->x, tokens, w->hidden_stride, err) ||
        take(w, &w->y, tokens, w->hidden_stride, err) ||
        take(w, &w->z, tokens, w->hidden_stride, err) ||
        take(w, &w->context, tokens, w->context_stride, err))
        return err->code;
    /* The head's memory is in the workspace of the last layers. */
    const size_t rows = most_rows(spec, w->tokens_max), row = spec_row(spec);
    if (!is_last(spec))
        return ERR_OK;
    if (take(w, &w->cls, rows, pooled_columns(spec), err) ||
        take(w, &w->pooled, rows, spec_features(spec), err) ||
        take(w, &w->means, rows, spec_means(spec), err) || take(w, &w->read[0], rows, row, err) ||
        (spec_head_tokens(spec) > 1 && take(w, &w->read[1], rows, row, err)) ||
        take(w, &w->logits[0], rows, spec->label_count, err) ||
        take(w, &w->sentence, 1, sentence_numbers(spec), err) ||
        take(w, &w->vocabulary, 1, vocabulary_numbers(spec), err))
        return err->code;
    take(w, &w->logits[1], rows, spec->label_count, err);
    w->mean_logits = w->logits[1];
    return err->code;
}

/* Returns the floats of the probabilities of a block of queries. */
static size_t capture_block(const struct spec *spec, size_t tokens_max)
{
    return simd_round_up(ATTENTION_QUERIES * longest(spec, tokens_max));
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Returns the scratch of a global token, with rows of its probabilities over `tokens` tokens. */
static size_t global_scratch(const struct spec *spec, size_t tokens)
{
    return spec_has_global(spec) ? global_token_scratch(spec->heads, spec->hidden, tokens) : 0;
}

/* Returns a member's scratch for attention. */
static size_t attention_floats(const struct spec *spec, size_t floats)
{
    /* Rounded up, so that the members' scratch does not share a cache line. */
    return simd_round_up(larger(floats, global_scratch(spec, 0)));
}

/* Returns a member's scratch for captures: such a block, and attention's scratch to compute it. */
static size_t capture_scratch(const struct spec *spec, size_t tokens_max)
{
    size_t n = longest(spec, tokens_max);
    size_t rows = attention_rows_scratch(n, spec_head_width(spec));
    return capture_block(spec, tokens_max) + larger(rows, global_scratch(spec, n));
}

/* Returns the floats of the terms of relative positions for a block of queries and `heads` heads,
 * with the scratch to compute them. */
static size_t relative_floats(const struct spec *spec, size_t tokens_max, size_t heads)
{
    size_t n = longest(spec, tokens_max);
    if (spec->disentangled.span == 0)
        return 0;
    return simd_round_up(heads * n * ATTENTION_QUERIES + relative_scores_scratch(n));
}

/* Returns a member's scratch for attention_parts.h; 0: no input is long enough for it. */
static size_t parts_scratch(const struct spec *spec, size_t tokens_max)
{
    const size_t n = longest(spec, tokens_max);
    return n >= ATTENTION_PARTS_TOKENS ? attention_parts_scratch(n, spec_head_width(spec)) : 0;
}

const struct linear_backend *workspace_backend(const struct spec *spec,
                                               const struct linear_backend *encoder,
                                               enum tensor_field field)
{
    const bool is_vector = spec->head == HEAD_EMBEDDING || spec->head == HEAD_SPARSE;
    const bool hurts = field == TENSOR_QUERY || field == TENSOR_KEY || field == TENSOR_VALUE ||
                       field == TENSOR_QKV || field == TENSOR_MLP_OUT || field == TENSOR_GATED_OUT;
    const struct linear_backend *wide = linear_backend_find(encoder->name, PRECISION_BF16);
    if (encoder->precision != PRECISION_INT8 || !is_vector || !hurts || wide == NULL)
        return encoder;
    return strcmp(encoder->name, "reference") == 0 || precision_speed_bf16_is_native() ? wide
                                                                                       : encoder;
}

bool workspace_attends_in_bf16(const struct spec *spec, const struct linear_backend *encoder)
{
    return encoder->precision != PRECISION_F32 && !spec->family->block.is_decoder &&
           attention_bf16_runnable(spec_head_width(spec));
}

/* Returns true if the MLP's second product reads the matrix of the first one where it lies. */
static bool reads_mlp_in_place(const struct spec *spec, const struct linear_backend *encoder)
{
    return reads_in_place(encoder) && !spec->is_gated;
}

/* `floats`: a member's scratch for the kernel of attention. */
static enum err_code take_scratch(struct workspace *w, const struct spec *spec, size_t floats,
                                  struct err *err)
{
    const size_t members = thread_pool_size(w->pool), attention = attention_floats(spec, floats);
    const size_t capture = capture_scratch(spec, w->tokens_max);
    w->scratch = (struct member_scratch){
        .relative_at = attention, .each = attention + relative_floats(spec, w->tokens_max, 1)};
    w->capture_scratch = (struct member_scratch){
        .rows_at = capture_block(spec, w->tokens_max),
        .relative_at = capture,
        .each = capture + relative_floats(spec, w->tokens_max, spec->heads)};
    /* Its pages are taken by the first explanation: most workers make none. */
    w->capture_scratch.floats =
        arena_alloc(&w->arena, members * w->capture_scratch.each * sizeof(float));
    if (w->capture_scratch.floats == NULL)
        return err_no_memory(err, members * w->capture_scratch.each * sizeof(float));
    return take(w, &w->scratch.floats, members, w->scratch.each, err);
}

/* Takes the matrices of attention and of the MLP. */
static enum err_code take_products(struct workspace *w, const struct spec *spec,
                                   const struct linear_backend *encoder, struct err *err)
{
    size_t width = spec_head_width(spec);
    bool is_bf16 = workspace_attends_in_bf16(spec, encoder);
    size_t bytes = is_bf16 ? sizeof(uint16_t) : sizeof(float);
    w->attends_by_tiles = encoder == &linear_tiles[encoder->precision] &&
                          !spec->family->block.is_decoder &&
                          (is_bf16 || attention_parts_runnable(width));
    size_t floats = !is_bf16              ? attention_scratch(width)
                    : w->attends_by_tiles ? attention_amx_scratch(width)
                                          : attention_bf16_scratch(width);
    if (!is_bf16 && w->attends_by_tiles)
        floats = larger(floats, parts_scratch(spec, w->tokens_max));
    w->qkv_stride = operand_stride(3 * (size_t)spec_heads_width(spec), bytes) / bytes;
    w->mlp_rows = mlp_rows(w->tokens_max, w->pool_size_max);
    w->mlp_stride = operand_stride(mlp_columns(spec), sizeof(float)) / sizeof(float);
    w->gated_stride = operand_stride(spec->intermediate, sizeof(float)) / sizeof(float);
    const size_t room = w->tokens_max * w->qkv_stride * bytes;
    const size_t mlp = w->mlp_rows * w->mlp_stride * sizeof(float);
    const bool apart = reads_mlp_in_place(spec, encoder);
    void *qkv = arena_alloc_array(&w->arena, apart ? room : larger(room, mlp), 1);
    if (qkv == NULL)
        return err_no_memory(err, larger(room, mlp));
    if ((apart && take(w, &w->mlp, w->mlp_rows, w->mlp_stride, err)) ||
        (spec->is_gated && take(w, &w->gated, w->mlp_rows, w->gated_stride, err)))
        return err->code;
    w->qkv = is_bf16 ? NULL : qkv;
    w->qkv_bf16 = is_bf16 ? qkv : NULL;
    w->mlp = apart ? w->mlp : qkv;
    return take_scratch(w, spec, floats, err);
}

static enum err_code take_operands(struct workspace *w, const struct spec *spec,
                                   const struct linear_backend *encoder, struct err *err)
{
    w->normed = operand_f32(spec->family->block.norm == NORM_AFTER ? w->x : w->y, w->hidden_stride);
    w->attended = operand_f32(w->context, w->context_stride);
    w->activated = spec->is_gated ? operand_f32(w->gated, w->gated_stride)
                                  : operand_f32(w->mlp, w->mlp_stride);
    w->projected = w->normed;
    if (reads_in_place(encoder))
        return ERR_OK;
    const struct linear_backend *qkv = workspace_backend(spec, encoder, TENSOR_QKV);
    const struct linear_backend *mlp_out = workspace_backend(spec, encoder, TENSOR_MLP_OUT);
    size_t tokens = w->tokens_max;
    if (linear_operand(&w->normed, &w->arena, encoder, tokens, spec->hidden, err) ||
        linear_operand(&w->attended, &w->arena, encoder, tokens, spec_heads_width(spec), err))
        return err->code;
    w->projected = w->normed;
    if (qkv != encoder && linear_operand(&w->projected, &w->arena, qkv, tokens, spec->hidden, err))
        return err->code;
    return linear_operand(&w->activated, &w->arena, mlp_out, w->mlp_rows, spec->intermediate, err);
}

/* Takes the batch's map: the starts of sequences, and the blocks of queries. */
static enum err_code take_map(struct workspace *w, const struct spec *spec, struct err *err)
{
    const size_t rows = most_rows(spec, w->tokens_max);
    w->offset = arena_alloc_array(&w->arena, rows + 1, sizeof *w->offset);
    w->blocks = arena_alloc_array(&w->arena, rows, sizeof *w->blocks);
    w->parts_left = arena_alloc_array(&w->arena, rows, sizeof *w->parts_left);
    w->captures = arena_alloc_array(&w->arena, rows, sizeof *w->captures);
    w->places = arena_alloc_array(&w->arena, rows, sizeof *w->places);
    w->classifiers = arena_alloc_array(&w->arena, rows, sizeof *w->classifiers);
    w->evidence = arena_alloc_array(&w->arena, rows, sizeof *w->evidence);
    w->answers = arena_alloc_array(&w->arena, rows, sizeof *w->answers);
    if (w->offset == NULL || w->blocks == NULL || w->parts_left == NULL || w->captures == NULL ||
        w->places == NULL || w->classifiers == NULL || w->evidence == NULL || w->answers == NULL)
        return err_no_memory(err, rows * (sizeof *w->offset + sizeof *w->blocks));
    return ERR_OK;
}

static enum err_code take_pruning(struct workspace *w, const struct spec *spec, struct err *err)
{
    if (spec->token_pruning.full_layers == 0)
        return ERR_OK;
    unsigned *chosen = arena_alloc_array(&w->arena, w->tokens_max, sizeof *chosen);
    if (chosen == NULL)
        return err_no_memory(err, w->tokens_max * sizeof *chosen);
    w->pruning.chosen = chosen;
    return take(w, &w->pruning.received, thread_pool_size(w->pool), w->tokens_max, err);
}

/* Opens one stage, or all layers of a family without stages. */
static enum err_code open_stage(struct workspace *out, const struct spec *spec,
                                const struct linear_backend *encoder, unsigned tokens_max,
                                struct thread_pool *pool, const struct kernels *kernels,
                                struct err *err)
{
    *out = (struct workspace){.kernels = kernels,
                              .pool = pool,
                              .pool_size_max = thread_pool_size(pool),
                              .tokens_max = tokens_max};
    arena_init(&out->arena);
    if (take_map(out, spec, err) || take_matrices(out, spec, err) ||
        take_products(out, spec, encoder, err) || take_operands(out, spec, encoder, err) ||
        take_pruning(out, spec, err) || take_merging(out, spec, encoder, err))
        return err->code;
    return spec->stages != NULL ? patch_windows_open(&out->stage.windows, spec, &out->arena, err)
                                : ERR_OK;
}

/* Returns the tokens of a stage, for batches that have tokens_max in the first one. */
static unsigned stage_tokens(const struct spec *spec, const struct spec *stage, unsigned tokens_max)
{
    return stage->stage > 0 ? tokens_max / spec->patches * stage->patches : tokens_max;
}

enum err_code workspace_open(struct workspace *out, const struct spec *spec,
                             const struct linear_backend *encoder, unsigned tokens_max,
                             struct thread_pool *pool, const struct kernels *kernels,
                             struct err *err)
{
    struct workspace *at = out;
    for (unsigned i = 0; i < spec_stages(spec) && err->code == ERR_OK; i++) {
        const struct spec stage = spec_at(spec, i);
        if (i > 0) {
            at->stage.next = arena_alloc_array(&at->arena, 1, sizeof *at);
            at = at->stage.next;
        }
        if (at == NULL)
            err_no_memory(err, sizeof *at);
        else
            open_stage(at, &stage, encoder, stage_tokens(spec, &stage, tokens_max), pool, kernels,
                       err);
    }
    if (err->code != ERR_OK)
        workspace_close(out);
    return err->code;
}

/* Returns the sum of the functions above, with the largest value of what depends on the processor:
 * qkv in fp32, the larger scratch of the two attentions. */
static size_t stage_bytes(const struct spec *spec, const struct linear_backend *encoder,
                          size_t tokens, unsigned threads)
{
    enum { SMALL_BYTES = 64 * 1024, POOL_MEMBER_BYTES = 4096 }; /* lines of the arena; the pool */
    const size_t hidden = operand_stride(spec->hidden, sizeof(float));
    const size_t rows = mlp_rows(tokens, threads);
    const size_t activated =
        rows * (linear_reads_parts(encoder) ? operand_parts_stride(spec->intermediate)
                                            : operand_stride(spec->intermediate, sizeof(float)));
    const size_t mlp = rows * operand_stride(mlp_columns(spec), sizeof(float));
    const size_t context = operand_stride(spec_heads_width(spec), sizeof(float));
    const size_t qkv = tokens * operand_stride(3 * (size_t)spec_heads_width(spec), sizeof(float));
    const size_t gated = rows * operand_stride(spec->intermediate, sizeof(float));
    const size_t products = (reads_mlp_in_place(spec, encoder) ? qkv + mlp : larger(qkv, mlp)) +
                            (spec->is_gated ? gated : 0) +
                            (reads_in_place(encoder) ? 0 : activated);
    const size_t merging =
        spec->stage > 0 ? operand_stride(merging_columns(spec), sizeof(float)) : 0;
    const size_t parts = operand_parts_stride(spec->hidden) +
                         operand_parts_stride(spec_heads_width(spec)) +
                         (spec->stage > 0 ? operand_parts_stride(merging_columns(spec)) : 0);
    const size_t projected = workspace_backend(spec, encoder, TENSOR_QKV) != encoder ? hidden : 0;
    const size_t operands = linear_reads_parts(encoder) ? parts
                            : reads_in_place(encoder)   ? 0
                                                        : hidden + projected + context + merging;
    const size_t moves = spec->stages != NULL ? 4 * sizeof(unsigned) * (size_t)spec->patches : 0;
    const size_t head =
        (pooled_columns(spec) + spec_features(spec) + spec_means(spec) +
         (size_t)spec_head_tokens(spec) * spec_row(spec) + 2 * (size_t)spec->label_count) *
        sizeof(float);
    const size_t sentence = (sentence_numbers(spec) + vocabulary_numbers(spec)) * sizeof(float);
    const size_t map = sizeof(unsigned) + sizeof(struct query_block) + sizeof(atomic_uint) +
                       sizeof(struct capture *) + sizeof(struct window_place) +
                       2 * sizeof(float *) + sizeof(struct linear *);
    const size_t width = spec_head_width(spec);
    const size_t fp32 = attention_scratch(width), bf16 = attention_bf16_scratch(width);
    const size_t cut = linear_reads_parts(encoder) ? parts_scratch(spec, tokens) : 0;
    const size_t most = larger(larger(fp32, bf16), larger(attention_amx_scratch(width), cut));
    const size_t scratch = attention_floats(spec, most) + capture_scratch(spec, tokens) +
                           relative_floats(spec, tokens, 1) +
                           relative_floats(spec, tokens, spec->heads);
    const size_t pruning =
        spec->token_pruning.full_layers > 0 ? sizeof(unsigned) + threads * sizeof(float) : 0;
    return tokens * (3 * hidden + context + operands + merging + pruning) + products +
           (most_rows(spec, tokens) + 1) * ((is_last(spec) ? head : 0) + map) + moves +
           embedded_floats(spec, tokens) * sizeof(float) +
           threads * (scratch * sizeof(float) + POOL_MEMBER_BYTES) + SMALL_BYTES + sentence;
}

size_t workspace_bytes(const struct spec *spec, const struct linear_backend *encoder,
                       unsigned tokens_max, unsigned threads)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < spec_stages(spec); i++) {
        const struct spec stage = spec_at(spec, i);
        bytes += stage_bytes(&stage, encoder, stage_tokens(spec, &stage, tokens_max), threads);
    }
    return bytes;
}

void workspace_lend(struct workspace *workspace, struct thread_pool *pool)
{
    for (struct workspace *at = workspace; at != NULL; at = at->stage.next)
        at->pool = pool;
}

void workspace_close(struct workspace *workspace)
{
    if (workspace->stage.next != NULL)
        workspace_close(workspace->stage.next);
    arena_deinit(&workspace->arena);
    *workspace = (struct workspace){0};
}
