/* A batch's memory: that its parts are whole and apart, that the bound which is told beforehand is
 * near, and how the batch is cut into blocks of queries. */
#include "engine/base/thread_pool.h"
#include "engine/model/attention.h"
#include "engine/model/config/sentence_modules.h"
#include "engine/model/workspace.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS = 64, THREADS = 2 };

static const struct family text_family = {.kind = ENGINE_TEXT, .block.norm = NORM_AFTER};
static const struct family image_family = {
    .kind = ENGINE_IMAGE, .block.norm = NORM_BEFORE, .image_specials = 1};
static const struct spec small = {.family = &text_family,
                                  .layers = 2,
                                  .heads = 3,
                                  .hidden = 24,
                                  .intermediate = 40,
                                  .positions = 64,
                                  .label_count = 7};

static void open_one(struct workspace *w, const struct spec *spec,
                     const struct linear_backend *encoder, unsigned tokens, unsigned threads)
{
    struct err err = {0};
    struct thread_pool *pool;
    memset(w, 0x55, sizeof *w);
    ck_assert_int_eq(thread_pool_open(&pool, threads, &err), ERR_OK);
    ck_assert_msg(!workspace_open(w, spec, encoder, tokens, pool, kernels_best(), &err), "%s",
                  err.text);
}

/* Closes the workspace and the pool of open_one. */
static void close_one(struct workspace *w)
{
    struct thread_pool *pool = w->pool;
    workspace_close(w);
    thread_pool_close(pool);
}

/* ---- its parts ---- */

struct part {
    void *at;
    size_t bytes;
};

static size_t list_parts(const struct workspace *w, const struct spec *spec, struct part *parts)
{
    const size_t rows = w->tokens_max / 2, hidden = w->hidden_stride * sizeof(float);
    const size_t members = thread_pool_size(w->pool), count = 16;
    const bool in_qkv = w->mlp == w->qkv || (void *)w->mlp == w->qkv_bf16;
    const struct part all[] = {
        {w->x, w->tokens_max * hidden},
        {w->y, w->tokens_max * hidden},
        {w->z, w->tokens_max * hidden},
        {w->context, w->tokens_max * hidden},
        {w->mlp, in_qkv ? 0 : w->tokens_max * w->mlp_stride * sizeof(float)},
        {w->qkv != NULL ? (void *)w->qkv : w->qkv_bf16,
         w->tokens_max * w->qkv_stride * (w->qkv != NULL ? sizeof(float) : sizeof(uint16_t))},
        {w->cls, rows * spec->hidden * sizeof(float)},
        {w->pooled, rows * spec->hidden * sizeof(float)},
        {w->logits[0], rows * spec->label_count * sizeof(float)},
        {w->logits[1], rows * spec->label_count * sizeof(float)},
        {w->scratch.floats, members * w->scratch.each * sizeof(float)},
        {w->capture_scratch.floats, members * w->capture_scratch.each * sizeof(float)},
        {w->offset, (rows + 1) * sizeof *w->offset},
        {w->captures, rows * sizeof *w->captures},
        {w->parts_left, rows * sizeof *w->parts_left},
        {w->blocks, rows * sizeof *w->blocks}};
    memcpy(parts, all, sizeof all);
    /* Its pages are taken when an explanation first uses them: it need not be zero. */
    memset(w->capture_scratch.floats, 0, members * w->capture_scratch.each * sizeof(float));
    return count;
}

/* Each is filled with its own number: whoever overlaps another spoils it. */
static void check_apart(const struct part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_ptr_nonnull(parts[i].at);
        for (size_t b = 0; b < parts[i].bytes; b++) /* zeroed by whoever opened it */
            ck_assert_msg(((unsigned char *)parts[i].at)[b] == 0, "part %zu, byte %zu", i, b);
    }
    for (size_t i = 0; i < count; i++)
        memset(parts[i].at, (int)i + 1, parts[i].bytes);
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < parts[i].bytes; b++)
            ck_assert_msg(((unsigned char *)parts[i].at)[b] == i + 1, "part %zu, byte %zu", i, b);
}

START_TEST(the_parts_of_a_workspace_are_zero_and_apart)
{
    struct workspace w;
    struct part parts[32];
    open_one(&w, &small, &linear_native[PRECISION_F32], TOKENS, THREADS);
    ck_assert_uint_eq(w.tokens_max, TOKENS);
    ck_assert_uint_eq(w.hidden_stride, 48);
    ck_assert_uint_eq(w.mlp_stride, 48);
    ck_assert_uint_eq(w.qkv_stride, 80);
    ck_assert_ptr_null(w.qkv_bf16);
    ck_assert_uint_eq(w.scratch.each % 16, 0);
    ck_assert_uint_ge(w.scratch.each, attention_scratch(8));
    check_apart(parts, list_parts(&w, &small, parts));
    close_one(&w);
    ck_assert_ptr_null(w.x);
    ck_assert_ptr_null(w.pool);
}
END_TEST

START_TEST(workspace_operands_in_fp32_are_the_matrices)
{
    struct workspace w;
    struct spec image = small;
    open_one(&w, &small, &linear_native[PRECISION_F32], TOKENS, 1);
    ck_assert_ptr_eq(w.normed.data, w.x);
    ck_assert_ptr_eq(w.attended.data, w.context);
    ck_assert_ptr_eq(w.activated.data, w.mlp);
    ck_assert_uint_eq(w.normed.stride, w.hidden_stride * sizeof(float));
    ck_assert_uint_eq(w.attended.stride, w.hidden_stride * sizeof(float));
    ck_assert_uint_eq(w.activated.stride, w.mlp_stride * sizeof(float));
    close_one(&w);
    image.family = &image_family;
    image.image_size = extent_square(32);
    image.patch = extent_square(8);
    image.patches = 16;
    open_one(&w, &image, &linear_native[PRECISION_F32], TOKENS, 1);
    ck_assert_ptr_eq(w.normed.data, w.y);
    close_one(&w);
}
END_TEST

START_TEST(workspace_operands_in_int8_have_their_own_memory)
{
    struct workspace w;
    struct part parts[32];
    open_one(&w, &small, &linear_native[PRECISION_INT8], TOKENS, THREADS);
    size_t count = list_parts(&w, &small, parts);
    const struct operand *const operands[] = {&w.normed, &w.attended, &w.activated};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(operands[i]->precision, PRECISION_INT8);
        ck_assert_uint_eq(operands[i]->stride, 64);
        parts[count++] = (struct part){operands[i]->data, TOKENS * operands[i]->stride};
        parts[count++] = (struct part){operands[i]->scale, TOKENS * sizeof(float)};
    }
    ck_assert(w.mlp == w.qkv || (void *)w.mlp == w.qkv_bf16);
    check_apart(parts, count);
    close_one(&w);
}
END_TEST

/* A class is computed in bytes throughout. Of a vector, the operands of qkv and of the MLP's second
 * product are wider, and have memory of their own. */
START_TEST(a_vector_in_int8_has_the_operands_that_cost_it_most_in_bf16)
{
    static const enum family_head heads[] = {HEAD_CLASSIFIER, HEAD_EMBEDDING, HEAD_SPARSE};
    static struct sentence_modules mean = {
        .hidden = 24, .pooling = {.modes = {SENTENCE_MEAN}, .count = 1}, .width = 24};
    const struct linear_backend *bytes = &linear_scalar[PRECISION_INT8];
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
        struct workspace w;
        struct part parts[32];
        struct spec spec = small;
        spec.head = heads[h];
        spec.sentence = &mean;
        const bool is_wide = spec.head != HEAD_CLASSIFIER;
        const enum precision wide = is_wide ? PRECISION_BF16 : PRECISION_INT8;
        ck_assert_int_eq(workspace_backend(&spec, bytes, TENSOR_VALUE)->precision, wide);
        ck_assert_int_eq(workspace_backend(&spec, bytes, TENSOR_GATED_OUT)->precision, wide);
        ck_assert_ptr_eq(workspace_backend(&spec, bytes, TENSOR_MLP_IN), bytes);
        ck_assert_ptr_eq(workspace_backend(&spec, bytes, TENSOR_ATTENTION_OUT), bytes);
        ck_assert_ptr_eq(workspace_backend(&spec, &linear_scalar[PRECISION_BF16], TENSOR_VALUE),
                         &linear_scalar[PRECISION_BF16]);
        open_one(&w, &spec, bytes, TOKENS, 1);
        ck_assert_int_eq(w.projected.precision, wide);
        ck_assert_int_eq(w.activated.precision, wide);
        ck_assert_int_eq(w.normed.precision, PRECISION_INT8);
        ck_assert_int_eq(w.attended.precision, PRECISION_INT8);
        ck_assert(w.arena.bytes <= workspace_bytes(&spec, bytes, TOKENS, 1));
        if (is_wide) {
            const struct operand *const operands[] = {&w.normed, &w.projected, &w.attended,
                                                      &w.activated};
            for (size_t i = 0; i < 4; i++)
                parts[i] = (struct part){operands[i]->data, TOKENS * operands[i]->stride};
            check_apart(parts, 4);
        }
        close_one(&w);
    }
}
END_TEST

/* ---- the bound ---- */

/* The bound is checked with one matrix or map at a time. Its part of a workspace is large beside
 * the excess that the bound may have: the members of the pool and some lines. */
static void check_bound(const struct spec *spec, unsigned tokens, unsigned threads)
{
    struct workspace w;
    open_one(&w, spec, &linear_native[PRECISION_F32], tokens, threads);
    size_t taken = w.arena.bytes,
           told = workspace_bytes(spec, &linear_native[PRECISION_F32], tokens, threads);
    size_t members = threads * ((size_t)4096 + 64 * 1024), lines = 64 * 1024;
    ck_assert_msg(told >= taken && told <= taken + members + lines,
                  "%u tokens, %u threads: %zu told, %zu taken", tokens, threads, told, taken);
    close_one(&w);
}

START_TEST(the_bound_of_a_workspace_in_fp32_is_near)
{
    struct spec spec = small;
    check_bound(&spec, 4000, 1);
    check_bound(&spec, 4000, 3);
    spec.hidden = 480;
    spec.heads = 60;
    check_bound(&spec, 500, 1);
    spec.intermediate = 2000;
    check_bound(&spec, 500, 1);
    spec.label_count = 5000;
    check_bound(&spec, 200, 2);
    spec = small;
    spec.hidden = 3;
    spec.intermediate = spec.label_count = 1;
    check_bound(&spec, 40000, 1);
    spec.token_pruning.full_layers = 1;
    check_bound(&spec, 40000, 3);
}
END_TEST

START_TEST(the_bound_of_a_workspace_counts_the_operands_of_other_precisions)
{
    size_t fp32 = workspace_bytes(&small, &linear_native[PRECISION_F32], 1000, 1);
    size_t hidden = operand_stride(24, 4), mlp = operand_stride(40, 4);
    /* The smaller of qkv and mlp lies in the other: here mlp. Its operand has its own memory. */
    ck_assert_uint_ge(operand_stride(3 * 24, 4), mlp);
    for (int p = PRECISION_BF16; p <= PRECISION_INT8; p++)
        ck_assert_uint_eq(workspace_bytes(&small, &linear_native[p], 1000, 1),
                          fp32 + 1000 * 2 * hidden);
}
END_TEST

/* ---- the blocks of queries ---- */

/* A batch of sequences of these lengths, planned. */
static void plan(struct workspace *w, const struct spec *spec, unsigned threads,
                 const unsigned *lengths, unsigned rows, unsigned kept)
{
    unsigned tokens = 0;
    for (unsigned r = 0; r < rows; r++)
        tokens += lengths[r];
    open_one(w, spec, &linear_native[PRECISION_F32], tokens, threads);
    w->rows = rows;
    for (unsigned r = 0, at = 0; r <= rows; r++) {
        w->offset[r] = at;
        at += r < rows ? lengths[r] : 0;
    }
    attention_plan(spec, w, kept);
}

/* Blocks of `queries`, the last of a sequence perhaps smaller, and their rows one after the other.
 */
static void expect_blocks(struct workspace *w, unsigned kept, unsigned queries)
{
    unsigned b = 0, out = 0;
    for (unsigned r = 0; r < w->rows; r++) {
        unsigned first = w->offset[r], tokens = w->offset[r + 1] - first;
        for (unsigned left = kept > 0 ? kept : tokens, at = first; left > 0; b++) {
            unsigned count = left < queries ? left : queries;
            ck_assert_uint_lt(b, w->block_count);
            ck_assert_uint_eq(w->blocks[b].first, at);
            ck_assert_uint_eq(w->blocks[b].count, count);
            ck_assert_uint_eq(w->blocks[b].out, out);
            ck_assert_uint_eq(w->blocks[b].sequence, first);
            ck_assert_uint_eq(w->blocks[b].sequence_tokens, tokens);
            at += count, out += count, left -= count;
        }
    }
    ck_assert_uint_eq(w->block_count, b);
    close_one(w);
}

START_TEST(a_batch_is_cut_into_blocks_of_queries_sequence_by_sequence)
{
    enum { Q = ATTENTION_QUERIES };
    static const unsigned lengths[] = {2, Q, Q + 1, 3 * Q - 1, 5};
    struct workspace w;
    plan(&w, &small, 1, lengths, 5, 0);
    expect_blocks(&w, 0, Q);
    plan(&w, &small, 1, lengths, 5, 2); /* of each sequence the first two alone */
    expect_blocks(&w, 2, Q);
}
END_TEST

/* Three heads: two blocks are six tasks, four for each member of a pool of one. */
START_TEST(a_batch_of_few_tasks_is_cut_into_smaller_blocks)
{
    enum { Q = ATTENTION_QUERIES };
    static const unsigned lengths[] = {Q, Q};
    struct spec spec = small;
    struct workspace w;
    plan(&w, &small, 1, lengths, 2, 0);
    expect_blocks(&w, 0, Q);
    plan(&w, &small, 2, lengths, 2, 0);
    expect_blocks(&w, 0, Q / 2);
    spec.heads = 4; /* eight tasks: enough for two */
    plan(&w, &spec, 2, lengths, 2, 0);
    expect_blocks(&w, 0, Q);
}
END_TEST

/* The model has positions for longer texts than a batch holds. The model_max_length of a tokenizer
 * can cut texts in this way. */
START_TEST(room_for_explanations_is_for_texts_that_a_batch_holds)
{
    struct workspace w, same;
    struct spec longer = small;
    longer.positions = 8192;
    open_one(&w, &longer, &linear_native[PRECISION_F32], TOKENS, THREADS);
    open_one(&same, &small, &linear_native[PRECISION_F32], TOKENS, THREADS);
    ck_assert_uint_eq(w.capture_scratch.each, same.capture_scratch.each);
    ck_assert_uint_eq(workspace_bytes(&longer, &linear_native[PRECISION_F32], TOKENS, THREADS),
                      workspace_bytes(&small, &linear_native[PRECISION_F32], TOKENS, THREADS));
    close_one(&w);
    close_one(&same);
}
END_TEST

SUITE("workspace", room_for_explanations_is_for_texts_that_a_batch_holds,
      the_parts_of_a_workspace_are_zero_and_apart, workspace_operands_in_fp32_are_the_matrices,
      workspace_operands_in_int8_have_their_own_memory,
      a_vector_in_int8_has_the_operands_that_cost_it_most_in_bf16,
      the_bound_of_a_workspace_in_fp32_is_near,
      the_bound_of_a_workspace_counts_the_operands_of_other_precisions,
      a_batch_is_cut_into_blocks_of_queries_sequence_by_sequence,
      a_batch_of_few_tasks_is_cut_into_smaller_blocks)
