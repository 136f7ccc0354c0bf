/* codec_dump.h - a JSON tree as text in an arena, dumped once whatever its length. Threads: no
 * state. */
#ifndef ATTND_SERVER_PROTOCOL_CODEC_DUMP_H
#define ATTND_SERVER_PROTOCOL_CODEC_DUMP_H

#include "engine/base/arena.h"

#include <stddef.h>

struct json_t; /* jansson's */

/* The object, compact, with `tail` ("" or ",\"key\":value") as its last member. NUL-terminated;
 * NULL if there is no memory. Takes at most twice the text and CODEC_DUMP_BYTES_BESIDE. */
const char *codec_dump(const struct json_t *object, const char *tail, struct arena *arena,
                       size_t *len);

enum { CODEC_DUMP_BYTES_BESIDE = 20 * 1024 };

#endif
