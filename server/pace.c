#include "server/pace.h"

#include "server/limits.h"

#include <math.h>

static double ns_per_token(const struct pace *pace)
{
    return pace->tokens > 0 ? pace->ns / pace->tokens : 0;
}

static void begin(struct pace *pace, double tokens, double ns)
{
    if (pace->samples == 0 || ns < ns_per_token(pace) * tokens) {
        pace->ns = ns;
        pace->tokens = tokens;
    }
    pace->samples++;
}

void pace_add(struct pace *pace, unsigned tokens, uint64_t ns)
{
    double count = tokens > PACE_TOKENS_MIN ? tokens : PACE_TOKENS_MIN;
    double time = ns > 0 ? (double)ns : 1;
    double most = 2 * ns_per_token(pace) * count;
    if (pace->samples < PACE_SAMPLES_FIRST) {
        begin(pace, count, time);
        return;
    }
    pace->ns += (time < most ? time : most) - pace->ns / 8;
    pace->tokens += count - pace->tokens / 8;
}

double pace_ns(const struct pace *pace, uint64_t tokens)
{
    return ns_per_token(pace) * (double)tokens;
}

unsigned pace_retry_after_s(double over_ms)
{
    double over_s = ceil(over_ms / 1000);
    if (over_s <= LIMIT_RETRY_AFTER_S)
        return LIMIT_RETRY_AFTER_S;
    return over_s < LIMIT_RETRY_AFTER_S_MAX ? (unsigned)over_s : LIMIT_RETRY_AFTER_S_MAX;
}
