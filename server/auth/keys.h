/* keys.h - the keys that clients may send, from a file of one key a line:
 *
 *     # printf %s "$KEY" | sha256sum
 *     sha256:<64 hexadecimal digits> NAME SCOPES [expires=YYYY-MM-DD] [rate=N/s] [concurrency=N]
 *     cert:<name of a client's certificate> NAME SCOPES ...
 *
 *     struct keys *keys;
 *     if (keys_read(&keys, "keys.txt", NULL, &err)) ...     "keys.txt:3: ..."
 *     const struct key *key = keys_find(keys, sent, strlen(sent));
 *
 * NAME is what logs and the audit log call the key (two may have one name: the old and the new
 * one); SCOPES are some of predict, feedback, metrics and admin, separated by commas. The file has
 * hashes only, so who reads it cannot send a key; that asks for keys that cannot be guessed (32
 * random bytes), since a single SHA-256 slows no guessing down.
 *
 * Error texts name the file without its directory, the line and the word, and never repeat what
 * stands there: it may be a key that was put into the file by mistake.
 *
 * Threads: a set is immutable but for its holders' number and the keys' meters, which lock
 * themselves. What a key has used goes on when a set is replaced by another that has the same key.
 */
#ifndef ATTND_SERVER_AUTH_KEYS_H
#define ATTND_SERVER_AUTH_KEYS_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the use of a key's limits ---- */

/* Requests a second, and requests at once (meter.c).
 *
 *     if (meter_take(meter, &limits, clock_now_ns(), &wait_s) == METER_TAKEN)
 *         ... the request ...
 *         meter_give(meter);
 *
 * The rate is a token bucket that holds one second's worth, and at least one request. Limits are
 * given at each call: they are the key's, which a reload may change, while the meter goes on. A
 * meter is internally locked, a leaf; the number of holders is atomic.
 */

struct meter;

struct meter_limits {
    double rate;          /* requests a second; 0: any number */
    unsigned concurrency; /* requests at once; 0: any number */
};

enum meter_verdict { METER_TAKEN, METER_RATE, METER_CONCURRENCY };

/* A meter with a full bucket and one holder. NULL if there is no memory. */
struct meter *meter_open(void);
struct meter *meter_share(struct meter *meter);
/* Each holder calls it; the last call frees the meter. NULL does nothing. */
void meter_release(struct meter *meter);

/* Counts one request if both limits allow it; meter_give ends it. If they do not, nothing is used,
 * and *wait_s is the time that the bucket needs for it; 0: the time is not known. */
enum meter_verdict meter_take(struct meter *meter, const struct meter_limits *limits,
                              uint64_t now_ns, double *wait_s);
void meter_give(struct meter *meter);

/* ---- keys ---- */

/* The uses that a key may allow. */
#define SCOPES(X)                                                                                  \
    X(PREDICT, "predict")                                                                          \
    X(FEEDBACK, "feedback")                                                                        \
    X(METRICS, "metrics")                                                                          \
    X(ADMIN, "admin")

/* A scope of a key, and the scope that a route needs. A route without one is closed to everybody as
 * soon as there are keys. */
enum scope {
    SCOPE_UNSAID,
    SCOPE_OPEN, /* no key is needed */
#define X(scope, name) SCOPE_##scope,
    SCOPES(X)
#undef X
        SCOPE_COUNT
};

/* "predict"; NULL for SCOPE_UNSAID and SCOPE_OPEN. */
const char *scope_name(enum scope scope);

enum {
    KEYS_MAX = 1024,
    KEYS_FILE_BYTES_MAX = 512 * 1024,
    KEYS_NAME_BYTES_MAX = 64,
    KEYS_CERTIFICATE_BYTES_MAX = 255,
    KEYS_CONCURRENCY_MAX = 65536,
    KEYS_RATE_MAX = 1000000,
};

struct key {
    uint64_t hash[4];        /* SHA-256; 0 for a certificate */
    const char *certificate; /* its name; NULL: what is sent is a key */
    const char *name;        /* characters A-Z a-z 0-9 . _ - */
    unsigned scopes;         /* 1 << enum scope */
    int64_t expires_s;       /* Unix time from which it is no longer taken; INT64_MAX: never */
    struct meter_limits limits;
    struct meter *meter; /* shared with sets before and after */
    unsigned line;       /* number of its line in the file */
};

struct keys;

/* A set from a file; *out is NULL if the path is NULL or "": then there are no keys. Keys that
 * `before` (NULL: none) has too keep their counters. A file without a key is a set that lets nobody
 * in: so the last key can be taken back. ERR_UNUSABLE for a file that cannot be used,
 * ERR_NO_MEMORY. The caller closes the set. */
enum err_code keys_read(struct keys **out, const char *path, const struct keys *before,
                        struct err *err);
/* The same from a text that is called `name` in errors. */
enum err_code keys_parse(struct keys **out, const char *text, size_t len, const char *name,
                         const struct keys *before, struct err *err);
void keys_close(struct keys *keys);

/* The key with these bytes, even if it has expired; NULL: there is none. The time is the same for
 * all bytes. */
const struct key *keys_find(const struct keys *keys, const char *sent, size_t len);

/* The first line for a certificate of one of these names, compared byte by byte; NULL: none. */
const struct key *keys_find_certificate(const struct keys *keys, const char *const *names,
                                        unsigned count);
/* True if there is a line for any certificate. */
bool keys_have_certificates(const struct keys *keys);

unsigned keys_count(const struct keys *keys);                       /* 0 for NULL */
const struct key *keys_at(const struct keys *keys, unsigned index); /* in the order of the file */
/* True if both were read from the same text; each may be NULL. */
bool keys_are_same(const struct keys *a, const struct keys *b);

#endif
