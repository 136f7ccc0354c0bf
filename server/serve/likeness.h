/* likeness.h - which inputs are alike to the model that answered them: the direction of what its
 * classifier read of an input, a byte for each number.
 *
 *     int8_t likeness[size];
 *     likeness_take(likeness, engine_features(session, row), size);
 *     likeness_cosine(likeness, other, size)              1: the same direction
 *
 * The largest number becomes 127, the others keep their proportion: of two vectors of 192 normal
 * numbers the cosine is that of the vectors within 0.004. What is not finite has no direction, and
 * is all zeros. Vectors of two encoders of one size can be compared, and are not alike.
 *
 * Threads: no state. Nothing is allocated.
 */
#ifndef ATTND_SERVER_SERVE_LIKENESS_H
#define ATTND_SERVER_SERVE_LIKENESS_H

#include <stdbool.h>
#include <stdint.h>

/* features [size]. */
void likeness_take(int8_t *out, const float *features, unsigned size);

enum { LIKENESS_SIZE_MAX = 65536 };

/* From -1 to 1; 0 if either has no direction. size at most LIKENESS_SIZE_MAX. */
float likeness_cosine(const int8_t *a, const int8_t *b, unsigned size);

/* The parts of the cosine, for a caller who compares one vector with many: the dot product of two,
 * and the length of one. */
int32_t likeness_dot(const int8_t *a, const int8_t *b, unsigned size);
float likeness_length(const int8_t *likeness, unsigned size);

#endif
