#include "tests/support/gzip_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tools/batch/record.h"
#include "tools/batch/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tempdir dir;
static struct record_reader reader;

static void open_with(const char *bytes, size_t len, bool is_csv)
{
    char path[128];
    struct err err = {0};
    tempdir_open(&dir);
    tempdir_write(&dir, "in", bytes, len);
    snprintf(path, sizeof path, "%s/in", dir.path);
    ck_assert_int_eq(record_reader_open(&reader, path, &err), ERR_OK);
    reader.is_csv = is_csv;
}

static void expect(const char *text, unsigned line)
{
    struct record_span span;
    struct err err = {0};
    bool found;
    ck_assert_int_eq(record_reader_next(&reader, &span, &found, &err), ERR_OK);
    ck_assert(found);
    ck_assert_msg(span.len == strlen(text) && memcmp(span.bytes, text, span.len) == 0,
                  "'%.*s' for '%s'", (int)span.len, span.bytes, text);
    ck_assert_uint_eq(span.line, line);
}

static void expect_end(void)
{
    struct record_span span;
    struct err err = {0};
    bool found = true;
    ck_assert_int_eq(record_reader_next(&reader, &span, &found, &err), ERR_OK);
    ck_assert(!found);
    record_reader_close(&reader);
    tempdir_close(&dir);
}

START_TEST(reader_gives_lines_without_their_ends_and_counts_blank_ones)
{
    static const char text[] = "\xEF\xBB\xBF"
                               "a\r\n \t\n\nb \n\r\nlast";
    open_with(text, sizeof text - 1, false);
    expect("a", 1);
    expect("b ", 4);
    expect("last", 6);
    expect_end();
}
END_TEST

START_TEST(reader_takes_a_file_of_utf_16)
{
    static const char text[] = "\xFF\xFE"
                               "a\0\xB5\0\n\0b\0\r\0\n";
    open_with(text, sizeof text, false); /* the last NUL is the upper half of the last line end */
    expect("a\xC2\xB5", 1);
    expect("b", 2);
    expect_end();
}
END_TEST

START_TEST(reader_unpacks_gzip_piece_by_piece)
{
    enum { LINES = 200 * 1000, LINE_BYTES = 8 };
    char *text = malloc(LINES * LINE_BYTES + 1), line[LINE_BYTES + 1];
    char *packed = malloc(LINES * LINE_BYTES);
    ck_assert(text != NULL && packed != NULL);
    for (unsigned i = 0; i < LINES; i++)
        sprintf(text + i * (size_t)LINE_BYTES, "%07u\n", i);
    const size_t len = gzip_pack(packed, LINES * LINE_BYTES, text, LINES * LINE_BYTES);
    open_with(packed, len, false);
    for (unsigned i = 0; i < LINES; i++) {
        sprintf(line, "%07u", i);
        expect(line, i + 1);
    }
    ck_assert_uint_le(reader.size, 1 << 20);
    expect_end();
    free(packed);
    free(text);
}
END_TEST

static void fails(const char *bytes, size_t len, enum err_code code, const char *why)
{
    struct record_span span;
    struct err err = {0};
    bool found = true;
    char path[128];
    tempdir_open(&dir);
    tempdir_write(&dir, "in", bytes, len);
    snprintf(path, sizeof path, "%s/in", dir.path);
    record_reader_open(&reader, path, &err);
    while (err.code == ERR_OK && found)
        record_reader_next(&reader, &span, &found, &err);
    ck_assert_int_eq(err.code, code);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    record_reader_close(&reader);
    tempdir_close(&dir);
}

START_TEST(reader_says_what_is_wrong_with_gzip)
{
    char packed[128], twice[256];
    const size_t len = gzip_pack(packed, sizeof packed, "a\nb\n", 4);
    const size_t twice_len = gzip_pack(twice, sizeof twice, packed, len);
    fails(packed, len - 1, ERR_MALFORMED, "the gzip data are cut off");
    fails(twice, twice_len, ERR_UNUSABLE, "is gzip in gzip");
    packed[len - 5] ^= 1; /* of the CRC-32 */
    fails(packed, len, ERR_MALFORMED, "the gzip data are damaged near byte");
}
END_TEST

START_TEST(reader_takes_files_of_nothing_and_of_one_byte)
{
    open_with("", 0, false);
    expect_end();
    open_with("x", 1, false);
    expect("x", 1);
    expect_end();
    open_with("\n", 1, true);
    expect_end();
}
END_TEST

START_TEST(reader_keeps_a_nul_inside_a_line)
{
    struct record_span span;
    struct err err = {0};
    bool found;
    open_with("a\0b\n", 4, false);
    ck_assert_int_eq(record_reader_next(&reader, &span, &found, &err), ERR_OK);
    ck_assert_uint_eq(span.len, 3);
    expect_end();
}
END_TEST

START_TEST(reader_ends_a_csv_record_outside_quotes_only)
{
    static const char text[] = "id,text\n"
                               "1,\"two\nlines, \"\"quoted\"\"\n\"\r\n"
                               "\n"
                               "2,5\" wafer\n"
                               "3,\"\"\n"
                               "\"never closed\n4,x\n";
    open_with(text, sizeof text - 1, true);
    expect("id,text", 1);
    expect("1,\"two\nlines, \"\"quoted\"\"\n\"", 2);
    expect("2,5\" wafer", 6);
    expect("3,\"\"", 7);
    expect("\"never closed\n4,x\n", 8);
    expect_end();
}
END_TEST

/* Larger than any piece that is read at a time, so that records lie across them. */
START_TEST(reader_gives_every_line_of_a_long_file)
{
    enum { LINES = 200000 };
    size_t len = 0;
    char *text = malloc(LINES * 16), want[32];
    ck_assert_ptr_nonnull(text);
    for (unsigned i = 1; i <= LINES; i++)
        len += (size_t)sprintf(text + len, "line %u\n", i);
    open_with(text, len, false);
    for (unsigned i = 1; i <= LINES; i++) {
        snprintf(want, sizeof want, "line %u", i);
        expect(want, i);
    }
    ck_assert_uint_eq(reader.taken, len);
    ck_assert_uint_eq(reader.total, len);
    expect_end();
    free(text);
}
END_TEST

START_TEST(reader_passes_over_a_record_that_is_too_long)
{
    size_t len = 2 * RECORD_BYTES_MAX;
    struct record_span span;
    struct err err = {0};
    bool found;
    char *text = malloc(len + 16);
    ck_assert_ptr_nonnull(text);
    memcpy(text, "a\n", 2);
    memset(text + 2, 'x', len);
    memcpy(text + 2 + len, "\nb\n", 3);
    open_with(text, len + 5, false);
    expect("a", 1);
    ck_assert_int_eq(record_reader_next(&reader, &span, &found, &err), ERR_OK);
    ck_assert(found && span.is_too_long && span.len == 0 && span.line == 2);
    expect("b", 3);
    ck_assert_uint_lt(reader.size, 3 * RECORD_BYTES_MAX);
    expect_end();
    free(text);
}
END_TEST

START_TEST(reader_says_why_it_cannot_open)
{
    struct err err = {0};
    ck_assert_int_eq(record_reader_open(&reader, "/nowhere/at-all", &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
    err = (struct err){0};
    ck_assert_int_eq(record_reader_open(&reader, "/tmp", &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "folder"));
    record_reader_close(&reader);
}
END_TEST

START_TEST(reader_of_a_pipe_that_says_nothing_can_be_stopped)
{
    int ends[2];
    atomic_bool stop = true;
    struct record_span span;
    struct err err = {0};
    bool found;
    ck_assert_int_eq(pipe(ends), 0);
    reader = (struct record_reader){.fd = ends[0], .line = 1, .may_wait = true, .stop = &stop};
    ck_assert_int_eq(write(ends[1], "half a li", 9), 9);
    ck_assert_int_eq(record_reader_next(&reader, &span, &found, &err), ERR_NOT_READY);
    ck_assert(!found);
    close(ends[1]);
    record_reader_close(&reader);
}
END_TEST

SUITE("record_reader", reader_takes_a_file_of_utf_16, reader_unpacks_gzip_piece_by_piece,
      reader_says_what_is_wrong_with_gzip,
      reader_gives_lines_without_their_ends_and_counts_blank_ones,
      reader_takes_files_of_nothing_and_of_one_byte, reader_keeps_a_nul_inside_a_line,
      reader_ends_a_csv_record_outside_quotes_only, reader_gives_every_line_of_a_long_file,
      reader_passes_over_a_record_that_is_too_long, reader_says_why_it_cannot_open,
      reader_of_a_pipe_that_says_nothing_can_be_stopped)
