/* The program on sockets that another holds, as systemd does: it serves there, a restart loses no
 * client, and sockets that are of no use stop the start. */
#include "engine/base/clock.h"
#include "server/http/conns.h"
#include "server/http/listener.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

#define PREDICT                                                                                    \
    "POST /predict HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 12\r\n\r\n"         \
    "{\"text\":\"a\"}"

static const char *const arguments[] = {"--model", "text=tests/data/golden/bert-3", NULL};

/* Opens the listener as systemd does. */
static int hold(struct listener *listener, const char *address)
{
    struct err err = {0};
    ck_assert_msg(listener_open(listener, address, 0, &err) == ERR_OK, "%s", err.text);
    return listener->fd;
}

static void start(struct server_process *server, const int *sockets, int count, const char *names)
{
    const struct server_launch launch = {.sockets = sockets, .count = count, .names = names};
    server_process_launch(server, arguments, &launch);
}

static int status_of(int fd, const char *request)
{
    ck_assert(http_send_text(fd, request));
    struct http_answer answer = http_read(fd, false);
    int status = answer.status;
    http_answer_free(&answer);
    close(fd);
    return status;
}

START_TEST(an_inherited_socket_is_the_main_address_whatever_listen_says)
{
    static const char *const names[] = {NULL, "attnd", "attnd.socket"};
    struct listener held;
    struct server_process server;
    char line[96];
    hold(&held, "127.0.0.1");
    snprintf(line, sizeof line, "attnd: listening on http://127.0.0.1:%u (text)\n", held.port);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        start(&server, &held.fd, 1, names[i]);
        ck_assert_str_eq(server.ready_line, line);
        ck_assert_int_eq(status_of(http_connect(held.port), GET("/models")), 200);
        ck_assert_int_eq(server_process_stop(&server), 0);
    }
    listener_close(&held);
}
END_TEST

START_TEST(a_socket_named_admin_is_the_address_for_administration)
{
    struct listener main, admin;
    struct server_process server;
    struct tempdir dir;
    char place[96];
    tempdir_open(&dir);
    snprintf(place, sizeof place, "unix:%s/s", dir.path);
    const int sockets[] = {hold(&admin, place), hold(&main, "127.0.0.1")};
    start(&server, sockets, 2, "admin:attnd");
    ck_assert_uint_eq(server.port, main.port);
    ck_assert_int_eq(status_of(http_connect(main.port), GET("/admin/reload")), 404);
    ck_assert_int_eq(status_of(http_connect_path(place + 5), GET("/admin/reload")), 405);
    ck_assert_int_eq(status_of(http_connect_path(place + 5), GET("/models")), 404);
    ck_assert_int_eq(server_process_stop(&server), 0);
    ck_assert_int_eq(access(place + 5, F_OK), 0); /* the holder's */
    start(&server, sockets, 1, "admin");
    ck_assert_uint_ne(server.port, main.port); /* the main one is as configured */
    ck_assert_int_eq(status_of(http_connect_path(place + 5), GET("/healthz")), 200);
    ck_assert_int_eq(server_process_stop(&server), 0);
    listener_close(&main);
    listener_close(&admin);
    tempdir_close(&dir);
}
END_TEST

/* They are not answered with 503 either, while the models are opened. */
START_TEST(clients_that_connect_between_two_processes_are_answered_by_the_next)
{
    enum { CLIENTS = 20 };
    struct listener held;
    struct server_process server;
    int clients[CLIENTS];
    hold(&held, "127.0.0.1");
    start(&server, &held.fd, 1, NULL);
    ck_assert_int_eq(server_process_stop(&server), 0);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = http_connect(held.port);
        ck_assert(http_send_text(clients[i], PREDICT));
    }
    start(&server, &held.fd, 1, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        struct http_answer answer = http_read(clients[i], false);
        ck_assert_int_eq(answer.status, 200);
        http_answer_free(&answer);
        close(clients[i]);
    }
    ck_assert_int_eq(server_process_stop(&server), 0);
    listener_close(&held);
}
END_TEST

/* Asks again and again, each time on a new connection. */
struct asker {
    unsigned port;
    atomic_bool stop;
    atomic_uint answered;
    unsigned lost;
    pthread_t thread;
};

/* A server that stops waits CONNS_PARTING_MS for the first byte of a client. A thread that did not
 * run for so long between connecting and sending is none that lost its request. */
static void *ask(void *context)
{
    struct asker *asker = context;
    while (!atomic_load(&asker->stop)) {
        const uint64_t start_ns = clock_now_ns();
        int fd = http_connect(asker->port);
        bool is_sent = http_send_text(fd, PREDICT);
        bool is_late = clock_now_ns() - start_ns > CONNS_PARTING_MS / 2 * CLOCK_NS_PER_MS;
        struct http_answer answer = http_read(fd, false);
        atomic_fetch_add(&asker->answered, answer.status == 200);
        asker->lost += !(is_sent && answer.status == 200) && !is_late;
        http_answer_free(&answer);
        close(fd);
    }
    return NULL;
}

START_TEST(restarts_under_load_lose_no_request)
{
    enum { ASKERS = 4, RESTARTS = 5 };
    struct listener held;
    struct server_process server;
    struct asker askers[ASKERS];
    hold(&held, "127.0.0.1");
    start(&server, &held.fd, 1, NULL);
    for (int i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.port = held.port};
        ck_assert_int_eq(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    for (unsigned i = 0; i < RESTARTS; i++) {
        for (int k = 0; k < ASKERS; k++)
            suite_await(atomic_load(&askers[k].answered) > i);
        ck_assert_int_eq(server_process_stop(&server), 0);
        start(&server, &held.fd, 1, NULL);
    }
    for (int i = 0; i < ASKERS; i++)
        atomic_store(&askers[i].stop, true);
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(askers[i].thread, NULL);
        ck_assert_uint_eq(askers[i].lost, 0);
    }
    ck_assert_int_eq(server_process_stop(&server), 0);
    listener_close(&held);
}
END_TEST

/* ---- sockets of no use ---- */

/* The exit code of attnd, which says why in the log. */
static int start_fails(const int *sockets, int count, const char *names, const char *text)
{
    struct server_process server;
    struct tempdir dir;
    char log_path[96];
    size_t len;
    tempdir_open(&dir);
    snprintf(log_path, sizeof log_path, "%s/log", dir.path);
    const struct server_launch launch = {sockets, count, names, log_path};
    server_process_try(&server, arguments, &launch);
    ck_assert_str_eq(server.ready_line, "");
    int code = server_process_wait(&server);
    char *log = contract_file(log_path, &len);
    ck_assert_msg(strstr(log, text) != NULL, "no '%s' in %s", text, log);
    free(log);
    tempdir_close(&dir);
    return code;
}

START_TEST(sockets_of_no_use_stop_the_start)
{
    struct listener one, two, local;
    struct tempdir dir;
    char place[96];
    tempdir_open(&dir);
    snprintf(place, sizeof place, "unix:%s/s", dir.path);
    const int sockets[] = {hold(&one, "127.0.0.1"), hold(&two, "127.0.0.1")};
    hold(&local, place);
    ck_assert_int_eq(start_fails(sockets, 2, "attnd:other", "LISTEN_FDS: 2 sockets, but only"), 2);
    ck_assert_int_eq(start_fails(&local.fd, 1, NULL, "the inherited main socket is none of TCP"),
                     2);
    int deaf = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(start_fails(&deaf, 1, NULL, "descriptor 3 is no listening stream socket"), 2);
    close(deaf);
    listener_close(&one);
    listener_close(&two);
    listener_close(&local);
    tempdir_close(&dir);
}
END_TEST

SUITE("contract_activation", an_inherited_socket_is_the_main_address_whatever_listen_says,
      a_socket_named_admin_is_the_address_for_administration,
      clients_that_connect_between_two_processes_are_answered_by_the_next,
      restarts_under_load_lose_no_request, sockets_of_no_use_stop_the_start)
