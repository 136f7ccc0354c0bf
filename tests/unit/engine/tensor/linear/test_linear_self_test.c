/* Wrong products that the self-test of a linear finds: backends that are wrong in one place. */
#include "engine/tensor/linear/linear.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IN = 100, OUT = 71, ALL_ROWS = 40, SAMPLED = 8 };

/* The fault: runs with `rows` rows have a wrong result at (row, column). The error is `share` of
 * the sum of the sizes of its terms. */
static struct {
    size_t rows, row, column;
    double share;
} wrong;

static const float *row_of(const struct linear_io *io, size_t r)
{
    return (const float *)(const void *)((const char *)io->x.data + r * io->x.stride);
}

static void run_wrong(const struct linear *linear, const struct kernels *kernels,
                      const struct linear_io *io, const struct linear_block *block)
{
    linear_reference.run(linear, kernels, io, block);
    if (io->rows != wrong.rows)
        return;
    float weight[IN];
    double size = fabs((double)linear->bias[wrong.column]);
    linear->backend->unpack(linear, wrong.column, weight);
    for (size_t k = 0; k < IN; k++)
        size += fabs((double)weight[k] * (double)row_of(io, wrong.row)[k]);
    io->y[wrong.row * io->y_stride + wrong.column] += (float)(wrong.share * size);
}

/* The result of the self-test of a linear that multiplies with `run`. */
static enum err_code judge(void (*run)(const struct linear *, const struct kernels *,
                                       const struct linear_io *, const struct linear_block *),
                           size_t out, struct err *err)
{
    struct linear_backend backend = linear_reference;
    struct linear linear;
    float *weight = numbers_new(IN * out, 1, 1);
    backend.name = "broken";
    backend.run = run;
    *err = (struct err){0};
    ck_assert(!linear_alloc(&linear, &backend, IN, out, err));
    linear_fill(&linear, 0, out, weight);
    numbers_fill(linear.bias, out, 1, 2);
    enum err_code code = linear_self_test(&linear, &kernels_reference, err);
    linear_close(&linear);
    free(weight);
    return code;
}

START_TEST(a_wrong_number_is_found_in_each_row_of_each_sampled_column)
{
    static const size_t rows[] = {1, 5, 16, ALL_ROWS};
    struct err err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t c = 0; c < SAMPLED; c++)
            for (int last = 0; last <= 1; last++) {
                wrong.rows = rows[i];
                wrong.row = last ? rows[i] - 1 : rows[i] / 2;
                wrong.column = (OUT - 1) * c / (SAMPLED - 1);
                wrong.share = c % 2 == 0 ? 3e-5 : -3e-5;
                ck_assert_int_eq(judge(run_wrong, OUT, &err), ERR_INTERNAL);
                ck_assert_str_eq(err.text, "the linear backend 'broken' computes a wrong 71 x 100 "
                                           "product on this CPU; choose another one");
            }
}
END_TEST

START_TEST(rounding_is_no_error_and_a_single_column_can_be_tested)
{
    struct err err;
    wrong.rows = ALL_ROWS;
    wrong.row = 3;
    wrong.column = 0;
    wrong.share = 3e-6;
    ck_assert_int_eq(judge(run_wrong, OUT, &err), ERR_OK);
    ck_assert_int_eq(judge(run_wrong, 1, &err), ERR_OK);
    wrong.share = (double)NAN;
    ck_assert_int_eq(judge(run_wrong, 1, &err), ERR_INTERNAL);
}
END_TEST

static void run_on_the_first_row(const struct linear *linear, const struct kernels *kernels,
                                 const struct linear_io *io, const struct linear_block *block)
{
    struct linear_io first = *io;
    first.x.stride = 0;
    linear_reference.run(linear, kernels, &first, block);
}

static void run_turned(const struct linear *linear, const struct kernels *kernels,
                       const struct linear_io *io, const struct linear_block *block)
{
    float *turned = malloc(io->rows * IN * sizeof *turned);
    struct linear_io other = *io;
    for (size_t i = 0; i < io->rows * IN; i++)
        turned[i] = row_of(io, i / IN)[(i + 1) % IN];
    other.x = operand_f32(turned, IN);
    linear_reference.run(linear, kernels, &other, block);
    free(turned);
}

START_TEST(mixing_up_rows_or_columns_of_the_input_is_found)
{
    struct err err;
    ck_assert_int_eq(judge(run_on_the_first_row, OUT, &err), ERR_INTERNAL);
    ck_assert_int_eq(judge(run_turned, OUT, &err), ERR_INTERNAL);
}
END_TEST

static float lowest, highest;

static void run_and_look(const struct linear *linear, const struct kernels *kernels,
                         const struct linear_io *io, const struct linear_block *block)
{
    ck_assert_uint_eq(block->first_row, 0);
    ck_assert_uint_eq(block->last_row, io->rows);
    ck_assert_uint_eq(block->first_column, 0);
    ck_assert_uint_eq(block->last_column, linear->out);
    ck_assert_int_eq(io->act, ACTIVATION_NONE);
    ck_assert_ptr_null(io->residual);
    for (size_t i = 0; i < io->rows * IN; i++) {
        lowest = fminf(lowest, row_of(io, i / IN)[i % IN]);
        highest = fmaxf(highest, row_of(io, i / IN)[i % IN]);
    }
    linear_reference.run(linear, kernels, io, block);
}

START_TEST(the_input_of_the_test_fills_the_range_from_minus_one_to_one)
{
    struct err err;
    ck_assert_int_eq(judge(run_and_look, OUT, &err), ERR_OK);
    ck_assert_float_eq(lowest, -1);
    ck_assert_float_eq(highest, 127.0f / 128);
}
END_TEST

SUITE("linear_self_test", a_wrong_number_is_found_in_each_row_of_each_sampled_column,
      rounding_is_no_error_and_a_single_column_can_be_tested,
      mixing_up_rows_or_columns_of_the_input_is_found,
      the_input_of_the_test_fills_the_range_from_minus_one_to_one)
