#include "engine/cli/screen.h"

#include "engine/base/clock.h"

#include <stdio.h>
#include <unistd.h>

void screen_open(struct screen *screen, unsigned terminal_ms, unsigned file_ms)
{
    uint64_t now_ns = clock_now_ns();
    bool is_terminal = isatty(STDERR_FILENO) == 1;
    *screen = (struct screen){.is_terminal = is_terminal,
                              .terminal_ms = terminal_ms,
                              .file_ms = file_ms,
                              .start_ns = now_ns,
                              .shown_ns = is_terminal ? 0 : now_ns};
}

bool screen_begin(struct screen *screen)
{
    uint64_t now_ns = clock_now_ns();
    if ((!screen->is_terminal && screen->file_ms == 0) ||
        clock_ms_between(screen->shown_ns, now_ns) <
            (screen->is_terminal ? screen->terminal_ms : screen->file_ms))
        return false;
    screen->shown_ns = now_ns;
    screen_clear(screen);
    return true;
}

void screen_end(const struct screen *screen)
{
    if (!screen->is_terminal)
        fputc('\n', stderr);
    fflush(stderr);
}

void screen_clear(const struct screen *screen)
{
    if (screen->is_terminal)
        fputs("\r\033[K", stderr);
}

void screen_counter_open(struct screen_counter *counter, const char *name, size_t total)
{
    *counter = (struct screen_counter){.name = name, .total = total};
    screen_open(&counter->screen, SCREEN_MS, 0);
}

void screen_counter_show(void *context, size_t done)
{
    struct screen_counter *counter = context;
    if (!screen_begin(&counter->screen))
        return;
    double seconds = clock_ms_between(counter->screen.start_ns, counter->screen.shown_ns) / 1e3;
    double rate = (double)done / seconds;
    unsigned left = rate > 0 ? (unsigned)((double)(counter->total - done) / rate) : 0;
    fprintf(stderr, "%s: %zu of %zu inputs, %.1f a second, %u:%02u left", counter->name, done,
            counter->total, rate, left / 60, left % 60);
    screen_end(&counter->screen);
}
