/* window_bias.h: the places of a window, their matrix, and the way back. */
#include "engine/model/window_bias.h"

#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <stdbool.h>
#include <stdlib.h>

enum { HEADS = 3 };

/* BeitRelativePositionBias.generate_relative_position_index((2, 2)), transformers 4.57. */
START_TEST(rows_of_a_window_are_those_of_transformers)
{
    static const size_t expected[5][5] = {
        {11, 9, 9, 9, 9}, {10, 4, 3, 1, 0}, {10, 5, 4, 2, 1}, {10, 7, 6, 4, 3}, {10, 8, 7, 5, 4}};
    ck_assert_uint_eq(window_bias_rows(2), 12);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            ck_assert_uint_eq(window_bias_row(2, i, j), expected[i][j]);
}
END_TEST

START_TEST(every_row_of_a_table_belongs_to_some_pair)
{
    for (size_t side = 1; side <= 5; side++) {
        size_t rows = window_bias_rows(side);
        bool *met = calloc(rows, sizeof *met);
        for (size_t i = 0; i <= side * side; i++)
            for (size_t j = 0; j <= side * side; j++) {
                ck_assert_uint_lt(window_bias_row(side, i, j), rows);
                met[window_bias_row(side, i, j)] = true;
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
        size_t rows = window_bias_rows(side), n = 1 + side * side;
        float *table = numbers_new(rows * HEADS, 1, 4);
        float *matrix = numbers_new(window_bias_floats(HEADS, side) + 1, 0, 0);
        matrix[window_bias_floats(HEADS, side)] = 123;
        struct attention_bias all = window_bias_expand(matrix, table, HEADS, side);
        for (size_t h = 0; h < HEADS; h++) {
            struct attention_bias one = attention_bias_at(&all, h, 0);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    ck_assert_float_eq(attention_bias_key(&one, j)[i],
                                       table[window_bias_row(side, i, j) * HEADS + h]);
        }
        ck_assert_float_eq(matrix[window_bias_floats(HEADS, side)], 123);
        free(table), free(matrix);
    }
}
END_TEST

/* sum of matrix * dmatrix = sum of table * dtable, whatever the numbers: it is a gradient. */
START_TEST(fold_is_the_transpose_of_expand_and_adds)
{
    enum { SIDE = 3 };
    size_t rows = window_bias_rows(SIDE) * HEADS, floats = window_bias_floats(HEADS, SIDE);
    float *table = numbers_new(rows, 1, 1), *matrix = numbers_new(floats, 0, 0);
    float *dmatrix = numbers_new(floats, 1, 2), *dtable = numbers_new(rows, 1, 3);
    float *before = numbers_new(rows, 1, 3);
    double left = 0, right = 0;
    window_bias_expand(matrix, table, HEADS, SIDE);
    window_bias_fold(dtable, dmatrix, HEADS, SIDE);
    for (size_t i = 0; i < floats; i++)
        left += (double)matrix[i] * (double)dmatrix[i];
    for (size_t i = 0; i < rows; i++)
        right += (double)table[i] * (double)(dtable[i] - before[i]);
    ck_assert_double_eq_tol(left, right, 1e-4);
    free(table), free(matrix), free(dmatrix), free(dtable), free(before);
}
END_TEST

SUITE("window_bias", rows_of_a_window_are_those_of_transformers,
      every_row_of_a_table_belongs_to_some_pair,
      matrix_has_the_tables_number_of_each_head_query_and_key,
      fold_is_the_transpose_of_expand_and_adds)
