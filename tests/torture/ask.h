/* ask.h - one request to a server under torture, and whether its answer is right.
 *
 * Right is the answer that came when nothing failed, but for its times: ask_learn keeps it. Refused
 * is a status from 500 on, 429, a part of an answer, or a connection that closes without one. Bad
 * is anything else: another 200, a 4xx that blames the client, silence for ASK_PATIENCE_S.
 *
 *     struct asked asked = {.name = "text", .head = "POST /predict HTTP/1.1\r\n...", ...};
 *     ask_learn(&asked, port, why, sizeof why);
 *     outcome = ask(&asked, why, sizeof why);
 *     ask_forget(&asked);
 *
 * Threads: one, which faults spare.
 */
#ifndef ATTND_TESTS_TORTURE_ASK_H
#define ATTND_TESTS_TORTURE_ASK_H

#include "tests/torture/drill.h"

#include <stddef.h>

struct json_t;

enum { ASK_PATIENCE_S = 6 };

enum ask_body { ASK_BYTES, ASK_JSON, ASK_METRICS };

struct asked {
    const char *name;
    const char *head; /* request line and fields, without Host and Content-Length */
    const char *body; /* NULL: none */
    size_t body_len;
    enum ask_body reply; /* the comparison of its body; metrics need only be well formed */
    int repeated;        /* so many more on the same connection */
    const char *only;    /* of faults: struct drill */
    const char *but;     /* faults of this call have another answer that is right; NULL: none */
    bool accepts;        /* faults of accept, which cost a rest each, are tried too */

    /* Learnt. */
    unsigned port;
    int status; /* 0: the server closes the connection without an answer */
    char type[64];
    char *bytes;
    size_t len;
    struct json_t *json;
};

/* False, and why, if there is nothing to learn from. */
bool ask_learn(struct asked *asked, unsigned port, char *why, size_t size);
void ask_forget(struct asked *asked);

/* A drill's run: context is a struct asked. */
enum drill_outcome ask(const void *asked, char *why, size_t size);

#endif
