#include "learn/train/loop/schedule.h"

#include <math.h>

float schedule_rate(const struct schedule *schedule, uint64_t step)
{
    const double pi = 3.14159265358979323846;
    if (step < schedule->warmup)
        return schedule->peak * (float)(step + 1) / (float)schedule->warmup;
    if (step >= schedule->end)
        return schedule->floor;
    double done = (double)(step - schedule->warmup) / (double)(schedule->end - schedule->warmup);
    return schedule->floor +
           (schedule->peak - schedule->floor) * (float)(0.5 + 0.5 * cos(pi * done));
}
