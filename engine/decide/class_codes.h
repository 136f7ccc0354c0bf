/* class_codes.h - what a fab calls the labels of a model: attnd.json's "class_codes", {label:
 * code}, a code being an integer, as in a KLARF file's class table, or a short text. Threads:
 * immutable after class_codes_read. */
#ifndef ATTND_ENGINE_DECIDE_CLASS_CODES_H
#define ATTND_ENGINE_DECIDE_CLASS_CODES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

struct json_t;

enum { CLASS_CODE_BYTES_MAX = 64 };
#define CLASS_CODE_MAX 9007199254740992.0 /* 2^53: every integer below is exact */

struct class_code {
    const char *text; /* NULL: it is a number */
    long long number;
};

/* $.class_codes of attnd.json's object, one for each label, in the arena; *out is NULL if there is
 * none. ERR_UNSUPPORTED names the label. */
enum err_code class_codes_read(const struct class_code **out, const struct json_t *object,
                               const char *const *labels, unsigned label_count, struct arena *arena,
                               struct err *err);

#endif
