/* neighbours.h - how unlike known examples an input is: one less the mean cosine between its token
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
#ifndef ATTND_ENGINE_DECIDE_NEIGHBOURS_H
#define ATTND_ENGINE_DECIDE_NEIGHBOURS_H

#include <stddef.h>
#include <stdint.h>

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

#endif
