#include "tests/support/suite.h"
#include "tools/client/connection.h"

#include <stdlib.h>
#include <string.h>

static const char *const good[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\ncontent-length:5 \r\nX: y\r\n\r\nhello",
    "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n003;x=y\r\nllo\r\n0\r\n"
    "Trailer: t\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
};
enum { GOOD = sizeof good / sizeof good[0] };

/* Feeds `step` bytes at a time; each piece in memory of its own, so that a sanitizer sees
 * over-reads. */
static enum http_parse_result feed(struct http_parse *parse, const char *bytes, size_t len,
                                   size_t step, size_t *taken)
{
    enum http_parse_result result = HTTP_PARSE_MORE;
    *taken = 0;
    for (size_t at = 0; at < len && result == HTTP_PARSE_MORE; at += step) {
        size_t piece = step < len - at ? step : len - at, used;
        char *copy = malloc(piece);
        memcpy(copy, bytes + at, piece);
        result = http_parse_feed(parse, copy, piece, &used);
        ck_assert_uint_le(used, piece);
        *taken += used;
        free(copy);
    }
    return result;
}

static enum http_parse_result parse_all(struct http_parse *parse, const char *text)
{
    size_t taken;
    http_parse_reset(parse);
    return feed(parse, text, strlen(text), strlen(text), &taken);
}

START_TEST(http_parse_reads_replies_cut_anywhere)
{
    struct http_parse parse = {0};
    for (int i = 0; i < GOOD; i++)
        for (size_t step = 1; step <= strlen(good[i]); step++) {
            size_t taken;
            http_parse_reset(&parse);
            ck_assert_int_eq(feed(&parse, good[i], strlen(good[i]), step, &taken), HTTP_PARSE_DONE);
            ck_assert_uint_eq(taken, strlen(good[i]));
            ck_assert_uint_eq(parse.status, 200);
            ck_assert_str_eq(parse.body.bytes, "hello");
            ck_assert(!parse.closes);
        }
    http_parse_deinit(&parse);
}
END_TEST

START_TEST(http_parse_knows_truncation_at_every_byte)
{
    struct http_parse parse = {0};
    for (int i = 0; i < GOOD; i++)
        for (size_t len = 0; len < strlen(good[i]); len++) {
            size_t taken;
            http_parse_reset(&parse);
            ck_assert_int_eq(feed(&parse, good[i], len, 7, &taken), HTTP_PARSE_MORE);
            ck_assert_int_eq(http_parse_end(&parse), HTTP_PARSE_BAD);
        }
    http_parse_deinit(&parse);
}
END_TEST

START_TEST(http_parse_reads_a_body_until_the_close)
{
    struct http_parse parse = {0};
    ck_assert_int_eq(parse_all(&parse, "HTTP/1.1 200 OK\r\n\r\nhello"), HTTP_PARSE_MORE);
    ck_assert_int_eq(http_parse_end(&parse), HTTP_PARSE_DONE);
    ck_assert_str_eq(parse.body.bytes, "hello");
    ck_assert(parse.closes);
    http_parse_deinit(&parse);
}
END_TEST

START_TEST(http_parse_leaves_the_next_replys_bytes)
{
    struct http_parse parse = {0};
    const char *text = "HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\n";
    size_t taken;
    ck_assert_int_eq(feed(&parse, text, strlen(text), strlen(text), &taken), HTTP_PARSE_DONE);
    ck_assert_uint_eq(taken, strlen("HTTP/1.1 204 No\r\n\r\n"));
    ck_assert_uint_eq(parse.status, 204);
    http_parse_deinit(&parse);
}
END_TEST

START_TEST(http_parse_notes_close_and_retry_after)
{
    struct http_parse parse = {0};
    parse_all(&parse, "HTTP/1.1 429 No\r\nRetry-After: 1\r\nConnection: Close\r\n"
                      "Content-Length: 0\r\n\r\n");
    ck_assert(parse.retry_after && parse.closes);
    parse_all(&parse, "HTTP/1.1 429 No\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n");
    ck_assert(!parse.retry_after && !parse.closes);
    parse_all(&parse, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
    ck_assert(parse.closes);
    http_parse_deinit(&parse);
}
END_TEST

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

START_TEST(http_parse_refuses_what_could_deceive_and_says_what)
{
    static const struct {
        const char *reply, *why;
    } bad[] = {
        {"HTTP/2 200 OK\r\n", "no HTTP/1.x status line"},
        {"HTTP/1.1 20\r\n", "no HTTP/1.x status line"},
        {"HTTP/1.1-200 OK\r\n", "no status code from 100 to 599"},
        {"HTTP/1.1 99 OK\r\n", "no status code from 100 to 599"},
        {"HTTP/1.1 099 OK\r\n", "no status code from 100 to 599"},
        {"HTTP/1.1 600 OK\r\n", "no status code from 100 to 599"},
        {"HTTP/1.1 2000 OK\r\n", "no space after the status code"},
        {"HTTP/1.1 101 Switch\r\n\r\n", "an upgrade that nobody asked for"},
        {"HTTP/1.1 200 OK\n", "a line that does not end in CRLF"},
        {"\n", "a line that does not end in CRLF"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n",
         "two Content-Length headers"},
        {"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n", "Content-Length is not a number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: \r\n", "Content-Length is not a number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n",
         "Content-Length is not a number"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n", "body larger than 64 MiB"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n", "body larger than 64 MiB"},
        {"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n", "white space in a header's name"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n", "Transfer-Encoding is not \"chunked\""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
         "Transfer-Encoding is not \"chunked\""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
         "both Content-Length and Transfer-Encoding"},
        {CHUNKED "x\r\n", "a chunk size that is not a number"},
        {CHUNKED "\r\n", "a chunk size that is not a number"},
        {CHUNKED "ffffffffffffffff\r\n", "body larger than 64 MiB"},
        {CHUNKED "10000000000000000\r\n", "a chunk size that is not a number"},
        {CHUNKED "4000001\r\n", "body larger than 64 MiB"},
        {CHUNKED "1\r\na\r\n4000000\r\n", "body larger than 64 MiB"},
        {CHUNKED "1\r\nab\r\n", "bytes after the end of a chunk"},
        {"HTTP/1.1 200 OK\r\nno colon\r\n", "a header line without a name"},
        {"HTTP/1.1 200 OK\r\n: no name\r\n", "a header line without a name"},
    };
    struct http_parse parse = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(parse_all(&parse, bad[i].reply) == HTTP_PARSE_BAD, "accepted: %s",
                      bad[i].reply);
        ck_assert_msg(parse.why != NULL && strcmp(parse.why, bad[i].why) == 0, "%s: %s",
                      bad[i].reply, parse.why);
        ck_assert_int_eq(http_parse_end(&parse), HTTP_PARSE_BAD);
        ck_assert_str_eq(parse.why, bad[i].why);
    }
    ck_assert_int_eq(parse_all(&parse, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"),
                     HTTP_PARSE_MORE);
    ck_assert_int_eq(http_parse_end(&parse), HTTP_PARSE_BAD);
    ck_assert_str_eq(parse.why, "the connection closed in the middle of the reply");
    size_t taken;
    http_parse_reset(&parse);
    ck_assert_int_eq(feed(&parse, "HTTP/1.1 200 OK\r\nA: \0\r\n", 23, 23, &taken), HTTP_PARSE_BAD);
    ck_assert_str_eq(parse.why, "a NUL in a header line");
    http_parse_deinit(&parse);
}
END_TEST

/* A length that is at the bound is taken, whichever way it is told. */
START_TEST(http_parse_bounds_a_body_that_only_the_close_ends)
{
    enum { PIECE = 1 << 20 };
    struct http_parse parse = {0};
    char *piece = calloc(1, PIECE);
    size_t used;
    ck_assert_ptr_nonnull(piece);
    ck_assert_int_eq(parse_all(&parse, CHUNKED "4000000\r\n"), HTTP_PARSE_MORE);
    ck_assert_int_eq(parse_all(&parse, "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n"),
                     HTTP_PARSE_MORE);
    ck_assert_int_eq(parse_all(&parse, "HTTP/1.1 200 OK\r\n\r\n"), HTTP_PARSE_MORE);
    for (size_t fed = 0; fed < HTTP_PARSE_BODY_MAX; fed += PIECE)
        ck_assert_int_eq(http_parse_feed(&parse, piece, PIECE, &used), HTTP_PARSE_MORE);
    ck_assert_uint_eq(parse.body.len, HTTP_PARSE_BODY_MAX);
    ck_assert_int_eq(http_parse_feed(&parse, piece, 1, &used), HTTP_PARSE_BAD);
    ck_assert_str_eq(parse.why, "body larger than 64 MiB");
    ck_assert_uint_eq(used, 1);
    ck_assert_uint_eq(parse.body.len, HTTP_PARSE_BODY_MAX);
    http_parse_deinit(&parse);
    free(piece);
}
END_TEST

START_TEST(http_parse_bounds_the_head)
{
    struct http_parse parse = {0};
    parse_all(&parse, "HTTP/1.1 200 OK\r\n");
    char line[256];
    memset(line, 'a', sizeof line);
    enum http_parse_result result = HTTP_PARSE_MORE;
    size_t fed = 0, used;
    for (; result == HTTP_PARSE_MORE && fed < 100000; fed += sizeof line)
        result = http_parse_feed(&parse, line, sizeof line, &used);
    ck_assert_int_eq(result, HTTP_PARSE_BAD);
    ck_assert_uint_le(fed, HTTP_PARSE_LINE_MAX + sizeof line);

    parse_all(&parse, "HTTP/1.1 200 OK\r\n");
    result = HTTP_PARSE_MORE;
    for (fed = 0; result == HTTP_PARSE_MORE && fed < 1000; fed++)
        result = http_parse_feed(&parse, "A: b\r\n", 6, &used);
    ck_assert_int_eq(result, HTTP_PARSE_BAD);
    ck_assert_uint_eq(fed, HTTP_PARSE_LINES_MAX + 1);
    http_parse_deinit(&parse);
}
END_TEST

/* A mutated reply must not crash the parser, be read over its end, or take more than was given. */
START_TEST(http_parse_survives_mutation)
{
    struct http_parse parse = {0};
    unsigned random = 12345;
    for (int round = 0; round < 20000; round++) {
        char text[512];
        size_t len = strlen(good[round % GOOD]), taken;
        memcpy(text, good[round % GOOD], len);
        for (int i = 0; i < 1 + round % 4; i++) {
            random = random * 1664525U + 1013904223U;
            text[(random >> 8) % len] = (char)(random >> 24);
        }
        http_parse_reset(&parse);
        enum http_parse_result result = feed(&parse, text, len, 1 + random % 40, &taken);
        ck_assert(result != HTTP_PARSE_BAD || parse.why != NULL);
        if (result == HTTP_PARSE_MORE)
            http_parse_end(&parse);
    }
    http_parse_deinit(&parse);
}
END_TEST

SUITE("http_parse", http_parse_reads_replies_cut_anywhere,
      http_parse_knows_truncation_at_every_byte, http_parse_reads_a_body_until_the_close,
      http_parse_leaves_the_next_replys_bytes, http_parse_notes_close_and_retry_after,
      http_parse_refuses_what_could_deceive_and_says_what,
      http_parse_bounds_a_body_that_only_the_close_ends, http_parse_bounds_the_head,
      http_parse_survives_mutation)
