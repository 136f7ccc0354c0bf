/* The run itself, in this process, against a server that misbehaves on request: requests that are
 * repeated or given up, and the end of the run. */
#include "engine/base/clock.h"
#include "loadtest/client.h"
#include "tests/support/scripted_server.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 24, DESCRIPTORS = 64 };

struct run {
    struct options options;
    struct workload *workload;
    struct tally *tally;
    struct err err;
    char url[64];
};

static void prepare(struct run *run, unsigned port, const char *const *arguments)
{
    char *argv[ARGUMENTS_MAX] = {(char[]){"attnd-load"}, (char[]){"--quiet"}, (char[]){"--url"},
                                 run->url};
    static char copies[ARGUMENTS_MAX][32]; /* the options borrow them */
    enum cli_action action;
    int argc = 4;
    snprintf(run->url, sizeof run->url, "http://127.0.0.1:%u", port);
    for (; *arguments != NULL; arguments++, argc++) {
        ck_assert_int_lt(argc, ARGUMENTS_MAX);
        ck_assert_uint_lt(strlen(*arguments), sizeof copies[0]);
        argv[argc] = strcpy(copies[argc], *arguments);
    }
    run->err = (struct err){0};
    ck_assert_msg(options_load(&run->options, &action, argc, argv, &run->err) == ERR_OK &&
                      workload_open(&run->workload, &run->options, &run->err) == ERR_OK &&
                      tally_open(&run->tally, &run->options, clock_now_ns(), &run->err) == ERR_OK,
                  "%s", run->err.text);
}

static enum err_code go(struct run *run)
{
    return client_run(&run->options, run->workload, NULL, run->tally, &run->err);
}

static void drop(struct run *run)
{
    tally_close(run->tally);
    workload_close(run->workload);
}

#define PREPARE_AT(run, port, ...) prepare(run, port, (const char *[]){__VA_ARGS__, NULL})
#define PREPARE(run, server, ...) PREPARE_AT(run, scripted_server_port(server), __VA_ARGS__)

/* The next request goes out before the loop looks at its sockets again, so it meets the close. If
 * an answer was there at once the loop looks first: then that request has nothing to meet. */
START_TEST(client_repeats_a_request_that_met_an_idle_close_and_counts_it_once)
{
    struct scripted_server *server = scripted_server_start();
    uint64_t retries = 0;
    for (unsigned attempt = 1; attempt <= 20 && retries == 0; attempt++) {
        struct run run;
        PREPARE(&run, server, "--requests", "6", "--connections", "1", "--text", "do-leave");
        size_t request = workload_next(run.workload)->request.len;
        ck_assert_int_eq(go(&run), ERR_OK);
        retries = run.tally->retries;
        ck_assert_uint_eq(run.tally->outcome[OUTCOME_OK], 6);
        ck_assert_uint_eq(run.tally->requests, 6);
        ck_assert_uint_eq(run.tally->connects, 6);
        ck_assert_uint_le(retries, 5);
        ck_assert_uint_eq(run.tally->bytes_out, (6 + retries) * request);
        ck_assert_uint_eq(scripted_server_requests(server), attempt * 6);
        drop(&run);
    }
    ck_assert_uint_gt(retries, 0);
    scripted_server_stop(server);
}
END_TEST

/* An open loop has time to see the close before the next request is due; a machine that stands
 * still for a quarter of a second may miss it, hence the attempts. */
START_TEST(client_closes_an_idle_connection_that_its_server_left)
{
    struct scripted_server *server = scripted_server_start();
    uint64_t retries = 1;
    for (int attempt = 0; attempt < 10 && retries > 0; attempt++) {
        struct run run;
        PREPARE(&run, server, "--rate", "4", "--requests", "2", "--connections", "1", "--text",
                "do-leave");
        ck_assert_int_eq(go(&run), ERR_OK);
        ck_assert_uint_eq(run.tally->outcome[OUTCOME_OK], 2);
        ck_assert_uint_eq(run.tally->connects, 2);
        retries = run.tally->retries;
        drop(&run);
    }
    ck_assert_uint_eq(retries, 0);
    scripted_server_stop(server);
}
END_TEST

/* Twenty are due within the 300 ms that the run lasts. The first is given up after 300 ms, and what
 * takes its connection then is still without an answer when the last time-out ends. */
START_TEST(client_accounts_for_all_that_is_open_when_the_time_is_over)
{
    struct scripted_server *server = scripted_server_start();
    struct run run;
    PREPARE(&run, server, "--rate", "100", "--requests", "20", "--duration", "0.3", "--timeout-ms",
            "300", "--connections", "1", "--text", "do-nothing");
    ck_assert_int_eq(go(&run), ERR_OK);
    const struct tally *tally = run.tally;
    ck_assert_uint_eq(tally->requests, 20);
    ck_assert_uint_ge(tally->outcome[OUTCOME_TIMEOUT], 1);
    ck_assert_uint_eq(tally->outcome[OUTCOME_TIMEOUT], tally->connects);
    ck_assert_uint_eq(tally->outcome[OUTCOME_TIMEOUT] + tally->outcome[OUTCOME_DROPPED], 20);
    ck_assert_uint_ge(tally->outcome[OUTCOME_DROPPED], 17);
    ck_assert_str_eq(tally->example[0], "input 1: timeout: status 0: no answer in time");
    ck_assert_str_eq(tally->example[4], "input 1: dropped: status 0: never sent: the backlog was "
                                        "full or the run ended");
    drop(&run);
    scripted_server_stop(server);
}
END_TEST

/* The signal is there before the run is: only the first round is sent. */
START_TEST(client_ends_by_either_signal_and_awaits_what_it_has_sent)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct scripted_server *server = scripted_server_start();
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before);
    for (int i = 0; i < 2; i++) {
        struct run run;
        PREPARE(&run, server, "--duration", "3600", "--connections", "3", "--text", "do-slowly");
        raise(signals[i]);
        ck_assert_int_eq(go(&run), ERR_OK);
        ck_assert_uint_eq(run.tally->requests, 3);
        ck_assert_uint_eq(run.tally->outcome[OUTCOME_OK], 3);
        drop(&run);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    scripted_server_stop(server);
}
END_TEST

/* Lets connections in and never answers. Without a thread: one that waits in accept holds a
 * descriptor, and no test may depend on when it came to have it. */
static int listen_only(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(listener, 8), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return listener;
}

/* Takes every descriptor that the process may still open but so many; their number. */
static int leave_descriptors(int taken[DESCRIPTORS], int left)
{
    struct rlimit limit = {.rlim_cur = DESCRIPTORS, .rlim_max = DESCRIPTORS};
    int count = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (count < DESCRIPTORS && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    ck_assert_int_ge(count, left);
    for (; left > 0; left--)
        close(taken[--count]);
    return count;
}

START_TEST(client_says_when_the_system_denies_it_its_descriptors)
{
    unsigned port;
    int listener = listen_only(&port);
    for (int left = 0; left < 3; left++) {
        struct run run;
        int taken[DESCRIPTORS];
        PREPARE_AT(&run, port, "--connections", "1", "--requests", "1", "--text", "do-ok");
        int count = leave_descriptors(taken, left);
        ck_assert_int_eq(go(&run), ERR_IO);
        ck_assert_str_eq(run.err.text, "epoll: Too many open files");
        ck_assert_uint_eq(run.tally->requests, 0);
        int again = open("/dev/null", O_RDONLY | O_CLOEXEC); /* its descriptor is closed */
        ck_assert_int_eq(again >= 0, left > 0);
        if (again >= 0)
            close(again);
        while (count > 0)
            close(taken[--count]);
        drop(&run);
    }
    close(listener);
}
END_TEST

/* Three for the loop itself and one for a connection: the second has no socket. */
START_TEST(client_counts_a_connection_without_a_socket_as_refused)
{
    unsigned port;
    int listener = listen_only(&port);
    struct run run;
    int taken[DESCRIPTORS];
    PREPARE_AT(&run, port, "--connections", "2", "--requests", "2", "--timeout-ms", "300", "--text",
               "do-nothing");
    int count = leave_descriptors(taken, 4);
    ck_assert_int_eq(go(&run), ERR_OK);
    while (count > 0)
        close(taken[--count]);
    ck_assert_uint_eq(run.tally->requests, 2);
    ck_assert_uint_eq(run.tally->outcome[OUTCOME_REFUSED], 1);
    ck_assert_uint_eq(run.tally->connects, 1);
    ck_assert_str_eq(run.tally->example[0], "input 1: refused: status 0: Too many open files");
    drop(&run);
    close(listener);
}
END_TEST

SUITE("client", client_repeats_a_request_that_met_an_idle_close_and_counts_it_once,
      client_closes_an_idle_connection_that_its_server_left,
      client_accounts_for_all_that_is_open_when_the_time_is_over,
      client_ends_by_either_signal_and_awaits_what_it_has_sent,
      client_says_when_the_system_denies_it_its_descriptors,
      client_counts_a_connection_without_a_socket_as_refused)
