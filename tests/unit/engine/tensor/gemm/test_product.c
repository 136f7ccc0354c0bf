/* The three products of a linear layer's step against naive sums, for every variant of the tiles.
 */
#include "engine/tensor/gemm/groups.h"
#include "engine/tensor/gemm/product.h"
#include "tests/support/numbers.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum form { FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, FORMS };

/* C [m, n] = A [m, k] B [k, n]: flags for a transposed operand, and for a C that starts with
 * numbers. */
static const struct {
    const char *name;
    bool a_transposed, b_transposed, accumulate;
} forms[FORMS] = {{"Y = X W^T", false, true, false},
                  {"dX = dY W", false, false, false},
                  {"dW += dY^T X", true, false, true}};

/* Small enough for naive sums, large enough for several blocks, panels and stretches of k. */
static const struct shape {
    size_t m, k, n;
} shapes[] = {{1, 1, 1},     {1, 64, 10},    {3, 7, 33},     {16, 100, 64}, {113, 65, 31},
              {230, 40, 70}, {10, 131, 192}, {29, 1601, 40}, {5, 3100, 100}};
enum { SHAPES = sizeof shapes / sizeof *shapes, APART = 5, SPARE = 3 };

struct problem {
    enum form form;
    struct shape shape;
    float *a, *b, *bias, *residual, *c; /* A and B as they are stored, rows APART numbers apart */
    size_t a_stride, b_stride;
};

struct buffers {
    struct arena arena;
    struct rows rows;
    struct panels panels;
};

static size_t padded(size_t n)
{
    return (n + 31) / 32 * 32;
}

static struct problem new_problem(enum form form, struct shape s)
{
    struct problem p = {.form = form, .shape = s};
    p.a_stride = (forms[form].a_transposed ? s.m : s.k) + APART;
    p.b_stride = (forms[form].b_transposed ? s.k : s.n) + APART;
    p.a = numbers_new((forms[form].a_transposed ? s.k : s.m) * p.a_stride, 1, 1);
    p.b = numbers_new((forms[form].b_transposed ? s.n : s.k) * p.b_stride, 1, 2);
    p.bias = numbers_new(s.n, 1, 3);
    p.residual = numbers_new(s.m * (s.n + SPARE), 1, 4);
    p.c = numbers_new(s.m * (s.n + SPARE), 1, 5);
    return p;
}

static void free_problem(struct problem *p)
{
    free(p->a), free(p->b), free(p->bias), free(p->residual), free(p->c);
}

/* Room for every shape. Its first numbers are not zero, as after a larger shape. */
static void open_buffers(struct buffers *buffers, const struct gemm *gemm)
{
    struct err err = {0};
    size_t numbers = 0, rows = 0, width = 0;
    for (int i = 0; i < SHAPES; i++) {
        size_t size = padded(shapes[i].k) * padded(shapes[i].n);
        numbers = size > numbers ? size : numbers;
        rows = shapes[i].m > rows ? shapes[i].m : rows;
        width = shapes[i].k > width ? shapes[i].k : width;
    }
    arena_init(&buffers->arena);
    ck_assert_int_eq(panels_alloc(&buffers->panels, &buffers->arena, gemm, numbers, &err), ERR_OK);
    ck_assert_int_eq(
        rows_alloc(&buffers->rows, &buffers->arena, gemm->precision, rows, width, &err), ERR_OK);
    memset(buffers->panels.data, 0x7F, numbers * precision_bytes(gemm->precision)); /* huge, NaN */
    if (buffers->rows.data != NULL)
        memset(buffers->rows.data, 0x7F, buffers->rows.bytes_max);
}

static void pack(struct buffers *buffers, const struct problem *p, struct thread_pool *pool)
{
    rows_pack(&buffers->rows, pool, p->shape.m, p->shape.k, p->a, p->a_stride,
              forms[p->form].a_transposed);
    panels_pack(&buffers->panels, pool, p->shape.k, p->shape.n, p->b, p->b_stride,
                forms[p->form].b_transposed);
}

/* Packs and multiplies; the result in fresh memory, rows n + SPARE apart. */
static float *multiply(const struct problem *p, const struct gemm *gemm, unsigned threads,
                       enum activation act)
{
    struct buffers buffers;
    struct err err = {0};
    struct thread_pool *pool;
    size_t stride = p->shape.n + SPARE;
    float *c = numbers_new(p->shape.m * stride, 1, 5);
    ck_assert_int_eq(thread_pool_open(&pool, threads, &err), ERR_OK);
    open_buffers(&buffers, gemm);
    pack(&buffers, p, pool);
    struct product product = {.a = &buffers.rows,
                              .b = &buffers.panels,
                              .m = p->shape.m,
                              .c = c,
                              .c_stride = stride,
                              .accumulate = forms[p->form].accumulate,
                              .act = act};
    if (p->form == FORWARD) {
        product.bias = p->bias;
        product.residual = p->residual;
        product.residual_stride = stride;
    }
    product_run(&product, kernels_best(), pool);
    thread_pool_close(pool);
    arena_deinit(&buffers.arena);
    return c;
}

static double held(float x, enum precision precision)
{
    uint16_t half;
    uint32_t bits;
    float value = x;
    if (precision == PRECISION_BF16) {
        kernels_reference.round_bf16(&half, &x, 1);
        bits = (uint32_t)half << 16;
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

/* The sum as it should be, and the sum of its terms' sizes. */
static double naive(const struct problem *p, enum precision precision, size_t i, size_t j,
                    double *size)
{
    double sum = *size = 0;
    for (size_t k = 0; k < p->shape.k; k++) {
        size_t a = forms[p->form].a_transposed ? k * p->a_stride + i : i * p->a_stride + k;
        size_t b = forms[p->form].b_transposed ? j * p->b_stride + k : k * p->b_stride + j;
        double term = held(p->a[a], precision) * held(p->b[b], precision);
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

static void check(const struct problem *p, const struct gemm *gemm, enum activation act)
{
    size_t stride = p->shape.n + SPARE;
    float *c = multiply(p, gemm, 2, act);
    for (size_t i = 0; i < p->shape.m; i++)
        for (size_t j = 0; j < stride; j++) {
            double size = 1, expected = p->c[i * stride + j];
            if (j < p->shape.n) {
                double sum = naive(p, gemm->precision, i, j, &size);
                double biased = sum + p->bias[j];
                biased = act == ACTIVATION_RELU && biased < 0 ? 0 : biased;
                expected = p->form == FORWARD          ? biased + p->residual[i * stride + j]
                           : forms[p->form].accumulate ? expected + sum
                                                       : sum;
            }
            ck_assert_msg(fabs(c[i * stride + j] - expected) <= 1e-6 * (size + 3),
                          "%s, %s %s, %zu x %zu x %zu: [%zu, %zu] is %g, not %g",
                          forms[p->form].name, gemm->name, precision_name(gemm->precision),
                          p->shape.m, p->shape.k, p->shape.n, i, j, c[i * stride + j], expected);
        }
    free(c);
}

static bool is_for_training(const struct gemm *gemm)
{
    return gemm->precision != PRECISION_INT8 && gemm->tile_columns != NULL && gemm_runnable(gemm);
}

START_TEST(products_of_every_form_and_variant_agree_with_naive_sums)
{
    for (int form = 0; form < FORMS; form++)
        for (int s = 0; s < SHAPES; s++) {
            struct problem p = new_problem((enum form)form, shapes[s]);
            for (unsigned v = 0; gemm_variants[v] != NULL; v++)
                if (is_for_training(gemm_variants[v]))
                    check(&p, gemm_variants[v],
                          form == FORWARD && s % 2 == 1 ? ACTIVATION_RELU : ACTIVATION_NONE);
            free_problem(&p);
        }
}
END_TEST

START_TEST(products_are_the_same_bits_for_any_pool)
{
    for (int form = 0; form < FORMS; form++)
        for (int s = 0; s < SHAPES; s++)
            for (int precision = PRECISION_F32; precision <= PRECISION_BF16; precision++) {
                struct problem p = new_problem((enum form)form, shapes[s]);
                const struct gemm *gemm = gemm_best((enum precision)precision);
                float *alone = multiply(&p, gemm, 1, ACTIVATION_GELU);
                size_t bytes = shapes[s].m * (shapes[s].n + SPARE) * sizeof *alone;
                for (unsigned threads = 2; threads <= 3; threads++) {
                    float *together = multiply(&p, gemm, threads, ACTIVATION_GELU);
                    ck_assert_msg(memcmp(alone, together, bytes) == 0, "%s, %zu x %zu x %zu",
                                  forms[form].name, shapes[s].m, shapes[s].k, shapes[s].n);
                    free(together);
                }
                free(alone);
                free_problem(&p);
            }
}
END_TEST

/* A weight's gradient is summed over the tokens alone: more outputs change none of them. */
START_TEST(products_give_a_number_the_same_bits_in_any_company)
{
    struct problem all = new_problem(WEIGHT_GRADIENT, (struct shape){150, 1601, 200});
    struct problem few = all;
    few.shape = (struct shape){7, 1601, 33};
    for (int precision = PRECISION_F32; precision <= PRECISION_BF16; precision++) {
        const struct gemm *gemm = gemm_best((enum precision)precision);
        struct buffers buffers[2];
        struct err err = {0};
        struct thread_pool *pool;
        float *c[2];
        ck_assert_int_eq(thread_pool_open(&pool, 2, &err), ERR_OK);
        for (int i = 0; i < 2; i++) {
            const struct problem *p = i == 0 ? &all : &few;
            arena_init(&buffers[i].arena);
            ck_assert_int_eq(panels_alloc(&buffers[i].panels, &buffers[i].arena, gemm,
                                          padded(1601) * padded(200), &err),
                             ERR_OK);
            ck_assert_int_eq(
                rows_alloc(&buffers[i].rows, &buffers[i].arena, gemm->precision, 150, 1601, &err),
                ERR_OK);
            pack(&buffers[i], p, pool);
            c[i] = numbers_new(p->shape.m * p->shape.n, 0, 0);
            struct product product = {.a = &buffers[i].rows,
                                      .b = &buffers[i].panels,
                                      .m = p->shape.m,
                                      .c = c[i],
                                      .c_stride = p->shape.n};
            product_run(&product, kernels_best(), pool);
        }
        for (size_t i = 0; i < 7; i++)
            ck_assert(memcmp(c[0] + i * 200, c[1] + i * 33, 33 * sizeof(float)) == 0);
        for (int i = 0; i < 2; i++) {
            arena_deinit(&buffers[i].arena);
            free(c[i]);
        }
        thread_pool_close(pool);
    }
    free_problem(&all);
}
END_TEST

START_TEST(fp32_rows_are_not_copied)
{
    struct arena arena;
    struct err err = {0};
    struct thread_pool *pool;
    struct rows rows;
    float x[12] = {0};
    arena_init(&arena);
    ck_assert_int_eq(thread_pool_open(&pool, 1, &err), ERR_OK);
    ck_assert_int_eq(rows_alloc(&rows, &arena, PRECISION_F32, 3, 4, &err), ERR_OK);
    rows_pack(&rows, pool, 3, 4, x, 4, false);
    ck_assert_ptr_eq(rows.operand.data, x);
    ck_assert_uint_eq(rows.operand.stride, 16);
    rows_pack(&rows, pool, 4, 3, x, 4, true);
    ck_assert_ptr_eq(rows.operand.data, x);
    ck_assert_ptr_null(rows.data);
    thread_pool_close(pool);
    arena_deinit(&arena);
}
END_TEST

/* Numbers [7, 33] in panels. The numbers behind them are zeros: 31 columns and half a pair. */
static void check_panel_padding(const void *panels, enum precision precision)
{
    size_t per_group = GEMM_GROUP_BYTES / precision_bytes(precision);
    size_t groups = (7 + per_group - 1) / per_group;
    const uint32_t *second = (const uint32_t *)panels + groups * GEMM_COLUMNS;
    for (size_t g = 0; g < groups; g++)
        for (size_t c = 1; c < GEMM_COLUMNS; c++)
            ck_assert_uint_eq(second[g * GEMM_COLUMNS + c], 0);
    for (size_t c = 0; c < GEMM_COLUMNS && per_group == 2; c++)
        ck_assert_uint_eq(second[c - GEMM_COLUMNS] >> 16, 0);
}

static void check_row_padding(const struct rows *rows, size_t count)
{
    size_t bytes = 7 * precision_bytes(rows->precision);
    for (size_t r = 0; r < count; r++)
        for (size_t i = bytes; i < rows->operand.stride; i++)
            ck_assert_uint_eq(((unsigned char *)rows->data)[r * rows->operand.stride + i], 0);
}

START_TEST(packing_writes_zeros_behind_the_last_number_of_a_used_buffer)
{
    for (int i = 0; i < 4; i++) {
        bool transposed = i % 2 == 1;
        struct buffers buffers;
        struct err err = {0};
        struct thread_pool *pool;
        float *x = numbers_new(40 * 40, 1, 1);
        ck_assert_int_eq(thread_pool_open(&pool, 2, &err), ERR_OK);
        open_buffers(&buffers, gemm_best(i < 2 ? PRECISION_F32 : PRECISION_BF16));
        if (i == 2) {
            rows_pack(&buffers.rows, pool, 5, 7, x, 40, false);
            check_row_padding(&buffers.rows, 5);
        } else if (i == 3) {
            rows_pack(&buffers.rows, pool, 33, 7, x, 40, true);
            check_panel_padding(buffers.rows.data, PRECISION_BF16);
        }
        panels_pack(&buffers.panels, pool, 40, 33, x, 40, transposed); /* dirties what it can */
        panels_pack(&buffers.panels, pool, 7, 33, x, 40, transposed);
        check_panel_padding(buffers.panels.data, buffers.panels.gemm->precision);
        thread_pool_close(pool);
        arena_deinit(&buffers.arena);
        free(x);
    }
}
END_TEST

START_TEST(groups_of_any_matrix_are_transposed)
{
    enum { ROWS_MAX = 70, COLUMNS_MAX = 133 };
    static const size_t sizes[][2] = {{1, 1}, {3, 5}, {4, 64}, {16, 7}, {33, 66}, {70, 133}};
    float *from = numbers_new(ROWS_MAX * COLUMNS_MAX, 1, 1);
    float *to = numbers_new(ROWS_MAX * COLUMNS_MAX, 0, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t rows = sizes[i][0], columns = sizes[i][1];
        memset(to, 0, ROWS_MAX * COLUMNS_MAX * sizeof *to);
        groups_transpose(to, ROWS_MAX, from, COLUMNS_MAX, rows, columns);
        for (size_t c = 0; c < COLUMNS_MAX; c++)
            for (size_t r = 0; r < ROWS_MAX; r++) {
                float expected = r < rows && c < columns ? from[r * COLUMNS_MAX + c] : 0;
                ck_assert_float_eq(to[c * ROWS_MAX + r], expected);
            }
    }
    free(from), free(to);
}
END_TEST

START_TEST(buffers_too_large_for_memory_are_refused)
{
    struct arena arena;
    struct panels panels;
    struct rows rows;
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(panels_alloc(&panels, &arena, &gemm_generic, SIZE_MAX / 2, &err),
                     ERR_NO_MEMORY);
    err = (struct err){0};
    ck_assert_int_eq(rows_alloc(&rows, &arena, PRECISION_BF16, SIZE_MAX / 1024, 4096, &err),
                     ERR_NO_MEMORY);
    arena_deinit(&arena);
}
END_TEST

SUITE("product", products_of_every_form_and_variant_agree_with_naive_sums,
      products_are_the_same_bits_for_any_pool, products_give_a_number_the_same_bits_in_any_company,
      fp32_rows_are_not_copied, packing_writes_zeros_behind_the_last_number_of_a_used_buffer,
      groups_of_any_matrix_are_transposed, buffers_too_large_for_memory_are_refused)
