#include "server/signals.h"

#include "engine/base/clock.h"
#include "server/audit/audit_record.h"
#include "server/observe/log.h"
#include "server/systemd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

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

/* ---- the start ---- */

static void tell_stop(int number)
{
    log_event(LOG_INFO, "stop_requested",
              LOG_TEXT("signal", number == SIGINT ? "SIGINT" : "SIGTERM"));
}

/* A signal that came is taken only if the start goes on: otherwise it is for who comes next. */
static void *run_start(void *context)
{
    struct signals_start *start = context;
    struct signalfd_siginfo info;
    sigset_t set = awaited();
    sigdelset(&set, SIGHUP);
    const int signals = signalfd(-1, &set, SFD_CLOEXEC);
    struct pollfd fds[2] = {{.fd = start->end, .events = POLLIN},
                            {.fd = signals, .events = POLLIN}};
    while (poll(fds, 2, -1) <= 0)
        continue;
    if (fds[0].revents == 0 && read(signals, &info, sizeof info) == sizeof info) {
        tell_stop((int)info.ssi_signo);
        struct audit *audit = atomic_load(&start->audit);
        if (audit != NULL)
            audit_stop(audit);
        log_event(LOG_INFO, "stopped", LOG_TEXT("result", err_name(ERR_OK)));
        _exit(EXIT_SUCCESS);
    }
    close(signals);
    return NULL;
}

enum err_code signals_watch_start(struct signals_start *start, struct err *err)
{
    const int end = eventfd(0, EFD_CLOEXEC);
    if (end < 0)
        return err_set(err, ERR_IO, "no eventfd for signals: %s", strerror(errno));
    start->end = end;
    const int failure = pthread_create(&start->thread, NULL, run_start, start);
    if (failure == 0)
        return ERR_OK;
    close(end);
    start->end = 0;
    return err_no_thread(err, failure);
}

void signals_watch_end(struct signals_start *start)
{
    if (start->end == 0)
        return;
    eventfd_write(start->end, 1);
    pthread_join(start->thread, NULL);
    close(start->end);
    start->end = 0;
}

/* ---- serving ---- */

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
    tell_stop(number);
}
