#include "engine/tensor/linear.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static void open_random(struct linear *linear, const char *backend, size_t in, size_t out)
{
    struct err err = {0};
    float *weight = numbers_new(in * out, 0.5f, (uint32_t)(in + out));
    ck_assert_int_eq(linear_alloc(linear, linear_backend_find(backend), in, out, &err), ERR_OK);
    for (size_t row = 0; row < out; row += LINEAR_FILL_ROWS)
        linear_fill(linear, row, out - row < LINEAR_FILL_ROWS ? out - row : LINEAR_FILL_ROWS,
                    weight + row * in);
    numbers_fill(linear->bias, out, 1, 3);
    ck_assert_int_eq(linear_open(linear, &err), ERR_OK);
    free(weight);
}

static void check_size(size_t rows, size_t in, size_t out, unsigned threads)
{
    struct err err = {0};
    struct team *team, *alone;
    struct linear fast, oracle;
    ck_assert_int_eq(team_open(&team, threads, &err), ERR_OK);
    ck_assert_int_eq(team_open(&alone, 1, &err), ERR_OK);
    open_random(&fast, "openblas", in, out);
    open_random(&oracle, "reference", in, out);
    float *x = numbers_new(rows * in, 1, 1), *residual = numbers_new(rows * out, 1, 2);
    float *y = numbers_new(rows * out, 0, 0), *expected = numbers_new(rows * out, 0, 0);
    linear_run(&oracle, &kernels_reference, alone, expected, x, rows, residual, ACTIVATION_GELU);
    linear_run(&fast, kernels_best(), team, y, x, rows, residual, ACTIVATION_GELU);
    double difference = numbers_relative_difference(y, expected, rows * out);
    ck_assert_msg(difference < 1e-5, "%zu x %zu x %zu: %g", rows, out, in, difference);
    free(x), free(residual), free(y), free(expected);
    linear_close(&fast), linear_close(&oracle);
    team_close(team), team_close(alone);
}

START_TEST(linear_agrees_with_the_oracle_at_odd_sizes_and_with_any_team)
{
    static const size_t sizes[][3] = {{1, 1, 1},   {1, 64, 10},   {3, 48, 96},   {16, 100, 33},
                                      {5, 17, 15}, {40, 80, 168}, {128, 96, 200}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned threads = 1; threads <= 3; threads++)
            check_size(sizes[i][0], sizes[i][1], sizes[i][2], threads);
}
END_TEST

START_TEST(linear_knows_its_backends_by_name)
{
    ck_assert_ptr_eq(linear_backend_find("openblas"), &linear_openblas);
    ck_assert_ptr_eq(linear_backend_find("reference"), &linear_reference);
    ck_assert_ptr_nonnull(linear_backend_find("auto"));
    ck_assert_ptr_nonnull(linear_backend_find(NULL));
    ck_assert_ptr_null(linear_backend_find("cuda"));
}
END_TEST

START_TEST(linear_refuses_sizes_that_overflow)
{
    struct linear linear;
    struct err err = {0};
    ck_assert_int_eq(
        linear_alloc(&linear, &linear_reference, (size_t)1 << 40, (size_t)1 << 40, &err),
        ERR_NO_MEMORY);
    linear_close(&linear);
}
END_TEST

SUITE("linear", linear_agrees_with_the_oracle_at_odd_sizes_and_with_any_team,
      linear_knows_its_backends_by_name, linear_refuses_sizes_that_overflow)
