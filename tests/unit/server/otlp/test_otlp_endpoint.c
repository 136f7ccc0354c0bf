/* The option otlp_endpoint. */
#include "server/otlp/otlp_endpoint.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static void expect(const char *url, const char *address, unsigned port, const char *host,
                   const char *path)
{
    struct otlp_endpoint endpoint;
    struct err err = {0};
    char text[INET6_ADDRSTRLEN];
    ck_assert_msg(otlp_endpoint_parse(&endpoint, url, &err) == ERR_OK, "%s", url);
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

START_TEST(any_other_endpoint_is_refused_with_what_is_expected)
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
        ck_assert_msg(otlp_endpoint_parse(&endpoint, urls[i], &err) == ERR_UNUSABLE, "%s", urls[i]);
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
    ck_assert_int_eq(otlp_endpoint_parse(&endpoint, url, &err), ERR_OK);
    url[OTLP_ENDPOINT_BYTES - 1] = 'x';
    url[OTLP_ENDPOINT_BYTES] = '\0';
    ck_assert_int_eq(otlp_endpoint_parse(&endpoint, url, &err), ERR_UNUSABLE);
}
END_TEST

SUITE("otlp_endpoint", an_endpoint_is_an_address_a_port_and_a_path,
      an_endpoint_without_a_path_has_the_usual_one,
      any_other_endpoint_is_refused_with_what_is_expected, an_endpoint_has_at_most_255_characters)
