/* file_signature.h - the bytes that tell what a file is, and how a message names it. The tables are
 * file_kind.c and engine/vision/input_formats.c. Threads: no state. */
#ifndef ATTND_ENGINE_CONTENT_FILE_SIGNATURE_H
#define ATTND_ENGINE_CONTENT_FILE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum file_use {
    FILE_IS_READ,    /* a picture that is read: engine/vision/input_formats.h */
    FILE_IS_GZIP,    /* read where a place says that it may be packed */
    FILE_IS_LOT,     /* several wafers, which are read: engine/fab/lot_formats.h */
    FILE_IS_PICTURE, /* one of another format */
    FILE_IS_OTHER,
};

struct file_kind {
    enum file_use use;
    const char *name;   /* behind "this is": "a TIFF picture" */
    const char *advice; /* "convert it to PNG or JPEG" */
};

/* The bytes that tell a kind: `magic` at the begin, and `more` at `at`: a container, or a magic so
 * short that a text may begin with it. */
struct file_signature {
    const char *magic;
    size_t len;
    size_t at;
    const char *more;
    size_t more_len;
};
#define FILE_BEGINS(bytes) bytes, sizeof(bytes) - 1, 0, "", 0
#define FILE_HAS(bytes, at, more) bytes, sizeof(bytes) - 1, at, more, sizeof(more) - 1

/* True if the file that begins with bytes [len] has it. */
static inline bool file_signature_fits(const struct file_signature *signature, const void *bytes,
                                       size_t len)
{
    const char *first = bytes;
    return len >= signature->len && memcmp(first, signature->magic, signature->len) == 0 &&
           len >= signature->at && signature->more_len <= len - signature->at &&
           memcmp(first + signature->at, signature->more, signature->more_len) == 0;
}

/* The same by what a name or path [len] ends with: ".png"; capital letters count as small ones. */
static inline bool file_signature_ends(const char *ending, const char *name, size_t len)
{
    const size_t tail = strlen(ending);
    return len >= tail && strncasecmp(name + len - tail, ending, tail) == 0;
}

#endif
