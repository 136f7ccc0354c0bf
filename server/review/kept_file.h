/* kept_file.h - an input that is kept, as a file: a line of JSON that says what was answered, and
 * behind it the input's bytes as they came.
 *
 *     kept-000000000000002a.input
 *     {"format":1,"id":"die-7","index":0,"time":"...","media_type":"image/png",...}
 *     <bytes>
 *
 *     kept_file_head(&input, head, &len);                  when the request is over
 *     kept_file_write(dir, 42, head, len, bytes, n, &size, &err);     by a thread of its own
 *     kept_file_read(dir, 42, false, &arena, &input, &err);
 *
 * The name is a number that no client chooses. A file is whole or absent (engine/base/replace.h).
 *
 * Threads: no state; one writer of a number.
 */
#ifndef ATTND_SERVER_REVIEW_KEPT_FILE_H
#define ATTND_SERVER_REVIEW_KEPT_FILE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/decide/decision.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEPT_FILE_FORMAT = 1,
    KEPT_FILE_HEAD_BYTES = 16 * 1024, /* of the line, at most */
    KEPT_FILE_TAIL_BYTES = 256,       /* of them, for what kept_file_write adds */
    KEPT_FILE_NAME_BYTES = 48
};

struct kept_input {
    uint64_t number; /* higher is newer; only of one that was read */
    const char *id;
    unsigned index;   /* of the input in its request */
    const char *time; /* RFC 3339, UTC, with milliseconds */
    const char *model, *version, *label;
    double score;
    enum decision decision;
    bool is_sampled;        /* one of the random sample of automatic ones */
    const char *media_type; /* "image/png", "image/jpeg" or "text/plain; charset=utf-8" */
    const char *digest;     /* "sha256:<hex>" of the bytes; only of one that was read */
    const char *context;    /* a JSON object as text; NULL: none */
    const char *bytes;      /* [len] only of one that was read with them */
    size_t len;
};

/* The beginning of the line, which kept_file_write completes. False: it does not fit. */
bool kept_file_head(const struct kept_input *input, char out[KEPT_FILE_HEAD_BYTES], size_t *len);

/* *size: the bytes of the file. ERR_IO with the path. */
enum err_code kept_file_write(const char *dir, uint64_t number, const char *head, size_t head_len,
                              const char *bytes, size_t len, size_t *size, struct err *err);

/* The strings, and if asked for the bytes, are the arena's. ERR_NOT_FOUND: there is none of the
 * number; ERR_MALFORMED, ERR_UNUSABLE: it is not one of ours, or not of this format; ERR_IO;
 * ERR_NO_MEMORY. */
enum err_code kept_file_read(const char *dir, uint64_t number, bool with_bytes, struct arena *arena,
                             struct kept_input *out, struct err *err);
enum err_code kept_file_remove(const char *dir, uint64_t number, struct err *err);

enum kept_file_kind { KEPT_FILE_FOREIGN, KEPT_FILE_WHOLE, KEPT_FILE_PARTIAL };
/* What a name in the directory is of; *number unless it is foreign. */
enum kept_file_kind kept_file_kind_of(const char *name, uint64_t *number);

#endif
