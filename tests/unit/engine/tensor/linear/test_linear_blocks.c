/* Tests of linear.c around a backend, with backends made for it: how a run is cut into blocks,
 * which results the self-test checks, and what alloc and close leave. */
#include "engine/tensor/linear/linear.h"
#include "engine/tensor/simd.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- blocks ---- */

enum { BLOCKS_MAX = 256, ROWS_MAX = 400, OUT_MAX = 500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct linear_block blocks[BLOCKS_MAX];
static size_t block_count;

static enum err_code alloc_nothing(struct linear *linear, struct err *err)
{
    (void)linear;
    (void)err;
    return ERR_OK;
}

static void record(const struct linear *linear, const struct kernels *kernels,
                   const struct linear_io *io, const struct linear_block *block)
{
    (void)linear;
    ck_assert_ptr_eq(kernels, &kernels_reference);
    ck_assert_ptr_nonnull(io);
    pthread_mutex_lock(&lock);
    if (block_count < BLOCKS_MAX)
        blocks[block_count++] = *block;
    pthread_mutex_unlock(&lock);
}

/* The blocks of a run of that shape, in the order in which they began. */
static void cut_parts(size_t rows, size_t out, size_t row_block, size_t column_block,
                      unsigned threads, unsigned parts)
{
    const struct linear_backend backend = {.name = "recorder",
                                           .row_block = row_block,
                                           .column_block = column_block,
                                           .alloc = alloc_nothing,
                                           .run = record};
    const struct linear_io io = {.rows = rows, .parts = parts};
    struct linear linear;
    struct thread_pool *pool;
    struct err err = {0};
    ck_assert(!linear_alloc(&linear, &backend, 1, out, &err));
    ck_assert(!thread_pool_open(&pool, threads, &err));
    block_count = 0;
    linear_run(&linear, &kernels_reference, pool, &io);
    thread_pool_close(pool);
    linear_close(&linear);
}

static void cut(size_t rows, size_t out, size_t row_block, size_t column_block, unsigned threads)
{
    cut_parts(rows, out, row_block, column_block, threads, 0);
}

static void expect_block(size_t i, size_t first_row, size_t last_row, size_t first_column,
                         size_t last_column)
{
    ck_assert_uint_lt(i, block_count);
    ck_assert_uint_eq(blocks[i].first_row, first_row);
    ck_assert_uint_eq(blocks[i].last_row, last_row);
    ck_assert_uint_eq(blocks[i].first_column, first_column);
    ck_assert_uint_eq(blocks[i].last_column, last_column);
}

START_TEST(rows_are_cut_evenly_and_blocks_of_the_same_rows_follow_each_other)
{
    cut(225, 70, 112, 32, 1); /* three times 75 rows; 32, 32 and 6 columns */
    ck_assert_uint_eq(block_count, 9);
    for (size_t i = 0; i < 9; i++)
        expect_block(i, i / 3 * 75, i / 3 * 75 + 75, i % 3 * 32, i % 3 < 2 ? i % 3 * 32 + 32 : 70);
    cut(5, 40, 2, 40, 1); /* three blocks, the last smaller */
    ck_assert_uint_eq(block_count, 3);
    expect_block(0, 0, 2, 0, 40);
    expect_block(1, 2, 4, 0, 40);
    expect_block(2, 4, 5, 0, 40);
    cut(112, 32, 112, 32, 1);
    ck_assert_uint_eq(block_count, 1);
    expect_block(0, 0, 112, 0, 32);
}
END_TEST

/* 300 rows for two members are four blocks, two each; three members would have less than
 * 128 each. */
START_TEST(members_share_rows_of_which_each_has_enough)
{
    cut_parts(300, 384, 112, 32, 2, 3);
    ck_assert_uint_eq(block_count, 16);
    for (size_t i = 0; i < block_count; i++) {
        ck_assert_uint_eq(blocks[i].first_row % 75, 0);
        ck_assert_uint_eq(blocks[i].last_row - blocks[i].first_row, 75);
        ck_assert_uint_eq(blocks[i].first_column % 96, 0);
        ck_assert_uint_eq(blocks[i].last_column - blocks[i].first_column, 96);
    }
    cut_parts(300, 384, 112, 32, 3, 3);
    ck_assert_uint_eq(block_count, 36);
    cut(300, 100, 0, 0, 2); /* a backend without units */
    ck_assert_uint_eq(block_count, 2);
    ck_assert_uint_eq(blocks[0].last_row, 300);
    ck_assert(linear_shares_rows(384, 3) && !linear_shares_rows(383, 3));
    ck_assert(!linear_shares_rows(1000, 1));
}
END_TEST

START_TEST(no_block_is_empty)
{
    cut(10, 1, 4, 1, 1);
    ck_assert_uint_eq(block_count, 3);
    expect_block(2, 8, 10, 0, 1);
    cut(9, 1, 2, 1, 1);
    ck_assert_uint_eq(block_count, 5);
    expect_block(4, 8, 9, 0, 1);
    for (unsigned threads = 1; threads <= 3; threads++)
        for (size_t out = 1; out <= 70; out += 23) {
            cut(3, out, 0, 0, threads);
            for (size_t i = 0; i < block_count; i++) {
                ck_assert_uint_lt(blocks[i].first_row, blocks[i].last_row);
                ck_assert_uint_lt(blocks[i].first_column, blocks[i].last_column);
            }
        }
}
END_TEST

START_TEST(a_backend_without_units_gives_each_member_a_share_of_whole_vectors)
{
    cut(3, 100, 0, 0, 1);
    ck_assert_uint_eq(block_count, 1);
    expect_block(0, 0, 3, 0, 100);
    cut(3, 100, 0, 0, 2);
    size_t half = simd_round_up(50);
    ck_assert_uint_eq(block_count, 2);
    for (size_t i = 0; i < 2; i++)
        expect_block(i, 0, 3, blocks[i].first_column == 0 ? 0 : half,
                     blocks[i].first_column == 0 ? half : 100);
    cut(3, 2 * SIMD_WIDTH, 0, 0, 2); /* a vector each, no more */
    ck_assert_uint_eq(block_count, 2);
    cut(3, 4 * SIMD_WIDTH + 1, 0, 0, 4); /* a number more than four vectors: two vectors each */
    ck_assert_uint_eq(block_count, 3);
}
END_TEST

/* 480 columns are 15 units of 32: for one member 15 / 4 = 3 units a block, for two 15 / 8 = 1. */
START_TEST(each_member_is_given_four_blocks_of_neighbouring_columns)
{
    cut(1, 480, 112, 32, 1);
    ck_assert_uint_eq(block_count, 5);
    for (size_t i = 0; i < 5; i++)
        expect_block(i, 0, 1, 96 * i, 96 * (i + 1));
    cut(1, 480, 112, 32, 2);
    ck_assert_uint_eq(block_count, 15);
    cut(1, 500, 112, 64, 1); /* seven units: one a block */
    ck_assert_uint_eq(block_count, 8);
    cut(1, 499, 112, 128, 3);
    ck_assert_uint_eq(block_count, 4);
}
END_TEST

/* Three parts of 128 columns for one member: a block each. For four members each part is four. */
START_TEST(each_part_of_the_columns_is_cut_alike)
{
    cut_parts(225, 384, 112, 32, 1, 3);
    ck_assert_uint_eq(block_count, 9);
    for (size_t i = 0; i < 9; i++)
        expect_block(i, i / 3 * 75, i / 3 * 75 + 75, i % 3 * 128, i % 3 * 128 + 128);
    cut_parts(5, 384, 112, 32, 4, 3);
    ck_assert_uint_eq(block_count, 12);
    for (size_t i = 0; i < block_count; i++)
        ck_assert_uint_eq(blocks[i].last_column - blocks[i].first_column, 32);
}
END_TEST

/* A part that is no whole number of units would share one with its neighbour. */
START_TEST(parts_that_are_not_whole_units_are_cut_as_one)
{
    cut_parts(5, 480, 112, 64, 1, 3);
    const size_t count = block_count;
    cut(5, 480, 112, 64, 1);
    ck_assert_uint_eq(block_count, count);
    cut_parts(3, 99, 0, 0, 2, 3);
    ck_assert_uint_eq(block_count, 2);
}
END_TEST

START_TEST(every_number_of_the_result_is_in_exactly_one_block)
{
    static const size_t shapes[][4] = {{1, 1, 112, 32},    {113, 33, 112, 32}, {225, 500, 112, 32},
                                       {7, 97, 3, 5},      {5, 31, 0, 0},      {9, 480, 4, 32},
                                       {257, 97, 112, 32}, {399, 500, 256, 32}};
    static unsigned char times[ROWS_MAX][OUT_MAX];
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (unsigned run = 0; run < 6; run++) {
            size_t rows = shapes[s][0], out = shapes[s][1];
            cut_parts(rows, out, shapes[s][2], shapes[s][3], run % 3 + 1, run / 3 * 3);
            memset(times, 0, sizeof times);
            for (size_t i = 0; i < block_count; i++) {
                ck_assert(shapes[s][2] == 0 ||
                          blocks[i].last_row - blocks[i].first_row <= shapes[s][2]);
                ck_assert(shapes[s][3] == 0 || blocks[i].first_column % shapes[s][3] == 0);
                for (size_t r = blocks[i].first_row; r < blocks[i].last_row; r++)
                    for (size_t c = blocks[i].first_column; c < blocks[i].last_column; c++)
                        times[r][c]++;
            }
            for (size_t i = 0; i < rows * out; i++)
                ck_assert_uint_eq(times[i / out][i % out], 1);
        }
}
END_TEST

/* ---- alloc and close ---- */

static unsigned closed;

static enum err_code alloc_one(struct linear *linear, struct err *err)
{
    (void)err;
    linear->weights = &closed;
    return ERR_OK;
}

static enum err_code alloc_fails(struct linear *linear, struct err *err)
{
    (void)linear;
    return err_set(err, ERR_UNSUPPORTED, "not today");
}

static void close_one(struct linear *linear)
{
    ck_assert_ptr_eq(linear->weights, &closed);
    closed++;
}

START_TEST(alloc_gives_a_bias_of_zeros_up_to_a_whole_panel)
{
    static const size_t outs[] = {1, 31, 32, 33, 64, 65};
    const struct linear_backend backend = {.alloc = alloc_one, .close = close_one};
    for (size_t i = 0; i < sizeof outs / sizeof outs[0]; i++) {
        struct linear linear;
        struct err err = {0};
        void *dirty = aligned_alloc(64, 1024);
        memset(dirty, 0x55, 1024);
        free(dirty);
        ck_assert(!linear_alloc(&linear, &backend, 3, outs[i], &err));
        ck_assert_uint_eq(linear.in, 3);
        ck_assert_uint_eq(linear.out, outs[i]);
        ck_assert_ptr_eq(linear.backend, &backend);
        ck_assert_ptr_null(linear.kernel);
        ck_assert_uint_eq((size_t)linear.bias % 64, 0);
        for (size_t c = 0; c < (outs[i] + 31) / 32 * 32; c++)
            ck_assert_float_eq(linear.bias[c], 0);
        closed = 0;
        linear_close(&linear);
        linear_close(&linear);
        ck_assert_uint_eq(closed, 1);
        ck_assert_ptr_null(linear.bias);
        ck_assert_ptr_null(linear.backend);
    }
}
END_TEST

START_TEST(alloc_says_what_the_backend_says)
{
    const struct linear_backend backend = {.alloc = alloc_fails, .close = close_one};
    struct linear linear;
    struct err err = {0};
    closed = 0;
    ck_assert_int_eq(linear_alloc(&linear, &backend, 3, 4, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "not today");
    linear_close(&linear);
    ck_assert_uint_eq(closed, 0);
}
END_TEST

START_TEST(sizes_whose_product_overflows_are_refused_by_both_numbers)
{
    static const struct {
        size_t in, out;
        const char *text;
    } cases[] = {
        {1, SIZE_MAX, "out of memory for a 18446744073709551615 x 1 matrix"},
        {1, SIZE_MAX / 32 + 1, "out of memory for a 576460752303423488 x 1 matrix"},
        {SIZE_MAX / 32, 33, "out of memory for a 33 x 576460752303423487 matrix"},
        {SIZE_MAX / 32 / 32 + 1, 1, "out of memory for a 1 x 18014398509481984 matrix"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct linear_backend backend = {.alloc = alloc_one, .close = close_one};
        struct linear linear;
        struct err err = {0};
        ck_assert_int_eq(linear_alloc(&linear, &backend, cases[i].in, cases[i].out, &err),
                         ERR_NO_MEMORY);
        ck_assert_str_eq(err.text, cases[i].text);
        linear_close(&linear);
    }
}
END_TEST

START_TEST(sizes_that_just_fit_or_have_no_input_are_the_backend_s_to_judge)
{
    static const size_t ins[] = {0, 1, SIZE_MAX / 32 / 32};
    const struct linear_backend backend = {.alloc = alloc_one, .close = close_one};
    for (size_t i = 0; i < sizeof ins / sizeof ins[0]; i++) {
        struct linear linear;
        struct err err = {0};
        ck_assert_int_eq(linear_alloc(&linear, &backend, ins[i], 32, &err), ERR_OK);
        linear_close(&linear);
    }
}
END_TEST

SUITE("linear_blocks", rows_are_cut_evenly_and_blocks_of_the_same_rows_follow_each_other,
      members_share_rows_of_which_each_has_enough, no_block_is_empty,
      a_backend_without_units_gives_each_member_a_share_of_whole_vectors,
      each_member_is_given_four_blocks_of_neighbouring_columns,
      each_part_of_the_columns_is_cut_alike, parts_that_are_not_whole_units_are_cut_as_one,
      every_number_of_the_result_is_in_exactly_one_block,
      alloc_gives_a_bias_of_zeros_up_to_a_whole_panel, alloc_says_what_the_backend_says,
      sizes_whose_product_overflows_are_refused_by_both_numbers,
      sizes_that_just_fit_or_have_no_input_are_the_backend_s_to_judge)
