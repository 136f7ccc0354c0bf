#include "loadtest/client.h"

#include "engine/base/clock.h"

#include <math.h>

/* Gaps of a Poisson process are exponential. Equal gaps are counted, not summed, so that rounding
 * never adds a request to a run. */
void pacer_advance(struct pacer *pacer)
{
    pacer->count++;
    if (pacer->poisson) {
        /* xorshift64* (Vigna 2016, "An experimental exploration of Marsaglia's xorshift
         * generators"); a number in (0, 1], so that its logarithm is finite */
        uint64_t x = pacer->random;
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        pacer->random = x;
        const double uniform = ((double)(x * UINT64_C(0x2545F4914F6CDD1D) >> 11) + 1.0) * 0x1p-53;
        pacer->at_s += -log(uniform) / pacer->rate;
    } else
        pacer->at_s = (double)pacer->count / pacer->rate;
    pacer->due_ns = pacer->start_ns + (uint64_t)(pacer->at_s * CLOCK_NS_PER_S);
}

void pacer_init(struct pacer *pacer, uint64_t start_ns, double rate, bool poisson, unsigned seed)
{
    *pacer = (struct pacer){.due_ns = start_ns,
                            .start_ns = start_ns,
                            .rate = rate,
                            .poisson = poisson,
                            .random = (seed + UINT64_C(1)) * UINT64_C(0x9E3779B97F4A7C15)};
    if (poisson)
        pacer_advance(pacer);
}
