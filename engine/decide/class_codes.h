/* class_codes.h - what a fab calls the labels of a model: attnd.json's "class_codes", {label:
 * code}. A code is an integer, as in a KLARF file's class table, a short text, or null. Threads:
 * immutable after class_codes_read. */
#ifndef ATTND_ENGINE_DECIDE_CLASS_CODES_H
#define ATTND_ENGINE_DECIDE_CLASS_CODES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>

struct json_t;

enum { CLASS_CODE_BYTES_MAX = 64 };
#define CLASS_CODE_MAX 9007199254740992.0 /* 2^53: every integer below is exact */

struct class_code {
    const char *text; /* NULL: it is a number */
    long long number;
    bool is_none; /* the label has no code: it was taught since */
};

/* $.class_codes of attnd.json's object, one or null for each label, in the arena; *out is NULL if
 * there is none. ERR_UNSUPPORTED names the label. */
enum err_code class_codes_read(const struct class_code **out, const struct json_t *object,
                               const char *const *labels, unsigned label_count, struct arena *arena,
                               struct err *err);

#endif
