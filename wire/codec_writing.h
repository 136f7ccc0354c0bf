/* codec_writing.h - options of a model that writes texts: members of a JSON body, and of a query.
 * Their names are those of generate() of transformers. Threads: no state. */
#ifndef ATTND_WIRE_CODEC_WRITING_H
#define ATTND_WIRE_CODEC_WRITING_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stdio.h>

struct elided;
struct json_t; /* jansson's */

/* Sets *out, in the arena, if the object has one of the options; else it stays. Bounds are the
 * model's, and are checked when the input is prepared. ERR_UNUSABLE for another type, with the
 * path, which begins with the object's `place`. */
enum err_code codec_writing_read(struct engine_writing **out, const struct json_t *object,
                                 const char *place, const struct elided *elided,
                                 struct arena *arena, struct err *err);

/* Sets an option of a query; *is_one says that it is one of these. ERR_UNUSABLE, as above. */
enum err_code codec_writing_set(struct engine_writing **out, const char *name, const char *value,
                                bool *is_one, struct arena *arena, struct err *err);

/* The same for a program's option, whose texts are borrowed; `allowed` is none of them. *out begins
 * with all not said.
 * ERR_UNUSABLE says what is expected, without the name. */
enum err_code codec_writing_word(struct engine_writing *out, const char *name, const char *word,
                                 bool *is_one, struct err *err);

/* Prints what is said as members of a request, each with a comma behind it. False if there is no
 * memory, or the file cannot be written. */
bool codec_writing_print(const struct engine_writing *writing, FILE *file);

/* Adds the options of a query to those of the body beside it. ERR_UNUSABLE names one that the body
 * has with another value. */
enum err_code codec_writing_merge(struct engine_writing **out, const struct engine_writing *asked,
                                  struct arena *arena, struct err *err);

#endif
