#include "tests/support/suite.h"
#include "tools/client/server_url.h"

#include <arpa/inet.h>
#include <string.h>

static struct server_url url;
static struct err err;

START_TEST(url_is_read_into_its_parts)
{
    ck_assert_int_eq(server_url_read(&url, "https://fab-7.example:8443/v1", "/predict", &err),
                     ERR_OK);
    ck_assert(url.is_secure);
    ck_assert_str_eq(url.authority, "fab-7.example:8443");
    ck_assert_str_eq(url.host, "fab-7.example");
    ck_assert_uint_eq(url.port, 8443);
    ck_assert_str_eq(url.path, "/v1");
    ck_assert_int_eq(server_url_read(&url, "http://[::1]:80/", "/predict", &err), ERR_OK);
    ck_assert_str_eq(url.host, "::1");
    ck_assert_str_eq(url.path, "/predict");
}
END_TEST

START_TEST(url_says_what_is_expected)
{
    static const char *const wrong[][2] = {{"ftp://a:1", "expected http://HOST:PORT"},
                                           {"http://a", "expected a port from 1 to 65535"},
                                           {"http://a:0", "expected a port from 1 to 65535"},
                                           {"http://a:70000", "expected a port from 1 to 65535"},
                                           {"http://a:8x", "expected a port from 1 to 65535"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (struct err){0};
        ck_assert_int_eq(server_url_read(&url, wrong[i][0], "/", &err), ERR_UNUSABLE);
        ck_assert_msg(strstr(err.text, wrong[i][1]) != NULL, "%s", err.text);
    }
}
END_TEST

START_TEST(url_of_a_numeric_host_needs_no_resolver)
{
    err = (struct err){0};
    server_url_read(&url, "http://192.0.2.7:81", "/", &err);
    ck_assert_int_eq(server_url_resolve(&url, &err), ERR_OK);
    ck_assert_uint_eq(ntohl(url.address.v4.sin_addr.s_addr), 0xC0000207);
    ck_assert_uint_eq(ntohs(url.address.v4.sin_port), 81);
    ck_assert(!server_url_take_loopback(&url));
    server_url_read(&url, "http://localhost:81", "/", &err);
    ck_assert_int_eq(server_url_resolve(&url, &err), ERR_OK);
    ck_assert_uint_eq(ntohl(url.address.v4.sin_addr.s_addr), 0x7F000001);
}
END_TEST

SUITE("server_url", url_is_read_into_its_parts, url_says_what_is_expected,
      url_of_a_numeric_host_needs_no_resolver)
