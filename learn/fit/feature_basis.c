#include "learn/fit/feature_basis.h"

#include "engine/base/openblas.h"
#include "learn/eval/fit/eigen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_ROWS = 512 }; /* summed in single precision, then in double */

/* A variance below this share of the largest is certainly rounding noise of single precision. Up to
 * 1e-7 it may be noise as well, but projected features are then so small that they have no effect.
 */
#define VARIANCE_SHARE_MIN 1e-9

/* ---- covariance ---- */

/* out [count, width] = rows [first, first + count) of the table minus the mean. */
static void centre(const struct feature_table *table, const double *mean, size_t first,
                   size_t count, float *out)
{
    for (size_t i = 0; i < count; i++, out += table->width) {
        const float *features = table->features + (first + i) * table->stride;
        for (unsigned j = 0; j < table->width; j++)
            out[j] = (float)((double)features[j] - mean[j]);
    }
}

/* covariance [width, width] = the mean of the rows' centred products. */
static enum err_code take_covariance(const struct feature_table *table, const double *mean,
                                     double *covariance, struct err *err)
{
    const size_t width = table->width;
    float *chunk = calloc(CHUNK_ROWS * width, sizeof *chunk);
    float *products = calloc(width * width, sizeof *products);
    if (chunk == NULL || products == NULL)
        err_no_memory(err, (CHUNK_ROWS + width) * width * sizeof *chunk);
    for (size_t first = 0; err->code == ERR_OK && first < table->count; first += CHUNK_ROWS) {
        size_t left = table->count - first, count = left < CHUNK_ROWS ? left : CHUNK_ROWS;
        centre(table, mean, first, count, chunk);
        openblas_functions()->sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)width, (int)width,
                                    (int)count, 1, chunk, (int)width, chunk, (int)width, 0,
                                    products, (int)width);
        for (size_t i = 0; i < width * width; i++)
            covariance[i] += (double)products[i];
    }
    for (size_t i = 0; i < width * width; i++)
        covariance[i] /= (double)table->count;
    free(products);
    free(chunk);
    return err->code;
}

/* ---- directions ---- */

/* Computes all `width` eigenvectors. LAPACK then uses relatively robust representations, which are
 * three times faster than QR (width 768: 80 ms instead of 256 on one thread of a Zen 4), and faster
 * than computing only some of them. */
static enum err_code decompose(struct feature_basis *out, const struct feature_table *table,
                               const double *covariance, struct arena *arena, struct err *err)
{
    size_t width = table->width, numbers;
    double *values = calloc(width, sizeof *values), total = 0;
    double *vectors = calloc(width * width, sizeof *vectors);
    if (values == NULL || vectors == NULL) {
        err_no_memory(err, width * width * sizeof *vectors);
        goto out;
    }
    if (eigen_leading(covariance, width, width, values, vectors, err))
        goto out;
    while (values[0] > 0 && out->rank < width && out->rank + 1 < table->count &&
           values[out->rank] > VARIANCE_SHARE_MIN * values[0])
        total += values[out->rank++];
    if (out->rank == 0) {
        err_set(err, ERR_UNUSABLE, "all inputs look alike to the encoder");
        goto out;
    }
    numbers = out->rank * width;
    out->scale = sqrt(total);
    out->directions = arena_alloc_array(arena, numbers, sizeof *out->directions);
    out->variances = arena_alloc_array(arena, out->rank, sizeof *out->variances);
    if (out->directions == NULL || out->variances == NULL) {
        err_no_memory(err, numbers * sizeof *out->directions);
        goto out;
    }
    for (size_t i = 0; i < numbers; i++)
        out->directions[i] = (float)vectors[i];
    for (unsigned i = 0; i < out->rank; i++)
        out->variances[i] = values[i] / total;
out:
    free(vectors);
    free(values);
    return err->code;
}

enum err_code feature_basis_fit(struct feature_basis *out, const struct feature_table *table,
                                struct arena *arena, struct err *err)
{
    const size_t width = table->width;
    *out = (struct feature_basis){.width = table->width};
    if (openblas_open(err))
        return err->code;
    double *mean = out->mean = arena_alloc_array(arena, width, sizeof *mean);
    double *covariance = calloc(width * width, sizeof *covariance);
    if (mean == NULL || covariance == NULL) {
        err_no_memory(err, width * width * sizeof *covariance);
        goto out;
    }
    memset(mean, 0, width * sizeof *mean);
    for (size_t i = 0; i < table->count; i++)
        for (unsigned j = 0; j < width; j++)
            mean[j] += (double)table->features[i * table->stride + j];
    for (unsigned j = 0; j < width; j++)
        mean[j] /= (double)table->count;
    if (!take_covariance(table, mean, covariance, err))
        decompose(out, table, covariance, arena, err);
out:
    free(covariance);
    return err->code;
}

/* ---- project and restore ---- */

enum err_code feature_basis_project(const struct feature_basis *basis,
                                    const struct feature_table *table, float *rows, struct err *err)
{
    float *chunk = calloc((size_t)CHUNK_ROWS * basis->width, sizeof *chunk);
    if (chunk == NULL)
        return err_no_memory(err, (size_t)CHUNK_ROWS * basis->width * sizeof *chunk);
    for (size_t first = 0; first < table->count; first += CHUNK_ROWS) {
        size_t left = table->count - first, count = left < CHUNK_ROWS ? left : CHUNK_ROWS;
        centre(table, basis->mean, first, count, chunk);
        openblas_functions()->sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count,
                                    (int)basis->rank, (int)basis->width, (float)(1 / basis->scale),
                                    chunk, (int)basis->width, basis->directions, (int)basis->width,
                                    0, rows + first * basis->rank, (int)basis->rank);
    }
    free(chunk);
    return ERR_OK;
}

void feature_basis_restore(const struct feature_basis *basis, const double *weights,
                           unsigned labels, float *plain)
{
    for (unsigned c = 0; c < labels; c++) {
        const double *row = weights + (size_t)c * (basis->rank + 1);
        float *out = plain + (size_t)c * (basis->width + 1);
        double bias = row[basis->rank];
        for (unsigned j = 0; j < basis->width; j++) {
            double sum = 0;
            for (unsigned d = 0; d < basis->rank; d++)
                sum += row[d] * (double)basis->directions[(size_t)d * basis->width + j];
            out[j] = (float)(sum / basis->scale);
            bias -= sum / basis->scale * basis->mean[j];
        }
        out[basis->width] = (float)bias;
    }
}
