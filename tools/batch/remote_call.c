#include "tools/batch/remote_call.h"

#include "engine/base/clock.h"
#include "engine/base/doc.h"
#include "wire/problem.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_MS = 600 * 1000, LOOK_MS = 50, DOUBLINGS_MAX = 5 };

/* Limits of a reply: it may have explanations of long texts. */
static const struct doc_limits reply_limits = {.depth_max = 32, .tokens_max = 50 * 1000 * 1000};

/* ---- one exchange ---- */

static const char *sentence(enum outcome outcome)
{
    static const char *const sentences[] = {
#define X(code, name, text) text,
        OUTCOMES(X)
#undef X
    };
    return sentences[outcome];
}

/* epoll's bits are poll's. */
static bool await(const struct connection *connection, uint64_t until_ns)
{
    uint64_t now_ns = clock_now_ns();
    struct pollfd socket = {.fd = connection->fd, .events = (short)connection_wants(connection)};
    if (now_ns >= until_ns)
        return false;
    return poll(&socket, 1, (int)((until_ns - now_ns) / CLOCK_NS_PER_MS) + 1) != 0;
}

static enum err_code fail(struct connection *connection, const char *why, struct err *err)
{
    err_set(err, ERR_IO, "%s", why);
    connection_close(connection);
    return err->code;
}

/* Sends the request and waits for the reply. ERR_IO if no whole reply came, with why; the
 * connection is then closed. It is not known whether the server took the request. */
static enum err_code exchange(struct connection *connection, const struct server_url *url,
                              const char *request, size_t len, struct err *err)
{
    uint64_t until_ns = clock_now_ns() + (uint64_t)TIMEOUT_MS * CLOCK_NS_PER_MS;
    if (!connection_send(connection, &url->address.any, url->address_len, request, len))
        return fail(connection, strerror(errno), err);
    for (;;) {
        switch (connection_event(connection)) {
        case CONNECTION_REPLIED:
            return ERR_OK;
        case CONNECTION_WAITING:
            if (await(connection, until_ns))
                break;
            return fail(connection, sentence(OUTCOME_TIMEOUT), err);
        case CONNECTION_CLOSED:
            return fail(connection, sentence(OUTCOME_UNSENT), err);
        case CONNECTION_FAILED:
            return fail(connection,
                        connection->reply.why != NULL ? connection->reply.why
                                                      : sentence(connection->failure),
                        err);
        }
    }
}

/* ---- attempts ---- */

static bool is_stopped(const struct remote_server *server)
{
    return server->options->stop != NULL && atomic_load(server->options->stop);
}

static void pause_before(const struct remote_server *server, unsigned attempt)
{
    unsigned doublings = attempt - 1 < DOUBLINGS_MAX ? attempt - 1 : DOUBLINGS_MAX;
    unsigned left = server->options->pause_ms << doublings;
    while (left > 0 && !is_stopped(server)) {
        unsigned step = left < LOOK_MS ? left : LOOK_MS;
        nanosleep(&(struct timespec){.tv_nsec = step * 1000000L}, NULL);
        left -= step;
    }
}

static enum err_code write_request(const struct remote_server *server, const char *path,
                                   const struct buffer *body, struct buffer *out, struct err *err)
{
    buffer_clear(out);
    buffer_format(out, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", body != NULL ? "POST" : "GET", path,
                  server->url.authority,
                  server->authorization.len > 0 ? server->authorization.bytes : "");
    if (body != NULL)
        buffer_format(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body->len);
    buffer_text(out, "\r\n");
    if (body != NULL)
        buffer_append(out, body->bytes, body->len);
    return out->failed || (body != NULL && body->failed) ? err_no_memory(err, out->len) : ERR_OK;
}

static unsigned status_of(const struct json_t *object)
{
    double status;
    const struct json_t *value = object != NULL ? doc_member(object, "status") : NULL;
    return value != NULL && doc_as_number(value, &status) ? (unsigned)status : 0;
}

/* The status of the whole, or of an item that may pass: 0 if none does. */
static unsigned passing_status(const struct remote_reply *reply)
{
    const struct json_t *results = reply->body != NULL ? doc_member(reply->body, "results") : NULL;
    if (problem_is_passing(reply->status))
        return reply->status;
    for (size_t i = 0; i < doc_array_count(results); i++)
        if (problem_is_passing(status_of(doc_array_item(results, i))))
            return status_of(doc_array_item(results, i));
    return 0;
}

/* ERR_IO: it may pass. */
static enum err_code attempt(const struct remote_server *server, struct connection *connection,
                             const struct buffer *request, struct remote_reply *out,
                             struct err *err)
{
    if (exchange(connection, &server->url, request->bytes, request->len, err))
        return err->code;
    const struct http_parse *reply = &connection->reply;
    *out = (struct remote_reply){.status = reply->status};
    doc_parse(&out->body, reply->body.bytes, reply->body.len, &reply_limits, &(struct err){0});
    unsigned passing = passing_status(out);
    if (passing == 0)
        return ERR_OK;
    doc_free(out->body);
    *out = (struct remote_reply){0};
    return err_set(err, ERR_IO, "answers with status %u", passing);
}

enum err_code remote_call(const struct remote_server *server, struct connection *connection,
                          const char *path, const struct buffer *body, struct remote_reply *out,
                          struct err *err)
{
    struct buffer request = {0};
    struct err last = {0};
    *out = (struct remote_reply){0};
    write_request(server, path, body, &request, err);
    for (unsigned n = 1; err->code == ERR_OK; n++) {
        last = (struct err){0};
        if (attempt(server, connection, &request, out, &last) == ERR_OK)
            break;
        if (n == REMOTE_ATTEMPTS || is_stopped(server))
            err_set(err, ERR_IO, "%s: %s, after %u attempts", server->options->url, last.text, n);
        else
            pause_before(server, n);
    }
    buffer_deinit(&request);
    return err->code;
}

enum err_code remote_call_refused(const struct remote_server *server,
                                  const struct remote_reply *reply, struct err *err)
{
    const char *detail =
        reply->body != NULL ? doc_as_string(doc_member(reply->body, "detail")) : NULL;
    return err_set(err, ERR_UNUSABLE, "%s: answers with status %u: %s", server->options->url,
                   reply->status, detail != NULL ? detail : "it is no answer of attnd's");
}
