#include "server/pace.h"

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

void pace_add(struct pace *pace, unsigned tokens, uint64_t ns)
{
    double sample =
        (double)(ns > 0 ? ns : 1) / (tokens > PACE_TOKENS_MIN ? tokens : PACE_TOKENS_MIN);
    double old = pace->ns_per_token;
    if (pace->samples == 0)
        pace->ns_per_token = sample;
    else if (pace->samples < PACE_SAMPLES_FIRST)
        pace->ns_per_token = smaller(old, sample);
    else
        pace->ns_per_token += (smaller(sample, 2 * old) - old) / 8;
    if (pace->samples < PACE_SAMPLES_FIRST)
        pace->samples++;
}

double pace_ns(const struct pace *pace, uint64_t tokens)
{
    return pace->ns_per_token * (double)tokens;
}
