/* kept_file.h - an input that is kept, as a file: a line of JSON that says what was answered, what
 * the input is like (server/serve/likeness.h), a byte for each number, and its bytes as they came.
 *
 *     kept-000000000000002a.input
 *     {"format":2,"id":"die-7","index":0,"time":"...","media_type":"image/png","likeness":192,
 *      "label":"Donut","score":0.61,"reason":"...",...}
 *     <likeness><bytes>
 *
 *     kept_file_head(&input, head, &parts.head_len);       when the request is over
 *     kept_file_write(dir, 42, &parts, &size, &err);       by a thread of its own
 *     kept_file_read(dir, 42, KEPT_FILE_LINE, &arena, &input, &err);
 *
 * Files of format 1 have no likeness, and are read as such. A text that a model wrote makes a file
 * of format 3: in place of "label" and "score" it has "output", or null and "rejected", and
 * "confidence". Files of before have no "reason".
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
    KEPT_FILE_FORMAT = 2,
    KEPT_FILE_FORMAT_TEXT = 3,
    KEPT_FILE_HEAD_BYTES = 16 * 1024, /* of the line, at most */
    KEPT_FILE_TAIL_BYTES = 256,       /* of them, for what kept_file_write adds */
    KEPT_FILE_NAME_BYTES = 48
};

struct kept_input {
    uint64_t number; /* higher is newer; only of one that was read */
    const char *id;
    unsigned index;   /* of the input in its request */
    const char *time; /* RFC 3339, UTC, with milliseconds */
    const char *model, *version;
    const char *label;    /* NULL: the answer is a text, and then: */
    const char *output;   /* it; NULL: none obeys the rules */
    const char *rejected; /* the best one that does not; NULL: there is an output, or none */
    double score;         /* of the label; the text's confidence */
    const char *reason;   /* why a person is to look at it; NULL: not told */
    const char *right;    /* the right label or text that was given; NULL: none. Of a list alone */
    enum decision decision;
    bool is_sampled;        /* one of the random sample of automatic ones */
    const char *media_type; /* "image/png", "image/jpeg", "text/plain; charset=utf-8", or of a pair
                               "application/json": {"text": "...", "text_pair": "..."} */
    const char *digest;     /* "sha256:<hex>" of the bytes; only of one that was read */
    const char *context;    /* a JSON object as text; NULL: none */
    unsigned likeness_size; /* 0: it is not known */
    const int8_t *likeness; /* [likeness_size] only of one that was read with it */
    const char *bytes;      /* [len] only of one that was read with them */
    size_t len;
    size_t line_len; /* of the file's first line; only of one that was read */
};

/* The beginning of the line, which kept_file_write completes. False: it does not fit. */
bool kept_file_head(const struct kept_input *input, char out[KEPT_FILE_HEAD_BYTES], size_t *len);

/* The parts of a file. */
struct kept_parts {
    const char *head; /* [head_len] by kept_file_head */
    size_t head_len;
    const int8_t *likeness; /* [likeness_size] as the head says */
    unsigned likeness_size;
    const char *bytes; /* [len] */
    size_t len;
};

/* *size: the bytes of the file. ERR_IO with the path. */
enum err_code kept_file_write(const char *dir, uint64_t number, const struct kept_parts *parts,
                              size_t *size, struct err *err);

/* The part of the file that is read beside its first line. */
enum kept_file_part { KEPT_FILE_LINE, KEPT_FILE_LIKENESS, KEPT_FILE_BYTES };

/* The strings, and what was asked for beside them, are the arena's. ERR_NOT_FOUND: there is none of
 * the number; ERR_MALFORMED, ERR_UNUSABLE: it is not one of ours, or of a newer format; ERR_IO;
 * ERR_NO_MEMORY. */
enum err_code kept_file_read(const char *dir, uint64_t number, enum kept_file_part part,
                             struct arena *arena, struct kept_input *out, struct err *err);
enum err_code kept_file_remove(const char *dir, uint64_t number, struct err *err);

enum kept_file_kind { KEPT_FILE_FOREIGN, KEPT_FILE_WHOLE, KEPT_FILE_PARTIAL };
/* Kind of a file in the directory, by its name. Sets *number unless the file is foreign. */
enum kept_file_kind kept_file_kind_of(const char *name, uint64_t *number);

/* ---- which ones are kept ---- */

/* Inputs that are kept, oldest first, in memory: a ring of numbers with what they are found and
 * counted by (kept_list.c). One thread at a time.
 *
 *     kept_list_open(&list, entries_max, &err);
 *     kept_list_add(&list, &entry);                        the caller has made room
 *     kept_list_find(&list, key, &entry);                  the newest of the key
 *     kept_list_oldest(&list)->number; kept_list_drop(&list);
 */

struct kept_entry {
    uint64_t key[2]; /* of id and index */
    uint64_t number; /* of the file; higher is newer */
    uint64_t bytes;  /* of the disk */
    enum decision decision;
    uint32_t model; /* a hash of its name */
};

struct kept_list {
    struct kept_entry *entries; /* [room] */
    unsigned room, first, count;
    uint64_t bytes; /* of the disk, of all files */
};

/* ERR_NO_MEMORY. */
enum err_code kept_list_open(struct kept_list *list, unsigned room, struct err *err);
void kept_list_close(struct kept_list *list);

/* It is newer than all others, and there is room. */
void kept_list_add(struct kept_list *list, const struct kept_entry *entry);
const struct kept_entry *kept_list_oldest(const struct kept_list *list); /* NULL: it is empty */
void kept_list_drop(struct kept_list *list);                             /* the oldest */

/* The newest with the key; false: there is none. A walk over all: 0.1 ms of 100000. */
bool kept_list_find(const struct kept_list *list, const uint64_t key[2], struct kept_entry *out);

/* Numbers below `before`, newest first, of one decision or, with DECISION_COUNT, of any, and of one
 * model or, with NULL, of any; how many there are, of at most `most`. */
unsigned kept_list_before(const struct kept_list *list, uint64_t before, enum decision decision,
                          const uint32_t *model, uint64_t *out, unsigned most);

/* The newest entries of a model, newest first; how many there are, of at most `most`. */
unsigned kept_list_newest(const struct kept_list *list, uint32_t model, struct kept_entry *out,
                          unsigned most);

/* Entries with numbers above `after`, oldest first; how many there are, of at most `most`. */
unsigned kept_list_after(const struct kept_list *list, uint64_t after, struct kept_entry *out,
                         unsigned most);

#endif
