#include "engine/base/memory_file.h"

#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdlib.h>

static void expect_whole(size_t len)
{
    struct memory_file file;
    struct err err = {0};
    ck_assert_int_eq(memory_file_open(&file, &err), ERR_OK);
    for (size_t i = 0; i < len; i++)
        ck_assert_int_ne(fputc('a' + (int)(i % 26), file.stream), EOF);
    ck_assert_msg(!memory_file_close(&file, &err), "%s", err.text);
    ck_assert_uint_eq(file.len, len);
    for (size_t i = 0; i < len; i++)
        ck_assert_int_eq(file.bytes[i], 'a' + (int)(i % 26));
    ck_assert_int_eq(file.bytes[len], '\0');
    free(file.bytes);
}

START_TEST(memory_file_holds_all_that_was_written)
{
    static const size_t lens[] = {0, 1, 4095, 4096, 4097, 8192, 100000};
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++)
        expect_whole(lens[i]);
}
END_TEST

START_TEST(memory_file_gives_no_bytes_after_an_error)
{
    struct memory_file file;
    struct err err = {0};
    ck_assert_int_eq(memory_file_open(&file, &err), ERR_OK);
    fputs("some of it", file.stream);
    err_set(&err, ERR_IO, "what should follow cannot be read");
    ck_assert_int_eq(memory_file_close(&file, &err), ERR_IO);
    ck_assert_ptr_null(file.bytes);
    ck_assert_uint_eq(file.len, 0);
}
END_TEST

START_TEST(memory_file_is_saved_whole_or_not_at_all)
{
    struct tempdir dir;
    struct memory_file file;
    struct err err = {0};
    char path[96];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/file", dir.path);
    ck_assert_int_eq(memory_file_open(&file, &err), ERR_OK);
    fputs("whole", file.stream);
    ck_assert_int_eq(memory_file_save(&file, path, &err), ERR_OK);
    ck_assert_ptr_null(file.bytes);
    ck_assert_int_eq(memory_file_open(&file, &err), ERR_OK);
    fputs("cut", file.stream);
    err_set(&err, ERR_UNUSABLE, "what should follow cannot be told");
    ck_assert_int_eq(memory_file_save(&file, path, &err), ERR_UNUSABLE);
    ck_assert_ptr_null(file.bytes);
    FILE *saved = fopen(path, "re");
    char text[16] = "";
    ck_assert_ptr_nonnull(saved);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, saved));
    fclose(saved);
    ck_assert_str_eq(text, "whole");
    tempdir_close(&dir);
}
END_TEST

SUITE("memory_file", memory_file_holds_all_that_was_written,
      memory_file_gives_no_bytes_after_an_error, memory_file_is_saved_whole_or_not_at_all)
