/* Requests that pass a bound before the application has asked for them: a request line that does
 * not end, and a refused body that goes on and on. */
#include "tests/unit/server/http/http_probe.h"
#include "wire/limits.h"

/* The library has no request yet when its memory is full, on a new connection as on a used one. */
START_TEST(http_refuses_a_request_line_that_does_not_end)
{
    static char line[256 * 1024];
    struct app *app = app_start();
    memset(line, 'a', sizeof line);
    memcpy(line, "GET /", 5);
    for (size_t len = 64 * 1024; len <= sizeof line; len *= 2)
        for (int used = 0; used < 2; used++) {
            int fd = client_open(app);
            if (used) {
                client_say(fd, "GET /first HTTP/1.1\r\nHost: h\r\n\r\n");
                ck_assert_str_eq(client_read(fd, true).body, "GET /first 0\n");
            }
            client_send(fd, line, len);
            struct answer answer = client_read(fd, true);
            ck_assert_msg(answer.status == 413, "%u of %zu bytes", answer.status, len);
            ck_assert_str_eq(answer.body, "refused: request head: larger than 16384 bytes\n");
            ck_assert_ptr_nonnull(strstr(answer.head, "Connection: close"));
            ck_assert(client_is_closed(fd));
            close(fd);
        }
    ck_assert_uint_eq(app->begins, 3); /* those of /first */
    ck_assert_uint_eq(app->refuses, 6);
    app_stop(app);
}
END_TEST

/* The head decides 404. The server takes as much of its body as any body may have, so that the
 * client can go on. */
START_TEST(http_breaks_off_a_refused_body_that_passes_the_limit)
{
    enum { LIMIT = 64 * 1024 };
    static char bytes[LIMIT];
    struct http_options options = app_options();
    options.body_bytes_max = LIMIT;
    struct app *app = app_start_with(options);
    for (int over = 0; over < 2; over++) {
        int fd = client_open(app);
        client_say(fd, "POST /missing HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "10000\r\n");
        client_send(fd, bytes, LIMIT);
        client_say(fd, over ? "\r\n1\r\nx\r\n0\r\n\r\n" : "\r\n0\r\n\r\n");
        struct answer answer = client_read(fd, true);
        ck_assert_uint_eq(answer.status, 404);
        ck_assert_str_eq(answer.body, "POST /missing 0\n");
        ck_assert(client_is_closed(fd)); /* as behind every chunked body */
        close(fd);
    }
    int fd = client_open(app);
    client_say(fd, "POST /missing HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "20000\r\n");
    client_send(fd, bytes, LIMIT);
    client_send(fd, bytes, 1); /* and no more: the answer does not wait for the rest */
    ck_assert_uint_eq(client_read(fd, true).status, 404);
    ck_assert(client_is_closed(fd));
    close(fd);
    fd = client_open(app);
    client_say(fd, "POST /missing HTTP/1.1\r\nHost: h\r\nContent-Length: 65536\r\n\r\n");
    client_send(fd, bytes, LIMIT);
    ck_assert_uint_eq(client_read(fd, true).status, 404);
    client_say(fd, "GET /after HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_str_eq(client_read(fd, true).body, "GET /after 0\n");
    close(fd);
    ck_assert_uint_eq(app->begins, 1);
    app_stop(app);
}
END_TEST

SUITE("http_bounds", http_refuses_a_request_line_that_does_not_end,
      http_breaks_off_a_refused_body_that_passes_the_limit)
