#include "learn/eval/measure/progress.h"

#include "engine/base/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { SHOWN_EVERY_MS = 200 };

void progress_start(struct progress *progress, const char *name, size_t total)
{
    *progress = (struct progress){.name = name,
                                  .total = total,
                                  .start_ns = clock_now_ns(),
                                  .watched = isatty(STDERR_FILENO) == 1};
}

void progress_show(void *context, size_t done)
{
    struct progress *progress = context;
    uint64_t now = clock_now_ns();
    if (clock_ms_between(progress->shown_ns, now) < SHOWN_EVERY_MS)
        return;
    progress->shown_ns = now;
    double rate = (double)done / (clock_ms_between(progress->start_ns, now) / 1e3);
    unsigned left = rate > 0 ? (unsigned)((double)(progress->total - done) / rate) : 0;
    fprintf(stderr, "\r\033[K%s: %zu of %zu inputs, %.1f a second, %u:%02u left", progress->name,
            done, progress->total, rate, left / 60, left % 60);
}

void progress_end(const struct progress *progress)
{
    if (progress->watched)
        fputs("\r\033[K", stderr);
}
