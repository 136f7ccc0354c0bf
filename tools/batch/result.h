/* result.h - the line of an answer or a problem: JSON, or a row of a flat CSV table.
 *
 *     result_header(&format, file);
 *     result_write(&format, object, &input, file, &err);
 *
 * The object is that of wire/answer.h, as /predict answers, or a problem document; it gets the
 * input's id and place. A row of CSV has the columns that result_header writes: text cells are
 * quoted as RFC 4180 wants it, and one that a spreadsheet would take for a formula (it begins with
 * = + - @, a tab or a carriage return) begins with an apostrophe.
 *
 * Threads: no state; a file belongs to one thread at a time.
 */
#ifndef ATTND_TOOLS_BATCH_RESULT_H
#define ATTND_TOOLS_BATCH_RESULT_H

#include "engine/base/err.h"
#include "tools/batch/record.h"

#include <stdbool.h>
#include <stdio.h>

struct json_t;

struct result_format {
    bool is_csv;
    unsigned top_k; /* 0: all, not of CSV */
    unsigned texts; /* that each answer has, of models that write; 0: answers have labels */
};

/* Writes the first line of a CSV; JSON has none. Failures show in ferror(file). */
void result_header(const struct result_format *format, FILE *file);

/* Adds the members to the object. ERR_NO_MEMORY if it or the file cannot take them. */
enum err_code result_write(const struct result_format *format, struct json_t *object,
                           const struct record_input *input, FILE *file, struct err *err);

#endif
