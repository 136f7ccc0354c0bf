/* body.h - a request body as it arrives: a buffer that grows with the bytes received, not with the
 * declared length.
 *
 * A client that announces 32 MB and sends nothing takes no memory: the buffer starts small and
 * doubles up to the announced length. All that a body holds is taken from the process's budget, up
 * to BODY_SMALL_BYTES from the part that is kept for small requests.
 *
 * Threads: a body belongs to one thread at a time; the budget may be shared by any number.
 */
#ifndef ATTND_SERVER_HTTP_BODY_H
#define ATTND_SERVER_HTTP_BODY_H

#include "engine/base/err.h"
#include "server/bounds/memory.h"

#include <stddef.h>

enum { BODY_SMALL_BYTES = 64 * 1024 };

struct body {
    struct memory *memory;
    char *bytes; /* [capacity + 1], NUL after len */
    size_t len, capacity;
};

void body_init(struct body *body, struct memory *memory);

/* Adds bytes; announced is the length the client gave, 0 if none. The caller bounds the length.
 * ERR_QUEUE_FULL and ERR_TOO_LARGE as memory_take; ERR_NO_MEMORY. */
enum err_code body_append(struct body *body, const void *bytes, size_t len, size_t announced,
                          struct err *err);

/* Frees the bytes and gives them back to the budget; the body may be used again. */
void body_deinit(struct body *body);

#endif
