/* csv.h - reads comma-separated values (RFC 4180) in place: no copies, lines for the error texts.
 *
 *     csv_open(&csv, bytes, len);
 *     while (!csv_next(&csv, &found, &err) && found)
 *         use(csv.fields, csv.field_count, csv.record_line);
 *
 * Quoted fields may hold commas, line ends and doubled quotes; lines end in \n or \r\n; empty lines
 * and a byte order mark are skipped. Threads: a struct csv belongs to one at a time.
 */
#ifndef ATTND_LEARN_DATA_CSV_H
#define ATTND_LEARN_DATA_CSV_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { CSV_FIELDS_MAX = 256 };

/* A field's text is NUL-terminated and lies in the bytes given to csv_open. It may hold NULs. */
struct csv_field {
    char *text;
    size_t len;
};

struct csv {
    char separator; /* ',' */
    char *bytes;
    size_t len, at;
    size_t line;        /* of the next byte, from 1 */
    size_t record_line; /* where the record begins */
    struct csv_field fields[CSV_FIELDS_MAX];
    unsigned field_count;
};

/* The bytes are rewritten while they are read, and fields point into them. bytes[len] must be
 * writable too. */
void csv_open(struct csv *csv, char *bytes, size_t len);

/* Guesses the field separator from the first line: a comma, if there is one outside quotes, else a
 * semicolon or a tab, whichever is more frequent, as spreadsheets of some countries write. */
char csv_guess_separator(const char *bytes, size_t len);

/* Length of a first line "sep=;", by which Excel names the field separator, with its line end; 0 if
 * there is none. Sets *separator. A byte order mark may precede the line. */
size_t csv_separator_line(const char *bytes, size_t len, char *separator);

/* Reads the next record; *found is false at the end. ERR_MALFORMED, with the line: a quote that is
 * never closed, a quote inside an unquoted field, text after a closing quote, a carriage return
 * alone. ERR_TOO_LARGE: more than CSV_FIELDS_MAX fields. */
enum err_code csv_next(struct csv *csv, bool *found, struct err *err);

#endif
