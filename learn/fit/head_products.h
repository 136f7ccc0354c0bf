/* head_products.h - the two matrix products of a head's fit. Thousands of products have the same
 * operand, the rows, so it is packed once (engine/tensor/gemm/product.h), for both products.
 *
 *     head_products_open(&products, rows, count, width, &err);
 *     head_products_logits(products, pool, labels, weights, logits);      logits = weights rows'
 *     head_products_slopes(products, pool, labels, residual, slopes);     slopes = residual rows
 *     head_products_close(products);
 *
 * A head has few labels, so a product has about a dozen rows and a BLAS spends its time on packing.
 * Both products together, on one thread of a Zen 4, with 11 labels:
 *
 *     739 rows, width 384       OpenBLAS 0.26 ms, this 0.12 ms
 *     739 rows, width 704       0.47, 0.21
 *     10 000 rows               5.6, 1.8
 *
 * Threads: immutable after open; products may overlap, each with a pool of its own. A product's
 * numbers do not depend on the pool.
 */
#ifndef ATTND_LEARN_FIT_HEAD_PRODUCTS_H
#define ATTND_LEARN_FIT_HEAD_PRODUCTS_H

#include "engine/base/err.h"
#include "engine/base/thread_pool.h"

#include <stddef.h>

struct head_products;

/* rows [count, width] are copied. The caller closes *out, also after a failure. ERR_NO_MEMORY. */
enum err_code head_products_open(struct head_products **out, const float *rows, size_t count,
                                 unsigned width, struct err *err);
void head_products_close(struct head_products *products); /* NULL is allowed */

/* weights [labels, width] -> logits [labels, count] */
void head_products_logits(const struct head_products *products, struct thread_pool *pool,
                          unsigned labels, const float *weights, float *logits);
/* residual [labels, count] -> slopes [labels, width] */
void head_products_slopes(const struct head_products *products, struct thread_pool *pool,
                          unsigned labels, const float *residual, float *slopes);

#endif
