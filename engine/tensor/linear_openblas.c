/* linear_openblas.c - the products by OpenBLAS' sgemm, weights as the checkpoint lays them out. Its
 * own threading is off (engine/base/blas_core.h): callers may run at the same time, each on its
 * slice. */
#include "engine/tensor/linear.h"

#include <cblas.h>

#include <limits.h>

static enum err_code open_weights(struct linear *linear, struct err *err)
{
    if (linear->in > INT_MAX || linear->out > INT_MAX)
        return err_set(err, ERR_UNSUPPORTED, "a %zu x %zu matrix is larger than OpenBLAS takes",
                       linear->out, linear->in);
    return ERR_OK;
}

static void product(const struct linear *linear, float *y, const float *x, size_t rows,
                    size_t first, size_t last)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)(last - first),
                (int)linear->in, 1.0f, x, (int)linear->in, linear->weight + first * linear->in,
                (int)linear->in, 0.0f, y + first, (int)linear->out);
}

static void close_weights(struct linear *linear)
{
    (void)linear;
}

const struct linear_backend linear_openblas = {
    .name = "openblas", .open = open_weights, .product = product, .close = close_weights};
