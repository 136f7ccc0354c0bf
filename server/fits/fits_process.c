/* fits_process.c - see fits_process.h. One loop waits for output, for a cancellation, and for the
 * end, which is when nobody holds the pipe any more; a program that closes it and stays is waited
 * for in steps. */
#include "server/fits/fits_process.h"

#include "engine/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEP_MS = 20 };

struct run {
    const struct fits_process *process;
    pid_t pid;
    int pipe;               /* output of the program */
    uint64_t terminated_ns; /* 0: it was not told to end */
    bool is_killed;
    char line[FITS_PROCESS_LINE_BYTES];
    size_t len;
};

/* ---- start ---- */

static int set_files(posix_spawn_file_actions_t *files, int output)
{
    int failure = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
    if (failure == 0)
        failure = posix_spawn_file_actions_adddup2(files, output, 1);
    if (failure == 0)
        failure = posix_spawn_file_actions_adddup2(files, output, 2);
    return failure == 0 ? posix_spawn_file_actions_addclosefrom_np(files, 3) : failure;
}

/* Starts the program. The cast is safe: POSIX says that posix_spawn does not change its arguments.
 */
static int spawn(struct run *run, int output, char *const environment[])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    const char *const *argv = run->process->argv;
    char *const *arguments;
    memcpy(&arguments, &argv, sizeof arguments);
    int failure = posix_spawn_file_actions_init(&files);
    if (failure != 0)
        return failure;
    failure = posix_spawnattr_init(&attributes);
    if (failure == 0) {
        failure = set_files(&files, output);
        if (failure == 0) {
            sigset_t none, all;
            sigemptyset(&none);
            sigfillset(&all);
            posix_spawnattr_setsigmask(&attributes, &none);
            posix_spawnattr_setsigdefault(&attributes, &all);
            posix_spawnattr_setpgroup(&attributes, 0);
            failure = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                                                POSIX_SPAWN_SETSIGDEF |
                                                                POSIX_SPAWN_SETPGROUP);
        }
        if (failure == 0)
            failure = posix_spawn(&run->pid, argv[0], &files, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return failure;
}

static enum err_code start(struct run *run, struct err *err)
{
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", locale[] = "LC_ALL=C", libraries[4096];
    const char *from = getenv("LD_LIBRARY_PATH");
    const int len =
        snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", from != NULL ? from : "");
    const bool has_libraries = from != NULL && (size_t)len < sizeof libraries;
    char *const environment[] = {path, locale, has_libraries ? libraries : NULL, NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "no pipe for %s: %s", run->process->argv[0], strerror(errno));
    const int failure = spawn(run, ends[1], environment);
    close(ends[1]);
    run->pipe = ends[0];
    if (failure == 0)
        return ERR_OK;
    close(ends[0]);
    return err_set(err, ERR_IO, "%s cannot be started: %s", run->process->argv[0],
                   strerror(failure));
}

/* ---- output ---- */

static void end_line(struct run *run)
{
    run->line[run->len] = '\0';
    if (run->len > 0)
        run->process->line(run->process->context, run->line);
    run->len = 0;
}

/* False: nobody holds its end any more. */
static bool read_some(struct run *run)
{
    char bytes[4096];
    const ssize_t len = read(run->pipe, bytes, sizeof bytes);
    for (ssize_t i = 0; i < len; i++)
        if (bytes[i] == '\n')
            end_line(run);
        else if (run->len + 1 < sizeof run->line)
            run->line[run->len++] = bytes[i];
    return len > 0 || (len < 0 && errno == EINTR);
}

/* ---- until the end ---- */

/* Ends the whole process group: the program may have started others. */
static void end_if_cancelled(struct run *run)
{
    const uint64_t now = clock_now_ns();
    if (run->terminated_ns == 0 && run->process->is_cancelled(run->process->context)) {
        kill(-run->pid, SIGTERM);
        run->terminated_ns = now;
    }
    if (run->terminated_ns != 0 && !run->is_killed &&
        clock_ms_between(run->terminated_ns, now) >= FITS_PROCESS_KILL_MS) {
        kill(-run->pid, SIGKILL);
        run->is_killed = true;
    }
}

enum err_code fits_process_run(const struct fits_process *process, int *status, struct err *err)
{
    struct run run = {.process = process};
    *status = 0;
    if (start(&run, err))
        return err->code;
    struct pollfd places[] = {{.fd = run.pipe, .events = POLLIN},
                              {.fd = process->wake, .events = POLLIN}};
    for (bool is_open = true; is_open;) {
        end_if_cancelled(&run);
        /* Once it is told to end the wake-up has done its work. */
        const bool is_ending = run.terminated_ns != 0;
        const int ready = poll(places, is_ending ? 1 : 2, is_ending ? STEP_MS : -1);
        if (ready > 0 && places[0].revents != 0)
            is_open = read_some(&run);
    }
    end_line(&run);
    close(run.pipe);
    const struct timespec step = {.tv_nsec = (long)STEP_MS * CLOCK_NS_PER_MS};
    for (;;) {
        const pid_t ended = waitpid(run.pid, status, WNOHANG);
        if (ended == run.pid)
            return ERR_OK;
        if (ended < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "the end of %s is not known: %s", process->argv[0],
                           strerror(errno));
        end_if_cancelled(&run);
        nanosleep(&step, NULL);
    }
}
