/* Answers that are written straight to a socket, byte for byte. */
#include "server/rawreply.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Takes the Date out of what was sent: it must be of this moment. */
static void take_date(char *text, time_t from, time_t to)
{
    char *date = strstr(text, "Date: ");
    struct tm parts = {0};
    ck_assert_ptr_nonnull(date);
    const char *end = strptime(date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    ck_assert_msg(end != NULL, "%s", date);
    time_t then = timegm(&parts);
    ck_assert(then >= from && then <= to);
    memmove(date, end, strlen(end) + 1);
}

static void expect_sent(const struct http_reply *reply, bool with_body, const char *expected)
{
    struct arena arena;
    int fds[2];
    char got[2048];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    arena_init(&arena);
    time_t before = time(NULL);
    rawreply_send(fds[0], reply, with_body, &arena);
    close(fds[0]);
    ssize_t len = recv(fds[1], got, sizeof got - 1, MSG_WAITALL);
    ck_assert_int_ge(len, 0);
    got[len] = '\0';
    take_date(got, before, time(NULL));
    ck_assert_str_eq(got, expected);
    close(fds[1]);
    arena_deinit(&arena);
}

START_TEST(rawreply_writes_every_header_that_the_reply_has)
{
    struct http_reply reply = {.status = 429,
                               .content_type = "application/problem+json",
                               .body = "{}\n",
                               .body_len = 3,
                               .retry_after_s = 7,
                               .request_id = " a\r\nb\x7F ",
                               .allow = "GET, POST"};
    static const char head[] =
        "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 3\r\n"
        "Content-Type: application/problem+json\r\nRetry-After: 7\r\nAllow: GET, POST\r\n"
        "X-Request-Id: ab\r\n\r\n";
    char whole[512];
    expect_sent(&reply, false, head);
    snprintf(whole, sizeof whole, "%s{}\n", head);
    expect_sent(&reply, true, whole);
    expect_sent(&(struct http_reply){.status = 400}, true,
                "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n"
                "Content-Type: text/plain\r\n\r\n");
}
END_TEST

START_TEST(rawreply_names_the_statuses_that_it_knows)
{
    static const struct {
        unsigned status;
        const char *phrase;
    } rows[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {299, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[256];
        snprintf(expected, sizeof expected,
                 "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Length: 0\r\n"
                 "Content-Type: text/plain\r\n\r\n",
                 rows[i].status, rows[i].phrase);
        expect_sent(&(struct http_reply){.status = rows[i].status}, true, expected);
    }
}
END_TEST

START_TEST(rawreply_keeps_of_an_id_what_a_header_can_hold)
{
    static const struct {
        const char *id, *kept;
    } rows[] = {
        {NULL, NULL},       {"", NULL},         {"   ", NULL},          {"\r\n\t", NULL},
        {"abc", "abc"},     {" a b ", "a b"},   {"a\r\nX: y", "aX: y"}, {"\x1F\x20\x7E\x7F", "~"},
        {"\xC3\xBC", NULL}, {"a\xC3\xBC", "a"}, {"\t a \t", "a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena arena;
        arena_init(&arena);
        const char *kept = rawreply_header_safe(rows[i].id, &arena);
        ck_assert_msg((kept == NULL) == (rows[i].kept == NULL), "row %zu", i);
        if (kept != NULL)
            ck_assert_str_eq(kept, rows[i].kept);
        arena_deinit(&arena);
    }
}
END_TEST

SUITE("rawreply", rawreply_writes_every_header_that_the_reply_has,
      rawreply_names_the_statuses_that_it_knows, rawreply_keeps_of_an_id_what_a_header_can_hold)
