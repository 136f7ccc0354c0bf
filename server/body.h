/* body.h - a request body as it arrives: a buffer that grows with the bytes, never with a promise.
 *
 * A client that announces 32 MB and sends nothing costs nothing: the buffer starts small and
 * doubles up to the announced length. All bodies of a server draw on one budget for what they hold
 * beyond their first BODY_FREE_BYTES, so many large bodies at once cannot exhaust memory.
 *
 * Threads: a body belongs to one thread at a time; a budget may be shared by any number.
 */
#ifndef ATTND_SERVER_BODY_H
#define ATTND_SERVER_BODY_H

#include "engine/base/err.h"

#include <stdatomic.h>
#include <stddef.h>

enum { BODY_FREE_BYTES = 64 * 1024 };

struct body_budget {
    size_t bytes_max;
    _Atomic size_t bytes; /* on loan to bodies; alone, no other data is published by it */
};

struct body {
    struct body_budget *budget;
    char *bytes; /* [capacity + 1], NUL after len */
    size_t len, capacity;
};

void body_init(struct body *body, struct body_budget *budget);

/* Adds bytes; announced is the length the client gave, 0 if none. The caller bounds the length.
 * ERR_NOT_READY if the budget is spent, ERR_NO_MEMORY. */
enum err_code body_append(struct body *body, const void *bytes, size_t len, size_t announced,
                          struct err *err);

/* Frees the bytes and gives the loan back; the body may be used again. */
void body_deinit(struct body *body);

#endif
