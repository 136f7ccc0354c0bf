#include "tests/support/golden_file.h"

#include "engine/base/file.h"

#include <check.h>

#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1024 * 1024 };

void golden_file_open(struct golden_file *golden)
{
    golden->file = open_memstream(&golden->text, &golden->len);
    ck_assert_ptr_nonnull(golden->file);
}

const char *golden_file_text(struct golden_file *golden)
{
    if (golden->file != NULL)
        ck_assert_int_eq(fclose(golden->file), 0);
    golden->file = NULL;
    ck_assert_uint_eq(strlen(golden->text), golden->len);
    return golden->text;
}

void golden_file_mask(struct golden_file *golden, const char *before, const char *behind)
{
    golden_file_text(golden);
    for (char *at = strstr(golden->text, before); at != NULL; at = strstr(at, before)) {
        at += strlen(before);
        char *end = strstr(at, behind);
        if (end == NULL)
            break;
        memmove(at, end, strlen(end) + 1);
    }
    golden->len = strlen(golden->text);
}

static void write_file(const struct golden_file *golden, const char *path)
{
    FILE *file = fopen(path, "wb");
    ck_assert_msg(file != NULL, "%s cannot be written", path);
    ck_assert_uint_eq(fwrite(golden->text, 1, golden->len, file), golden->len);
    ck_assert_int_eq(fclose(file), 0);
}

/* Fails the test at the first byte in which the two differ, with what surrounds it. */
static void compare(const char *found, const char *expected, const char *path)
{
    enum { AROUND = 60 };
    size_t at = 0, line = 1;
    while (found[at] == expected[at] && found[at] != '\0')
        line += found[at++] == '\n';
    size_t from = at > AROUND ? at - AROUND : 0;
    if (found[at] != expected[at])
        ck_abort_msg("%s:%zu: expected '%.*s', found '%.*s'", path, line, 2 * AROUND,
                     expected + from, 2 * AROUND, found + from);
}

void golden_file_expect(struct golden_file *golden, const char *path)
{
    struct err err = {0};
    char *expected;
    size_t len;
    golden_file_text(golden);
    if (getenv("ATTND_GOLDEN_WRITE") != NULL)
        write_file(golden, path);
    ck_assert_msg(file_read(&expected, &len, path, BYTES_MAX, &err) == ERR_OK, "%s: %s", path,
                  err.text);
    char *ended = strndup(expected, len);
    ck_assert_ptr_nonnull(ended);
    compare(golden->text, ended, path);
    free(ended);
    free(expected);
    free(golden->text);
}
