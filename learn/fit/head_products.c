#include "learn/fit/head_products.h"

#include "engine/base/arena.h"
#include "engine/tensor/gemm/product.h"

#include <stdlib.h>

struct head_products {
    struct panels across; /* the rows transposed, [width, count] */
    struct panels down;   /* the rows, [count, width] */
    struct arena arena;
};

static size_t padded(size_t number)
{
    return (number + GEMM_COLUMNS - 1) / GEMM_COLUMNS * GEMM_COLUMNS;
}

static enum err_code pack(struct head_products *products, const float *rows, size_t count,
                          unsigned width, struct err *err)
{
    const struct gemm *gemm = gemm_best(PRECISION_F32);
    const size_t numbers = padded(count) * padded(width);
    struct thread_pool *pool;
    if (panels_alloc(&products->across, &products->arena, gemm, numbers, err) ||
        panels_alloc(&products->down, &products->arena, gemm, numbers, err) ||
        thread_pool_open(&pool, 1, err))
        return err->code;
    panels_pack(&products->across, pool, width, count, rows, width, true);
    panels_pack(&products->down, pool, count, width, rows, width, false);
    thread_pool_close(pool);
    return ERR_OK;
}

enum err_code head_products_open(struct head_products **out, const float *rows, size_t count,
                                 unsigned width, struct err *err)
{
    struct head_products *products = *out = calloc(1, sizeof *products);
    if (products == NULL)
        return err_no_memory(err, sizeof *products);
    arena_init(&products->arena);
    return pack(products, rows, count, width, err);
}

void head_products_close(struct head_products *products)
{
    if (products == NULL)
        return;
    arena_deinit(&products->arena);
    free(products);
}

/* c [labels, b->n] = a [labels, b->k] b */
static void multiply(const struct panels *b, struct thread_pool *pool, unsigned labels,
                     const float *a, float *c)
{
    const struct rows rows = {.operand = operand_f32(a, b->k)};
    const struct product product = {.a = &rows, .b = b, .m = labels, .c = c, .c_stride = b->n};
    product_run(&product, kernels_best(), pool);
}

void head_products_logits(const struct head_products *products, struct thread_pool *pool,
                          unsigned labels, const float *weights, float *logits)
{
    multiply(&products->across, pool, labels, weights, logits);
}

void head_products_slopes(const struct head_products *products, struct thread_pool *pool,
                          unsigned labels, const float *residual, float *slopes)
{
    multiply(&products->down, pool, labels, residual, slopes);
}
