#include "engine/base/rng.h"

#include <math.h>

uint64_t rng_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

struct rng rng_for(uint64_t seed, uint64_t purpose, uint64_t index)
{
    return (struct rng){rng_mix(rng_mix(rng_mix(seed + 1) + purpose) + index)};
}

uint64_t rng_next(struct rng *rng)
{
    return rng_mix(rng->state += 0x9E3779B97F4A7C15u);
}

uint32_t rng_below(struct rng *rng, uint32_t n)
{
    uint64_t product = (rng_next(rng) >> 32) * n;
    if ((uint32_t)product < n)
        while ((uint32_t)product < -n % n)
            product = (rng_next(rng) >> 32) * n;
    return (uint32_t)(product >> 32);
}

float rng_uniform(struct rng *rng)
{
    return (float)(rng_next(rng) >> 40) * 0x1p-24f;
}

float rng_normal(struct rng *rng)
{
    float u = 1 - rng_uniform(rng), angle = 6.283185307f * rng_uniform(rng);
    return sqrtf(-2 * logf(u)) * cosf(angle);
}
