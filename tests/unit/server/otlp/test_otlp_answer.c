/* What collectors answer, well and badly. */
#include "server/otlp/otlp_answer.h"
#include "tests/support/suite.h"

#include <string.h>

#define LITERAL(text) text, sizeof text - 1

static struct otlp_answer read_answer(const char *bytes, size_t len)
{
    struct otlp_answer answer;
    otlp_answer_read(&answer, bytes, len);
    return answer;
}

START_TEST(an_answer_has_a_status)
{
    static const struct {
        const char *bytes;
        unsigned status;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\n\r\n", 200},
        {"HTTP/1.0 503 \r\n\r\n", 503},
        {"HTTP/1.1 404\r\n\r\n", 404},
        {"HTTP/1.1 599 x\r\nA: b\r\n\r\nbody", 599},
        {"HTTP/1.1 200 OK\r\n", 0}, /* not whole */
        {"HTTP/1.1 600 x\r\n\r\n", 0},
        {"HTTP/1.1 099 x\r\n\r\n", 0},
        {"HTTP/1.1 20x OK\r\n\r\n", 0},
        {"HTTP/2 200 OK\r\n\r\n", 0},
        {"HTTP/1.\r\n\r\n", 0},
        {"220 smtp\r\n\r\n", 0},
        {"\r\n\r\n", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(read_answer(cases[i].bytes, strlen(cases[i].bytes)).status == cases[i].status,
                      "%s", cases[i].bytes);
}
END_TEST

START_TEST(an_answer_says_in_seconds_when_to_come_again)
{
    static const struct {
        const char *bytes;
        unsigned seconds;
    } cases[] = {
        {"HTTP/1.1 429 x\r\nRetry-After: 7\r\n\r\n", 7},
        {"HTTP/1.1 503 x\r\nA: b\r\nretry-after:120\r\nC: d\r\n\r\n", 120},
        {"HTTP/1.1 503 x\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n\r\n", 0},
        {"HTTP/1.1 503 x\r\nRetry-After: 7s\r\n\r\n", 0},
        {"HTTP/1.1 503 x\r\nRetry-After: -7\r\n\r\n", 0},
        {"HTTP/1.1 503 x\r\nRetry-After: 9999999999\r\n\r\n", 0},
        {"HTTP/1.1 503 x\r\nRetry-After: \r\n\r\n", 0},
        {"HTTP/1.1 503 x\r\nX-Retry-After: 7\r\n\r\n", 0},
        {"HTTP/1.1 503 x\r\n\r\nRetry-After: 7\r\n\r\n", 0}, /* in the body */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(read_answer(cases[i].bytes, strlen(cases[i].bytes)).retry_after_s ==
                          cases[i].seconds,
                      "%s", cases[i].bytes);
}
END_TEST

START_TEST(an_answer_is_whole_with_the_last_byte_of_its_body)
{
    static const char bytes[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    for (size_t len = 0; len < sizeof bytes - 1; len++)
        ck_assert(!otlp_answer_is_whole(bytes, len));
    ck_assert(otlp_answer_is_whole(bytes, sizeof bytes - 1));
    ck_assert(!otlp_answer_is_whole(LITERAL("HTTP/1.1 200 OK\r\n\r\nabc")));
}
END_TEST

#define REPLY(len, body) LITERAL("HTTP/1.1 200 OK\r\nContent-Length: " len "\r\n\r\n" body)

START_TEST(spans_that_were_rejected_after_all_are_told)
{
    ck_assert_uint_eq(read_answer(REPLY("4", "\x0a\x02\x08\x05")).rejected, 5);
    ck_assert_uint_eq(read_answer(REPLY("5", "\x0a\x03\x08\x96\x01")).rejected, 150);
    ck_assert_uint_eq(read_answer(REPLY("9", "\x0a\x07\x12\x03why\x08\x05")).rejected, 5);
    ck_assert_uint_eq(read_answer(REPLY("9", "\x0a\x07\x08\x05\x12\x03why")).rejected, 5);
    ck_assert_uint_eq(read_answer(REPLY("2", "\x0a\x00")).rejected, 0);
    ck_assert_uint_eq(read_answer(REPLY("0", "")).rejected, 0);
}
END_TEST

START_TEST(a_body_that_is_not_understood_rejects_nothing)
{
    ck_assert_uint_eq(read_answer(REPLY("2", "{}")).rejected, 0);
    ck_assert_uint_eq(read_answer(REPLY("1", "\x0a")).rejected, 0);
    ck_assert_uint_eq(read_answer(REPLY("3", "\x0a\x03\x08")).rejected, 0);
    ck_assert_uint_eq(read_answer(REPLY("3", "\x0a\x01\x08")).rejected, 0);
    ck_assert_uint_eq(read_answer(REPLY("4", "\x0a\x02\x08\x85")).rejected, 0);
    ck_assert_uint_eq(read_answer(REPLY("6", "\x0a\x04\x08\x05\x12\x09")).rejected, 0);
    ck_assert_uint_eq(read_answer(REPLY("4", "\x12\x02\x08\x05")).rejected, 0);
    /* a negative number */
    ck_assert_uint_eq(
        read_answer(REPLY("13", "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")).rejected,
        0);
    /* cut off, of another status, in chunks */
    ck_assert_uint_eq(read_answer(REPLY("5", "\x0a\x02\x08\x05")).rejected, 0);
    ck_assert_uint_eq(
        read_answer(LITERAL("HTTP/1.1 503 x\r\nContent-Length: 4\r\n\r\n\x0a\x02\x08\x05"))
            .rejected,
        0);
    ck_assert_uint_eq(read_answer(LITERAL("HTTP/1.1 200 OK\r\n\r\n\x0a\x02\x08\x05")).rejected, 0);
}
END_TEST

SUITE("otlp_answer", an_answer_has_a_status, an_answer_says_in_seconds_when_to_come_again,
      an_answer_is_whole_with_the_last_byte_of_its_body,
      spans_that_were_rejected_after_all_are_told, a_body_that_is_not_understood_rejects_nothing)
