/* progress.h: a line that overwrites itself, on a terminal and nowhere else. Standard error becomes
 * a pseudo terminal or a pipe for the length of a test. */
#include "learn/eval/measure/progress.h"

#include "engine/base/clock.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int other_end, kept;

/* From now on standard error goes to `fd`, which is closed. */
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

/* What was written; standard error is again what it was. */
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
static void start(struct progress *progress)
{
    progress_start(progress, "f32", 3300);
    progress->start_ns = clock_now_ns() - 3000000000000u;
}

START_TEST(progress_shows_rate_and_time_left)
{
    struct progress progress;
    open_terminal();
    start(&progress);
    bool watched = progress.watched;
    progress_show(&progress, 3000);
    progress_end(&progress);
    ck_assert(watched);
    ck_assert_str_eq(take(), "\r\033[Kf32: 3000 of 3300 inputs, 1.0 a second, 5:00 left\r\033[K");
}
END_TEST

/* Shown just now, that is, later than the call can begin. */
START_TEST(progress_is_not_shown_again_at_once)
{
    struct progress progress;
    open_terminal();
    start(&progress);
    progress_show(&progress, 3000);
    uint64_t shown_ns = progress.shown_ns, now_ns = clock_now_ns();
    progress.shown_ns = now_ns + 60000000000u;
    progress_show(&progress, 3001);
    ck_assert_str_eq(take(), "\r\033[Kf32: 3000 of 3300 inputs, 1.0 a second, 5:00 left");
    ck_assert(shown_ns > progress.start_ns && shown_ns <= now_ns);
}
END_TEST

START_TEST(progress_is_not_for_files)
{
    struct progress progress;
    open_pipe();
    progress_start(&progress, "x", 10);
    bool watched = progress.watched;
    progress_end(&progress);
    ck_assert_str_eq(take(), "");
    ck_assert(!watched);
}
END_TEST

START_TEST(progress_tells_minutes_and_seconds)
{
    struct progress progress;
    open_terminal();
    start(&progress);
    progress_show(&progress, 0); /* no rate, so that nothing is known */
    start(&progress);
    progress_show(&progress, 1500); /* 3600 more seconds */
    start(&progress);
    progress_show(&progress, 3205);
    progress_end(&progress);
    ck_assert_str_eq(take(), "\r\033[Kf32: 0 of 3300 inputs, 0.0 a second, 0:00 left"
                             "\r\033[Kf32: 1500 of 3300 inputs, 0.5 a second, 60:00 left"
                             "\r\033[Kf32: 3205 of 3300 inputs, 1.1 a second, 1:28 left\r\033[K");
}
END_TEST

SUITE("progress", progress_shows_rate_and_time_left, progress_is_not_shown_again_at_once,
      progress_is_not_for_files, progress_tells_minutes_and_seconds)
