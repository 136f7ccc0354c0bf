/* window_bias.h: the places of a window, their matrix, and the way back. */
#include "engine/model/bias/window_bias.h"

#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <stdbool.h>
#include <stdlib.h>

enum { HEADS = 3 };

static struct window_bias of(unsigned side)
{
    return (struct window_bias){.heads = HEADS, .window = {side, side}, .specials = 1};
}

/* BeitRelativePositionBias.generate_relative_position_index((2, 2)), transformers 4.57. */
START_TEST(rows_of_a_window_are_those_of_transformers)
{
    static const size_t expected[5][5] = {
        {11, 9, 9, 9, 9}, {10, 4, 3, 1, 0}, {10, 5, 4, 2, 1}, {10, 7, 6, 4, 3}, {10, 8, 7, 5, 4}};
    const struct window_bias shape = of(2);
    ck_assert_uint_eq(window_bias_rows(&shape), 12);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            ck_assert_uint_eq(window_bias_row(&shape, i, j), expected[i][j]);
}
END_TEST

START_TEST(every_row_of_a_table_belongs_to_some_pair)
{
    for (size_t side = 1; side <= 5; side++) {
        const struct window_bias shape = of(side);
        size_t rows = window_bias_rows(&shape);
        bool *met = calloc(rows, sizeof *met);
        for (size_t i = 0; i <= side * side; i++)
            for (size_t j = 0; j <= side * side; j++) {
                ck_assert_uint_lt(window_bias_row(&shape, i, j), rows);
                met[window_bias_row(&shape, i, j)] = true;
            }
        for (size_t r = 0; r < rows; r++)
            ck_assert_msg(met[r], "side %zu, row %zu", side, r);
        free(met);
    }
}
END_TEST

START_TEST(matrix_has_the_tables_number_of_each_head_query_and_key)
{
    for (size_t side = 1; side <= 5; side += 2) {
        const struct window_bias shape = of(side);
        size_t rows = window_bias_rows(&shape), n = 1 + side * side;
        float *table = numbers_new(rows * HEADS, 1, 4);
        float *matrix = numbers_new(window_bias_floats(&shape) + 1, 0, 0);
        matrix[window_bias_floats(&shape)] = 123;
        struct attention_bias all = window_bias_expand(&shape, matrix, table);
        for (size_t h = 0; h < HEADS; h++) {
            struct attention_bias one = attention_bias_at(&all, h, 0);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    ck_assert_float_eq(attention_bias_key(&one, j)[i],
                                       table[window_bias_row(&shape, i, j) * HEADS + h]);
        }
        ck_assert_float_eq(matrix[window_bias_floats(&shape)], 123);
        free(table), free(matrix);
    }
}
END_TEST

/* SwinSelfAttention's index for a window of two, transformers 4.57: BEiT's without [CLS]. */
START_TEST(window_bias_without_a_class_token_has_patches_only)
{
    static const size_t expected[4][4] = {{4, 3, 1, 0}, {5, 4, 2, 1}, {7, 6, 4, 3}, {8, 7, 5, 4}};
    const struct window_bias shape = {.heads = HEADS, .window = {2, 2}};
    ck_assert_uint_eq(window_bias_rows(&shape), 9);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            ck_assert_uint_eq(window_bias_row(&shape, i, j), expected[i][j]);
}
END_TEST

/* SwinLayer.get_attn_mask of a grid of 6, windows of 3, a shift of 1: the corner window's patches
 * are of four regions, 0 to 3, and see only their own. */
START_TEST(shifted_windows_keep_the_two_sides_of_a_seam_apart)
{
    static const unsigned across[9] = {0, 0, 1, 0, 0, 1, 0, 0, 1};
    static const unsigned down[9] = {0, 0, 0, 0, 0, 0, 1, 1, 1};
    const struct window_bias shape = {.heads = HEADS, .window = {3, 3}, .shift = 1};
    float *table = numbers_new(window_bias_rows(&shape) * HEADS, 1, 6);
    float *matrix = numbers_new(window_bias_floats(&shape), 0, 0);
    const struct attention_bias all = window_bias_expand(&shape, matrix, table);
    for (unsigned kind = 0; kind < 4; kind++)
        for (size_t h = 0; h < HEADS; h++) {
            const struct attention_bias own = attention_bias_of_kind(&all, kind);
            const struct attention_bias one = attention_bias_at(&own, h, 0);
            for (size_t i = 0; i < 9; i++)
                for (size_t j = 0; j < 9; j++) {
                    bool apart = (kind % 2 == 1 && across[i] != across[j]) ||
                                 (kind / 2 == 1 && down[i] != down[j]);
                    float expected = table[window_bias_row(&shape, i, j) * HEADS + h];
                    ck_assert_float_eq(attention_bias_key(&one, j)[i],
                                       expected + (apart ? -100.0f : 0.0f));
                }
        }
    free(table), free(matrix);
}
END_TEST

/* sum of matrix * dmatrix = sum of table * dtable, whatever the numbers: it is a gradient. The
 * matrix is that of the table less that of a table of zeros, which has what keeps seams apart. */
static void check_fold(const struct window_bias *shape)
{
    size_t rows = window_bias_rows(shape) * HEADS, floats = window_bias_floats(shape);
    float *table = numbers_new(rows, 1, 1), *matrix = numbers_new(floats, 0, 0);
    float *none = numbers_new(rows, 0, 0), *seams = numbers_new(floats, 0, 0);
    float *dmatrix = numbers_new(floats, 1, 2), *dtable = numbers_new(rows, 1, 3);
    float *before = numbers_new(rows, 1, 3);
    double left = 0, right = 0;
    window_bias_expand(shape, matrix, table);
    window_bias_expand(shape, seams, none);
    window_bias_fold(shape, dtable, dmatrix);
    for (size_t i = 0; i < floats; i++)
        left += ((double)matrix[i] - (double)seams[i]) * (double)dmatrix[i];
    for (size_t i = 0; i < rows; i++)
        right += (double)table[i] * (double)(dtable[i] - before[i]);
    ck_assert_double_eq_tol(left, right, 1e-3);
    free(table), free(matrix), free(dmatrix), free(dtable), free(before), free(none), free(seams);
}

START_TEST(fold_is_the_transpose_of_expand_and_adds)
{
    check_fold(&(struct window_bias){.heads = HEADS, .window = {3, 3}, .specials = 1});
    check_fold(&(struct window_bias){.heads = HEADS, .window = {3, 3}});
    check_fold(&(struct window_bias){.heads = HEADS, .window = {3, 3}, .shift = 1});
    check_fold(&(struct window_bias){.heads = HEADS, .window = {2, 4}, .specials = 1});
}
END_TEST

SUITE("window_bias", rows_of_a_window_are_those_of_transformers,
      every_row_of_a_table_belongs_to_some_pair,
      matrix_has_the_tables_number_of_each_head_query_and_key,
      window_bias_without_a_class_token_has_patches_only,
      shifted_windows_keep_the_two_sides_of_a_seam_apart, fold_is_the_transpose_of_expand_and_adds)
