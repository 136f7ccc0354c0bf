/* The option otlp_endpoint, and what collectors answer, well and badly. Whole calls are
 * test_otlp_exporter.c's. */
#include "server/otlp/otlp_post.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* ---- the endpoint ---- */

static void expect(const char *url, const char *address, unsigned port, const char *host,
                   const char *path)
{
    struct otlp_endpoint endpoint;
    struct err err = {0};
    char text[INET6_ADDRSTRLEN];
    ck_assert_msg(otlp_post_endpoint(&endpoint, url, &err) == ERR_OK, "%s", url);
    const bool is_v6 = endpoint.address.any.sa_family == AF_INET6;
    const void *in = is_v6 ? (const void *)&endpoint.address.v6.sin6_addr
                           : (const void *)&endpoint.address.v4.sin_addr;
    ck_assert_str_eq(inet_ntop(is_v6 ? AF_INET6 : AF_INET, in, text, sizeof text), address);
    ck_assert_uint_eq(ntohs(is_v6 ? endpoint.address.v6.sin6_port : endpoint.address.v4.sin_port),
                      port);
    ck_assert_uint_eq(endpoint.address_len,
                      is_v6 ? sizeof endpoint.address.v6 : sizeof endpoint.address.v4);
    ck_assert_str_eq(endpoint.host, host);
    ck_assert_str_eq(endpoint.path, path);
}

START_TEST(an_endpoint_is_an_address_a_port_and_a_path)
{
    expect("http://127.0.0.1:4318/v1/traces", "127.0.0.1", 4318, "127.0.0.1:4318", "/v1/traces");
    expect("http://10.0.0.7:1/", "10.0.0.7", 1, "10.0.0.7:1", "/");
    expect("http://localhost:65535/a?b=c:d", "127.0.0.1", 65535, "localhost:65535", "/a?b=c:d");
    expect("http://[::1]:4318/v1/traces", "::1", 4318, "[::1]:4318", "/v1/traces");
    expect("http://[fe80:1:2:3:4:5:6:7]:80/x", "fe80:1:2:3:4:5:6:7", 80, "[fe80:1:2:3:4:5:6:7]:80",
           "/x");
}
END_TEST

START_TEST(an_endpoint_without_a_path_has_the_usual_one)
{
    expect("http://127.0.0.1:4318", "127.0.0.1", 4318, "127.0.0.1:4318", "/v1/traces");
}
END_TEST

START_TEST(otlp_post_refuses_other_endpoints_and_names_the_form)
{
    static const char *const urls[] = {
        "",
        "127.0.0.1:4318",
        "https://127.0.0.1:4318/v1/traces",
        "HTTP://127.0.0.1:4318/v1/traces",
        "http://",
        "http:///v1/traces",
        "http://127.0.0.1/v1/traces",
        "http://127.0.0.1:/v1/traces",
        "http://127.0.0.1:0/v1/traces",
        "http://127.0.0.1:65536/v1/traces",
        "http://127.0.0.1:123456/v1/traces",
        "http://127.0.0.1:-1/v1/traces",
        "http://127.0.0.1:43 8/v1/traces",
        "http://collector:4318/v1/traces",
        "http://user@127.0.0.1:4318/v1/traces",
        "http://127.0.0.1.5:4318/v1/traces",
        "http://::1:4318/v1/traces",
        "http://[::1:4318/v1/traces",
        "http://[127.0.0.1]:4318/v1/traces",
        "http://[localhost]:4318/v1/traces",
        "http://[]:4318/v1/traces",
        "http://[1111:2222:3333:4444:5555:6666:7777:8888:9999]:4318/",
        "http://127.0.0.1:4318/v1 traces",
        "http://127.0.0.1:4318/v1\r\nX: y",
        "http://127.0.0.1:4318/v1#traces",
        "http://127.0.0.1:4318/\xc3\xa4",
        "http://127.0.0.1:4318?x/",
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct otlp_endpoint endpoint;
        struct err err = {0};
        ck_assert_msg(otlp_post_endpoint(&endpoint, urls[i], &err) == ERR_UNUSABLE, "%s", urls[i]);
        ck_assert_msg(strstr(err.text, "expected http://ADDRESS:PORT/PATH") == err.text, "%s",
                      err.text);
    }
}
END_TEST

START_TEST(an_endpoint_has_at_most_255_characters)
{
    struct otlp_endpoint endpoint;
    struct err err = {0};
    char url[OTLP_ENDPOINT_BYTES + 1];
    memset(url, 'x', sizeof url);
    memcpy(url, "http://127.0.0.1:4318/", 22);
    url[OTLP_ENDPOINT_BYTES - 1] = '\0';
    ck_assert_int_eq(otlp_post_endpoint(&endpoint, url, &err), ERR_OK);
    url[OTLP_ENDPOINT_BYTES - 1] = 'x';
    url[OTLP_ENDPOINT_BYTES] = '\0';
    ck_assert_int_eq(otlp_post_endpoint(&endpoint, url, &err), ERR_UNUSABLE);
}
END_TEST

/* ---- the answer ---- */

#define LITERAL(text) text, sizeof text - 1

static struct otlp_answer read_answer(const char *bytes, size_t len)
{
    struct otlp_answer answer;
    otlp_post_read(&answer, bytes, len);
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
        ck_assert(!otlp_post_is_whole(bytes, len));
    ck_assert(otlp_post_is_whole(bytes, sizeof bytes - 1));
    ck_assert(!otlp_post_is_whole(LITERAL("HTTP/1.1 200 OK\r\n\r\nabc")));
}
END_TEST

#define REPLY(len, body) LITERAL("HTTP/1.1 200 OK\r\nContent-Length: " len "\r\n\r\n" body)

START_TEST(otlp_post_counts_spans_rejected_in_the_answer)
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

SUITE("otlp_post", an_endpoint_is_an_address_a_port_and_a_path,
      an_endpoint_without_a_path_has_the_usual_one,
      otlp_post_refuses_other_endpoints_and_names_the_form, an_endpoint_has_at_most_255_characters,
      an_answer_has_a_status, an_answer_says_in_seconds_when_to_come_again,
      an_answer_is_whole_with_the_last_byte_of_its_body,
      otlp_post_counts_spans_rejected_in_the_answer, a_body_that_is_not_understood_rejects_nothing)
