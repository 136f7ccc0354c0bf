/* http_client.h - a plain HTTP/1.1 client over one loopback socket, for tests: it sends exactly the
 * bytes it is given, so that a test can also be a bad client. Waits end after suite_patience_s of
 * suite.h.
 */
#ifndef ATTND_TESTS_SUPPORT_HTTP_CLIENT_H
#define ATTND_TESTS_SUPPORT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct http_answer {
    int status; /* 0: the connection ended before a whole answer */
    char head[8192];
    char *body; /* NUL-terminated; freed by http_answer_free */
    size_t body_len;
};

/* A connected socket; aborts if the port does not accept. */
int http_connect(unsigned port);
/* The same by the path of a socket; -1 if nobody accepts there. */
int http_connect_path(const char *path);
/* Sends all of it; false if the peer closed. */
bool http_send(int fd, const void *bytes, size_t len);
bool http_send_text(int fd, const char *text);
/* Reads one answer (after "HEAD" pass no_body). */
struct http_answer http_read(int fd, bool no_body);
void http_answer_free(struct http_answer *answer);

/* The value of a response header, up to the line's end, into out; false if absent. */
bool http_answer_header(const struct http_answer *answer, const char *name, char *out, size_t size);

/* Sends one request on a connection of its own. extra: further header lines, each with \r\n. */
struct http_answer http_request(unsigned port, const char *method, const char *path,
                                const char *extra, const void *body, size_t body_len);
struct http_answer http_post_json(unsigned port, const char *path, const char *json);
struct http_answer http_get(unsigned port, const char *path);

#endif
