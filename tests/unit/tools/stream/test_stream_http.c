#include "tests/support/http_client.h"
#include "tests/support/suite.h"
#include "tools/stream/stream_metrics.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct stream_metrics metrics;
static struct stream_http *http;
static struct err err;

static unsigned start(void)
{
    ck_assert_msg(stream_http_start(&http, "127.0.0.1", 0, &metrics, &err) == ERR_OK, "%s",
                  err.text);
    return stream_http_port(http);
}

static void expect(struct http_answer answer, int status, const char *type, const char *body)
{
    char found[100] = "";
    http_answer_header(&answer, "Content-Type", found, sizeof found);
    ck_assert_int_eq(answer.status, status);
    ck_assert_str_eq(found, type);
    ck_assert_msg(strstr(answer.body, body) != NULL, "%s", answer.body);
    http_answer_free(&answer);
}

static const char plain[] = "text/plain; charset=utf-8";

START_TEST(http_is_ready_only_while_it_reads_but_alive_all_the_time)
{
    unsigned port = start();
    expect(http_get(port, "/healthz"), 200, plain, "ok\n");
    expect(http_get(port, "/readyz"), 503, plain, "not ready\n");
    atomic_store(&metrics.is_ready, true);
    expect(http_get(port, "/readyz"), 200, plain, "ready\n");
    expect(http_get(port, "/healthz"), 200, plain, "ok\n");
    stream_http_stop(http);
}
END_TEST

START_TEST(http_metrics_are_those_of_the_moment)
{
    static const char page[] = "text/plain; version=0.0.4; charset=utf-8";
    unsigned port = start();
    expect(http_get(port, "/metrics"), 200, page, "\nattnd_stream_partitions 0\n");
    atomic_store(&metrics.kafka.partitions, 5);
    expect(http_get(port, "/metrics"), 200, page, "\nattnd_stream_partitions 5\n");
    stream_http_stop(http);
}
END_TEST

START_TEST(http_other_paths_and_methods_are_refused)
{
    char allow[40] = "";
    unsigned port = start();
    expect(http_get(port, "/"), 404, plain, "/metrics, /healthz and /readyz");
    expect(http_get(port, "/metrics/"), 404, plain, "/metrics, /healthz and /readyz");
    struct http_answer answer = http_request(port, "DELETE", "/metrics", "", NULL, 0);
    ck_assert(http_answer_header(&answer, "Allow", allow, sizeof allow));
    ck_assert_str_eq(allow, "GET, HEAD");
    expect(answer, 405, plain, "only GET and HEAD");
    expect(http_request(port, "POST", "/metrics", "", "a=1", 3), 405, plain, "only GET");
    stream_http_stop(http);
}
END_TEST

START_TEST(http_head_has_the_head_of_get)
{
    char length[20] = "";
    unsigned port = start();
    int fd = http_connect(port);
    ck_assert(http_send_text(fd, "HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n"));
    struct http_answer answer = http_read(fd, true);
    ck_assert_int_eq(answer.status, 200);
    ck_assert(http_answer_header(&answer, "Content-Length", length, sizeof length));
    ck_assert_str_eq(length, "3");
    http_answer_free(&answer);
    close(fd);
    stream_http_stop(http);
}
END_TEST

/* The refusal comes before the body. */
START_TEST(http_body_is_refused)
{
    unsigned port = start();
    int fd = http_connect(port);
    ck_assert(http_send_text(fd, "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n"
                                 "\r\nabc"));
    expect(http_read(fd, false), 400, plain, "only POST and PATCH may have a body");
    close(fd);
    expect(http_get(port, "/healthz"), 200, plain, "ok\n");
    stream_http_stop(http);
}
END_TEST

START_TEST(http_a_slow_client_does_not_keep_others_waiting)
{
    unsigned port = start();
    int slow = http_connect(port), silent = http_connect(port);
    ck_assert(http_send_text(slow, "GET /healthz HTTP/1.1\r\nHo"));
    for (int i = 0; i < 20; i++)
        expect(http_get(port, "/healthz"), 200, plain, "ok\n");
    ck_assert(http_send_text(slow, "st: a\r\n\r\n"));
    expect(http_read(slow, false), 200, plain, "ok\n");
    close(slow);
    close(silent);
    stream_http_stop(http);
}
END_TEST

START_TEST(stream_http_names_an_address_in_use)
{
    struct stream_http *second;
    unsigned port = start();
    ck_assert_int_ne(stream_http_start(&second, "127.0.0.1", port, &metrics, &err), ERR_OK);
    char number[12];
    snprintf(number, sizeof number, "%u", port);
    ck_assert_msg(strstr(err.text, number) != NULL, "%s", err.text);
    stream_http_stop(second);
    stream_http_stop(http);
}
END_TEST

SUITE("stream_http", http_is_ready_only_while_it_reads_but_alive_all_the_time,
      http_metrics_are_those_of_the_moment, http_other_paths_and_methods_are_refused,
      http_head_has_the_head_of_get, http_body_is_refused,
      http_a_slow_client_does_not_keep_others_waiting, stream_http_names_an_address_in_use)
