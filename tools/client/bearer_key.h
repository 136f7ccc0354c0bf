/* bearer_key.h - the key in a file, as the line of a request that shows it. Threads: no state. */
#ifndef ATTND_TOOLS_CLIENT_BEARER_KEY_H
#define ATTND_TOOLS_CLIENT_BEARER_KEY_H

#include "engine/base/err.h"
#include "tools/client/buffer.h"

/* Appends "Authorization: Bearer KEY" and the line's end; nothing for the path NULL. The file holds
 * one line of printable ASCII without blanks: ERR_UNUSABLE if not; ERR_IO. */
enum err_code bearer_key_read(struct buffer *out, const char *path, struct err *err);

#endif
