/* png16.h - PNG files of 16-bit grey, which the product never writes.
 *
 *     size_t len = png16_write(bytes, values, 16, 16);
 *
 * Stored without compression: small pictures only. Threads: no state.
 */
#ifndef ATTND_TESTS_SUPPORT_PNG16_H
#define ATTND_TESTS_SUPPORT_PNG16_H

#include <stddef.h>
#include <stdint.h>

enum { PNG16_SIDE_MAX = 64, PNG16_BYTES_MAX = 2 * PNG16_SIDE_MAX * (PNG16_SIDE_MAX + 1) + 128 };

/* values: [height, width]; the file's length. */
size_t png16_write(unsigned char out[PNG16_BYTES_MAX], const uint16_t *values, unsigned width,
                   unsigned height);

#endif
