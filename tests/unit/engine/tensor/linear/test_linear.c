#include "engine/tensor/linear/linear.h"
#include "engine/tensor/tile_state.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/* Every backend in every precision that it multiplies in. */
static const struct linear_backend *const backends[] = {
    &linear_openblas,
    &linear_native[PRECISION_F32],
    &linear_native[PRECISION_BF16],
    &linear_native[PRECISION_INT8],
    &linear_tiles[PRECISION_F32],
    &linear_tiles[PRECISION_BF16],
    &linear_tiles[PRECISION_INT8],
    &linear_scalar[PRECISION_F32],
    &linear_scalar[PRECISION_BF16],
    &linear_scalar[PRECISION_INT8],
};
enum { BACKENDS = sizeof backends / sizeof backends[0], LIBRARIES = 1 };

static bool is_missing(const struct linear_backend *backend)
{
    return backend->gemm != NULL && !gemm_runnable(backend->gemm);
}

static void open_filled(struct linear *linear, const struct linear_backend *backend, size_t in,
                        size_t out, const float *weight)
{
    struct err err = {0};
    ck_assert_int_eq(linear_alloc(linear, backend, in, out, &err), ERR_OK);
    for (size_t first = 0; first < out; first += LINEAR_FILL_ROWS)
        linear_fill(linear, first, out - first < LINEAR_FILL_ROWS ? out - first : LINEAR_FILL_ROWS,
                    weight + first * in);
    numbers_fill(linear->bias, out, 1, 3);
}

/* y = gelu(x W^T + b) + residual with everything that a linear needs around it. */
static void run(const struct linear *linear, const struct kernels *kernels, unsigned threads,
                const float *x, size_t rows, const float *residual, float *y)
{
    struct err err = {0};
    struct arena arena;
    struct thread_pool *pool;
    arena_init(&arena);
    struct linear_io io = {.rows = rows,
                           .y = y,
                           .y_stride = linear->out,
                           .residual = residual,
                           .residual_stride = linear->out,
                           .act = ACTIVATION_GELU};
    ck_assert(!linear_operand(&io.x, &arena, linear->backend, rows, linear->in, &err));
    for (size_t r = 0; r < rows; r++)
        operand_store(&io.x, kernels, r, x + r * linear->in, linear->in);
    ck_assert_int_eq(thread_pool_open(&pool, threads, &err), ERR_OK);
    linear_run(linear, kernels, pool, &io);
    thread_pool_close(pool);
    arena_deinit(&arena);
}

/* The largest error of the precision, relative to the largest result. */
static double tolerance(enum precision precision)
{
    return precision == PRECISION_F32 ? 1e-5 : precision == PRECISION_BF16 ? 0.015 : 0.025;
}

static void check_size(const struct linear_backend *backend, size_t rows, size_t in, size_t out,
                       unsigned threads)
{
    struct linear fast, oracle;
    float *weight = numbers_new(in * out, 0.5f, (uint32_t)(in + out));
    float *x = numbers_new(rows * in, 1, 1), *residual = numbers_new(rows * out, 1, 2);
    float *y = numbers_new(rows * out, 0, 0), *expected = numbers_new(rows * out, 0, 0);
    open_filled(&fast, backend, in, out, weight);
    open_filled(&oracle, &linear_reference, in, out, weight);
    run(&oracle, &kernels_reference, 1, x, rows, residual, expected);
    run(&fast, kernels_best(), threads, x, rows, residual, y);
    double difference = numbers_relative_difference(y, expected, rows * out);
    ck_assert_msg(difference < tolerance(backend->precision), "%s %s, %zu x %zu x %zu: %g",
                  backend->name, precision_name(backend->precision), rows, out, in, difference);
    free(weight), free(x), free(residual), free(y), free(expected);
    linear_close(&fast), linear_close(&oracle);
}

START_TEST(linear_agrees_with_the_oracle_at_odd_sizes_and_with_any_pool)
{
    static const size_t sizes[][3] = {{1, 1, 1},      {1, 64, 10},    {3, 48, 96},
                                      {16, 100, 33},  {5, 17, 15},    {40, 80, 168},
                                      {230, 96, 200}, {30, 3100, 40}, {250, 650, 40}};
    for (int b = 0; b < BACKENDS; b++) /* one product alone says little in few bits */
        for (size_t i = backends[b]->precision != PRECISION_F32;
             i < sizeof sizes / sizeof *sizes && !is_missing(backends[b]); i++)
            for (unsigned threads = 1; threads <= 3; threads++)
                check_size(backends[b], sizes[i][0], sizes[i][1], sizes[i][2], threads);
}
END_TEST

START_TEST(a_row_of_weights_is_held_as_long_as_is_told)
{
    static const size_t ins[] = {1, 31, 32, 33, 64, 100, 336, 337};
    enum { OUT = 40, PANELS = 2 };
    for (int b = 0; b < BACKENDS; b++)
        for (size_t i = 0; i < sizeof ins / sizeof *ins && !is_missing(backends[b]); i++) {
            struct linear linear;
            struct err err = {0};
            const size_t rows = backends[b]->column_block > 0 ? PANELS * GEMM_COLUMNS : OUT;
            ck_assert(!linear_alloc(&linear, backends[b], ins[i], OUT, &err));
            ck_assert_uint_eq(linear.bytes, rows * linear_held_row(backends[b], ins[i]) *
                                                precision_bytes(backends[b]->precision));
            linear_close(&linear);
        }
}
END_TEST

START_TEST(linear_gives_a_row_the_same_result_in_any_company)
{
    enum { ROWS = 250, IN = 200, OUT = 70 };
    float *weight = numbers_new(IN * OUT, 1, 1), *x = numbers_new(ROWS * IN, 1, 2);
    float *residual = numbers_new(ROWS * OUT, 1, 3);
    float *all = numbers_new(ROWS * OUT, 0, 0), *one = numbers_new(OUT, 0, 0);
    for (int b = LIBRARIES; b < BACKENDS; b++) { /* it chooses kernels by the number of rows */
        struct linear linear;
        if (is_missing(backends[b]))
            continue;
        open_filled(&linear, backends[b], IN, OUT, weight);
        run(&linear, kernels_best(), 2, x, ROWS, residual, all);
        for (size_t r = 0; r < ROWS; r += 83) {
            run(&linear, kernels_best(), 1, x + r * IN, 1, residual + r * OUT, one);
            ck_assert_msg(memcmp(one, all + r * OUT, sizeof(float[OUT])) == 0, "%s %s, row %zu",
                          backends[b]->name, precision_name(backends[b]->precision), r);
        }
        linear_close(&linear);
    }
    free(weight), free(x), free(residual), free(all), free(one);
}
END_TEST

enum { SCALAR_ROWS = 33, SCALAR_IN = 333, SCALAR_OUT = 65 };

static void check_scalar(const float *weight, const float *x)
{
    struct gemm gemm = gemm_generic_int8; /* with the scales of the variant that runs here */
    struct linear_backend backend = linear_scalar[PRECISION_INT8];
    struct linear fast, scalar;
    float *y = numbers_new(SCALAR_ROWS * SCALAR_OUT, 0, 0);
    float *expected = numbers_new(SCALAR_ROWS * SCALAR_OUT, 0, 0);
    gemm.paired = gemm_best(PRECISION_INT8)->paired;
    backend.gemm = &gemm;
    open_filled(&fast, &linear_native[PRECISION_INT8], SCALAR_IN, SCALAR_OUT, weight);
    open_filled(&scalar, &backend, SCALAR_IN, SCALAR_OUT, weight);
    run(&fast, kernels_best(), 2, x, SCALAR_ROWS, NULL, y);
    run(&scalar, kernels_best(), 1, x, SCALAR_ROWS, NULL, expected);
    ck_assert(memcmp(y, expected, sizeof(float[SCALAR_ROWS * SCALAR_OUT])) == 0);
    linear_close(&fast), linear_close(&scalar);
    free(y), free(expected);
}

/* The scalar path is the readable one; integer sums leave it no room to differ. Products of equal
 * numbers are the largest: where pairs of them saturate, the scales must have left room. */
START_TEST(int8_products_are_those_of_the_scalar_path)
{
    float *weight = numbers_new(SCALAR_IN * SCALAR_OUT, 1, 1);
    float *x = numbers_new(SCALAR_ROWS * SCALAR_IN, 1, 2);
    check_scalar(weight, x);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (size_t i = 0; i < SCALAR_IN * SCALAR_OUT; i++)
            weight[i] = 0.7f;
        for (size_t i = 0; i < SCALAR_ROWS * SCALAR_IN; i++)
            x[i] = 0.3f * (float)sign;
        check_scalar(weight, x);
    }
    free(weight), free(x);
}
END_TEST

static void run_and_spoil(const struct linear *linear, const struct kernels *kernels,
                          const struct linear_io *io, const struct linear_block *block)
{
    linear_native[PRECISION_F32].run(linear, kernels, io, block);
    io->y[linear->out - 1] += 1e-2f;
}

START_TEST(linear_self_test_accepts_every_backend_and_finds_a_wrong_product)
{
    enum { IN = 100, OUT = 70 };
    float *weight = numbers_new(IN * OUT, 1, 1);
    struct err err = {0};
    struct linear linear;
    for (int b = 0; b < BACKENDS; b++) {
        if (is_missing(backends[b]))
            continue;
        open_filled(&linear, backends[b], IN, OUT, weight);
        ck_assert_msg(linear_self_test(&linear, kernels_best(), &err) == ERR_OK, "%s: %s",
                      backends[b]->name, err.text);
        linear_close(&linear);
    }
    struct linear_backend broken = linear_native[PRECISION_F32];
    broken.run = run_and_spoil;
    open_filled(&linear, &broken, IN, OUT, weight);
    ck_assert_int_eq(linear_self_test(&linear, kernels_best(), &err), ERR_INTERNAL);
    linear_close(&linear);
    free(weight);
}
END_TEST

START_TEST(linear_knows_its_backends_by_name)
{
    ck_assert_ptr_eq(linear_backend_find("openblas", PRECISION_F32), &linear_openblas);
    ck_assert_ptr_eq(linear_backend_find("reference", PRECISION_F32), &linear_reference);
    ck_assert_ptr_eq(linear_backend_find("reference", PRECISION_INT8),
                     &linear_scalar[PRECISION_INT8]);
    const struct linear_backend *fastest = tile_state_permitted() ? linear_tiles : linear_native;
    ck_assert_ptr_eq(linear_backend_find(NULL, PRECISION_INT8), &fastest[PRECISION_INT8]);
    ck_assert_ptr_eq(linear_backend_find("auto", PRECISION_BF16), &fastest[PRECISION_BF16]);
    ck_assert_ptr_eq(linear_backend_find("native", PRECISION_INT8), &linear_native[PRECISION_INT8]);
    ck_assert_ptr_eq(linear_backend_find("auto", PRECISION_F32), &fastest[PRECISION_F32]);
    ck_assert_ptr_eq(linear_backend_find_plain("auto"), &linear_native[PRECISION_F32]);
    ck_assert_ptr_eq(linear_backend_find_plain("openblas"), &linear_openblas);
    ck_assert_ptr_null(linear_backend_find_plain("cuda"));
    ck_assert_ptr_null(linear_backend_find("onednn", PRECISION_F32)); /* as it was once */
    ck_assert_ptr_null(linear_backend_find("openblas", PRECISION_INT8));
    ck_assert_ptr_null(linear_backend_find("cuda", PRECISION_F32));
}
END_TEST

/* Rows and numbers around the sizes of tiles, k in one step and in several. Where vectors have
 * scales of their own, the others are those of the scalar path. */
START_TEST(linear_multiplies_bytes_by_tiles_as_without_to_the_bit)
{
    enum { OUTPUTS = 70, ROWS_TO = 70 };
    static const size_t ins[] = {1, 63, 64, 65, 768, 1601};
    static const size_t rows[] = {1, 15, 16, 17, 31, 32, 33, 47, 49, ROWS_TO};
    const struct linear_backend *without =
        gemm_best(PRECISION_INT8)->paired ? linear_scalar : linear_native;
    if (!tile_state_permitted())
        suite_skip("this processor has no tiles (AMX)");
    for (size_t i = 0; i < sizeof ins / sizeof *ins; i++) {
        struct arena arena;
        struct err err = {0};
        struct operand x;
        float *numbers = numbers_new(ROWS_TO * ins[i], 1, 5), *y[2];
        arena_init(&arena);
        ck_assert_int_eq(operand_alloc(&x, &arena, PRECISION_INT8, ROWS_TO, ins[i], &err), ERR_OK);
        for (size_t r = 0; r < ROWS_TO; r++)
            operand_store(&x, kernels_best(), r, numbers + r * ins[i], ins[i]);
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            for (int b = 0; b < 2; b++) {
                const struct linear_backend *backend = b ? linear_tiles : without;
                float *weight = numbers_new(OUTPUTS * ins[i], 1, 6);
                struct linear linear;
                y[b] = calloc(ROWS_TO * OUTPUTS, sizeof *y[b]);
                open_filled(&linear, &backend[PRECISION_INT8], ins[i], OUTPUTS, weight);
                struct linear_io io = {.x = x,
                                       .rows = rows[k],
                                       .y = y[b],
                                       .y_stride = OUTPUTS,
                                       .act = ACTIVATION_GELU};
                struct linear_block all = {0, rows[k], 0, OUTPUTS};
                linear.backend->run(&linear, kernels_best(), &io, &all);
                linear_close(&linear);
                free(weight);
            }
            ck_assert_msg(memcmp(y[0], y[1], ROWS_TO * OUTPUTS * sizeof *y[0]) == 0,
                          "%zu rows of %zu numbers", rows[k], ins[i]);
            free(y[0]), free(y[1]);
        }
        arena_deinit(&arena);
        free(numbers);
    }
}
END_TEST

START_TEST(linear_refuses_sizes_that_overflow)
{
    struct linear linear;
    struct err err = {0};
    ck_assert_int_eq(
        linear_alloc(&linear, &linear_openblas, (size_t)1 << 40, (size_t)1 << 40, &err),
        ERR_NO_MEMORY);
    linear_close(&linear);
}
END_TEST

SUITE("linear", linear_agrees_with_the_oracle_at_odd_sizes_and_with_any_pool,
      a_row_of_weights_is_held_as_long_as_is_told,
      linear_gives_a_row_the_same_result_in_any_company, int8_products_are_those_of_the_scalar_path,
      linear_self_test_accepts_every_backend_and_finds_a_wrong_product,
      linear_knows_its_backends_by_name, linear_multiplies_bytes_by_tiles_as_without_to_the_bit,
      linear_refuses_sizes_that_overflow)
