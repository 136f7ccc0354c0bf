#include "tests/support/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 48 };

/* The test is BUILD/tests/FOLDER/test_x or BUILD/tests/test_x. */
const char *built_program(const char *name, char *out, size_t size)
{
    char self[512];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len <= 0)
        abort();
    self[len] = '\0';
    char *tests = strstr(self, "/tests/");
    if (tests == NULL)
        abort();
    *tests = '\0';
    snprintf(out, size, "%s/%s", self, name);
    return out;
}

static void become(const char *program, const char *const *fixed, const char *const *arguments)
{
    const char *argv[ARGUMENTS_MAX + 1] = {program};
    int count = 1;
    for (; *fixed != NULL && count < ARGUMENTS_MAX; fixed++)
        argv[count++] = *fixed;
    for (; *arguments != NULL && count < ARGUMENTS_MAX; arguments++)
        argv[count++] = *arguments;
    /* attnd refuses variables of its prefix that it does not know. */
    unsetenv("ATTND_TEST_BACKEND");
    unsetenv("ATTND_TEST_LOG");
    execv(program, (char *const *)(uintptr_t)argv); /* execv changes none of them */
    perror(program);
    _exit(127);
}

/* A machine can rest longer between two calls of a client than attnd waits for a head (10 s). Tests of
 * these limits set them by options, which go first. */
static void be_patient(void)
{
    setenv("ATTND_HEADER_TIMEOUT_MS", "300000", 1);
    setenv("ATTND_BODY_TIMEOUT_MS", "300000", 1);
}

static void redirect_log(const char *path)
{
    int fd = open(path != NULL ? path : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                  0600);
    if (fd >= 0 && (path != NULL || getenv("ATTND_TEST_LOG") == NULL))
        dup2(fd, STDERR_FILENO);
}

/* Called in the child. The descriptors are first moved above the numbers that they shall get. */
static void inherit(const struct server_launch *launch)
{
    enum { FIRST = 3, ASIDE = 100 };
    char text[16];
    for (int i = 0; i < launch->count; i++)
        dup2(launch->sockets[i], ASIDE + i);
    for (int i = 0; i < launch->count; i++) {
        dup2(ASIDE + i, FIRST + i);
        close(ASIDE + i);
    }
    snprintf(text, sizeof text, "%d", launch->count);
    setenv("LISTEN_FDS", text, 1);
    snprintf(text, sizeof text, "%d", getpid());
    setenv("LISTEN_PID", text, 1);
    if (launch->names != NULL)
        setenv("LISTEN_FDNAMES", launch->names, 1);
}

/* Reads up to end of file or, with `line`, to the end of the first line. */
static void read_text(int fd, char *out, size_t size, int line)
{
    size_t len = 0;
    while (len + 1 < size && read(fd, out + len, 1) == 1)
        if (out[len++] == '\n' && line)
            break;
    out[len] = '\0';
}

void server_process_start(struct server_process *server, const char *const *arguments)
{
    server_process_launch(server, arguments, &(struct server_launch){.count = 0});
}

void server_process_launch(struct server_process *server, const char *const *arguments,
                           const struct server_launch *launch)
{
    server_process_try(server, arguments, launch);
    if (server->port == 0) {
        fprintf(stderr, "attnd did not start: '%s'\n", server->ready_line);
        abort();
    }
}

void server_process_try(struct server_process *server, const char *const *arguments,
                        const struct server_launch *launch)
{
    char program[600];
    int fds[2];
    const char *backend = getenv("ATTND_TEST_BACKEND");
    const char *fixed[] = {"--listen", "127.0.0.1:0", backend != NULL ? "--linear-backend" : NULL,
                           backend, NULL};
    built_program("attnd", program, sizeof program);
    if (pipe2(fds, O_CLOEXEC) != 0 || (server->pid = fork()) < 0)
        abort();
    if (server->pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        redirect_log(launch->log);
        if (launch->count > 0)
            inherit(launch);
        be_patient();
        become(program, fixed, arguments);
    }
    close(fds[1]);
    read_text(fds[0], server->ready_line, sizeof server->ready_line, 1);
    close(fds[0]);
    const char *port = strstr(server->ready_line, "127.0.0.1:");
    server->port = port != NULL ? (unsigned)strtoul(port + strlen("127.0.0.1:"), NULL, 10) : 0;
}

int server_process_wait(struct server_process *server)
{
    int status;
    if (waitpid(server->pid, &status, 0) != server->pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int server_process_stop(struct server_process *server)
{
    kill(server->pid, SIGTERM);
    return server_process_wait(server);
}

int run_program(const char *name, const char *const *arguments, char *out, size_t out_size,
                char *errors, size_t errors_size)
{
    char program[600], path[] = "/tmp/attnd-stderr-XXXXXX";
    int fds[2], errors_fd = mkstemp(path);
    struct server_process process = {0};
    const char *const none[] = {NULL};
    built_program(name, program, sizeof program);
    if (errors_fd < 0 || pipe2(fds, O_CLOEXEC) != 0 || (process.pid = fork()) < 0)
        abort();
    if (process.pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        dup2(errors_fd, STDERR_FILENO);
        become(program, none, arguments);
    }
    close(fds[1]);
    read_text(fds[0], out, out_size, 0);
    close(fds[0]);
    int code = server_process_wait(&process);
    lseek(errors_fd, 0, SEEK_SET);
    read_text(errors_fd, errors, errors_size, 0);
    close(errors_fd);
    unlink(path);
    return code;
}
