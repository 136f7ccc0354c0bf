/* test_http_parts.c - replies in parts over sockets: whole and in order, also with suspensions
 * between them; and their ends: a slow reader, a client that has gone, a server that stops. */
#include "tests/unit/server/http/http_probe.h"

/* All that comes until the connection ends or `end` has come; yours to free. */
static char *read_until(int fd, const char *end)
{
    size_t size = 1 << 16, len = 0;
    char *text = calloc(1, size);
    while (len < size - 1 && (end == NULL || strstr(text, end) == NULL) &&
           client_wait(fd, suite_patience_ms())) {
        const ssize_t got = recv(fd, text + len, size - 1 - len, 0);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    return text;
}

START_TEST(http_sends_a_reply_in_parts_as_chunks_and_keeps_the_connection)
{
    struct app *app = app_start();
    int fd = client_open(app);
    for (int round = 0; round < 20; round++) {
        client_say(fd, "GET /parts/5 HTTP/1.1\r\nHost: h\r\n\r\n");
        char *text = read_until(fd, "\r\n0\r\n\r\n");
        ck_assert_ptr_nonnull(strstr(text, "HTTP/1.1 200 OK\r\n"));
        ck_assert_ptr_nonnull(strstr(text, "\r\nTransfer-Encoding: chunked\r\n"));
        ck_assert_ptr_null(strstr(text, "Content-Length"));
        const char *at = strstr(text, "GET /parts/5 0\n");
        for (int part = 1; part <= 5; part++) {
            char line[32];
            snprintf(line, sizeof line, "7\r\npart %d\n\r\n", part);
            at = strstr(at, line);
            ck_assert_msg(at != NULL, "%s", text);
        }
        free(text);
    }
    client_say(fd, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_uint_eq(client_read(fd, true).status, 200);
    close(fd);
    ck_assert_uint_eq(app->parts, 100);
    app_stop(app);
}
END_TEST

START_TEST(http_sends_parts_without_chunks_to_a_client_of_http_1_0)
{
    struct app *app = app_start();
    int fd = client_open(app);
    client_say(fd, "GET /parts/3 HTTP/1.0\r\n\r\n");
    char *text = read_until(fd, NULL);
    ck_assert_ptr_nonnull(strstr(text, "\r\n\r\nGET /parts/3 0\npart 1\npart 2\npart 3\n"));
    ck_assert_ptr_null(strstr(text, "chunked"));
    free(text);
    close(fd);
    app_stop(app);
}
END_TEST

START_TEST(http_breaks_the_connection_where_a_reply_cannot_go_on)
{
    struct app *app = app_start();
    int fd = client_open(app);
    client_say(fd, "GET /broken HTTP/1.1\r\nHost: h\r\n\r\n");
    char *text = read_until(fd, NULL);
    ck_assert_ptr_nonnull(strstr(text, "GET /broken 0\n"));
    ck_assert_ptr_null(strstr(text, "\r\n0\r\n\r\n"));
    free(text);
    ck_assert(client_is_closed(fd));
    close(fd);
    app_stop(app);
}
END_TEST

/* Waits until so many exchanges have come and gone. */
static void await_done(const struct app *app, unsigned count)
{
    suite_await(atomic_load(&app->dones) >= count);
    ck_assert_uint_eq(atomic_load(&app->dones), count);
}

START_TEST(http_asks_a_client_that_does_not_read_for_no_more_parts)
{
    struct http_options options = app_options();
    options.body_timeout_ms = 300;
    struct app *app = app_start_with(options);
    int fd = client_open(app);
    client_say(fd, "GET /long HTTP/1.1\r\nHost: h\r\n\r\n");
    await_done(app, 1);
    ck_assert_uint_gt(app->parts, 0);
    ck_assert_uint_lt(app->parts, 1000); /* the sockets' buffers are full */
    close(fd);
    app_stop(app);
}
END_TEST

START_TEST(http_ends_the_parts_of_a_client_that_has_gone)
{
    struct app *app = app_start();
    for (int round = 0; round < 20; round++) {
        int fd = client_open(app);
        client_say(fd, "GET /long HTTP/1.1\r\nHost: h\r\n\r\n");
        ck_assert(client_wait(fd, suite_patience_ms()));
        close(fd);
    }
    await_done(app, 20);
    app_stop(app);
}
END_TEST

START_TEST(http_stops_in_the_middle_of_parts)
{
    struct app *app = app_start();
    int fds[8];
    for (int i = 0; i < 8; i++) {
        fds[i] = client_open(app);
        client_say(fds[i], "GET /long HTTP/1.1\r\nHost: h\r\n\r\n");
        ck_assert(client_wait(fds[i], suite_patience_ms()));
    }
    http_stop(app->server);
    app_free(app);
    for (int i = 0; i < 8; i++)
        close(fds[i]);
}
END_TEST

SUITE("http parts", http_sends_a_reply_in_parts_as_chunks_and_keeps_the_connection,
      http_sends_parts_without_chunks_to_a_client_of_http_1_0,
      http_breaks_the_connection_where_a_reply_cannot_go_on,
      http_asks_a_client_that_does_not_read_for_no_more_parts,
      http_ends_the_parts_of_a_client_that_has_gone, http_stops_in_the_middle_of_parts)
