/* Activations and weights as they are kept, number by number. */
#include "engine/tensor/linear/linear.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(precisions_have_names_and_sizes)
{
    static const struct {
        const char *name;
        enum precision precision;
        size_t bytes;
    } known[] = {
        {"f32", PRECISION_F32, 4}, {"bf16", PRECISION_BF16, 2}, {"int8", PRECISION_INT8, 1}};
    static const char *const unknown[] = {"", "F32", "f3", "f32 ", "int4"};
    for (size_t i = 0; i < 3; i++) {
        enum precision found = PRECISION_COUNT;
        ck_assert_str_eq(precision_name(known[i].precision), known[i].name);
        ck_assert_uint_eq(precision_bytes(known[i].precision), known[i].bytes);
        ck_assert(precision_find(known[i].name, &found));
        ck_assert_int_eq(found, known[i].precision);
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        enum precision found = PRECISION_COUNT;
        ck_assert(!precision_find(unknown[i], &found));
        ck_assert_int_eq(found, PRECISION_COUNT);
    }
}
END_TEST

START_TEST(rows_are_an_odd_number_of_cache_lines_apart)
{
    static const struct {
        size_t width, bytes, stride;
    } cases[] = {{1, 1, 64},    {16, 4, 64},   {17, 4, 192},   {48, 4, 192},   {64, 4, 320},
                 {96, 2, 192},  {97, 2, 320},  {768, 4, 3136}, {768, 2, 1600}, {768, 1, 832},
                 {192, 1, 192}, {193, 1, 320}, {0, 4, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_uint_eq(operand_stride(cases[i].width, cases[i].bytes), cases[i].stride);
}
END_TEST

enum { ROWS = 3, WIDTH = 19 };

static struct operand alloc(struct arena *arena, enum precision precision)
{
    struct operand operand;
    struct err err = {0};
    arena_init(arena);
    memset(&operand, 0x55, sizeof operand);
    ck_assert(!operand_alloc(&operand, arena, precision, ROWS, WIDTH, &err));
    ck_assert_int_eq(operand.precision, precision);
    ck_assert_uint_eq(operand.stride, operand_stride(WIDTH, precision_bytes(precision)));
    ck_assert_int_eq(operand.scale != NULL, precision == PRECISION_INT8);
    ck_assert_int_eq(operand.zero != NULL, precision == PRECISION_INT8);
    for (size_t i = 0; i < ROWS * operand.stride; i++)
        ck_assert_uint_eq(((unsigned char *)operand.data)[i], 0);
    return operand;
}

/* One row is written and nothing else, also when the operand is the rest of a larger one. */
static void check_store(enum precision precision, const struct kernels *kernels)
{
    struct arena arena;
    struct operand whole = alloc(&arena, precision), rest = operand_from(&whole, 1);
    float x[WIDTH];
    numbers_fill(x, WIDTH, 3, 5);
    x[7] = -4;
    float low, high;
    kernels_reference.range(&low, &high, x, WIDTH);
    operand_store(&rest, kernels, 1, x, WIDTH);
    const unsigned char *bytes = whole.data, *row = bytes + 2 * whole.stride;
    size_t size = precision_bytes(precision);
    ck_assert_ptr_eq(rest.data, bytes + whole.stride);
    for (size_t i = 0; i < 2 * whole.stride; i++)
        ck_assert_uint_eq(bytes[i], 0);
    for (size_t i = WIDTH * size; i < whole.stride; i++)
        ck_assert_uint_eq(row[i], 0);
    for (size_t k = 0; k < WIDTH; k++) {
        float found;
        uint16_t half;
        memcpy(&half, row + k * size, size < 2 ? 1 : 2);
        uint32_t bits = (uint32_t)half << 16;
        memcpy(&found, precision == PRECISION_F32 ? (const void *)(row + 4 * k) : &bits, 4);
        if (precision == PRECISION_INT8) {
            ck_assert_int_ge(row[k], 1);
            ck_assert_float_eq_tol((float)(row[k] - 128 - whole.zero[2]) * whole.scale[2], x[k],
                                   0.501f * whole.scale[2]);
            ck_assert_float_eq_tol(whole.scale[2] * 254, high - low, 1e-3f);
            ck_assert_float_eq(whole.scale[0], 0);
            ck_assert_float_eq(whole.scale[1], 0);
        } else if (precision == PRECISION_BF16) {
            ck_assert_float_eq_tol(found, x[k], fabsf(x[k]) / 256);
        } else {
            ck_assert_float_eq(found, x[k]);
        }
    }
    arena_deinit(&arena);
}

START_TEST(a_row_is_stored_in_its_precision_and_nothing_beside_it)
{
    for (int p = 0; p < PRECISION_COUNT; p++) {
        check_store((enum precision)p, &kernels_reference);
        check_store((enum precision)p, kernels_best());
    }
}
END_TEST

START_TEST(a_row_of_zeros_has_no_scale_and_a_row_may_be_its_own)
{
    struct arena arena;
    static const float zeros[WIDTH];
    struct operand operand = alloc(&arena, PRECISION_INT8);
    operand.scale[1] = 5;
    operand_store(&operand, kernels_best(), 1, zeros, WIDTH);
    ck_assert_float_eq(operand.scale[1], 0);
    for (size_t k = 0; k < WIDTH; k++)
        ck_assert_uint_eq(((unsigned char *)operand.data)[operand.stride + k], 128);
    arena_deinit(&arena);
    operand = alloc(&arena, PRECISION_F32);
    float *row = (float *)(void *)((char *)operand.data + operand.stride);
    numbers_fill(row, WIDTH, 1, 3);
    float before = row[4];
    operand_store(&operand, kernels_best(), 1, row, WIDTH);
    ck_assert_float_eq(row[4], before);
    arena_deinit(&arena);
}
END_TEST

START_TEST(rows_in_memory_are_an_operand)
{
    float x[6];
    struct operand operand = operand_f32(x, 3);
    ck_assert_int_eq(operand.precision, PRECISION_F32);
    ck_assert_ptr_eq(operand.data, x);
    ck_assert_uint_eq(operand.stride, 12);
    ck_assert_ptr_null(operand.scale);
    ck_assert_ptr_eq(operand_from(&operand, 1).data, x + 3);
    ck_assert_ptr_null(operand_from(&operand, 1).scale);
}
END_TEST

/* ---- weights ---- */

/* The largest size in a row, or of a pair where pairs saturate. */
static float largest(const struct linear_backend *backend, const float *row, size_t in)
{
    const struct gemm *gemm = backend->gemm != NULL ? backend->gemm : gemm_best(backend->precision);
    float max = kernels_reference.max_abs(row, in);
    for (size_t k = 0; gemm->paired && k + 1 < in; k += 2)
        max = fmaxf(max, fabsf(row[k] + row[k + 1]));
    return max;
}

/* A weight rounded to the precision. `max` is its row's. */
static float rounded(enum precision precision, float weight, float max)
{
    if (precision == PRECISION_F32)
        return weight;
    if (precision == PRECISION_INT8)
        return (float)lrintf(weight * (127 / max)) * (max / 127);
    uint16_t half;
    kernels_reference.round_bf16(&half, &weight, 1);
    uint32_t bits = (uint32_t)half << 16;
    memcpy(&weight, &bits, sizeof weight);
    return weight;
}

static void check_weights(const struct linear_backend *backend, size_t in, size_t out)
{
    struct linear linear;
    struct err err = {0};
    enum precision precision = backend->precision;
    size_t group = 4 / precision_bytes(precision), panels = (out + 31) / 32;
    float *weight = numbers_new(in * out, 1, (uint32_t)(in + out)),
          *found = numbers_new(in + 1, 0, 0);
    found[in] = 77;
    ck_assert(!linear_alloc(&linear, backend, in, out, &err));
    for (size_t first = 0; first < out; first += 64)
        linear_fill(&linear, first, out - first < 64 ? out - first : 64, weight + first * in);
    ck_assert_uint_eq(linear.bytes, panels * 32 * ((in + group - 1) / group) * 4);
    ck_assert_ptr_nonnull(linear.kernel);
    for (size_t c = 0; c < out; c++) {
        float max = largest(backend, weight + c * in, in);
        backend->unpack(&linear, c, found);
        for (size_t k = 0; k < in; k++) {
            float expected = rounded(precision, weight[c * in + k], max);
            ck_assert_msg(
                fabsf(found[k] - expected) <= (precision == PRECISION_INT8 ? 1e-6f * max : 0),
                "%s %s %zu x %zu: [%zu, %zu] is %g, not %g", backend->name,
                precision_name(precision), out, in, c, k, (double)found[k], (double)expected);
        }
        ck_assert_float_eq(found[in], 77);
    }
    linear_close(&linear);
    free(weight), free(found);
}

START_TEST(weights_are_read_back_as_the_precision_rounds_them)
{
    static const size_t sizes[][2] = {{1, 1}, {5, 33}, {63, 32}, {256, 64}, {259, 70}, {770, 31}};
    for (int p = 0; p < PRECISION_COUNT; p++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            check_weights(&linear_native[p], sizes[i][0], sizes[i][1]);
            check_weights(&linear_scalar[p], sizes[i][0], sizes[i][1]);
        }
}
END_TEST

/* A block of a run writes its rows and columns and nothing else. */
static void check_block(const struct linear_backend *backend, const struct linear_block *block)
{
    enum { IN = 40, OUT = 96, MANY = 20, APART = 100 };
    struct linear linear;
    struct arena arena;
    struct err err = {0};
    float *weight = numbers_new(IN * OUT, 1, 1), *x = numbers_new(MANY * IN, 1, 2);
    float *y = numbers_new(MANY * APART, 0, 0);
    struct linear_io io = {.rows = MANY, .y = y, .y_stride = APART};
    arena_init(&arena);
    ck_assert(!linear_alloc(&linear, backend, IN, OUT, &err));
    linear_fill(&linear, 0, OUT, weight);
    numbers_fill(linear.bias, OUT, 1, 3);
    ck_assert(!operand_alloc(&io.x, &arena, backend->precision, MANY, IN, &err));
    for (size_t r = 0; r < MANY; r++)
        operand_store(&io.x, kernels_best(), r, x + r * IN, IN);
    for (size_t i = 0; i < (size_t)MANY * APART; i++)
        y[i] = 1000;
    backend->run(&linear, kernels_best(), &io, block);
    for (size_t r = 0; r < MANY; r++)
        for (size_t c = 0; c < APART; c++) {
            bool is_inside = r >= block->first_row && r < block->last_row &&
                             c >= block->first_column && c < block->last_column;
            ck_assert_msg((y[r * APART + c] != 1000) == is_inside, "%s: [%zu, %zu] is %g",
                          backend->name, r, c, (double)y[r * APART + c]);
            double sum = is_inside ? linear.bias[c] : 0;
            for (size_t k = 0; k < IN && is_inside; k++)
                sum += (double)x[r * IN + k] * (double)weight[c * IN + k];
            if (is_inside)
                ck_assert_double_eq_tol((double)y[r * APART + c], sum,
                                        backend->precision == PRECISION_F32 ? 1e-4 : 0.3);
        }
    linear_close(&linear);
    arena_deinit(&arena);
    free(weight), free(x), free(y);
}

START_TEST(a_block_of_a_run_is_written_and_nothing_beside_it)
{
    static const struct linear_block blocks[] = {
        {0, 20, 0, 96}, {3, 11, 32, 64}, {19, 20, 64, 96}, {0, 1, 0, 32}};
    static const struct linear_backend *const backends[] = {&linear_native[0], &linear_native[1],
                                                            &linear_native[2], &linear_scalar[0],
                                                            &linear_openblas,  &linear_reference};
    for (size_t b = 0; b < sizeof backends / sizeof backends[0]; b++)
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
            check_block(backends[b], &blocks[i]);
}
END_TEST

/* k may also end with a whole stretch. */
static void check_residual(const struct linear_backend *backend, size_t in)
{
    enum { OUT = 40, MANY = 3 };
    struct linear linear;
    struct arena arena;
    struct thread_pool *pool;
    struct err err = {0};
    float *weight = numbers_new(in * OUT, 0.05f, 1), *x = numbers_new(MANY * in, 1, 2);
    float *y = numbers_new((size_t)MANY * OUT, 1, 3),
          *before = numbers_new((size_t)MANY * OUT, 1, 3);
    struct linear_io io = {
        .rows = MANY, .y = y, .y_stride = OUT, .residual = before, .residual_stride = OUT};
    arena_init(&arena);
    ck_assert(!linear_alloc(&linear, backend, in, OUT, &err));
    linear_fill(&linear, 0, OUT, weight);
    ck_assert(!operand_alloc(&io.x, &arena, backend->precision, MANY, in, &err));
    for (size_t r = 0; r < MANY; r++)
        operand_store(&io.x, kernels_best(), r, x + r * in, in);
    ck_assert(!thread_pool_open(&pool, 2, &err));
    linear_run(&linear, kernels_best(), pool, &io);
    thread_pool_close(pool);
    for (size_t i = 0; i < (size_t)MANY * OUT; i++) {
        double sum = before[i];
        for (size_t k = 0; k < in; k++)
            sum += (double)x[i / OUT * in + k] * (double)weight[i % OUT * in + k];
        ck_assert_msg(fabs((double)y[i] - sum) < (backend->precision == PRECISION_F32 ? 1e-4 : 0.1),
                      "%s, %zu numbers: %g, not %g", precision_name(backend->precision), in,
                      (double)y[i], sum);
    }
    linear_close(&linear);
    arena_deinit(&arena);
    free(weight), free(x), free(y), free(before);
}

START_TEST(a_residual_is_added_once_whatever_the_length_of_k)
{
    for (size_t groups = 767; groups <= 769; groups++)
        for (int p = 0; p < PRECISION_COUNT; p++)
            check_residual(&linear_native[p], groups * (4 / precision_bytes((enum precision)p)));
    check_residual(&linear_native[PRECISION_F32], 1536);
    check_residual(&linear_openblas, 768);
}
END_TEST

START_TEST(openblas_is_asked_for_no_more_than_an_int_counts)
{
    struct linear linear;
    struct err err = {0};
    ck_assert_int_eq(linear_alloc(&linear, &linear_openblas, (size_t)1 << 31, 1, &err),
                     ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "a 1 x 2147483648 matrix is larger than OpenBLAS takes");
    linear_close(&linear);
}
END_TEST

SUITE("operand", a_residual_is_added_once_whatever_the_length_of_k, precisions_have_names_and_sizes,
      rows_are_an_odd_number_of_cache_lines_apart,
      a_row_is_stored_in_its_precision_and_nothing_beside_it,
      a_row_of_zeros_has_no_scale_and_a_row_may_be_its_own, rows_in_memory_are_an_operand,
      weights_are_read_back_as_the_precision_rounds_them,
      a_block_of_a_run_is_written_and_nothing_beside_it,
      openblas_is_asked_for_no_more_than_an_int_counts)
