#include "tools/batch/batch_progress.h"

#include "engine/base/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { TERMINAL_MS = 200, LINE_MS = 60 * 1000, BAR_CELLS = 24 };

void batch_progress_start(struct batch_progress *out, const struct batch_place *first)
{
    uint64_t now_ns = clock_now_ns();
    *out = (struct batch_progress){.is_terminal = isatty(STDERR_FILENO) == 1,
                                   .first = *first,
                                   .start_ns = now_ns,
                                   .shown_ns = now_ns};
}

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

void batch_progress_show(struct batch_progress *progress, const struct batch_place *at)
{
    char text[BATCH_PROGRESS_BYTES];
    uint64_t now_ns = clock_now_ns();
    double every_ms = progress->is_terminal ? TERMINAL_MS : LINE_MS;
    if (clock_ms_between(progress->shown_ns, now_ns) < every_ms)
        return;
    progress->shown_ns = now_ns;
    batch_progress_format(text, &progress->first, at,
                          clock_ms_between(progress->start_ns, now_ns) / 1e3);
    if (progress->is_terminal)
        fprintf(stderr, "\r\033[K%s", text);
    else
        fprintf(stderr, "attnd-batch: %s\n", text);
}

void batch_progress_end(const struct batch_progress *progress)
{
    if (progress->is_terminal)
        fputs("\r\033[K", stderr);
}
