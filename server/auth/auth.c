#include "server/auth/auth.h"

#include "wire/limits.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* RFC 6750, section 3: at least one parameter; no error for a request that sent no key. */
#define REALM "Bearer realm=\"attnd\""
static const char challenge_missing[] = REALM;
static const char challenge_invalid[] = REALM ", error=\"invalid_token\"";
static const char *const challenge_scope[SCOPE_COUNT] = {
#define X(scope, name) [SCOPE_##scope] = REALM ", error=\"insufficient_scope\", scope=\"" name "\"",
    SCOPES(X)
#undef X
};

/* The key in "Bearer KEY"; NULL for another scheme, or no header: those sent no key. */
static const char *sent_key(const char *authorization, size_t *len)
{
    static const char scheme[] = "Bearer";
    const size_t scheme_len = sizeof scheme - 1;
    if (authorization == NULL || strncasecmp(authorization, scheme, scheme_len) != 0 ||
        strchr(" \t", authorization[scheme_len]) == NULL)
        return NULL;
    const char *key = authorization + scheme_len + strspn(authorization + scheme_len, " \t");
    *len = strlen(key);
    while (*len > 0 && strchr(" \t", key[*len - 1]) != NULL)
        *len -= 1;
    return key;
}

static enum err_code fail(struct auth *auth, enum auth_failure failure, struct auth_grant *out,
                          const char *challenge, enum err_code code)
{
    atomic_fetch_add_explicit(&auth->failures[failure], 1, memory_order_relaxed);
    out->challenge = challenge;
    return code;
}

/* The key of the question, which must be known and not expired. A certificate stands for one where
 * none is sent. */
static enum err_code identify(struct auth *auth, const struct auth_question *question,
                              const struct key **key, struct auth_grant *out, struct err *err)
{
    size_t len = 0;
    const char *sent = sent_key(question->authorization, &len);
    if (sent != NULL)
        *key = keys_find(question->keys, sent, len);
    else if (question->names != NULL)
        *key = keys_find_certificate(question->keys, question->names, question->name_count);
    if (sent == NULL && *key == NULL)
        return err_set(err, fail(auth, AUTH_MISSING, out, challenge_missing, ERR_UNAUTHORIZED),
                       "this needs a key: send Authorization: Bearer KEY");
    if (*key == NULL)
        return err_set(err, fail(auth, AUTH_UNKNOWN, out, challenge_invalid, ERR_UNAUTHORIZED),
                       "the key that was sent is not known");
    out->name = (*key)->name;
    if (question->now_s >= (*key)->expires_s)
        return err_set(err, fail(auth, AUTH_EXPIRED, out, challenge_invalid, ERR_UNAUTHORIZED),
                       "the key that was sent has expired");
    return ERR_OK;
}

static enum err_code check_scope(struct auth *auth, const struct key *key, enum scope scope,
                                 struct auth_grant *out, struct err *err)
{
    const char *name = scope_name(scope);
    if (name != NULL && (key->scopes & 1U << scope) != 0)
        return ERR_OK;
    return err_set(
        err,
        fail(auth, AUTH_SCOPE, out, name != NULL ? challenge_scope[scope] : NULL, ERR_FORBIDDEN),
        "this needs a key with the scope %s", name != NULL ? name : "of no key");
}

static unsigned whole_seconds(double wait_s)
{
    double seconds = ceil(wait_s);
    return seconds <= LIMIT_RETRY_AFTER_S       ? LIMIT_RETRY_AFTER_S
           : seconds >= LIMIT_RETRY_AFTER_S_MAX ? LIMIT_RETRY_AFTER_S_MAX
                                                : (unsigned)seconds;
}

enum err_code auth_check(struct auth *auth, const struct auth_question *question,
                         struct auth_grant *out, struct err *err)
{
    const struct key *key = NULL;
    *out = (struct auth_grant){0};
    if (question->keys == NULL || question->scope == SCOPE_OPEN)
        return ERR_OK;
    if (identify(auth, question, &key, out, err) ||
        check_scope(auth, key, question->scope, out, err))
        return err->code;
    double wait_s;
    switch (meter_take(key->meter, &key->limits, question->now_ns, &wait_s)) {
    case METER_RATE:
        out->retry_after_s = whole_seconds(wait_s);
        return err_set(err, fail(auth, AUTH_RATE, out, NULL, ERR_TOO_MANY),
                       "more than this key's %g requests a second", key->limits.rate);
    case METER_CONCURRENCY:
        out->retry_after_s = whole_seconds(wait_s);
        return err_set(err, fail(auth, AUTH_CONCURRENCY, out, NULL, ERR_TOO_MANY),
                       "more than this key's %u requests at once", key->limits.concurrency);
    case METER_TAKEN:
        break;
    }
    out->key = key;
    return ERR_OK;
}

void auth_release(struct auth_grant *grant)
{
    if (grant->key != NULL)
        meter_give(grant->key->meter);
    grant->key = NULL;
}

uint64_t auth_failures(const struct auth *auth, enum auth_failure failure)
{
    return atomic_load_explicit(&auth->failures[failure], memory_order_relaxed);
}
