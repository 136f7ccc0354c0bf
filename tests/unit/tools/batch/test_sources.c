#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tools/batch/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir dir;
static struct sources *sources;
static struct err err;

static const char *file(const char *name, const char *text)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    tempdir_write(&dir, name, text, strlen(text));
    snprintf(path, 128, "%s/%s", dir.path, name);
    return path;
}

static void begin(void)
{
    sources = calloc(1, sizeof *sources);
    ck_assert_ptr_nonnull(sources);
    err = (struct err){0};
}

static void end(void)
{
    sources_close(sources);
    free(sources);
}

/* All inputs of one source; the digest of them. */
static void read_all(enum source_kind kind, const char *path, unsigned count,
                     char digest[SHA256_HEX_BYTES])
{
    struct record record;
    bool found = true;
    begin();
    ck_assert_int_eq(sources_add(sources, kind, path, &err), ERR_OK);
    ck_assert_msg(sources_open(sources, "text", "image", NULL, &err) == ERR_OK, "%s", err.text);
    while (found)
        ck_assert_int_eq(sources_next(sources, &record, &found, &err), ERR_OK);
    ck_assert_uint_eq(sources->inputs, count);
    struct sources_progress at = sources_progress(sources);
    ck_assert_uint_eq(at.done, at.total);
    memcpy(digest, sources->digest, SHA256_HEX_BYTES);
    end();
}

START_TEST(sources_come_in_the_order_of_the_arguments)
{
    static const char *const want[] = {"a", "b", "{\"text\":\"c\"}", "d,1"};
    struct record record;
    bool found;
    tempdir_open(&dir);
    begin();
    sources_add(sources, SOURCE_LINES, file("1.log", "a\n\nb\n"), &err);
    sources_add(sources, SOURCE_DATA, file("2.jsonl", "{\"text\":\"c\"}\n"), &err);
    sources_add(sources, SOURCE_DATA, file("3.csv", "text,id\nd,1\n"), &err);
    ck_assert_int_eq(sources_open(sources, "text", "image", NULL, &err), ERR_OK);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        ck_assert_int_eq(sources_next(sources, &record, &found, &err), ERR_OK);
        ck_assert(found);
        ck_assert_uint_eq(record.len, strlen(want[i]));
        ck_assert_int_eq(memcmp(record.bytes, want[i], record.len), 0);
    }
    ck_assert_int_eq(sources_next(sources, &record, &found, &err), ERR_OK);
    ck_assert(!found);
    end();
    tempdir_close(&dir);
}
END_TEST

START_TEST(sources_list_the_files_of_a_folder)
{
    char digest[SHA256_HEX_BYTES], other[SHA256_HEX_BYTES];
    tempdir_open(&dir);
    file("b.txt", "b");
    file("a.txt", "a");
    read_all(SOURCE_PATH, dir.path, 2, digest);
    file("a.txt", "longer");
    read_all(SOURCE_PATH, dir.path, 2, other);
    ck_assert_str_ne(digest, other);
    tempdir_close(&dir);
}
END_TEST

START_TEST(sources_digest_tells_every_change)
{
    static const char *const texts[] = {"a\nb\n", "a\nc\n", "b\na\n", "a\n\nb\n", "ab\n", "a\n"};
    static const unsigned counts[] = {2, 2, 2, 2, 1, 1};
    char digests[6][SHA256_HEX_BYTES];
    tempdir_open(&dir);
    for (size_t i = 0; i < 6; i++) {
        read_all(SOURCE_LINES, file("a.log", texts[i]), counts[i], digests[i]);
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(digests[i], digests[j]);
    }
    char again[SHA256_HEX_BYTES];
    read_all(SOURCE_LINES, file("a.log", texts[0]), 2, again);
    ck_assert_str_eq(again, digests[0]);
    tempdir_close(&dir);
}
END_TEST

static void refused(enum source_kind kind, const char *path, const char *why)
{
    begin();
    if (sources_add(sources, kind, path, &err) == ERR_OK)
        sources_open(sources, "text", "image", NULL, &err);
    ck_assert_int_eq(err.code, ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    end();
}

START_TEST(sources_refuse_what_cannot_be_read_before_anything_is)
{
    tempdir_open(&dir);
    refused(SOURCE_LINES, "/nowhere/a.log", "/nowhere/a.log: cannot be opened: No such file");
    refused(SOURCE_PATH, "/nowhere/maps", "/nowhere/maps: there is no such file or folder");
    refused(SOURCE_DATA, "a.txt",
            "a.txt: expected a name that ends in .jsonl, .ndjson or .csv, with");
    refused(SOURCE_DATA, file("a.csv", "log,x\n"), "line 1: no column is named 'text'");
    refused(SOURCE_DATA, file("b.csv", "\n"), "the header, which names the columns, is missing");
    tempdir_close(&dir);
}
END_TEST

START_TEST(sources_are_bounded)
{
    begin();
    for (unsigned i = 0; i < SOURCES_MAX; i++)
        ck_assert_int_eq(sources_add(sources, SOURCE_PATH, "a", &err), ERR_OK);
    ck_assert_int_eq(sources_add(sources, SOURCE_PATH, "a", &err), ERR_UNUSABLE);
    end();
}
END_TEST

SUITE("sources", sources_come_in_the_order_of_the_arguments, sources_list_the_files_of_a_folder,
      sources_digest_tells_every_change, sources_refuse_what_cannot_be_read_before_anything_is,
      sources_are_bounded)
