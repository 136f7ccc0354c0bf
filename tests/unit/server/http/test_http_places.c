/* test_http_places.c - many clients over real sockets, and more than there are places or
 * descriptors: the clients that give way, and the clients that are spared. */
#include "tests/unit/server/http/http_probe.h"

#include <sys/resource.h>
#include <sys/wait.h>

START_TEST(http_serves_two_hundred_connections_at_once)
{
    struct app *app = app_start();
    int fds[200];
    for (int i = 0; i < 200; i++)
        fds[i] = client_open(app);
    for (int i = 0; i < 200; i++)
        client_say(fds[i], i % 2 ? "GET /later HTTP/1.1\r\nHost: h\r\n\r\n"
                                 : "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    for (int i = 0; i < 200; i++)
        ck_assert_uint_eq(client_read(fds[i], true).status, 200);
    for (int i = 0; i < 200; i++)
        close(fds[i]);
    app_stop(app);
}
END_TEST

START_TEST(http_beyond_its_connections_closes_an_idle_one_for_the_next)
{
    struct http_options options = app_options();
    options.connections_max = 4;
    struct app *app = app_start_with(options);
    int fds[12];
    for (int i = 0; i < 12; i++) {
        fds[i] = client_open(app);
        client_say(fds[i], "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
        ck_assert_uint_eq(client_read(fds[i], true).status, 200);
    }
    ck_assert(client_is_closed(fds[0]));
    for (int i = 0; i < 12; i++)
        close(fds[i]);
    app_stop(app);
}
END_TEST

START_TEST(http_beyond_its_connections_closes_a_silent_one_for_the_next)
{
    struct http_options options = app_options();
    options.connections_max = 4;
    options.header_timeout_ms = 60000;
    struct app *app = app_start_with(options);
    int fds[100]; /* more than are let in before they are counted */
    for (int i = 0; i < 100; i++)
        fds[i] = client_open(app);
    for (int i = 0; i < 100 && !client_wait(fds[0], 50); i++)
        ck_assert_uint_eq(client_ask(app, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
    ck_assert(client_is_closed(fds[0]));
    for (int i = 0; i < 100; i++)
        close(fds[i]);
    app_stop(app);
}
END_TEST

/* A client that has sent a part of a head has its time to send the rest. */
START_TEST(http_beyond_its_connections_spares_those_that_send)
{
    struct http_options options = app_options();
    options.connections_max = 2;
    options.header_timeout_ms = 60000;
    struct app *app = app_start_with(options);
    int sending = client_open(app);
    client_say(sending, "GET /x HT");
    int fds[100];
    for (int i = 0; i < 100; i++)
        fds[i] = client_open(app);
    ck_assert_uint_eq(client_ask(app, "GET /y HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
    client_say(sending, "TP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_uint_eq(client_read(sending, true).status, 200);
    close(sending);
    for (int i = 0; i < 100; i++)
        close(fds[i]);
    app_stop(app);
}
END_TEST

/* Bytes that a refused client still sends are read and dropped, however many other clients do not
 * leave. */
START_TEST(http_sees_off_the_next_when_all_places_are_taken)
{
    enum { MANY = 300 };
    struct app *app = app_start();
    int fds[MANY];
    for (int i = 0; i < MANY; i++) {
        fds[i] = client_open(app);
        client_say(fds[i], "POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\n\r\n");
        ck_assert_uint_eq(client_read(fds[i], true).status, 413);
        ck_assert(client_is_closed(fds[i]));
    }
    for (int i = 0; i < 5; i++) { /* a reset would make one of them fail */
        ck_assert(client_say(fds[MANY - 1], "more"));
        usleep(10000);
    }
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    app_stop(app);
}
END_TEST

/* A hundred connections that stay open, from a process with descriptors of its own. */
static int ask_on_many_connections(int port_pipe, bool silently)
{
    unsigned port;
    if (read(port_pipe, &port, sizeof port) != sizeof port)
        return 1;
    for (int i = 0; i < 100; i++) {
        int fd = client_try(port);
        if (silently && i < 99)
            continue;
        client_say(fd, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
        if (client_read(fd, true).status != 200)
            return 2;
    }
    return 0;
}

static void run_out_of_descriptors(bool silently)
{
    int pipe_fds[2], status = -1;
    ck_assert_int_eq(pipe(pipe_fds), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(ask_on_many_connections(pipe_fds[0], silently));
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    struct http_options options = app_options();
    options.header_timeout_ms = 60000;
    struct app *app = app_start_with(options);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 40, .rlim_max = before.rlim_max});
    ck_assert_int_eq(write(pipe_fds[1], &app->port, sizeof app->port), sizeof app->port);
    waitpid(child, &status, 0);
    setrlimit(RLIMIT_NOFILE, &before);
    ck_assert_int_eq(status, 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    app_stop(app);
}

START_TEST(http_out_of_descriptors_closes_an_idle_connection_for_the_next)
{
    run_out_of_descriptors(false);
}
END_TEST

START_TEST(http_out_of_descriptors_closes_a_silent_connection_for_the_next)
{
    run_out_of_descriptors(true);
}
END_TEST

SUITE("http places", http_serves_two_hundred_connections_at_once,
      http_beyond_its_connections_closes_an_idle_one_for_the_next,
      http_beyond_its_connections_closes_a_silent_one_for_the_next,
      http_beyond_its_connections_spares_those_that_send,
      http_sees_off_the_next_when_all_places_are_taken,
      http_out_of_descriptors_closes_a_silent_connection_for_the_next,
      http_out_of_descriptors_closes_an_idle_connection_for_the_next)
