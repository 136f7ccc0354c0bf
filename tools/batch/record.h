/* record.h - one input as a source has it, before anybody has looked into it: a line, a record of
 * CSV, or the name of a file; and what it says when it is read.
 *
 *     struct record_input input;
 *     if (record_parse(&record, is_image, asks, &arena, &input, &err) == ERR_OK)
 *         ... input.listed, as attnd-predict has it; input.id ...
 *
 * Threads: no state.
 */
#ifndef ATTND_TOOLS_BATCH_RECORD_H
#define ATTND_TOOLS_BATCH_RECORD_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "learn/data/input_list.h"

#include <stdbool.h>
#include <stddef.h>

enum record_kind { RECORD_LINE, RECORD_JSON, RECORD_CSV, RECORD_FILE };

enum { RECORD_BYTES_MAX = 16 * 1024 * 1024, RECORD_NO_COLUMN = -1 };

/* The format of the records of one source. Strings are borrowed. */
struct record_form {
    enum record_kind kind;
    const char
        *path; /* path of the source; "-": standard input. Images are relative to its folder. */
    const char *text_field, *image_field; /* members of JSON; columns of CSV are numbers: */
    const char *id_field; /* NULL: "id", which a CSV may lack; one that is named must be there */
    char separator;
    unsigned columns;
    int text, image, pair, question, id; /* RECORD_NO_COLUMN: there is none */
};

struct record {
    const struct record_form *form;
    const char *bytes; /* [len], without the line's end; of a file its path */
    size_t len;
    unsigned line;    /* its first line, from 1; 0 for a file */
    bool is_image;    /* only for a file */
    bool is_too_long; /* more than RECORD_BYTES_MAX; the bytes are gone */
};

struct record_input {
    struct listed_input listed;
    const char *question; /* [question_len] to a model that answers questions; NULL: none */
    size_t question_len;
    const char *id; /* NULL: none, or a number */
    bool has_number;
    long long number; /* the id, if it is a whole number */
};

/* `is_image` is which of text and image is taken where a record has both; `asks`: a member or a
 * column `question` is taken, too. Strings are the record's or the arena's, and the record's bytes
 * have a NUL behind them. ERR_MALFORMED, ERR_UNUSABLE and ERR_TOO_LARGE for a record that cannot be
 * used, without its place; ERR_NO_MEMORY. */
enum err_code record_parse(const struct record *record, bool is_image, bool asks,
                           struct arena *arena, struct record_input *out, struct err *err);

/* Reads the names of columns from the first record of a CSV source. ERR_UNUSABLE: neither a text
 * nor an image is among them, or not the id that was named. */
enum err_code record_read_header(struct record_form *form, const char *bytes, size_t len,
                                 struct err *err);

#endif
