/* siphash.h - SipHash-2-4 with 128 bits: a hash that nobody without the key can make collide.
 *
 *     uint64_t hash[2];
 *     siphash(key, id, strlen(id), hash);
 *
 * J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012; the longer
 * output is that of its authors' later extension. 24 ns for an id of 16 bytes. Threads: no state.
 */
#ifndef ATTND_SERVER_FEEDBACK_SIPHASH_H
#define ATTND_SERVER_FEEDBACK_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

/* Words of key and hash are those that the bytes have on a little-endian machine. */
void siphash(const uint64_t key[2], const void *bytes, size_t len, uint64_t out[2]);

#endif
