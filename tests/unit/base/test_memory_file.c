#include "engine/base/memory_file.h"

#include "tests/support/suite.h"

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

SUITE("memory_file", memory_file_holds_all_that_was_written,
      memory_file_gives_no_bytes_after_an_error)
