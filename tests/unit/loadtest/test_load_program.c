/* attnd-load as a program, against a server that misbehaves on request (scripted_server.h): every
 * way in which a request can end is told, counted and judged. */
#include "engine/base/doc.h"
#include "tests/support/outcome.h"
#include "tests/support/scripted_server.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tcp_pair.h"
#include "tests/support/tempdir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
    int code;
    char out[16384], errors[4096];
    struct json_t *report; /* of --json; NULL if there is none */
};

enum { ARGUMENTS_MAX = 24 };

/* attnd-load --quiet --json against the port. */
static void load(struct run *run, unsigned port, const char *const *arguments)
{
    char url[64];
    const char *all[ARGUMENTS_MAX + 6] = {"--url", url, "--quiet", "--json"};
    struct err err = {0};
    int count = 4;
    for (; *arguments != NULL && count < ARGUMENTS_MAX + 4; arguments++)
        all[count++] = *arguments;
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    run->code =
        run_program("attnd-load", all, run->out, sizeof run->out, run->errors, sizeof run->errors);
    run->report = NULL;
    if (run->out[0] != '\0')
        ck_assert_msg(doc_parse(&run->report, run->out, strlen(run->out), &doc_limits_file, &err) ==
                          ERR_OK,
                      "%s: %s", err.text, run->out);
}

#define LOAD(run, server, ...)                                                                     \
    load(run, scripted_server_port(server), (const char *[]){__VA_ARGS__, NULL})

static double figure(const struct run *run, const char *group, const char *name)
{
    double value = -1;
    const struct json_t *from =
        group != NULL ? doc_member(run->report, group) : (const struct json_t *)run->report;
    ck_assert_msg(doc_as_number(doc_member(from, name), &value), "no %s in: %s", name, run->out);
    return value;
}

static void end(struct run *run, struct scripted_server *server)
{
    doc_free(run->report);
    scripted_server_stop(server);
}

START_TEST(load_sends_as_many_requests_as_it_is_told_on_no_more_connections)
{
    struct scripted_server *server = scripted_server_start();
    struct run run;
    LOAD(&run, server, "--requests", "50", "--connections", "5", "--text", "do-ok");
    ck_assert_msg(run.code == 0, "%s", run.errors);
    ck_assert_uint_eq(scripted_server_requests(server), 50);
    /* A reply that is there at once frees its connection for the next request. */
    double connections = figure(&run, NULL, "connections");
    ck_assert_msg(connections >= 1 && connections <= 5, "%s", run.out);
    ck_assert(connections == scripted_server_connections(server));
    ck_assert(figure(&run, NULL, "requests") == 50);
    ck_assert(figure(&run, "outcomes", "ok") == 50);
    ck_assert(figure(&run, "statuses", "200") == 50);
    ck_assert(figure(&run, "latency_ms", "count") == 50);
    ck_assert(figure(&run, "server_inference_ms", "max") == 2);
    ck_assert(figure(&run, "server_total_ms", "p50") == 5);
    end(&run, server);
}
END_TEST

/* Head and body of a request of this text, and of its answer, are all alike. */
START_TEST(load_counts_the_bytes_of_both_ways)
{
    struct scripted_server *server = scripted_server_start();
    struct run one, ten;
    LOAD(&one, server, "--requests", "1", "--connections", "1", "--text", "do-ok");
    LOAD(&ten, server, "--requests", "10", "--connections", "2", "--text", "do-ok");
    double out = figure(&one, NULL, "bytes_out"), in = figure(&one, NULL, "bytes_in");
    ck_assert_msg(out > 50 && out < 500, "%g bytes sent", out);
    ck_assert_msg(in > (double)strlen(SCRIPTED_OK_BODY) && in < 500, "%g bytes received", in);
    ck_assert(figure(&ten, NULL, "bytes_out") == 10 * out);
    ck_assert(figure(&ten, NULL, "bytes_in") == 10 * in);
    doc_free(one.report);
    end(&ten, server);
}
END_TEST

struct deed {
    const char *deed, *outcome, *status;
};

/* One request of each deed; its outcome alone is counted, and fails the run unless accepted. */
START_TEST(load_names_every_way_in_which_a_request_ends)
{
    static const struct deed deeds[] = {
        {"do-other", "ok", "200"},
        {"do-garbage", "malformed", "200"},
        {"do-reject", "rejected", "429"},
        {"do-429", "no_retry_after", "429"},
        {"do-503", "no_retry_after", "503"},
        {"do-500", "status", "500"},
        {"do-close", "ok", "200"},
        {"do-lose", "lost", NULL},
        {"do-cut", "cut", NULL},
        {"do-noise", "malformed", NULL},
        {"do-nothing", "timeout", NULL},
    };
    struct scripted_server *server = scripted_server_start();
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++) {
        struct run run;
        bool good = strcmp(deeds[i].outcome, "ok") == 0;
        const char *timeout_ms = strcmp(deeds[i].outcome, "timeout") == 0 ? "300" : "60000";
        LOAD(&run, server, "--requests", "1", "--connections", "1", "--timeout-ms", timeout_ms,
             "--text", deeds[i].deed);
        ck_assert_msg(run.code == (good ? 0 : 1), "%s: %d %s", deeds[i].deed, run.code, run.errors);
        ck_assert_msg(figure(&run, "outcomes", deeds[i].outcome) == 1, "%s: %s", deeds[i].deed,
                      run.out);
        ck_assert(figure(&run, NULL, "unaccepted") == !good);
        ck_assert(deeds[i].status == NULL || figure(&run, "statuses", deeds[i].status) == 1);
        doc_free(run.report);
        LOAD(&run, server, "--requests", "1", "--connections", "1", "--timeout-ms", timeout_ms,
             "--accept", deeds[i].outcome, "--text", deeds[i].deed);
        ck_assert_msg(run.code == 0, "%s accepted: %d", deeds[i].deed, run.code);
        doc_free(run.report);
    }
    scripted_server_stop(server);
}
END_TEST

START_TEST(load_judges_a_get_by_its_status_alone)
{
    struct scripted_server *server = scripted_server_start();
    struct run run;
    LOAD(&run, server, "--requests", "3", "--connections", "1", "--get", "/do-garbage");
    ck_assert_int_eq(run.code, 0);
    ck_assert(figure(&run, "outcomes", "ok") == 3);
    doc_free(run.report);
    LOAD(&run, server, "--requests", "1", "--connections", "1", "--get", "/do-500");
    ck_assert_int_eq(run.code, 1);
    ck_assert(figure(&run, "outcomes", "status") == 1);
    end(&run, server);
}
END_TEST

START_TEST(load_compares_answers_with_the_expected_ones)
{
    char path[96];
    struct scripted_server *server = scripted_server_start();
    struct tempdir dir;
    struct run run;
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/expected.jsonl", dir.path);
    tempdir_write(&dir, "expected.jsonl", SCRIPTED_OK_BODY "\n", strlen(SCRIPTED_OK_BODY) + 1);
    LOAD(&run, server, "--requests", "2", "--expect", path, "--text", "do-ok");
    ck_assert_msg(run.code == 0, "%s", run.errors);
    doc_free(run.report);
    LOAD(&run, server, "--requests", "2", "--expect", path, "--text", "do-other");
    ck_assert_int_eq(run.code, 1);
    ck_assert(figure(&run, "outcomes", "mismatch") == 2);
    ck_assert_msg(strstr(run.out, "label \\\"z\\\" instead of \\\"a\\\"") != NULL, "%s", run.out);
    doc_free(run.report);
    tempdir_close(&dir);
    scripted_server_stop(server);
}
END_TEST

START_TEST(load_repeats_a_request_only_if_an_idle_close_came_before_it)
{
    struct scripted_server *server = scripted_server_start();
    struct run run;
    LOAD(&run, server, "--requests", "6", "--connections", "1", "--text", "do-close");
    ck_assert_msg(run.code == 0, "%s", run.out);
    ck_assert(figure(&run, "outcomes", "ok") == 6);
    ck_assert(figure(&run, NULL, "connections") >= 6);
    ck_assert_uint_eq(scripted_server_requests(server), 6);
    end(&run, server);
}
END_TEST

START_TEST(load_reports_a_port_without_a_server)
{
    unsigned port;
    const int refuser = tcp_refuser_open(&port);
    struct run run;
    load(&run, port,
         (const char *[]){"--duration", "0.3", "--connections", "2", "--text", "x", NULL});
    ck_assert_int_eq(run.code, 1);
    double refused = figure(&run, "outcomes", "refused");
    ck_assert(refused >= 2 && refused == figure(&run, NULL, "requests"));
    ck_assert_msg(refused < 200, "%g refusals in 0.3 s: it does not rest between them", refused);
    doc_free(run.report);
    close(refuser);
}
END_TEST

/* 100 a second for half a second; the generator may be a little late, never early. */
START_TEST(load_keeps_an_open_loop_at_its_rate)
{
    struct scripted_server *server = scripted_server_start();
    struct run run;
    LOAD(&run, server, "--rate", "100", "--duration", "0.5", "--connections", "4", "--text",
         "do-ok");
    ck_assert_msg(run.code == 0, "%s", run.out);
    double requests = figure(&run, NULL, "requests");
    ck_assert_msg(requests >= 49 && requests <= 51, "%g requests", requests);
    doc_free(run.report);
    LOAD(&run, server, "--rate", "100", "--requests", "7", "--connections", "4", "--text", "do-ok");
    ck_assert(figure(&run, NULL, "requests") == 7);
    end(&run, server);
}
END_TEST

/* Answers take 200 ms and come one after the other, requests are due every 50 ms. */
START_TEST(load_ages_what_waits_for_a_connection_and_drops_what_the_backlog_cannot_hold)
{
    struct scripted_server *server = scripted_server_start();
    struct run run;
    LOAD(&run, server, "--rate", "20", "--requests", "4", "--connections", "1", "--text",
         "do-slowly");
    ck_assert_msg(run.code == 0, "%s", run.out);
    ck_assert_msg(figure(&run, "latency_ms", "max") >= 4 * 200 - 3 * 50, "%s", run.out);
    doc_free(run.report);
    LOAD(&run, server, "--rate", "100", "--requests", "9", "--connections", "1", "--backlog", "2",
         "--text", "do-slowly");
    ck_assert_int_eq(run.code, 1);
    double ok = figure(&run, "outcomes", "ok"), dropped = figure(&run, "outcomes", "dropped");
    ck_assert_msg(ok + dropped == 9 && ok >= 3 && dropped >= 4, "%s", run.out);
    end(&run, server);
}
END_TEST

START_TEST(load_waits_for_what_is_under_way_when_it_is_interrupted)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    suite_skip("under a sanitizer another thread than the program's takes the signal");
#endif
    struct scripted_server *server = scripted_server_start();
    char url[64], program[600], text[4096] = "";
    unsigned requests = 0, ok = 0;
    int ends[2];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", scripted_server_port(server));
    built_program("attnd-load", program, sizeof program);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(program, program, "--url", url, "--quiet", "--duration", "100", "--connections", "2",
              "--text", "do-slowly", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    suite_await(scripted_server_requests(server) >= 2);
    kill(pid, SIGINT);
    FILE *output = fdopen(ends[0], "r");
    ck_assert_ptr_nonnull(output);
    text[fread(text, 1, sizeof text - 1, output)] = '\0';
    fclose(output);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(sscanf(text, "requests %u in %*f s ok %u", &requests, &ok), 2);
    ck_assert_msg(requests == ok && requests >= 2 && requests <= 50, "%s", text);
    scripted_server_stop(server);
}
END_TEST

START_TEST(load_refuses_wrong_use_with_exit_code_2)
{
    struct scripted_server *server = scripted_server_start();
    struct run run;
    LOAD(&run, server, "--requests", "1");
    ck_assert_int_eq(run.code, 2);
    ck_assert_ptr_nonnull(strstr(run.errors, "attnd-load: nothing to send"));
    LOAD(&run, server, "--text-file", "no/such/file");
    ck_assert_int_eq(run.code, 2);
    ck_assert_ptr_nonnull(strstr(run.errors, "no/such/file"));
    LOAD(&run, server, "--text", "x", "--expect", "no/such/file");
    ck_assert_int_eq(run.code, 2);
    ck_assert_str_eq(run.out, "");
    scripted_server_stop(server);
}
END_TEST

START_TEST(load_says_when_it_may_not_open_enough_descriptors)
{
    struct scripted_server *server = scripted_server_start();
    struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};
    struct run run;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    LOAD(&run, server, "--requests", "1", "--connections", "33", "--text", "do-ok");
    ck_assert_int_eq(run.code, 1);
    ck_assert_str_eq(run.errors, "attnd-load: --connections: only 64 descriptors may be open\n");
    LOAD(&run, server, "--requests", "1", "--connections", "32", "--text", "do-ok");
    ck_assert_int_eq(run.code, 0);
    end(&run, server);
}
END_TEST

START_TEST(load_prints_a_table_help_and_version)
{
    struct scripted_server *server = scripted_server_start();
    char out[16384], errors[1024], url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", scripted_server_port(server));
    ck_assert_int_eq(run_program("attnd-load",
                                 (const char *[]){"--url", url, "--requests", "3", "--connections",
                                                  "1", "--text", "do-reject", NULL},
                                 out, sizeof out, errors, sizeof errors),
                     1);
    ck_assert_ptr_nonnull(strstr(out, "  rejected                    3  429 with Retry-After\n"));
    ck_assert_ptr_nonnull(strstr(out, "not as expected: input 1: rejected: status 429"));
    ck_assert_str_eq(errors, ""); /* no progress line where there is no terminal */
    ck_assert_int_eq(run_program("attnd-load", (const char *[]){"--version", NULL}, out, sizeof out,
                                 errors, sizeof errors),
                     0);
    ck_assert_str_eq(out, "attnd-load " ATTND_VERSION "\n");
    ck_assert_int_eq(run_program("attnd-load", (const char *[]){"--help", NULL}, out, sizeof out,
                                 errors, sizeof errors),
                     0);
    ck_assert_ptr_nonnull(strstr(out, "usage: attnd-load [OPTION]... SOURCE...\n"));
    scripted_server_stop(server);
}
END_TEST

/* The seventh never has its answer and so holds the run until the second line has been printed. */
START_TEST(load_tells_a_terminal_every_second_how_far_it_is)
{
    struct scripted_server *server = scripted_server_start();
    char url[64];
    static char said[OUTCOME_BYTES];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", scripted_server_port(server));
    const char *const arguments[] = {"--url",         url,          "--requests", "7",
                                     "--connections", "7",          "--text",     "do-ok",
                                     "--weight",      "2",          "--text",     "do-reject",
                                     "--text",        "do-500",     "--weight",   "3",
                                     "--text",        "do-nothing", "--json",     "--timeout-ms",
                                     "3000",          NULL};
    ck_assert_int_eq(outcome_on_terminal("attnd-load", arguments, said), 1);
    ck_assert_msg(strstr(said, "\r\033[K    0 s  ") == said, "%s", said);
    ck_assert_msg(strstr(said, " s  2 ok  1 rejected  3 failed  p99 ") != NULL, "%s", said);
    unsigned lines = 0, second = 0;
    double p99 = 0;
    for (const char *at = said;
         sscanf(at, "\r\033[K%u s %*u ok %*u rejected %*u failed p99 %lf", &second, &p99) == 2;
         lines++)
        at = strchr(at + 1, '\r');
    ck_assert_msg(lines >= 2 && lines <= second + 1 && p99 > 0 && p99 < 3000, "%s", said);
    const char *end = " ms\r\033[K";
    ck_assert_msg(strlen(said) > strlen(end) && strcmp(said + strlen(said) - strlen(end), end) == 0,
                  "%s", said);
    ck_assert_int_eq(outcome_on_terminal("attnd-load",
                                         (const char *[]){"--url", url, "--requests", "1", "--text",
                                                          "do-ok", "--quiet", NULL},
                                         said),
                     0);
    ck_assert_str_eq(said, "");
    scripted_server_stop(server);
}
END_TEST

/* A table, a JSON object, the help and the version are too little to fill the stream's buffer: the
 * failure shows only when it is emptied at the end. */
START_TEST(load_fails_when_what_it_prints_cannot_be_written)
{
    static const char *const printing[] = {"--json", "--quiet", "--help", "--version"};
    struct scripted_server *server = scripted_server_start();
    char program[600], command[800], said[256];
    built_program("attnd-load", program, sizeof program);
    for (size_t i = 0; i < sizeof printing / sizeof printing[0]; i++) {
        snprintf(command, sizeof command,
                 "%s --url http://127.0.0.1:%u --requests 1 --text do-ok %s 2>&1 >/dev/full",
                 program, scripted_server_port(server), printing[i]);
        FILE *errors = popen(command, "r");
        ck_assert_ptr_nonnull(errors);
        said[fread(said, 1, sizeof said - 1, errors)] = '\0';
        int status = pclose(errors);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 1, "%s: %d", command, status);
        ck_assert_str_eq(said, "attnd-load: standard output: cannot be written\n");
    }
    scripted_server_stop(server);
}
END_TEST

SUITE("load_program", load_sends_as_many_requests_as_it_is_told_on_no_more_connections,
      load_counts_the_bytes_of_both_ways, load_names_every_way_in_which_a_request_ends,
      load_judges_a_get_by_its_status_alone, load_compares_answers_with_the_expected_ones,
      load_repeats_a_request_only_if_an_idle_close_came_before_it,
      load_reports_a_port_without_a_server, load_keeps_an_open_loop_at_its_rate,
      load_ages_what_waits_for_a_connection_and_drops_what_the_backlog_cannot_hold,
      load_waits_for_what_is_under_way_when_it_is_interrupted,
      load_refuses_wrong_use_with_exit_code_2, load_says_when_it_may_not_open_enough_descriptors,
      load_prints_a_table_help_and_version, load_tells_a_terminal_every_second_how_far_it_is,
      load_fails_when_what_it_prints_cannot_be_written)
