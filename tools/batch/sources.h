/* sources.h - all inputs of a run, one after another in the order of the command line: the lines of
 * files, JSON lines, CSV, and files that arguments name, which learn/data/input_list.h lists.
 *
 *     sources_add(&sources, SOURCE_DATA, "logs.jsonl", &err);
 *     sources_open(&sources, "text", "image", &err);
 *     while (!sources_next(&sources, &record, &found, &err) && found)
 *         use(&record);
 *     sources_close(&sources);
 *
 * Each input changes a digest, by its place and its bytes (of a file: its name, size and time of
 * change), so that another run can tell whether it reads the same ones.
 *
 * Threads: one at a time; a record's form lasts until sources_close.
 */
#ifndef ATTND_TOOLS_BATCH_SOURCES_H
#define ATTND_TOOLS_BATCH_SOURCES_H

#include "engine/base/err.h"
#include "engine/base/sha256.h"
#include "learn/data/input_list.h"
#include "tools/batch/record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The records of a file or of standard input one after another, in memory that
 * does not grow with it: lines, or records of CSV, whose quoted fields may hold line ends.
 *
 *     record_reader_open(&reader, "floor.log", &err);
 *     while (!record_reader_next(&reader, &span, &found, &err) && found)
 *         use(span.bytes, span.len, span.line);
 *     record_reader_close(&reader);
 *
 * A file of gzip is unpacked on the way. A byte order mark, lines that are blank (of CSV: empty)
 * and the ends of lines are left out. A record of more than RECORD_BYTES_MAX bytes is passed over
 * and given without its bytes. Where a CSV record ends is told by its quotes alone;
 * learn/data/csv.h judges what is in it.
 *
 * Threads: one at a time.
 */

struct record_reader {
    int fd;
    struct gzFile_s *packed; /* reads a file of gzip; NULL: it is none */
    const atomic_bool *stop; /* set by another thread: a pipe is not waited for any longer; NULL */
    bool is_csv;             /* from the next record on */
    char separator;          /* separator of CSV */
    uint64_t taken;          /* bytes given so far; of gzip only when it is closed */
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
/* ERR_IO, ERR_NO_MEMORY; ERR_MALFORMED: damaged gzip; ERR_NOT_READY if it was stopped. */
enum err_code record_reader_next(struct record_reader *reader, struct record_span *out, bool *found,
                                 struct err *err);
void record_reader_close(struct record_reader *reader);

enum { SOURCES_MAX = 256 };

/* SOURCE_DATA: JSON lines or CSV, by the name (text_file_ends); "-" is JSON lines. SOURCE_PATH: a
 * file, a folder or a pattern. */
enum source_kind { SOURCE_LINES, SOURCE_DATA, SOURCE_PATH };

struct source {
    enum source_kind kind;
    struct record_form form;
    struct record_reader reader; /* for SOURCE_LINES and SOURCE_DATA */
    struct input_list files;     /* for SOURCE_PATH */
    unsigned next_file;
};

struct sources {
    const atomic_bool *stop; /* set by another thread: a pipe is not waited for any longer; NULL */
    struct source items[SOURCES_MAX];
    unsigned count, current;
    uint64_t inputs;               /* given so far */
    char digest[SHA256_HEX_BYTES]; /* digest of the inputs; "" before the first */
};

/* Progress through a source, in bytes. A file of a folder counts as a fixed number of bytes. */
struct sources_progress {
    uint64_t done, total; /* total 0: unknown */
};

/* The path is borrowed. ERR_UNUSABLE: too many, or a form that is not read. */
enum err_code sources_add(struct sources *sources, enum source_kind kind, const char *path,
                          struct err *err);
/* Opens all and reads headers; the names are those of members or columns, and are borrowed.
 * ERR_UNUSABLE with the path of what cannot be read. */
enum err_code sources_open(struct sources *sources, const char *text_field, const char *image_field,
                           const char *id_field, struct err *err);
/* The record's bytes last until the next call. Fails as record_reader_next. */
enum err_code sources_next(struct sources *sources, struct record *out, bool *found,
                           struct err *err);
struct sources_progress sources_progress(const struct sources *sources);
void sources_close(struct sources *sources);

#endif
