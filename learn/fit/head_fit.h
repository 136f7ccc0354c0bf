/* head_fit.h - a linear classifier on fixed features: multinomial logistic regression with a
 * penalty on squared weights,
 *
 *     min over W, b   1/n sum_i -log softmax(W z_i + b)[y_i] + strength / 2 |W|^2
 *
 * by L-BFGS (Liu and Nocedal 1989). The coordinates are scaled by the bound of Boehning (1992) on
 * the curvature, which principal directions make diagonal: about twenty steps are enough.
 *
 *     head_products_open(&products, rows.rows, rows.count, rows.width, &err);
 *     head_fit_open(&fit, &rows, products, &err);
 *     head_fit_run(fit, &problem, weights, &err);        weights: in the start, out the optimum
 *     head_fit_close(fit);
 *     head_products_close(products);
 *
 * head_products are the two matrix products of a fit. Thousands of products have the same operand,
 * the rows, so it is packed once (engine/tensor/gemm/product.h), for both products.
 *
 * A head has few labels, so a product has about a dozen rows and a BLAS spends its time on packing.
 * Both products together, on one thread of a Zen 4, with 11 labels:
 *
 *     739 rows, width 384       OpenBLAS 0.26 ms, this 0.12 ms
 *     739 rows, width 704       0.47, 0.21
 *     10 000 rows               5.6, 1.8
 *
 * Threads: one at a time for each head_fit. Rows and products may be shared: products are immutable
 * after open and may overlap, each with a pool of its own. A product's numbers do not depend on the
 * pool.
 */
#ifndef ATTND_LEARN_FIT_HEAD_FIT_H
#define ATTND_LEARN_FIT_HEAD_FIT_H

#include "engine/base/err.h"
#include "engine/base/thread_pool.h"

#include <stddef.h>
#include <stdint.h>

struct head_products;

/* rows [count, width] are copied. The caller closes *out, also after a failure. ERR_NO_MEMORY. */
enum err_code head_products_open(struct head_products **out, const float *rows, size_t count,
                                 unsigned width, struct err *err);
void head_products_close(struct head_products *products); /* NULL is allowed */

/* weights [labels, width] -> logits [labels, count]: logits = weights rows' */
void head_products_logits(const struct head_products *products, struct thread_pool *pool,
                          unsigned labels, const float *weights, float *logits);
/* residual [labels, count] -> slopes [labels, width]: slopes = residual rows */
void head_products_slopes(const struct head_products *products, struct thread_pool *pool,
                          unsigned labels, const float *residual, float *slopes);

/* Inputs in the coordinates of feature_basis.h. Labels below `known` have a classifier already,
 * which is kept; its logits are part of the softmax. W and b are those of the other labels. */
struct head_rows {
    const float *rows;       /* [count, width] */
    const unsigned *classes; /* [count], below labels */
    size_t count;
    unsigned width, labels;
    const double *variances; /* [width] of the rows */
    unsigned known;          /* 0: every label is fitted */
    const float *given;      /* [count, known] logits of the known labels; borrowed */
};

/* Number of fitted labels. */
static inline unsigned head_rows_fitted(const struct head_rows *rows)
{
    return rows->labels - rows->known;
}

struct head_problem {
    double strength;
    const unsigned char *folds; /* [count]; NULL: all rows are learnt */
    unsigned left_out;          /* rows of this fold are not learnt */
    double gain_min;            /* see lbfgs.h; 0: no limit */
};

struct head_fit;

/* `products` must be of rows->rows. Both are borrowed. The caller closes *out, also after a
 * failure. ERR_NO_MEMORY. */
enum err_code head_fit_open(struct head_fit **out, const struct head_rows *rows,
                            const struct head_products *products, struct err *err);
void head_fit_close(struct head_fit *fit);

/* weights [fitted labels, width + 1]; the last number of a row is its bias. ERR_UNUSABLE if every
 * row is left out. */
enum err_code head_fit_run(struct head_fit *fit, const struct head_problem *problem,
                           double *weights, struct err *err);

/* The logits [count, labels] of all rows by the weights of the last run; borrowed. */
const float *head_fit_logits(const struct head_fit *fit);

/* ---- the strength ----
 *
 * head_cross_run chooses the strength of the regularisation by cross-validation: each input is
 * answered by a head that has not learnt it (folds.h).
 *
 *     head_cross_run(&cross, &rows, digests, threads, progress, context, &err);
 *     cross.logits                     [count, labels] left-out logits of every input
 *     cross.weights                    fitted on all inputs, at the best strength
 *     head_cross_close(&cross);
 *
 * Strengths fall from 1 by a factor of HEAD_CROSS_STEP. Each fit starts where the previous one
 * ended. The search stops when two steps in a row gain less than HEAD_CROSS_EARNED nats of left-out
 * log-likelihood an input: without this limit separable classes would get ever larger weights. If
 * the classifier of known labels is given, the limit is for each input of a fitted label, since ten
 * of thousands of inputs hardly change a mean over all. The gain is measured on the inputs that
 * choose the strength, so it is slightly optimistic, by a choice among about ten. */

#define HEAD_CROSS_STEP 3.1622776601683795
#define HEAD_CROSS_EARNED 2e-3
#define HEAD_CROSS_STRENGTH_MIN 1e-7

/* A fit ends when a step promises a smaller gain (lbfgs.h). It is far below HEAD_CROSS_EARNED, and
 * above the rounding of a loss in single precision, where fits spent most of their time. */
#define HEAD_CROSS_GAIN_MIN 1e-7

struct head_cross {
    double strength;
    double loss;     /* mean left-out -log p of the truth */
    float *logits;   /* [count, labels] */
    double *weights; /* [fitted labels, width + 1]; the last number of a row is its bias */
};

/* Starts `threads` of its own for the time of the call; the result is plain data. `progress` (NULL:
 * not called) is called with the number of fits done. ERR_NO_MEMORY. Close it in any case. */
enum err_code head_cross_run(struct head_cross *out, const struct head_rows *rows,
                             const uint64_t *digests, unsigned threads,
                             void (*progress)(void *context, size_t done), void *context,
                             struct err *err);
void head_cross_close(struct head_cross *cross);

#endif
