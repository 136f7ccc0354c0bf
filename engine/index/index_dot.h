/* index_dot.h - the products of a query with many rows of bytes. Threads: pure functions.
 */
#ifndef ATTND_ENGINE_INDEX_INDEX_DOT_H
#define ATTND_ENGINE_INDEX_INDEX_DOT_H

#include <stddef.h>
#include <stdint.h>

/* The largest number of a query of n numbers with which no sum leaves 32 bits. */
static inline int32_t index_dot_top(size_t n)
{
    const size_t top = (size_t)INT32_MAX / (128 * n);
    return top < INT16_MAX ? (int32_t)top : INT16_MAX;
}

/* Fills sums[r] = sum_i query[i] rows[r, i], r < count, i < n; |query[i]| <= index_dot_top(n).
 * Cost: one read of the rows. */
typedef void index_dot(int32_t *sums, const int16_t *query, const int8_t *rows, size_t count,
                       size_t n);

/* The fastest that this CPU can run. */
index_dot *index_dot_best(void);
index_dot index_dot_plain;

#endif
