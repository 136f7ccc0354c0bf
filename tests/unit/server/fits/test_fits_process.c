/* A program beside the server: its lines, what it inherits, how it ends, and how it is ended. */
#include "server/fits/fits_process.h"

#include "tests/support/suite.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char said[8192];
static atomic_bool cancelled;
static int wake;

static void hear(void *context, const char *line)
{
    const size_t len = strlen(said);
    (void)context;
    snprintf(said + len, sizeof said - len, "%s|", line);
}

/* Cancels as soon as the program says that it runs. */
static void hear_and_cancel(void *context, const char *line)
{
    hear(context, line);
    atomic_store(&cancelled, true);
    eventfd_write(wake, 1);
}

static bool ask(void *context)
{
    (void)context;
    return atomic_load(&cancelled);
}

static int run(const char *script, void (*line)(void *context, const char *line))
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const struct fits_process process = {
        .argv = argv, .wake = wake, .line = line, .is_cancelled = ask};
    struct err err = {0};
    int status;
    ck_assert_msg(fits_process_run(&process, &status, &err) == ERR_OK, "%s", err.text);
    return status;
}

static void begin(void)
{
    said[0] = '\0';
    atomic_store(&cancelled, false);
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_ge(wake, 0);
}

START_TEST(fits_process_passes_lines_of_both_outputs_one_by_one)
{
    begin();
    int status = run("echo one; echo; echo two >&2; printf three; exit 3", hear);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    ck_assert_str_eq(said, "one|two|three|");
    close(wake);
}
END_TEST

START_TEST(a_line_that_is_too_long_is_cut)
{
    begin();
    run("head -c 5000 /dev/zero | tr '\\0' x; echo; echo end", hear);
    ck_assert_uint_eq(strcspn(said, "|"), FITS_PROCESS_LINE_BYTES - 1);
    ck_assert_str_eq(said + FITS_PROCESS_LINE_BYTES, "end|");
    close(wake);
}
END_TEST

START_TEST(fits_process_inherits_no_descriptor_no_signal_and_no_variable)
{
    int sockets[2];
    begin();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0); /* not close-on-exec */
    signal(SIGPIPE, SIG_IGN);
    setenv("ATTND_SECRET", "x", 1);
    /* The last seven digits: glibc keeps signals 32 and 33 to itself. */
    run("grep -E 'Sig(Blk|Ign)' /proc/self/status | grep -oE '.{7}$'; "
        "ls -l /proc/self/fd | grep -c socket; echo \"${ATTND_SECRET-none}\"; "
        "[ \"$(cut -d' ' -f5 /proc/$$/stat)\" = $$ ] && echo own",
        hear);
    ck_assert_str_eq(said, "0000000|0000000|0|none|own|");
    signal(SIGPIPE, SIG_DFL);
    close(sockets[0]);
    close(sockets[1]);
    close(wake);
}
END_TEST

START_TEST(one_that_is_cancelled_ends_by_the_signal)
{
    begin();
    int status = run("echo here; while :; do sleep 0.01; done", hear_and_cancel);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    close(wake);
}
END_TEST

START_TEST(one_that_does_not_listen_is_killed_with_what_it_started)
{
    begin();
    int status =
        run("trap '' TERM; sleep 1000 & echo $!; while :; do sleep 0.01; done", hear_and_cancel);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    const pid_t child = (pid_t)strtol(said, NULL, 10);
    ck_assert_int_gt(child, 1);
    while (kill(child, 0) == 0) /* until whoever inherits it has looked */
        usleep(1000);
    ck_assert_int_eq(errno, ESRCH);
    close(wake);
}
END_TEST

START_TEST(one_that_closes_its_output_is_waited_for)
{
    begin();
    int status = run("exec >&- 2>&-; sleep 0.2; exit 5", hear);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    ck_assert_str_eq(said, "");
    close(wake);
}
END_TEST

START_TEST(fits_process_says_that_a_program_cannot_start)
{
    const char *const argv[] = {"/nonexistent/program", NULL};
    const struct fits_process process = {.argv = argv, .line = hear, .is_cancelled = ask};
    struct err err = {0};
    int status;
    ck_assert_int_eq(fits_process_run(&process, &status, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/program cannot be started: No such file"));
}
END_TEST

SUITE("fits/process", fits_process_passes_lines_of_both_outputs_one_by_one,
      a_line_that_is_too_long_is_cut, fits_process_inherits_no_descriptor_no_signal_and_no_variable,
      one_that_is_cancelled_ends_by_the_signal,
      one_that_does_not_listen_is_killed_with_what_it_started,
      one_that_closes_its_output_is_waited_for, fits_process_says_that_a_program_cannot_start)
