/* doc.h - strict reading of JSON files, over jansson.
 *
 * Two layers. doc_parse turns bytes into a tree with our limits (depth, tokens, duplicate keys,
 * integers of any size), and an error text that carries a byte offset and never the input. The
 * doc_get_* functions read members of an object by name and type; a wrong type is an error that
 * names the path ("config.json: $.hidden_size: expected an integer, found a string").
 *
 *     struct json_t *root;
 *     long long hidden;
 *     if (doc_parse(&root, bytes, len, &doc_limits_file, &err)) ...
 *     if (doc_get_integer(root, "$", "hidden_size", 1, 65536, &hidden, &err)) ...
 *     doc_free(root);
 *
 * A tree is jansson's own (struct json_t), for the few files that may include jansson.
 * Threads: a tree belongs to one thread at a time.
 */
#ifndef ATTND_ENGINE_BASE_DOC_H
#define ATTND_ENGINE_BASE_DOC_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t;

struct doc_limits {
    unsigned depth_max;     /* nesting of objects and arrays */
    size_t tokens_max;      /* values, keys and brackets, counted before the tree is built */
    size_t bytes_max;       /* bytes of the text; 0: any number */
    bool integers_as_reals; /* accept integers of any size; every number becomes a real */
    bool nan_is_null;       /* read NaN and Infinity, which Python writes but JSON lacks, as null */
};

extern const struct doc_limits doc_limits_file;    /* a checkpoint's or a configuration file */
extern const struct doc_limits doc_limits_request; /* a client's body */

/* Parses one JSON value that fills the whole of `bytes`. Yours to doc_free.
 * ERR_MALFORMED with the byte offset; ERR_TOO_LARGE over a limit; ERR_UNUSABLE, with the byte
 * offset, for invalid UTF-8 and for a number that overflows. */
enum err_code doc_parse(struct json_t **out, const char *bytes, size_t len,
                        const struct doc_limits *limits, struct err *err);

/* The same for a text that was shortened before parsing: origin(context, at) maps offset `at` to
 * the offset in the original text, which error texts carry. */
enum err_code doc_parse_mapped(struct json_t **out, const char *bytes, size_t len,
                               const struct doc_limits *limits,
                               size_t (*origin)(const void *context, size_t at),
                               const void *context, struct err *err);

/* Reads and parses a file of at most bytes_max bytes. ERR_IO if it cannot be read. */
enum err_code doc_parse_file(struct json_t **out, const char *path, size_t bytes_max,
                             struct err *err);
/* The same of an object: ERR_UNSUPPORTED if the file has something else, which has no members and
 * would pass for an empty one. */
enum err_code doc_read_object(struct json_t **out, const char *path, size_t bytes_max,
                              struct err *err);

void doc_free(struct json_t *value);

/* The member `key` of an object, borrowed; NULL if absent or null. */
const struct json_t *doc_member(const struct json_t *object, const char *key);
/* True if the member is present and null, for callers to whom absence means something else. */
bool doc_has_null(const struct json_t *object, const char *key);

/* Getters of optional members: absent or null leaves *out unchanged and succeeds. `path` is the
 * object's own path, for the error text. A number with a fraction is not an integer; a huge integer
 * (1e30 written in digits) is out of range unless max allows it. A getter that succeeds returns an
 * error that is already in `err`: several may be called before the check. */
enum err_code doc_get_integer(const struct json_t *object, const char *path, const char *key,
                              long long min, long long max, long long *out, struct err *err);
enum err_code doc_get_number(const struct json_t *object, const char *path, const char *key,
                             double *out, struct err *err);
enum err_code doc_get_bool(const struct json_t *object, const char *path, const char *key,
                           bool *out, struct err *err);
/* *out is borrowed from the tree; a string with an embedded NUL is refused. */
enum err_code doc_get_string(const struct json_t *object, const char *path, const char *key,
                             const char **out, struct err *err);
/* Checks an optional string that has one supported value: ERR_UNSUPPORTED names both. */
enum err_code doc_expect_string(const struct json_t *object, const char *path, const char *key,
                                const char *expected, struct err *err);

/* Calls visit for every member of an object, in the file's order, until one returns an error; that
 * error is returned. A value that is not an object has no members. */
enum err_code doc_each_member(const struct json_t *object,
                              enum err_code (*visit)(void *context, const char *key,
                                                     const struct json_t *value, struct err *err),
                              void *context, struct err *err);
/* Refuses a member that `known`, names with ", " between them, does not list: ERR_UNSUPPORTED names
 * path.member and the list. A value that is there (not NULL) and no object is ERR_UNUSABLE. */
enum err_code doc_check_members(const struct json_t *object, const char *path, const char *known,
                                struct err *err);
size_t doc_object_count(const struct json_t *value); /* 0 if it is not an object */

/* Items of an array, borrowed: 0 and NULL if it is not one or has no such item. */
size_t doc_array_count(const struct json_t *value);
const struct json_t *doc_array_item(const struct json_t *value, size_t index);

/* Conversions of a value: NULL or false if it has another type. */
const char *doc_as_string(const struct json_t *value); /* NULL also with an embedded NUL */
/* Returns a string with its length; it may hold NUL characters. */
const char *doc_text(const struct json_t *value, size_t *len);
bool doc_as_number(const struct json_t *value, double *out);
/* Exact: false for a number with a fraction or an exponent, and for every number of a tree parsed
 * with integers_as_reals. */
bool doc_as_integer(const struct json_t *value, long long *out);

/* Writes a number as its shortest decimal text: 42, -1.5. False, and out is "", for a value that is
 * no number, and for one that a double may have changed: a real from 2^53 on. */
enum { DOC_NUMBER_BYTES = 32 };
bool doc_number_text(const struct json_t *value, char out[DOC_NUMBER_BYTES]);

/* "an object", "a string", ...: how error texts name a value's type. */
const char *doc_type_name(const struct json_t *value);

#endif
