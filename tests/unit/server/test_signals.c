/* Signals of a server that starts: they end it, or wait until it serves. */
#include "server/signals.h"

#include "tests/support/suite.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends with 0 by the watch, or with what goes wrong. */
static void start_and_wait(int number)
{
    struct signals_start start = {.end = 0};
    struct err err = {0};
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(1);
    signals_block();
    if (signals_watch_start(&start, &err))
        _exit(2);
    kill(getpid(), number);
    for (;;)
        pause();
}

START_TEST(a_stop_ends_a_start_that_would_take_for_ever)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    for (unsigned i = 0; i < 2; i++) {
        int status;
        const pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            start_and_wait(numbers[i]);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 0);
    }
}
END_TEST

START_TEST(signals_after_the_start_are_left_to_the_server)
{
    sigset_t set;
    struct signals_start start = {.end = 0};
    struct err err = {0};
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    signals_block();
    ck_assert_int_eq(signals_watch_start(&start, &err), ERR_OK);
    signals_watch_end(&start);
    signals_watch_end(&start);
    kill(getpid(), SIGTERM);
    ck_assert_int_eq(sigwaitinfo(&set, NULL), SIGTERM);
}
END_TEST

START_TEST(a_reload_that_is_asked_for_meanwhile_waits)
{
    sigset_t set;
    struct signals_start start = {.end = 0};
    struct err err = {0};
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    signals_block();
    ck_assert_int_eq(signals_watch_start(&start, &err), ERR_OK);
    kill(getpid(), SIGHUP);
    signals_watch_end(&start);
    ck_assert_int_eq(sigwaitinfo(&set, NULL), SIGHUP);
}
END_TEST

SUITE("signals", a_stop_ends_a_start_that_would_take_for_ever,
      signals_after_the_start_are_left_to_the_server, a_reload_that_is_asked_for_meanwhile_waits)
