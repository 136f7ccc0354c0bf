/* screen.h: a line that overwrites itself on a terminal. Standard error becomes a pseudo terminal or
 * a pipe for the length of a test. */
#include "engine/cli/screen.h"

#include "engine/base/clock.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int other_end, kept;

/* Standard error goes to `fd` from now on; `fd` is closed. */
static void redirect(int fd)
{
    fflush(stderr);
    kept = dup(STDERR_FILENO);
    ck_assert(kept >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    close(fd);
}

static void open_terminal(void)
{
    other_end = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(other_end >= 0 && grantpt(other_end) == 0 && unlockpt(other_end) == 0);
    int fd = open(ptsname(other_end), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(fd, 0);
    redirect(fd);
}

static void open_pipe(void)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    other_end = fds[0];
    redirect(fds[1]);
}

/* Returns the text that was written, and restores standard error. */
static const char *take(void)
{
    static char text[4096];
    size_t len = 0;
    fflush(stderr);
    ck_assert(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    for (ssize_t got; (got = read(other_end, text + len, sizeof text - 1 - len)) > 0;)
        len += (size_t)got; /* EIO of a terminal, end of file of a pipe: nobody writes any more */
    text[len] = '\0';
    close(other_end);
    return text;
}

/* Started fifty minutes ago, so that a machine which pauses changes no digit: 3000 inputs, one a
 * second, and 300 more to come. */
static void start(struct screen_counter *counter)
{
    screen_counter_open(counter, "f32", 3300);
    counter->screen.start_ns = clock_now_ns() - 3000000000000u;
}

START_TEST(a_counter_shows_rate_and_time_left)
{
    struct screen_counter counter;
    open_terminal();
    start(&counter);
    bool is_terminal = counter.screen.is_terminal;
    screen_counter_show(&counter, 3000);
    screen_clear(&counter.screen);
    ck_assert(is_terminal);
    ck_assert_str_eq(take(), "\r\033[Kf32: 3000 of 3300 inputs, 1.0 a second, 5:00 left\r\033[K");
}
END_TEST

/* Shown just now, that is, later than the call can begin. */
START_TEST(a_line_is_not_shown_again_at_once)
{
    struct screen_counter counter;
    open_terminal();
    start(&counter);
    screen_counter_show(&counter, 3000);
    uint64_t shown_ns = counter.screen.shown_ns, now_ns = clock_now_ns();
    counter.screen.shown_ns = now_ns + 60000000000u;
    screen_counter_show(&counter, 3001);
    ck_assert_str_eq(take(), "\r\033[Kf32: 3000 of 3300 inputs, 1.0 a second, 5:00 left");
    ck_assert(shown_ns > counter.screen.start_ns && shown_ns <= now_ns);
}
END_TEST

START_TEST(a_counter_is_not_for_files)
{
    struct screen_counter counter;
    open_pipe();
    screen_counter_open(&counter, "x", 10);
    counter.screen.shown_ns = 0;
    screen_counter_show(&counter, 5);
    screen_clear(&counter.screen);
    ck_assert_str_eq(take(), "");
    ck_assert(!counter.screen.is_terminal);
}
END_TEST

START_TEST(a_counter_tells_minutes_and_seconds)
{
    struct screen_counter counter;
    open_terminal();
    start(&counter);
    screen_counter_show(&counter, 0); /* no rate, so that nothing is known */
    start(&counter);
    screen_counter_show(&counter, 1500); /* 3600 more seconds */
    start(&counter);
    screen_counter_show(&counter, 3205);
    screen_clear(&counter.screen);
    ck_assert_str_eq(take(), "\r\033[Kf32: 0 of 3300 inputs, 0.0 a second, 0:00 left"
                             "\r\033[Kf32: 1500 of 3300 inputs, 0.5 a second, 60:00 left"
                             "\r\033[Kf32: 3205 of 3300 inputs, 1.1 a second, 1:28 left\r\033[K");
}
END_TEST

/* A file waits for the first line, a terminal has it at once. */
START_TEST(a_file_gets_whole_lines_after_a_time)
{
    struct screen screen;
    open_pipe();
    screen_open(&screen, 0, 50000);
    bool is_early = screen_begin(&screen);
    screen.shown_ns -= 50000 * (uint64_t)CLOCK_NS_PER_MS;
    bool is_due = screen_begin(&screen);
    fputs("half", stderr);
    screen_end(&screen);
    bool is_again = screen_begin(&screen);
    ck_assert_str_eq(take(), "half\n");
    ck_assert(!is_early && is_due && !is_again);
}
END_TEST

SUITE("screen", a_counter_shows_rate_and_time_left, a_line_is_not_shown_again_at_once,
      a_counter_is_not_for_files, a_counter_tells_minutes_and_seconds,
      a_file_gets_whole_lines_after_a_time)
