#include "tools/batch/batch_progress.h"

#include <stdio.h>

enum { BAR_CELLS = 24 };

void batch_progress_format(char out[BATCH_PROGRESS_BYTES], const struct batch_place *first,
                           const struct batch_place *at, double seconds)
{
    char bar[BAR_CELLS + 1], left[48] = "", share[BAR_CELLS + 16] = "";
    double rate = (double)(at->inputs - first->inputs) / seconds;
    double speed = (double)(at->done - first->done) / seconds;
    if (at->total > 0) {
        double part = (double)at->done / (double)at->total;
        unsigned cells = part < 1 ? (unsigned)(part * BAR_CELLS) : BAR_CELLS;
        for (unsigned i = 0; i < BAR_CELLS; i++)
            bar[i] = i < cells ? '#' : ' ';
        bar[BAR_CELLS] = '\0';
        snprintf(share, sizeof share, "[%s] %3.0f %%, ", bar, part < 1 ? 100 * part : 100.0);
    }
    if (at->total >= at->done && speed > 0) {
        unsigned long long s = (unsigned long long)((double)(at->total - at->done) / speed + 0.5);
        snprintf(left, sizeof left, ", %llu:%02llu left", s / 60, s % 60);
    }
    snprintf(out, BATCH_PROGRESS_BYTES, "%s%llu inputs, %.1f a second%s", share,
             (unsigned long long)at->inputs, rate, left);
}
