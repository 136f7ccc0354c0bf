#include "server/signals.h"

#include "engine/base/clock.h"
#include "server/observe/log.h"
#include "server/systemd.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

static sigset_t awaited(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(&set, numbers[i]);
    return set;
}

/* Our threads inherit the mask: only the main thread waits for these. */
void signals_block(void)
{
    const sigset_t set = awaited();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error like a full disk */
}

/* The service manager restarts a server that does not say in time that it is alive. It says so
 * unless inputs wait and no worker has taken any since it was asked last. */
static void tell_alive(const struct service *service, struct batcher_progress *before)
{
    const struct batcher_progress now = batcher_progress(service->batcher);
    if (now.waiting == 0 || now.batches != before->batches)
        systemd_notify("WATCHDOG=1");
    *before = now;
}

/* The next signal; 0 when it is time to tell that the server is alive. */
static int next_signal(const sigset_t *set, unsigned watchdog_ms)
{
    const struct timespec most = {.tv_sec = watchdog_ms / 1000,
                                  .tv_nsec = (long)(watchdog_ms % 1000) * CLOCK_NS_PER_MS};
    int number = watchdog_ms > 0 ? sigtimedwait(set, NULL, &most) : sigwaitinfo(set, NULL);
    return number > 0 ? number : 0;
}

/* SIGHUP reloads. */
void signals_await_stop(const struct service *service)
{
    const sigset_t set = awaited();
    const unsigned watchdog_ms = systemd_watchdog_ms();
    struct batcher_progress before = {0};
    int number = 0;
    while (number != SIGTERM && number != SIGINT) {
        number = next_signal(&set, watchdog_ms);
        if (number == SIGHUP)
            reloader_signal(service->reloader);
        else if (number == 0)
            tell_alive(service, &before);
    }
    log_event(LOG_INFO, "stop_requested",
              LOG_TEXT("signal", number == SIGINT ? "SIGINT" : "SIGTERM"));
}
