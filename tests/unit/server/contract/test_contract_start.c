/* attnd as a program, before it serves and while it does: its output, the warnings in its log, and
 * its signals. */
#include "engine/base/cpu.h"
#include "engine/base/doc.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KERNEL "kernel-bert=models/kernel-bert"

START_TEST(print_config_prints_what_would_be_served_and_ends_with_0)
{
    char out[8192], errors[1024];
    struct json_t *root;
    struct err err = {0};
    long long workers = 0;
    const char *level = NULL;
    ck_assert_int_eq(run_program("attnd",
                                 (const char *[]){"--workers", "3", "--log-level", "debug",
                                                  "--model", KERNEL, "--print-config", NULL},
                                 out, sizeof out, errors, sizeof errors),
                     0);
    ck_assert_str_eq(errors, "");
    ck_assert_msg(doc_parse(&root, out, strlen(out), &doc_limits_file, &err) == ERR_OK, "%s",
                  err.text);
    ck_assert_int_eq(doc_get_integer(root, "$", "workers", 0, 9, &workers, &err), ERR_OK);
    ck_assert_int_eq(workers, 3);
    ck_assert_int_eq(doc_get_string(root, "$", "log_level", &level, &err), ERR_OK);
    ck_assert_str_eq(level, "debug");
    doc_free(root);
}
END_TEST

START_TEST(start_ends_with_1_and_says_so_if_output_cannot_be_written)
{
    static const char *const printing[] = {"--help", "--version", "--print-config",
                                           "--check-config --model " KERNEL};
    char program[600], command[800];
    built_program("attnd", program, sizeof program);
    unsetenv("ATTND_TEST_BACKEND"); /* ours, not the program's */
    for (size_t i = 0; i < sizeof printing / sizeof printing[0]; i++) {
        snprintf(command, sizeof command, "%s %s >/dev/full 2>/dev/null", program, printing[i]);
        int status = system(command);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 1, "%s: %d", command, status);
        snprintf(command, sizeof command,
                 "%s %s 2>&1 >/dev/full | grep -qx 'attnd: standard output: cannot be written'",
                 program, printing[i]);
        ck_assert_int_eq(system(command), 0);
    }
    snprintf(command, sizeof command, "%s --workers x >/dev/full 2>/dev/null", program);
    int status = system(command);
    ck_assert_int_eq(WEXITSTATUS(status), 2); /* the earlier error counts */
}
END_TEST

/* The log of a start that fails, as no model is there. */
static void failed_start(char errors[8192], const char *workers, const char *threads)
{
    char out[256];
    ck_assert_int_eq(run_program("attnd",
                                 (const char *[]){"--workers", workers, "--threads-per-worker",
                                                  threads, "--listen", "127.0.0.1:0", NULL},
                                 out, sizeof out, errors, 8192),
                     2);
    ck_assert_str_eq(out, "");
    ck_assert_ptr_nonnull(
        strstr(errors, "attnd: no model to serve; name one with --model NAME=DIR\n"));
}

/* One worker for each processor of the quota is what there is room for. */
START_TEST(more_threads_than_processors_are_warned_of)
{
    char errors[8192], fields[128], workers[16];
    unsigned quota = cpu_quota_threads("");
    snprintf(workers, sizeof workers, "%u", quota + 1);
    failed_start(errors, workers, "1");
    snprintf(fields, sizeof fields, "\"quota\":%u,\"workers\":%u,\"threads_per_worker\":1}", quota,
             quota + 1);
    const char *line = strstr(errors, "\"level\":\"warn\",\"event\":\"oversubscribed\"");
    ck_assert_msg(line != NULL && strstr(line, fields) != NULL, "%s", errors);
    snprintf(workers, sizeof workers, "%u", quota);
    failed_start(errors, workers, "1");
    ck_assert_ptr_null(strstr(errors, "oversubscribed"));
    failed_start(errors, "0", "0");
    ck_assert_ptr_null(strstr(errors, "oversubscribed"));
}
END_TEST

static int listen_somewhere(char text[32])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    snprintf(text, 32, "127.0.0.1:%u", ntohs(address.sin_port));
    return fd;
}

/* The address is taken, so each of these starts ends behind the line that it may have logged. */
START_TEST(too_few_descriptors_are_warned_of)
{
    static const struct {
        const char *connections_max, *line;
    } rows[] = {
        {"4", "\"wanted\":304,\"limit\":303}"},
        {"3", NULL},
        {"2", NULL},
    };
    struct rlimit limit = {.rlim_cur = 200, .rlim_max = 303};
    char taken[32], out[256], errors[8192];
    int fd = listen_somewhere(taken);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_int_eq(run_program("attnd",
                                     (const char *[]){"--connections-max", rows[i].connections_max,
                                                      "--listen", taken, "--model", KERNEL, NULL},
                                     out, sizeof out, errors, sizeof errors),
                         1);
        const char *line = strstr(errors, "\"level\":\"warn\",\"event\":\"few_descriptors\"");
        ck_assert_msg((line != NULL) == (rows[i].line != NULL), "%s", errors);
        ck_assert_msg(line == NULL || strstr(line, rows[i].line) != NULL, "%s", errors);
    }
    close(fd);
}
END_TEST

START_TEST(the_server_lets_itself_have_descriptors_for_its_connections)
{
    static const struct {
        const char *connections_max;
        rlim_t limit;
    } rows[] = {{"100", 400}, {"2", 302}, {"1000", 1000}};
    struct rlimit limit = {.rlim_cur = 301, .rlim_max = 1000}, found;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct server_process server;
        server_process_start(&server, (const char *[]){"--connections-max", rows[i].connections_max,
                                                       "--model", KERNEL, NULL});
        ck_assert_int_eq(prlimit(server.pid, RLIMIT_NOFILE, NULL, &found), 0);
        ck_assert_uint_eq(found.rlim_cur, rows[i].limit);
        ck_assert_uint_eq(found.rlim_max, 1000);
        ck_assert_int_eq(server_process_stop(&server), 0);
    }
}
END_TEST

/* The server's log in the file. */
static const char *read_log(FILE *file)
{
    static char log[65536];
    ssize_t len = pread(fileno(file), log, sizeof log - 1, 0);
    log[len > 0 ? len : 0] = '\0';
    return log;
}

START_TEST(a_hangup_reloads_and_the_server_goes_on_until_it_is_stopped)
{
    static const struct {
        int number;
        const char *name;
    } ends[] = {{SIGTERM, "\"signal\":\"SIGTERM\"}"}, {SIGINT, "\"signal\":\"SIGINT\"}"}};
    static const char hangup[] =
        "\"level\":\"info\",\"event\":\"reloaded\",\"generation\":2,\"changed\":0,"
        "\"wait_for_restart\":0}\n";
    setenv("ATTND_TEST_LOG", "1", 1);
    for (size_t i = 0; i < 2; i++) {
        struct server_process server;
        FILE *file = tmpfile();
        int saved = dup(STDERR_FILENO);
        ck_assert(file != NULL && dup2(fileno(file), STDERR_FILENO) >= 0);
        server_process_start(&server, (const char *[]){"--model", KERNEL, NULL});
        dup2(saved, STDERR_FILENO);
        close(saved);
        kill(server.pid, SIGHUP);
        suite_await(strstr(read_log(file), hangup) != NULL);
        ck_assert_ptr_null(strstr(read_log(file), "stop_requested"));
        kill(server.pid, ends[i].number);
        ck_assert_int_eq(server_process_wait(&server), 0);
        const char *log = read_log(file);
        const char *stop = strstr(log, "\"level\":\"info\",\"event\":\"stop_requested\",");
        ck_assert_msg(stop != NULL, "%s", log);
        ck_assert_msg(strncmp(strstr(stop, "\"signal\""), ends[i].name, strlen(ends[i].name)) == 0,
                      "%s", stop);
        ck_assert_ptr_nonnull(strstr(stop, "\"event\":\"draining\",\"delay_ms\":0,"
                                           "\"timeout_ms\":30000}\n"));
        ck_assert_ptr_nonnull(strstr(stop, "\"event\":\"stopped\",\"result\":\"ok\"}\n"));
        ck_assert_ptr_null(strstr(stop, "drain_timed_out"));
        fclose(file);
    }
    unsetenv("ATTND_TEST_LOG");
}
END_TEST

SUITE("contract_start", print_config_prints_what_would_be_served_and_ends_with_0,
      start_ends_with_1_and_says_so_if_output_cannot_be_written,
      more_threads_than_processors_are_warned_of, too_few_descriptors_are_warned_of,
      the_server_lets_itself_have_descriptors_for_its_connections,
      a_hangup_reloads_and_the_server_goes_on_until_it_is_stopped)
