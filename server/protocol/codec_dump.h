/* codec_dump.h - replies: objects put together member by member, where one failure is looked at in
 * the end, and dumped once into an arena, whatever their length.
 *
 *     int failed = codec_add(object, "id", json_string(id));
 *     failed |= codec_add(object, "count", json_integer(count));
 *     return codec_finish(codec_whole(object, failed), "", arena, &len);
 *
 * Threads: no state. */
#ifndef ATTND_SERVER_PROTOCOL_CODEC_DUMP_H
#define ATTND_SERVER_PROTOCOL_CODEC_DUMP_H

#include "engine/base/arena.h"

#include <stddef.h>

struct json_t; /* jansson's */

/* The object, compact, with `tail` ("" or ",\"key\":value") as its last member. NUL-terminated;
 * NULL if there is no memory. Takes at most twice the text and CODEC_DUMP_BYTES_BESIDE. */
const char *codec_dump(const struct json_t *object, const char *tail, struct arena *arena,
                       size_t *len);

/* The same, and drops the object; NULL if that is NULL. */
const char *codec_finish(struct json_t *object, const char *tail, struct arena *arena, size_t *len);

/* Takes over the value, NULL if there was no memory for it; not 0 if it has failed. */
int codec_add(struct json_t *object, const char *key, struct json_t *value);

/* The object; NULL, and it is dropped, if something has failed. */
struct json_t *codec_whole(struct json_t *object, int failed);

enum { CODEC_DUMP_BYTES_BESIDE = 20 * 1024 };

#endif
