/* The same texts, in every form that a file may have, are the same inputs by every reader. */
#include "learn/data/dataset.h"
#include "learn/data/input_list.h"
#include "tests/support/gzip_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tools/batch/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 4096, NAME_BYTES = 32, PATH_BYTES = 128 };

enum { IS_CRLF = 1, IS_MARKED = 2, IS_UTF_16 = 4, IS_PACKED = 8, FORMS = 16 };

static const char *const texts[] = {"FAIL bin 7", "12 \xC2\xB5\x41 too high", "ok"};
enum { TEXTS = sizeof texts / sizeof *texts };

static struct tempdir dir;
static char path[PATH_BYTES];

/* Writes the texts in one form. The UTF-16 is that of characters below U+0800. */
static void write_form(const char *name, const char *before, const char *after, unsigned form)
{
    char bytes[FILE_BYTES_MAX], wide[2 * FILE_BYTES_MAX];
    unsigned char packed[FILE_BYTES_MAX];
    const char *end = form & IS_CRLF ? "\r\n" : "\n";
    int len = snprintf(bytes, sizeof bytes, "%s%s", form & IS_MARKED ? "\xEF\xBB\xBF" : "",
                       strcmp(name, "in.csv") == 0 ? "text,label" : "");
    if (strcmp(name, "in.csv") == 0)
        len += snprintf(bytes + len, sizeof bytes - (size_t)len, "%s", end);
    for (unsigned i = 0; i < TEXTS; i++)
        len += snprintf(bytes + len, sizeof bytes - (size_t)len, "%s%s%s%s", before, texts[i],
                        after, end);
    const char *written = bytes;
    size_t written_len = (size_t)len;
    if (form & IS_UTF_16) {
        written_len = 0;
        for (int i = 0; i < len; i++) {
            unsigned char c = (unsigned char)bytes[i];
            unsigned code = c;
            if (c >= 0xE0) { /* the mark */
                code = 0xFEFF;
                i += 2;
            } else if (c >= 0xC0) {
                code = (c & 0x1Fu) << 6 | ((unsigned char)bytes[++i] & 0x3Fu);
            }
            wide[written_len++] = (char)(code & 0xFF);
            wide[written_len++] = (char)(code >> 8);
        }
        written = wide;
    }
    if (form & IS_PACKED) {
        written_len = gzip_pack(packed, sizeof packed, written, written_len);
        written = (const char *)packed;
    }
    char full[NAME_BYTES];
    snprintf(full, sizeof full, "%s%s", name, form & IS_PACKED ? ".gz" : "");
    tempdir_write(&dir, full, written, written_len);
    snprintf(path, sizeof path, "%s/%s", dir.path, full);
}

static void expect(const char *bytes, size_t len, unsigned i, unsigned form)
{
    ck_assert_uint_lt(i, TEXTS);
    ck_assert_msg(len == strlen(texts[i]) && memcmp(bytes, texts[i], len) == 0,
                  "form %u of %s: '%.*s'", form, path, (int)len, bytes);
}

static void as_data_set(unsigned form)
{
    const struct dataset_options options = {.kind = ENGINE_TEXT, .labels_optional = true};
    struct dataset dataset;
    struct err err = {0};
    ck_assert_msg(!dataset_open(&dataset, path, &options, &err), "form %u: %s", form, err.text);
    ck_assert_uint_eq(dataset.count, TEXTS);
    for (unsigned i = 0; i < TEXTS; i++)
        expect(dataset.items[i].input, dataset.items[i].input_len, i, form);
    dataset_close(&dataset);
}

static void as_lines(unsigned form)
{
    struct input_list list = {0};
    struct err err = {0};
    ck_assert_msg(!input_list_add_lines(&list, path, &err), "form %u: %s", form, err.text);
    ck_assert_uint_eq(list.count, TEXTS);
    for (unsigned i = 0; i < TEXTS; i++)
        expect(list.items[i].text, list.items[i].text_len, i, form);
    input_list_close(&list);
}

static void as_records(enum source_kind kind, unsigned form)
{
    static struct sources sources;
    struct record record = {0};
    struct record_input input;
    struct err err = {0};
    unsigned count = 0;
    bool found = true;
    sources = (struct sources){0};
    ck_assert_msg(!sources_add(&sources, kind, path, &err) &&
                      !sources_open(&sources, "text", "image", NULL, &err),
                  "form %u: %s", form, err.text);
    while (sources_next(&sources, &record, &found, &err) == ERR_OK && found) {
        struct arena arena;
        arena_init(&arena);
        ck_assert_msg(!record_parse(&record, false, false, &arena, &input, &err), "form %u: %s",
                      form, err.text);
        expect(input.listed.text, input.listed.text_len, count++, form);
        arena_deinit(&arena);
    }
    ck_assert_msg(err.code == ERR_OK, "form %u: %s", form, err.text);
    ck_assert_uint_eq(count, TEXTS);
    const struct sources_progress at = sources_progress(&sources);
    ck_assert_uint_gt(at.total, 0);
    ck_assert_uint_eq(at.done, at.total);
    sources_close(&sources);
}

START_TEST(texts_are_the_same_in_every_form_of_a_file)
{
    for (unsigned form = 0; form < FORMS; form++) {
        if ((form & IS_UTF_16) != 0 && (form & IS_MARKED) == 0)
            continue; /* a text without a mark is UTF-8 */
        tempdir_open(&dir);
        write_form("in.log", "", "", form);
        as_lines(form);
        as_records(SOURCE_LINES, form);
        write_form("in.csv", "", ",", form);
        as_data_set(form);
        as_records(SOURCE_DATA, form);
        write_form("in.jsonl", "{\"text\": \"", "\"}", form);
        as_data_set(form);
        as_records(SOURCE_DATA, form);
        write_form("in.ndjson", "{\"text\": \"", "\"}", form);
        as_data_set(form);
        as_records(SOURCE_DATA, form);
        tempdir_close(&dir);
    }
}
END_TEST

SUITE("text_forms", texts_are_the_same_in_every_form_of_a_file)
