/* http_transcript.h - for tests of the HTTP edge that look at all that a connection says, over the
 * application and the client of http_probe.h.
 *
 *     struct exchange_text got = {.len = 0};
 *     drain_socket(fd, &got);
 *     list_statuses(got.text, statuses, sizeof statuses);      "200 400"
 */
#ifndef ATTND_TESTS_UNIT_SERVER_HTTP_HTTP_TRANSCRIPT_H
#define ATTND_TESTS_UNIT_SERVER_HTTP_HTTP_TRANSCRIPT_H

#include "tests/unit/server/http/http_probe.h"

/* All that comes back on a connection. */
struct exchange_text {
    char text[16384];
    size_t len;
};

/* The server closes what the library leaves open (http.c says when) in half a second. */
static inline struct app *start_quick(void)
{
    struct http_options options = app_options();
    options.header_timeout_ms = options.body_timeout_ms = 500;
    return app_start_with(options);
}

/* Reads until the server has closed its side, or says nothing more. */
static inline void drain_socket(int fd, struct exchange_text *got)
{
    ssize_t len = 1;
    while (len > 0 && got->len < sizeof got->text - 1 && client_wait(fd, suite_patience_ms())) {
        len = recv(fd, got->text + got->len, sizeof got->text - 1 - got->len, 0);
        got->len += len > 0 ? (size_t)len : 0;
    }
    got->text[got->len] = '\0';
}

/* The statuses of all responses: "200 400". */
static inline void list_statuses(const char *text, char *out, size_t size)
{
    out[0] = '\0';
    for (const char *at = strstr(text, "HTTP/1.1 "); at; at = strstr(at + 9, "HTTP/1.1 "))
        if (at[9] >= '1' && at[9] <= '5')
            snprintf(out + strlen(out), size - strlen(out), "%s%.3s", out[0] ? " " : "", at + 9);
}

#endif
