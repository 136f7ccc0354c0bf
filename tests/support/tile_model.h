/* tile_model.h - the tile registers' instructions (AMX) in plain C, after the operations of Intel's
 * SDM, volume 2: LDTILECFG, TILELOADD, TILESTORED, TILEZERO, TDPBUSD, TDPBF16PS. Mistakes
 * that the processor answers with an exception (no configuration, shapes that do not fit) end the
 * process with a message. Threads: each has registers of its own.
 */
#ifndef ATTND_TESTS_SUPPORT_TILE_MODEL_H
#define ATTND_TESTS_SUPPORT_TILE_MODEL_H

#include <stddef.h>

/* config: the 64 bytes that LDTILECFG reads; each tile has to get 1 to 16 rows of 64 bytes. All
 * tiles become zero. */
void tile_model_configure(const void *config);
void tile_model_release(void);

void tile_model_zero(unsigned t);
void tile_model_load(unsigned t, const void *p, size_t stride);
void tile_model_store(unsigned t, void *p, size_t stride);
/* c += a . b: unsigned by signed bytes, sums modulo 2^32 */
void tile_model_dot_bytes(unsigned c, unsigned a, unsigned b);
/* The even and the odd numbers of k are summed apart; denormal numbers count as zero. */
void tile_model_dot_bf16(unsigned c, unsigned a, unsigned b);

#endif
