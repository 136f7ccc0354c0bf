/* codec_dump.h - replies: objects put together member by member, where one failure is looked at in
 * the end, and dumped once into an arena, whatever their length.
 *
 *     int failed = codec_add(object, "id", json_string(id));
 *     failed |= codec_add(object, "count", json_integer(count));
 *     return codec_finish(codec_whole(object, failed), "", arena, &len);
 *
 * Threads: no state. */
#ifndef ATTND_WIRE_CODEC_DUMP_H
#define ATTND_WIRE_CODEC_DUMP_H

#include "engine/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t; /* jansson's */
struct codec_piece;

/* A text in the making, for a reply whose tree would be too large to be held at once:
 *
 *     codec_text_open(&text, bytes, &arena);       an upper bound of the text; 0: some 2048
 *     codec_text_add(&text, "{\"results\":[{");
 *     codec_text_members(&text, row_json(row));
 *     ...
 *     codec_text_end(&text, &len);
 */
struct codec_text {
    struct arena *arena;
    struct codec_piece *first, *last;
    size_t total;
    bool has_failed; /* looked at by codec_text_end alone */
};

void codec_text_open(struct codec_text *out, size_t bytes, struct arena *arena);
void codec_text_add(struct codec_text *text, const char *more);
void codec_text_bytes(struct codec_text *text, const char *bytes, size_t len);
/* A string in JSON, with its quotes; what is not UTF-8 is replaced by a note. */
void codec_text_string(struct codec_text *text, const char *string);
/* The same of UTF-8 that may hold NUL. */
void codec_text_string_of(struct codec_text *text, const char *bytes, size_t len);
/* The object's members without its braces, and drops it; NULL: there was no memory for it. */
void codec_text_members(struct codec_text *text, struct json_t *object);
/* NUL-terminated, in the arena; NULL if anything has failed. Within the bound it stands where it
 * was written; beyond, it is put together once more. */
const char *codec_text_end(struct codec_text *text, size_t *len);

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
