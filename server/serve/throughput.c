#include "server/serve/throughput.h"

#include "wire/limits.h"

#include <math.h>

static double ns_per_token(const struct throughput *throughput)
{
    return throughput->tokens > 0 ? throughput->ns / throughput->tokens : 0;
}

void throughput_add(struct throughput *throughput, unsigned tokens, uint64_t ns)
{
    double count = tokens > THROUGHPUT_TOKENS_MIN ? tokens : THROUGHPUT_TOKENS_MIN;
    double time = ns > 0 ? (double)ns : 1;
    double most = 2 * ns_per_token(throughput) * count;
    if (throughput->samples < THROUGHPUT_SAMPLES_FIRST) {
        if (throughput->samples == 0 || time < ns_per_token(throughput) * count) {
            throughput->ns = time;
            throughput->tokens = count;
        }
        throughput->samples++;
        return;
    }
    throughput->ns += (time < most ? time : most) - throughput->ns / 8;
    throughput->tokens += count - throughput->tokens / 8;
}

double throughput_ns(const struct throughput *throughput, uint64_t tokens)
{
    return ns_per_token(throughput) * (double)tokens;
}

unsigned throughput_retry_after_s(double over_ms)
{
    double over_s = ceil(over_ms / 1000);
    if (over_s <= LIMIT_RETRY_AFTER_S)
        return LIMIT_RETRY_AFTER_S;
    return over_s < LIMIT_RETRY_AFTER_S_MAX ? (unsigned)over_s : LIMIT_RETRY_AFTER_S_MAX;
}
