/* stdf_writer.h - writes small STDF V4 files in memory for tests, in either byte order.
 *
 *     struct stdf_writer writer;
 *     stdf_writer_open(&writer, true);                    (FAR and MIR)
 *     stdf_writer_wafer(&writer, 1, "W1");
 *     stdf_writer_die(&writer, 1, x, y, STDF_WRITER_FAIL, bin);
 *     stdf_writer_wafer_end(&writer, 1, "W1");
 *     stdf_writer_close(&writer);                         (MRR)
 */
#ifndef ATTND_TESTS_SUPPORT_STDF_WRITER_H
#define ATTND_TESTS_SUPPORT_STDF_WRITER_H

#include <stdbool.h>
#include <stddef.h>

enum { STDF_WRITER_PASS = 0, STDF_WRITER_FAIL = 1 << 3 }; /* PART_FLG */

struct stdf_writer {
    bool big_endian;
    size_t len;
    unsigned char bytes[16 * 1024];
};

void stdf_writer_open(struct stdf_writer *writer, bool big_endian);
void stdf_writer_close(struct stdf_writer *writer);

/* Any record; more than the room is a failed test. */
void stdf_writer_record(struct stdf_writer *writer, unsigned type, unsigned subtype,
                        const void *body, size_t len);

void stdf_writer_wafer(struct stdf_writer *writer, unsigned head, const char *id);
void stdf_writer_wafer_end(struct stdf_writer *writer, unsigned head, const char *id);
/* PIR and PRR. */
void stdf_writer_die(struct stdf_writer *writer, unsigned head, int x, int y, unsigned flag,
                     unsigned hard_bin);
/* WCR: 'L' or 'R', 'U' or 'D', or ' '. */
void stdf_writer_directions(struct stdf_writer *writer, char x, char y);

#endif
