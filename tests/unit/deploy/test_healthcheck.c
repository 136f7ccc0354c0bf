/* attnd-healthcheck as a container runs it. */
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tcp_pair.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Answers one connection with a fixed text and closes it. */
struct stub {
    int listener;
    unsigned port;
    const char *reply;
    char request[512];
    pthread_t thread;
};

static void *stub_main(void *context)
{
    struct stub *stub = context;
    int fd = accept(stub->listener, NULL, NULL);
    size_t len = 0;
    while (fd >= 0 && strstr(stub->request, "\r\n\r\n") == NULL) {
        ssize_t got = recv(fd, stub->request + len, sizeof stub->request - 1 - len, 0);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    if (fd >= 0 && send(fd, stub->reply, strlen(stub->reply), MSG_NOSIGNAL) >= 0)
        close(fd);
    return NULL;
}

static void stub_start(struct stub *stub, const char *reply)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    *stub = (struct stub){.reply = reply};
    stub->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(stub->listener, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(stub->listener, 1), 0);
    ck_assert_int_eq(getsockname(stub->listener, (struct sockaddr *)&address, &len), 0);
    stub->port = ntohs(address.sin_port);
    ck_assert_int_eq(pthread_create(&stub->thread, NULL, stub_main, stub), 0);
}

static void stub_stop(struct stub *stub)
{
    shutdown(stub->listener, SHUT_RDWR);
    pthread_join(stub->thread, NULL);
    close(stub->listener);
}

static char errors[512];

/* ATTND_LISTEN may be NULL, and so may the argument. */
static int check(const char *listen, const char *argument)
{
    char out[64];
    if (listen != NULL)
        setenv("ATTND_LISTEN", listen, 1);
    else
        unsetenv("ATTND_LISTEN");
    return run_program("attnd-healthcheck", (const char *[]){argument, NULL}, out, sizeof out,
                       errors, sizeof errors);
}

static int check_port(unsigned port)
{
    char text[16];
    snprintf(text, sizeof text, "%u", port);
    return check(NULL, text);
}

START_TEST(healthcheck_is_content_with_a_server_that_is_ready_and_with_no_other)
{
    static const struct {
        const char *reply, *error;
        int code;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\n\r\n", "", 0},
        {"HTTP/1.1 503 Service Unavailable\r\n\r\n", ": not ready\n", 1},
        {"HTTP/1.1 404 Not Found\r\n\r\n", ": not ready\n", 1},
        {"HTTP/1.1 20", ": no answer in plain HTTP; for TLS give --ca-file FILE\n", 1},
        {"", ": no answer in plain HTTP; for TLS give --ca-file FILE\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stub stub;
        stub_start(&stub, cases[i].reply);
        int code = check_port(stub.port);
        stub_stop(&stub);
        ck_assert_msg(code == cases[i].code, "'%s': %d %s", cases[i].reply, code, errors);
        ck_assert_msg(strstr(errors, cases[i].error) != NULL, "%s", errors);
        ck_assert(code != 0 || errors[0] == '\0');
        ck_assert_str_eq(stub.request, "GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                       "Connection: close\r\n\r\n");
    }
}
END_TEST

START_TEST(healthcheck_asks_the_port_of_its_argument_then_of_the_environment)
{
    struct stub stub;
    char listen[32], port[16];
    stub_start(&stub, "HTTP/1.1 200 OK\r\n\r\n");
    snprintf(listen, sizeof listen, "0.0.0.0:%u", stub.port);
    ck_assert_int_eq(check(listen, NULL), 0);
    stub_stop(&stub);
    stub_start(&stub, "HTTP/1.1 200 OK\r\n\r\n");
    snprintf(listen, sizeof listen, "[::]:%u", stub.port);
    ck_assert_int_eq(check(listen, NULL), 0);
    stub_stop(&stub);
    stub_start(&stub, "HTTP/1.1 200 OK\r\n\r\n");
    snprintf(port, sizeof port, "%u", stub.port);
    ck_assert_int_eq(check("0.0.0.0:1", port), 0);
    stub_stop(&stub);
}
END_TEST

START_TEST(healthcheck_says_why_it_is_not_content)
{
    ck_assert_int_eq(check(NULL, "nonsense"), 1);
    ck_assert_str_eq(
        errors,
        "attnd-healthcheck: 127.0.0.1:0: the port must be a whole number from 1 to 65535\n");
    ck_assert_int_eq(check(NULL, "65536"), 1);
    ck_assert_str_eq(
        errors,
        "attnd-healthcheck: 127.0.0.1:0: the port must be a whole number from 1 to 65535\n");
    unsigned port;
    const int refuser = tcp_refuser_open(&port);
    ck_assert_int_eq(check_port(port), 1);
    ck_assert_ptr_nonnull(strstr(errors, ": cannot connect\n"));
    close(refuser);
}
END_TEST

/* The connection stays in the backlog: it is open, and silent. */
START_TEST(healthcheck_does_not_wait_for_ever)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    ck_assert_int_eq(check_port(ntohs(address.sin_port)), 1);
    ck_assert_ptr_nonnull(
        strstr(errors, ": no answer in plain HTTP; for TLS give --ca-file FILE\n"));
    close(listener);
}
END_TEST

/* The backlog is full: the kernel drops what would open one connection more. */
START_TEST(healthcheck_does_not_wait_for_ever_to_connect)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int clients[8];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(listener, 0), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    for (unsigned i = 0; i < 8; i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(clients[i], (struct sockaddr *)&address, len);
    }
    ck_assert_int_eq(check_port(ntohs(address.sin_port)), 1);
    ck_assert_ptr_nonnull(strstr(errors, ": cannot connect\n"));
    for (unsigned i = 0; i < 8; i++)
        close(clients[i]);
    close(listener);
}
END_TEST

START_TEST(healthcheck_helps)
{
    char out[512];
    const char *const options[] = {"--help", "-h", "--version"};
    for (size_t i = 0; i < 3; i++) {
        int code = run_program("attnd-healthcheck", (const char *[]){options[i], NULL}, out,
                               sizeof out, errors, sizeof errors);
        ck_assert_int_eq(code, 0);
        ck_assert_str_eq(errors, "");
        ck_assert_ptr_nonnull(strstr(out, i < 2 ? "usage: attnd-healthcheck [--ca-file FILE] "
                                                : "attnd-healthcheck " ATTND_VERSION "\n"));
    }
}
END_TEST

SUITE("healthcheck", healthcheck_helps, healthcheck_does_not_wait_for_ever,
      healthcheck_does_not_wait_for_ever_to_connect,
      healthcheck_is_content_with_a_server_that_is_ready_and_with_no_other,
      healthcheck_asks_the_port_of_its_argument_then_of_the_environment,
      healthcheck_says_why_it_is_not_content)
