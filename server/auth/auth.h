/* auth.h - decides if a request may pass, by the key that it sends (RFC 6750).
 *
 *     struct auth_grant grant = {0};
 *     const struct auth_question question = {
 *         .keys = snapshot->keys, .scope = route->scope,
 *         .authorization = http_header(exchange, "Authorization"),
 *         .now_s = time(NULL), .now_ns = clock_now_ns()};
 *     if (auth_check(&auth, &question, &grant, &err)) ...      401, 403 or 429
 *     ...
 *     auth_release(&grant);
 *
 * A key's rate counts requests, not inputs: it is decided from the head, before any body is read;
 * what one request may hold is bounded by inputs_max, and what waits by queue_limit.
 *
 * Threads: a struct auth may be used by any number; a grant is its owner's.
 */
#ifndef ATTND_SERVER_AUTH_AUTH_H
#define ATTND_SERVER_AUTH_AUTH_H

#include "server/auth/keys.h"

#include <stdatomic.h>

/* Why a request did not pass: the reason's name in attnd_auth_failures_total. */
#define AUTH_FAILURES(X)                                                                           \
    X(MISSING, "missing")                                                                          \
    X(UNKNOWN, "unknown")                                                                          \
    X(EXPIRED, "expired")                                                                          \
    X(SCOPE, "scope")                                                                              \
    X(RATE, "rate")                                                                                \
    X(CONCURRENCY, "concurrency")

enum auth_failure {
#define X(failure, name) AUTH_##failure,
    AUTH_FAILURES(X)
#undef X
        AUTH_FAILURES_COUNT
};

struct auth {
    atomic_uint_fast64_t failures[AUTH_FAILURES_COUNT]; /* alone: read at a scrape */
};

struct auth_question {
    const struct keys *keys; /* NULL: there are none, and everything passes */
    enum scope scope;
    const char *authorization; /* the header; NULL: absent */
    const char *const *names;  /* [name_count] of a certificate that is vouched for; NULL: none */
    unsigned name_count;
    int64_t now_s;   /* Unix time */
    uint64_t now_ns; /* clock_now_ns */
};

/* Valid as long as the set of keys is. */
struct auth_grant {
    const struct key *key; /* counted as in progress until auth_release; NULL: none is */
    const char *name; /* name of the key that was sent, also of a refused one; NULL: not known */
    const char *challenge;  /* WWW-Authenticate of a refusal; NULL: none */
    unsigned retry_after_s; /* for ERR_TOO_MANY; at least 1 */
};

/* ERR_UNAUTHORIZED, ERR_FORBIDDEN or ERR_TOO_MANY; a failure is counted. */
enum err_code auth_check(struct auth *auth, const struct auth_question *question,
                         struct auth_grant *out, struct err *err);

/* The request is over. No harm for a grant without a key. */
void auth_release(struct auth_grant *grant);

uint64_t auth_failures(const struct auth *auth, enum auth_failure failure);

#endif
