/* record_reader.h - the records of a file or of standard input one after another, in memory that
 * does not grow with it: lines, or records of CSV, whose quoted fields may hold line ends.
 *
 *     record_reader_open(&reader, "floor.log", &err);
 *     while (!record_reader_next(&reader, &span, &found, &err) && found)
 *         use(span.bytes, span.len, span.line);
 *     record_reader_close(&reader);
 *
 * A byte order mark, lines that are blank (of CSV: empty) and the ends of lines are left out. A
 * record of more than RECORD_BYTES_MAX bytes is passed over and given without its bytes. Where a
 * CSV record ends is told by its quotes alone; learn/data/csv.h judges what is in it.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_TOOLS_BATCH_RECORD_READER_H
#define ATTND_TOOLS_BATCH_RECORD_READER_H

#include "engine/base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_reader {
    int fd;
    const atomic_bool *stop; /* set by another thread: a pipe is not waited for any longer; NULL */
    bool is_csv;             /* from the next record on */
    char separator;          /* separator of CSV */
    uint64_t taken;          /* bytes given so far */
    uint64_t total;          /* size of a regular file; 0: unknown */
    bool may_wait;           /* it is none: a pipe or a terminal */

    char *bytes; /* [size] */
    size_t size, at, len;
    size_t scan; /* nothing before it ends the record at `at` */
    int state;   /* state of the CSV parser at `scan` */
    unsigned line, lines_inside;
    bool has_begun, has_ended, is_dropping;
};

struct record_span {
    const char *bytes; /* [len]; the reader's, until the next call */
    size_t len;
    unsigned line; /* its first line, from 1 */
    bool is_too_long;
};

/* "-" is standard input. `stop` is the caller's to set before, all else is set here. ERR_UNUSABLE
 * if it cannot be opened or is a folder. */
enum err_code record_reader_open(struct record_reader *out, const char *path, struct err *err);
/* ERR_IO, ERR_NO_MEMORY; ERR_NOT_READY if it was stopped. */
enum err_code record_reader_next(struct record_reader *reader, struct record_span *out, bool *found,
                                 struct err *err);
void record_reader_close(struct record_reader *reader);

#endif
