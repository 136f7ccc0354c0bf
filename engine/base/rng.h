/* rng.h - random numbers that are a function of a seed and an index, so that any thread can draw
 * any of them in any order: the same seed gives the same training run for any number of threads.
 *
 *     struct rng rng = rng_for(seed, RNG_SHUFFLE, epoch);      a stream of its own
 *     uint32_t i = rng_below(&rng, n);
 *
 * Not for secrets. Threads: a struct rng is one thread's; the rest are pure functions.
 */
#ifndef ATTND_ENGINE_BASE_RNG_H
#define ATTND_ENGINE_BASE_RNG_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea and Flood 2014). */
struct rng {
    uint64_t state;
};

/* Returns the stream of (seed, purpose, index), which may be any numbers. */
struct rng rng_for(uint64_t seed, uint64_t purpose, uint64_t index);
uint64_t rng_next(struct rng *rng);
/* Uniform in 0 .. n-1, n >= 1, without bias (Lemire 2019). */
uint32_t rng_below(struct rng *rng, uint32_t n);
/* Uniform in [0, 1), 24 bits. */
float rng_uniform(struct rng *rng);
/* Standard normal (Box and Muller 1958). */
float rng_normal(struct rng *rng);

/* SplitMix64's finaliser: a bijection, so different numbers stay different. */
uint64_t rng_mix(uint64_t x);

/* 32 bits that depend on key and index alone: the finaliser of a 32-bit hash (Wellons 2018,
 * "lowbias32") over index x 0x9E3779B1 + key. Vectors compute the same in each lane. */
static inline uint32_t rng_hash(uint32_t key, uint32_t index)
{
    uint32_t x = index * 0x9E3779B1u + key;
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    x ^= x >> 16;
    return x;
}

#endif
