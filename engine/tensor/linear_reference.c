/* linear_reference.c - the oracle of the linear layer: naive loops, double accumulators. Also what
 * the thread sanitizer runs with, since it cannot see into OpenBLAS. */
#include "engine/tensor/linear.h"

static enum err_code open_weights(struct linear *linear, struct err *err)
{
    (void)linear;
    (void)err;
    return ERR_OK;
}

static void product(const struct linear *linear, float *y, const float *x, size_t rows,
                    size_t first, size_t last)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = first; c < last; c++) {
            double total = 0;
            for (size_t k = 0; k < linear->in; k++)
                total += (double)x[r * linear->in + k] * linear->weight[c * linear->in + k];
            y[r * linear->out + c] = (float)total;
        }
}

static void close_weights(struct linear *linear)
{
    (void)linear;
}

const struct linear_backend linear_reference = {
    .name = "reference", .open = open_weights, .product = product, .close = close_weights};
