#include "tests/bench/process.h"

#include "engine/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 31, PATH_BYTES = 512 };

static void sibling(const char *name, char out[PATH_BYTES])
{
    char self[PATH_BYTES];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    self[len > 0 ? len : 0] = '\0';
    char *slash = strrchr(self, '/');
    snprintf(out, PATH_BYTES, "%.*s/%s", slash != NULL ? (int)(slash - self) : 0, self, name);
}

static int spawn(struct process *process, const char *path, char *const *argv, int output,
                 const char *error_file)
{
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    int failed = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (failed == 0)
        failed = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error_file,
                                                  O_WRONLY | O_CREAT | O_TRUNC, 0666);
    process->start_ns = clock_now_ns();
    if (failed == 0)
        failed = posix_spawn(&process->pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

enum err_code process_start(struct process *out, const char *name, const char *const *arguments,
                            const char *error_file, struct err *err)
{
    char path[PATH_BYTES];
    int fds[2];
    const char *argv[ARGUMENTS_MAX + 2] = {path};
    for (unsigned i = 0; arguments[i] != NULL; i++) {
        if (i == ARGUMENTS_MAX)
            return err_set(err, ERR_INTERNAL, "%s: more than %d arguments", name, ARGUMENTS_MAX);
        argv[i + 1] = arguments[i];
    }
    *out = (struct process){.pid = -1, .output = -1};
    snprintf(out->name, sizeof out->name, "%s", name);
    sibling(name, path);
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
    /* posix_spawn changes none of the arguments. */
    int failed = spawn(out, path, (char *const *)(uintptr_t)argv, fds[1], error_file);
    close(fds[1]);
    out->output = fds[0];
    if (failed == 0)
        return ERR_OK;
    close(out->output);
    out->pid = -1;
    return err_set(err, ERR_IO, "%s: %s", path, strerror(failed));
}

enum err_code process_line(struct process *process, char *out, size_t size, struct err *err)
{
    size_t len = 0;
    while (len + 1 < size && read(process->output, out + len, 1) == 1 && out[len] != '\n')
        len++;
    out[len] = '\0';
    return len > 0 ? ERR_OK : err_set(err, ERR_IO, "%s ended without a word", process->name);
}

enum err_code process_output(struct process *process, char *out, size_t size, struct err *err)
{
    size_t len = 0;
    ssize_t got = 1;
    int status = -1;
    while (len + 1 < size && got > 0) {
        got = read(process->output, out + len, size - 1 - len);
        len += got > 0 ? (size_t)got : 0;
    }
    out[len] = '\0';
    waitpid(process->pid, &status, 0);
    process->pid = -1;
    close(process->output);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(err, ERR_IO, "%s failed (status %d)", process->name, status);
    return ERR_OK;
}

size_t process_resident_bytes(const struct process *process)
{
    char path[64], line[256];
    size_t kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process->pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmRSS: %zu", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib * 1024;
}

void process_stop(struct process *process)
{
    if (process->pid <= 0)
        return;
    kill(process->pid, SIGTERM);
    waitpid(process->pid, NULL, 0);
    close(process->output);
    process->pid = -1;
}
