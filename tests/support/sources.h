/* sources.h - pointers to sources of the engine, each in one call. A source lives as long as the
 * block in which it is written; text and bytes stay the caller's. Threads: any. */
#ifndef ATTND_TESTS_SUPPORT_SOURCES_H
#define ATTND_TESTS_SUPPORT_SOURCES_H

#include "engine/engine.h"

#include <string.h>

#define text_source_len(text, text_bytes)                                                          \
    (&(struct engine_source){.kind = ENGINE_TEXT, .bytes = (text), .len = (text_bytes)})

/* A text that is NUL-terminated. */
#define text_source(text) text_source_len(text, strlen(text))

/* The same with other fields of the source: text_source_with("a", .is_utf8 = true). */
#define text_source_with(text, ...)                                                                \
    (&(struct engine_source){                                                                      \
        .kind = ENGINE_TEXT, .bytes = (text), .len = strlen(text), __VA_ARGS__})

#define picture_source(file, file_bytes, most_pixels)                                              \
    (&(struct engine_source){                                                                      \
        .kind = ENGINE_IMAGE, .bytes = (file), .len = (file_bytes), .pixels_max = (most_pixels)})

#endif
