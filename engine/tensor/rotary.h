/* rotary.h - rotary positions (Su et al. 2021, "RoFormer", eq. 34): query and key are rotated by
 * angles that grow with their position in the sequence, so that their product depends only on their
 * distance. With h = d / 2 for heads of width d and t the position, from 0,
 *
 *     angle(t, i) = t base^(-i / h),   i < h
 *     (x[i], x[h + i])  ->  (x[i] cos - x[h + i] sin,  x[h + i] cos + x[i] sin)
 *
 * This pairs a number with one of the other half, as GPT-NeoX and transformers do.
 *
 *     float *table = arena_alloc_array(&arena, rotary_floats(tokens_max, d), sizeof *table);
 *     rotary_fill(table, tokens_max, d, base);
 *     kernels->rotate(x, rotary_at(table, t, d), heads, d, 1);       // of token t; -1: back
 *
 * Angles are computed in double precision, once; sines and cosines are kept as fp32.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_TENSOR_ROTARY_H
#define ATTND_ENGINE_TENSOR_ROTARY_H

#include <stddef.h>

/* The table is [tokens_max][d]: d / 2 cosines of a position, then its d / 2 sines. */
size_t rotary_floats(size_t tokens_max, size_t d);
void rotary_fill(float *table, size_t tokens_max, size_t d, double base);

static inline const float *rotary_at(const float *table, size_t place, size_t d)
{
    return table + place * d;
}

#endif
