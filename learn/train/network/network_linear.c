#include "learn/train/network/network_state.h"

enum {
    COLUMNS_UNIT = 16,
};

enum err_code network_linear_open(struct network *network, struct network_linear *linear,
                                  struct err *err)
{
    const struct gemm *gemm = gemm_best(linear->precision);
    size_t numbers = gemm_padded(linear->in) * gemm_padded(linear->out);
    if (panels_alloc(&linear->forward, &network->arena, gemm, numbers, err))
        return err->code;
    return panels_alloc(&linear->backward, &network->arena, gemm, numbers, err);
}

void network_linear_pack(struct network *network, struct network_linear *linear)
{
    const float *weight = network->values + linear->weight;
    panels_pack(&linear->forward, network->pool, linear->in, linear->out, weight, linear->in, true);
    panels_pack(&linear->backward, network->pool, linear->out, linear->in, weight, linear->in,
                false);
}

static void multiply(struct network *network, const struct panels *panels, enum precision precision,
                     struct product *product, struct matrix x, const struct matrix *residual)
{
    struct rows *rows = &network->buffers[precision].operand;
    rows_pack(rows, network->pool, product->m, panels->k, x.x, x.stride, false);
    product->a = rows;
    product->b = panels;
    if (residual != NULL) {
        product->residual = residual->x;
        product->residual_stride = residual->stride;
    }
    product_run(product, network->kernels, network->pool);
}

void network_linear_forward(struct network *network, const struct network_linear *linear,
                            struct matrix y, struct matrix x, const struct matrix *residual,
                            size_t rows)
{
    struct product product = {.m = rows,
                              .c = y.x,
                              .c_stride = y.stride,
                              .bias =
                                  linear->bias != SIZE_MAX ? network->values + linear->bias : NULL};
    if (rows > 0)
        multiply(network, &linear->forward, linear->precision, &product, x, residual);
}

/* ---- backward ---- */

struct sums {
    const struct network *network;
    float *sum;
    struct matrix x;
    size_t rows;
};

static void sum_columns(void *context, unsigned index, unsigned count)
{
    const struct sums *sums = context;
    size_t first = share_begin(sums->x.width, COLUMNS_UNIT, index, count);
    size_t last = share_begin(sums->x.width, COLUMNS_UNIT, index + 1, count);
    if (first < last)
        sums->network->backward->column_sums(sums->sum, sums->x.x, sums->x.stride, sums->rows,
                                             first, last);
}

/* dW += dY^T X */
static void learn_weight(struct network *network, const struct network_linear *linear,
                         struct matrix dy, struct matrix x, size_t rows)
{
    struct network_buffers *buffers = &network->buffers[linear->precision];
    panels_pack(&buffers->panels, network->pool, rows, linear->in, x.x, x.stride, false);
    rows_pack(&buffers->transposed, network->pool, linear->out, rows, dy.x, dy.stride, true);
    struct product product = {.a = &buffers->transposed,
                              .b = &buffers->panels,
                              .m = linear->out,
                              .c = network->gradient + linear->weight,
                              .c_stride = linear->in,
                              .accumulate = true};
    product_run(&product, network->kernels, network->pool);
}

/* Backward pass of the first `rows` rows. */
static void piece_backward(struct network *network, const struct network_linear *linear,
                           const struct matrix *dx, struct matrix dy, struct matrix x,
                           const struct matrix *residual, size_t rows)
{
    if (linear->learns_bias && linear->bias != SIZE_MAX)
        thread_pool_run(network->pool, sum_columns,
                        &(struct sums){network, network->gradient + linear->bias, dy, rows});
    if (linear->learns_weight)
        learn_weight(network, linear, dy, x, rows);
    if (dx == NULL)
        return;
    struct product product = {.m = rows, .c = dx->x, .c_stride = dx->stride};
    multiply(network, &linear->backward, linear->precision, &product, dy, residual);
}

static void move_down(struct matrix *matrix, size_t rows)
{
    matrix->x += rows * matrix->stride;
}

void network_linear_backward(struct network *network, const struct network_linear *linear,
                             const struct matrix *dx, struct matrix dy, struct matrix x,
                             const struct matrix *residual, size_t rows)
{
    size_t pieces = (rows + NETWORK_PIECE_TOKENS - 1) / NETWORK_PIECE_TOKENS;
    struct matrix to = dx != NULL ? *dx : dy, added = residual != NULL ? *residual : dy;
    dy.width = linear->out;
    for (size_t i = 0, first = 0, last; i < pieces; i++, first = last) {
        last = rows * (i + 1) / pieces;
        piece_backward(network, linear, dx != NULL ? &to : NULL, dy, x,
                       residual != NULL ? &added : NULL, last - first);
        move_down(&to, last - first);
        move_down(&added, last - first);
        move_down(&dy, last - first);
        move_down(&x, last - first);
    }
}
