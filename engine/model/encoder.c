#include "engine/model/encoder.h"

#include "engine/model/attention.h"
#include "engine/model/capture.h"
#include "engine/model/token_mean.h"
#include "engine/tensor/lanes.h"
#include "engine/tensor/rotary.h"

#include <string.h>

/* ---- work on rows, shared out ---- */

/* Converts rows of x [T, width] into the operand of the next linear layer, normalised into y if
 * `norm` is given, while the row is in the first-level cache. */
struct row_run {
    const struct kernels *kernels;
    const struct spec *spec;
    const struct norm *norm;
    float *y; /* may be x */
    const float *x;
    size_t stride;        /* stride of x and y */
    const unsigned *from; /* row r of an image is its row from[r] of x; NULL: r itself */
    float *moved;         /* with `from`: the rows in the new order */
    size_t image;         /* with `from`: rows of an image */
    const struct operand *operand;
    size_t rows, width;
    float eps;
};

/* Rows that the norm computes at a time, to hide the latency of its sums. */
enum { ROWS_AT_ONCE = 4 };

/* Returns the rows of x that are rows r and on of the new order, side by side. */
static const float *move_rows(const struct row_run *run, size_t r, size_t rows)
{
    float *moved = run->moved + r * run->stride;
    for (size_t i = r; i < r + rows; i++)
        memcpy(run->moved + i * run->stride,
               run->x + (i - i % run->image + run->from[i % run->image]) * run->stride,
               run->width * sizeof *run->x);
    return moved;
}

static void run_rows(void *context, unsigned index, unsigned count)
{
    const struct row_run *run = context;
    size_t first = run->rows * index / count, last = run->rows * (index + 1) / count;
    for (size_t r = first, rows; r < last; r += rows) {
        rows = last - r < ROWS_AT_ONCE ? last - r : ROWS_AT_ONCE;
        for (size_t i = r + rows; run->from == NULL && i < r + 2 * rows && i < last; i++)
            lanes_prefetch(run->x + i * run->stride, run->width);
        const float *x = run->from != NULL ? move_rows(run, r, rows) : run->x + r * run->stride;
        if (run->norm != NULL) {
            float *y = run->y + r * run->stride;
            norm_apply(run->kernels, run->spec, run->norm, y, run->stride, x, run->stride, rows,
                       run->width, run->eps);
            x = y;
        }
        for (size_t i = 0; i < rows; i++)
            operand_store(run->operand, run->kernels, r + i, x + i * run->stride, run->width);
    }
}

/* operand = y = norm(x) */
static void norm_into(const struct spec *spec, struct workspace *workspace,
                      const struct operand *operand, const struct norm *norm, float *y,
                      const float *x)
{
    struct row_run run = {.kernels = workspace->kernels,
                          .spec = spec,
                          .norm = norm->gamma != NULL ? norm : NULL,
                          .y = y,
                          .x = x,
                          .stride = workspace->hidden_stride,
                          .operand = operand,
                          .rows = workspace->tokens,
                          .width = spec->hidden,
                          .eps = spec->norm_eps};
    thread_pool_run(workspace->pool, run_rows, &run);
}

void encoder_norm(const struct spec *spec, struct workspace *workspace, const struct norm *norm,
                  float *y, const float *x)
{
    norm_into(spec, workspace, &workspace->normed, norm, y, x);
}

/* Brings x into the order of the layer's windows; projected = y = norm(x) or, without the norm, x.
 * The norm moves the rows while it reads them, which saves a pass. */
static void enter_layer(const struct spec *spec, struct workspace *w, const struct norm *norm,
                        unsigned index)
{
    struct row_run run = {.kernels = w->kernels,
                          .spec = spec,
                          .norm = norm->gamma != NULL ? norm : NULL,
                          .y = w->y,
                          .x = w->x,
                          .stride = w->hidden_stride,
                          .from = patch_windows_move(&w->stage.windows, index),
                          .moved = w->z,
                          .image = spec->patches,
                          .operand = &w->projected,
                          .rows = w->tokens,
                          .width = spec->hidden,
                          .eps = spec->norm_eps};
    thread_pool_run(w->pool, run_rows, &run);
    if (run.from != NULL) {
        w->z = w->x;
        w->x = run.moved;
    }
}

static void store_rows(struct workspace *workspace, const struct operand *operand, const float *x,
                       size_t stride, size_t rows, size_t width)
{
    struct row_run run = {.kernels = workspace->kernels,
                          .x = x,
                          .stride = stride,
                          .operand = operand,
                          .rows = rows,
                          .width = width};
    if (operand->data != x)
        thread_pool_run(workspace->pool, run_rows, &run);
}

void encoder_store(struct workspace *workspace, const struct operand *operand, const float *x,
                   size_t stride, size_t width)
{
    store_rows(workspace, operand, x, stride, workspace->tokens, width);
}

/* activated = act(u) v for the rows [u, v] of mlp. */
struct gate_run {
    const struct spec *spec;
    struct workspace *workspace;
    size_t rows;
};

static void gate_rows(void *context, unsigned index, unsigned count)
{
    const struct gate_run *run = context;
    struct workspace *w = run->workspace;
    size_t width = run->spec->intermediate;
    size_t last = run->rows * (index + 1) / count;
    for (size_t r = run->rows * index / count; r < last; r++) {
        float *row = w->gated + r * w->gated_stride;
        w->kernels->gate(row, w->mlp + r * w->mlp_stride, width, spec_gate(run->spec));
        operand_store(&w->activated, w->kernels, r, row, width);
    }
}

/* Rotates query and key of every token in place, by its position in its sequence. */
struct turn_run {
    const struct spec *spec;
    const struct workspace *workspace;
    const float *table;
};

/* Rotates one token. Query and key are side by side: 2 H heads. */
static void turn_token(const struct turn_run *run, size_t token, size_t place)
{
    const struct workspace *w = run->workspace;
    size_t heads = run->spec->heads, d = spec_head_width(run->spec), at = token * w->qkv_stride;
    const float *turn = rotary_at(run->table, place, d);
    if (w->qkv_bf16 != NULL)
        w->kernels->rotate_bf16(w->qkv_bf16 + at, turn, 2 * heads, d);
    else
        w->kernels->rotate(w->qkv + at, turn, 2 * heads, d, 1);
}

static void turn_rows(void *context, unsigned index, unsigned count)
{
    const struct turn_run *run = context;
    const struct workspace *w = run->workspace;
    size_t last = (size_t)w->tokens * (index + 1) / count;
    unsigned row = 0;
    for (size_t t = (size_t)w->tokens * index / count; t < last; t++) {
        while (w->offset[row + 1] <= t)
            row++;
        turn_token(run, t, t - w->offset[row]);
    }
}

/* ---- the block ---- */

static void multiply_rows(struct workspace *w, const struct linear *linear, const struct operand *x,
                          size_t rows, float *y, const float *residual)
{
    struct linear_io io = {.x = *x,
                           .rows = rows,
                           .y = y,
                           .y_stride = w->hidden_stride,
                           .residual = residual,
                           .residual_stride = w->hidden_stride};
    linear_run(linear, w->kernels, w->pool, &io);
}

void encoder_multiply(struct workspace *w, const struct linear *linear, const struct operand *x,
                      float *y, const float *residual)
{
    multiply_rows(w, linear, x, w->tokens, y, residual);
}

void encoder_project(struct workspace *w, const struct linear *linear)
{
    struct linear_io io = {.x = w->projected,
                           .rows = w->tokens,
                           .y = w->qkv,
                           .y_bf16 = w->qkv_bf16,
                           .y_stride = w->qkv_stride,
                           .parts = 3};
    linear_run(linear, w->kernels, w->pool, &io);
}

/* activated = act(W_1 x), or act(u) v for its halves u and v */
static void activate(const struct spec *spec, struct workspace *w, const struct linear *linear,
                     const struct operand *x, size_t rows)
{
    const bool is_bf16 = !spec->is_gated && w->activated.precision == PRECISION_BF16;
    struct linear_io io = {.x = *x,
                           .rows = rows,
                           .y = is_bf16 ? NULL : w->mlp,
                           .y_bf16 = is_bf16 ? w->activated.data : NULL,
                           .y_stride =
                               is_bf16 ? w->activated.stride / sizeof(uint16_t) : w->mlp_stride,
                           .act = spec->is_gated ? ACTIVATION_NONE : spec->activation};
    linear_run(linear, w->kernels, w->pool, &io);
    if (spec->is_gated)
        thread_pool_run(w->pool, gate_rows, &(struct gate_run){spec, w, rows});
    else if (!is_bf16)
        store_rows(w, &w->activated, w->mlp, w->mlp_stride, rows, spec->intermediate);
}

/* Keeps only the tokens that the head reads, the first or the last of each sequence, side by side.
 * In the last block the other tokens are only keys and values. */
static void keep_head_tokens(const struct spec *spec, struct workspace *w)
{
    unsigned kept = spec_head_tokens(spec);
    for (unsigned r = 0; r < w->rows; r++) {
        bool is_last = spec_pooling(spec) == POOLING_LAST;
        unsigned first = is_last ? w->offset[r + 1] - kept : w->offset[r];
        for (unsigned t = 0; t < kept; t++)
            memmove(w->x + (r * kept + t) * w->hidden_stride, w->x + (first + t) * w->hidden_stride,
                    spec->hidden * sizeof *w->x);
    }
    w->tokens = w->rows * kept;
}

/* ---- leaving tokens out: struct token_pruning ---- */

static bool prunes_at(const struct spec *spec, unsigned index)
{
    return spec->token_pruning.full_layers > 0 && index == spec->token_pruning.full_layers;
}

/* chosen <- the tokens that stay, for each sequence from its offset on. Their queries move to the
 * front of the sequence. All keys and values stay in place. */
static void choose_tokens(const struct spec *spec, struct workspace *w, const struct layer *layer)
{
    const bool is_bf16 = w->qkv_bf16 != NULL;
    const size_t bytes = is_bf16 ? sizeof(uint16_t) : sizeof(float), stride = w->qkv_stride * bytes;
    char *queries = is_bf16 ? (void *)w->qkv_bf16 : (void *)w->qkv;
    attention_receive(spec, w, layer);
    for (unsigned r = 0; r < w->rows; r++) {
        const unsigned first = w->offset[r], tokens = w->offset[r + 1] - first;
        const unsigned count = attention_pruned_tokens(spec, w, r);
        unsigned *chosen = w->pruning.chosen + first;
        token_pruning_choose(chosen, w->pruning.received + first, tokens, spec_head_tokens(spec),
                             count);
        for (unsigned i = 0; i < count; i++)
            memmove(queries + (first + i) * stride, queries + (first + chosen[i]) * stride,
                    layer->attended * bytes);
    }
    attention_plan(spec, w, ATTENTION_PRUNED);
}

/* Reduces the batch to the chosen tokens, side by side. */
static void keep_chosen_tokens(const struct spec *spec, struct workspace *w)
{
    unsigned tokens = 0;
    for (unsigned r = 0; r < w->rows; r++) {
        const unsigned first = w->offset[r], count = attention_pruned_tokens(spec, w, r);
        for (unsigned i = 0; i < count; i++)
            memmove(w->x + (tokens + i) * w->hidden_stride,
                    w->x + (first + w->pruning.chosen[first + i]) * w->hidden_stride,
                    spec->hidden * sizeof *w->x);
        w->offset[r] = tokens;
        tokens += count;
    }
    w->offset[w->rows] = w->tokens = tokens;
    attention_plan(spec, w, 0);
}

/* out = W_o attention(normed W_qkv) + x, with the layer's bias in the scores and its reach. If
 * there is a global token, the head reads only that: in the last block no query, key or value is
 * needed then. */
static void attention(const struct spec *spec, const struct layer *layer, struct workspace *w,
                      float *out, unsigned index)
{
    const bool is_last = index + 1 == spec->layers;
    const bool is_cut = is_last && !spec_head_reads_all(spec);
    if (!is_last || !spec_has_global(spec) || capture_judges(w))
        encoder_project(w, &layer->qkv);
    if (layer->rotary != NULL)
        thread_pool_run(w->pool, turn_rows, &(struct turn_run){spec, w, layer->rotary});
    capture_layer(spec, w, layer, index);
    if (is_cut)
        attention_plan(spec, w, spec_head_tokens(spec));
    if (prunes_at(spec, index))
        choose_tokens(spec, w, layer);
    attention_run(spec, w, layer);
    if (is_cut)
        keep_head_tokens(spec, w);
    if (prunes_at(spec, index))
        keep_chosen_tokens(spec, w);
    encoder_multiply(w, &layer->attention_out, &w->attended, out, w->x);
    if (is_last)
        capture_sum(spec, w, CAPTURE_ATTENTION, out);
}

void encoder_mlp(const struct spec *spec, const struct layer *layer, struct workspace *w,
                 float *out, const float *residual, unsigned index)
{
    const size_t pieces = (w->tokens + w->mlp_rows - 1) / w->mlp_rows;
    for (size_t i = 0; i < pieces; i++) {
        const size_t first = w->tokens * i / pieces, rows = w->tokens * (i + 1) / pieces - first;
        const struct operand x = operand_from(&w->normed, first);
        const size_t at = first * w->hidden_stride;
        activate(spec, w, &layer->mlp_in, &x, rows);
        multiply_rows(w, &layer->mlp_out, &w->activated, rows, out + at, residual + at);
    }
    if (index + 1 == spec->layers)
        capture_sum(spec, w, CAPTURE_MLP, out);
}

/* x = norm(x + attention(x)); x = norm(x + mlp(x))  (Vaswani et al. 2017; BERT). Before and after
 * each block, x is also stored in `projected`. */
static void norm_after_block(const struct spec *spec, const struct layer *layer,
                             struct workspace *w, unsigned index)
{
    attention(spec, layer, w, w->y, index);
    encoder_norm(spec, w, &layer->attention_norm, w->x, w->y);
    encoder_mlp(spec, layer, w, w->y, w->x, index);
    norm_into(spec, w, &w->projected, &layer->mlp_norm, w->x, w->y);
}

/* x = x + attention(norm(x)); x = x + mlp(norm(x))  (Dosovitskiy et al. 2021, eq. 2 and 3) */
static void norm_before_block(const struct spec *spec, const struct layer *layer,
                              struct workspace *w, unsigned index)
{
    enter_layer(spec, w, &layer->attention_norm, index);
    attention(spec, layer, w, w->z, index);
    encoder_norm(spec, w, &layer->mlp_norm, w->y, w->z);
    encoder_mlp(spec, layer, w, w->x, w->z, index);
}

void encoder_run(const struct spec *spec, const struct weights *weights,
                 struct workspace *workspace)
{
    void (*block)(const struct spec *, const struct layer *, struct workspace *, unsigned) =
        spec->family->block.norm == NORM_AFTER ? norm_after_block : norm_before_block;
    workspace->tokens = workspace->offset[workspace->rows];
    attention_plan(spec, workspace, 0);
    if (spec->family->block.norm == NORM_AFTER)
        encoder_store(workspace, &workspace->projected, workspace->x, workspace->hidden_stride,
                      spec->hidden);
    for (unsigned i = spec_first_layer(spec); i < spec_end_layer(spec); i++) {
        token_mean_add(spec, workspace, i);
        block(spec, &weights->layers[spec_block(spec, i)], workspace, i);
        workspace_rest(workspace);
    }
}
