#include "tools/client/exchange.h"

#include "engine/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

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

enum err_code exchange_run(struct connection *connection, const struct server_url *url,
                           const char *request, size_t len, unsigned timeout_ms, struct err *err)
{
    uint64_t until_ns = clock_now_ns() + (uint64_t)timeout_ms * CLOCK_NS_PER_MS;
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
