/* ood.h - the OOD (out-of-distribution) score of an input, from the results of one forward pass:
 * the logits, the features x [D] that the classifier reads, and behind those the mean of the
 * tokens. Larger is further out of distribution.
 *
 *   energy       -log sum_c exp(logit_c)                (Liu, Wang, Owens and Li 2020, T = 1);
 *                independent labels: -sum_c log(1 + exp(logit_c))      (Wang et al. 2021)
 *   mahalanobis  min_c (z - m_c)' diag(v)^-1 (z - m_c) + |x - mean - P' z|^2 / s
 *                with z = P (x - mean): the distance to the nearest class (Lee et al. 2018) under
 *                one covariance for all, P' diag(v) P + s (1 - P' P): k directions in full, the
 *                rest by their mean variance (Tipping and Bishop 1999). The rows of P are
 *                orthonormal.
 *   relative     min_c (z - m_c)' diag(v)^-1 (z - m_c) - z' diag(b)^-1 z: distance to the nearest
 *                class less distance to all (Ren et al. 2021). With P the directions that tell the
 *                classes apart, at most one fewer than classes, this is the full distance.
 *   neighbours   how unlike the examples that the model carries the mean of its tokens is:
 *                struct neighbours
 *
 * P, m, v, s and b come from attnd.json's "ood", written by learn/eval/fit/attnd_json.c; examples
 * from the head's file (format/head_file.h). The energy does not depend on the temperature, so a
 * new calibration keeps its threshold.
 *
 * Threads: immutable after ood_read. Cost: k D + k labels multiplications; no allocation.
 */
#ifndef ATTND_ENGINE_DECIDE_OOD_H
#define ATTND_ENGINE_DECIDE_OOD_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How unlike known examples an input is: one less the mean cosine between its token
 * mean (model/token_mean.h) and those of the k examples that are nearest to it.
 *
 *     score = 1 - (sum over the k nearest i of x . b_i / (|x| |b_i|)) / k
 *
 * Unlike a distance to class means it makes no picture of what lies between examples, and a class
 * that comes in several kinds is no problem (Sun, Ming, Zhu and Li 2022, who take the k-th nearest
 * of normalised features; the mean of k is steadier where a class has few).
 *
 * Threads: immutable once it is made. Cost: rows x width multiplications.
 */

enum { NEIGHBOURS_MAX = 64 };

struct neighbours {
    size_t count;      /* 0: none are known */
    unsigned width;    /* D */
    unsigned nearest;  /* k, 1 to NEIGHBOURS_MAX; of fewer examples all count */
    const float *rows; /* [count, D], each of length 1, or 0 */
};

/* row [width] to length 1, in place; one of zeros stays so. */
void neighbours_scale(float *row, unsigned width);

/* 0 (the same) to 2; 1 for an x of zeros, or if no examples are known. x [width] of any length,
 * finite. The example `left_out` does not count, because x is that input; SIZE_MAX: all do.
 * Allocates nothing. */
double neighbours_score(const struct neighbours *neighbours, const float *x, size_t left_out);

struct json_t;

enum { OOD_COMPONENTS_MAX = 128, OOD_QUANTILES_MAX = 1001 };

/* Numbers beyond these are refused, so that no score overflows a double. */
#define OOD_NUMBER_MAX 1e30
#define OOD_VARIANCE_MIN 1e-30

enum ood_method {
    OOD_NONE,
    OOD_ENERGY,
    OOD_MAHALANOBIS,
    OOD_RELATIVE,
    OOD_NEIGHBOURS,
    OOD_METHOD_COUNT
};

struct ood {
    enum ood_method method;
    bool has_threshold;      /* else no input is unknown */
    float threshold;         /* above it an input is unknown */
    float *label_thresholds; /* [label_count] in place of it, by the label that the answer gives;
                                NaN: it; NULL: of all */
    unsigned hidden, label_count;
    bool independent; /* energy: each label has a sigmoid of its own */

    unsigned quantile_count; /* 0: no rank is given */
    float *quantiles;        /* rising scores of validation inputs at i / (quantile_count - 1) */

    /* mahalanobis and relative */
    unsigned components; /* k */
    float *mean;         /* [hidden] */
    float *projection;   /* P [k, hidden] */
    float *variances;    /* v [k] */
    float *class_means;  /* m [label_count, k]; a class without examples begins with NaN */
    float residual;      /* s, of mahalanobis */
    float *background;   /* b [k], of relative */

    struct neighbours neighbours; /* of neighbours; rows are set when the head's file is read */
};

/* "energy", "mahalanobis", "relative", "neighbours"; NULL for OOD_NONE. */
const char *ood_method_name(enum ood_method method);

/* Reads $.ood; out->hidden, label_count and independent are set by the caller. ERR_UNSUPPORTED
 * names the member, what is wrong with it and the limit. */
enum err_code ood_read(struct ood *out, const struct json_t *object, const char *const *labels,
                       struct arena *arena, struct err *err);

/* Finite for finite logits and features. features [hidden], behind them for neighbours [D]; may be
 * NULL for energy. */
float ood_score(const struct ood *ood, const float *logits, const float *features);

/* Above it an input that is given the label is unknown; there must be a threshold. */
float ood_threshold(const struct ood *ood, unsigned label);

/* The share of validation inputs with a lower score, 0 to 1; there must be quantiles. */
float ood_rank(const struct ood *ood, float score);

#endif
