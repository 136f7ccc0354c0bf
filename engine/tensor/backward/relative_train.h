/* relative_train.h - the terms that disentangled attention adds to the scores of one head, with
 * their gradient, for training (He et al. 2021, "DeBERTa", eq. 2 to 4):
 *
 *     B[i, j] = (q[i] . kr[x(i - j)] + k[j] . qr[x(i - j)]) / s
 *
 * for m queries over the n tokens of a sequence; kr and qr [rows, d] are a layer's own, x gives a
 * row of them for each distance, and s is the divisor of scores. Backward, from dB,
 *
 *     dC[i, r] = sum of dB[i, j] / s over the j with x(i - j) = r,    dP[j, r] likewise over i
 *     dq += dC kr      dkr += dC^T q      dk += dP qr      dqr += dP^T k
 *
 * Only the W rows that the sequence reaches are multiplied. B is laid out like attention_train.h's
 * bias, by keys. All is fp32, by gemm.h's tiles. Cost: 2 (m + n) W d flops forward and twice that
 * backward. Threads: pure functions; scratch is the caller's.
 */
#ifndef ATTND_ENGINE_TENSOR_BACKWARD_RELATIVE_TRAIN_H
#define ATTND_ENGINE_TENSOR_BACKWARD_RELATIVE_TRAIN_H

#include "engine/tensor/gemm/gemm.h"

#include <stddef.h>

struct relative_train {
    const struct gemm *gemm; /* fp32 */
    const float *q;          /* [m, d], rows q_stride floats apart */
    size_t q_stride, m;
    const float *k; /* [n, d] */
    size_t k_stride, n;
    size_t d;
    const float *kr, *qr; /* this head's rows, r_stride floats apart; NULL: no such term */
    size_t r_stride;
    const unsigned *row_of; /* rows by distance, from -(n - 1) to m - 1, not descending */
    float divisor;          /* s */
};

/* Floats of 64-byte aligned scratch for either pass, for m and n up to tokens_max and W up to
 * rows_max. */
size_t relative_train_scratch(size_t tokens_max, size_t rows_max, size_t d);

/* bias [n][m] */
void relative_train_forward(const struct relative_train *head, float *bias, float *scratch);

/* dq [m, d], dk [n, d], dkr and dqr (as kr and qr) are added to, from dbias [n][m]. */
void relative_train_backward(const struct relative_train *head, const float *dbias, float *dq,
                             size_t dq_stride, float *dk, size_t dk_stride, float *dkr, float *dqr,
                             float *scratch);

#endif
