/* The answers that go past the HTTP library, byte by byte but for the date, which is checked. */
#include "server/http/rawreply.h"

#include "tests/support/suite.h"
#include "tests/support/tcp_pair.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Compares all bytes of the reply; the date is taken out and must be of now. */
static void expect(const struct http_reply *reply, bool with_body, const char *expected)
{
    static char text[16 * 1024];
    char date[64];
    struct arena arena;
    struct tcp_pair pair = tcp_pair_open();
    struct tm parts = {0};
    memset(text, 0, sizeof text);
    arena_init(&arena);
    time_t before = time(NULL);
    rawreply_send(pair.ours, reply, with_body, &arena);
    ck_assert_int_eq(shutdown(pair.ours, SHUT_WR), 0);
    for (size_t len = 0;;) {
        ssize_t got = recv(pair.theirs, text + len, sizeof text - 1 - len, 0);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    char *at = strstr(text, "Date: ");
    ck_assert_ptr_nonnull(at);
    snprintf(date, sizeof date, "%.*s", (int)strcspn(at, "\r"), at);
    const char *end = strptime(date, "Date: %a, %d %b %Y %H:%M:%S GMT", &parts);
    ck_assert(end != NULL && *end == '\0');
    time_t then = timegm(&parts);
    ck_assert(then >= before && then <= time(NULL));
    memmove(at, at + strlen(date) + 2, strlen(at + strlen(date) + 2) + 1);
    ck_assert_str_eq(text, expected);
    arena_deinit(&arena);
    tcp_pair_close(&pair);
}

START_TEST(a_status_stands_with_its_phrase)
{
    static const struct {
        unsigned status;
        const char *line;
    } cases[] = {
        {400, "400 Bad Request"},
        {401, "401 Unauthorized"},
        {403, "403 Forbidden"},
        {404, "404 Not Found"},
        {405, "405 Method Not Allowed"},
        {408, "408 Request Timeout"},
        {411, "411 Length Required"},
        {413, "413 Content Too Large"},
        {415, "415 Unsupported Media Type"},
        {429, "429 Too Many Requests"},
        {500, "500 Internal Server Error"},
        {503, "503 Service Unavailable"},
        {499, "499 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[256];
        const struct http_reply reply = {.status = cases[i].status};
        snprintf(expected, sizeof expected,
                 "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: 0\r\n"
                 "Content-Type: text/plain\r\n\r\n",
                 cases[i].line);
        expect(&reply, true, expected);
    }
}
END_TEST

START_TEST(every_field_of_a_reply_is_sent)
{
    const struct http_reply reply = {.status = 405,
                                     .content_type = "application/problem+json",
                                     .body = "{}\n more",
                                     .body_len = 3,
                                     .allow = "GET, HEAD",
                                     .retry_after_s = 1,
                                     .request_id = " a\r\nb ",
                                     .traceparent = "00-t-s-01"};
    static const char head[] = "HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n"
                               "Content-Length: 3\r\nContent-Type: application/problem+json\r\n"
                               "Retry-After: 1\r\nAllow: GET, HEAD\r\nX-Request-Id: ab\r\n"
                               "traceparent: 00-t-s-01\r\n\r\n";
    char expected[512];
    snprintf(expected, sizeof expected, "%s{}\n", head);
    expect(&reply, true, expected);
    expect(&reply, false, head);
}
END_TEST

START_TEST(a_body_of_any_length_follows_its_head)
{
    static const size_t lengths[] = {1, 2, 200, 9000};
    static char body[9001], expected[10000];
    memset(body, 'b', sizeof body - 1);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const struct http_reply reply = {.status = 400, .body = body, .body_len = lengths[i]};
        snprintf(expected, sizeof expected,
                 "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: %zu\r\n"
                 "Content-Type: text/plain\r\n\r\n%.*s",
                 lengths[i], (int)lengths[i], body);
        expect(&reply, true, expected);
    }
}
END_TEST

START_TEST(an_id_is_sent_as_far_as_a_header_can_hold_it)
{
    static const struct {
        const char *id, *safe; /* NULL: none */
    } cases[] = {
        {NULL, NULL},     {"", NULL},         {"   ", NULL},      {"\x1F\x7F\xC3\xA9", NULL},
        {"a", "a"},       {"~ !", "~ !"},     {"  a b  ", "a b"}, {"a\r\nb: c", "ab: c"},
        {"a\x7F", "a"},   {"\x1F\x20x", "x"}, {"\r\n\t", NULL},   {"a\xC3\xBC", "a"},
        {"\t a \t", "a"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *safe = rawreply_header_safe(cases[i].id, &arena);
        ck_assert_int_eq(safe == NULL, cases[i].safe == NULL);
        if (safe != NULL)
            ck_assert_str_eq(safe, cases[i].safe);
    }
    arena_deinit(&arena);
}
END_TEST

SUITE("rawreply", a_status_stands_with_its_phrase, every_field_of_a_reply_is_sent,
      a_body_of_any_length_follows_its_head, an_id_is_sent_as_far_as_a_header_can_hold_it)
