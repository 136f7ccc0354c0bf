#include "engine/base/base64.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tools/client/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

START_TEST(buffer_encodes_base64_as_rfc_4648_says)
{
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct buffer buffer = {0};
        buffer_text(&buffer, "");
        buffer_base64(&buffer, pairs[i][0], strlen(pairs[i][0]));
        ck_assert_str_eq(buffer.bytes, pairs[i][1]);
        buffer_deinit(&buffer);
    }
    struct buffer buffer = {0};
    buffer_base64(&buffer, "\xFB\xFF\xBF", 3);
    ck_assert_str_eq(buffer.bytes, "+/+/");
    buffer_deinit(&buffer);
}
END_TEST

/* Longer than the memory at hand, behind what is there already. */
START_TEST(buffer_base64_is_appended_at_any_length)
{
    static char bytes[2000], decoded[sizeof bytes + 3];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    for (size_t len = 0; len <= sizeof bytes; len += 37) {
        struct buffer buffer = {0};
        struct err err = {0};
        size_t decoded_len;
        buffer_text(&buffer, "{\"");
        buffer_base64(&buffer, bytes, len);
        buffer_text(&buffer, "\"}");
        ck_assert_uint_eq(buffer.len, (len + 2) / 3 * 4 + 4);
        ck_assert_uint_eq(strlen(buffer.bytes), buffer.len);
        ck_assert(!base64_decode(decoded, &decoded_len, buffer.bytes + 2, buffer.len - 4, 0, &err));
        ck_assert_uint_eq(decoded_len, len);
        ck_assert_mem_eq(decoded, bytes, len);
        buffer_deinit(&buffer);
    }
}
END_TEST

START_TEST(buffer_escapes_json)
{
    struct buffer buffer = {0};
    buffer_json_string(&buffer, "a\"\\\n\0\x7F\xC3\xA9", 8);
    ck_assert_str_eq(buffer.bytes, "\"a\\\"\\\\\\u000a\\u0000\x7F\xC3\xA9\"");
    buffer_deinit(&buffer);
}
END_TEST

START_TEST(buffer_percent_encodes_a_query)
{
    struct buffer buffer = {0};
    buffer_percent(&buffer, "a-b_c.d~ /&\xC3\xA9");
    ck_assert_str_eq(buffer.bytes, "a-b_c.d~%20%2F%26%C3%A9");
    buffer_deinit(&buffer);
}
END_TEST

START_TEST(buffer_grows_by_any_steps)
{
    struct buffer buffer = {0};
    for (unsigned i = 0; i < 5000; i++)
        buffer_format(&buffer, "%04u,", i);
    ck_assert_uint_eq(buffer.len, 5U * 5000);
    ck_assert_mem_eq(buffer.bytes + 5U * 4321, "4321,", 5);
    buffer_clear(&buffer);
    buffer_text(&buffer, "x");
    ck_assert_str_eq(buffer.bytes, "x");
    buffer_deinit(&buffer);
}
END_TEST

START_TEST(buffer_refuses_files_over_the_limit)
{
    struct buffer buffer = {0};
    ck_assert(!buffer_file(&buffer, "tests/unit/tools/client/test_buffer.c", 100));
    ck_assert_int_eq(errno, EFBIG);
    ck_assert(!buffer_file(&buffer, "tests/no-such-file", 100));
    ck_assert_int_eq(errno, ENOENT);
    buffer_clear(&buffer);
    ck_assert(buffer_file(&buffer, "tests/unit/tools/client/test_buffer.c", 1 << 20));
    ck_assert_uint_gt(buffer.len, 100);
    buffer_deinit(&buffer);
}
END_TEST

START_TEST(buffer_reads_standard_input_and_tells_what_it_cannot_read)
{
    struct buffer buffer = {0};
    int file = open("tests/unit/tools/client/test_buffer.c", O_RDONLY | O_CLOEXEC);
    int saved = dup(STDIN_FILENO);
    ck_assert_int_ge(file, 0);
    dup2(file, STDIN_FILENO);
    ck_assert(buffer_file(&buffer, "-", 1 << 20));
    ck_assert_uint_eq(buffer.len, (size_t)lseek(file, 0, SEEK_END));
    ck_assert_mem_eq(buffer.bytes, "#include \"engine/base/base64.h\"\n", 32);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(file);
    buffer_clear(&buffer);
    ck_assert(!buffer_file(&buffer, "tests", 1 << 20)); /* a folder opens, and cannot be read */
    ck_assert_int_eq(errno, EISDIR);
    buffer_deinit(&buffer);
}
END_TEST

START_TEST(buffer_takes_a_file_of_exactly_the_limit)
{
    struct tempdir dir;
    struct buffer buffer = {0};
    char path[96], bytes[40000];
    memset(bytes, 'x', sizeof bytes);
    tempdir_open(&dir);
    tempdir_write(&dir, "file", bytes, sizeof bytes);
    snprintf(path, sizeof path, "%s/file", dir.path);
    ck_assert(buffer_file(&buffer, path, sizeof bytes));
    ck_assert_uint_eq(buffer.len, sizeof bytes);
    ck_assert_uint_eq(strlen(buffer.bytes), sizeof bytes);
    buffer_clear(&buffer);
    ck_assert(!buffer_file(&buffer, path, sizeof bytes - 1));
    ck_assert_int_eq(errno, EFBIG);
    tempdir_close(&dir);
    buffer_deinit(&buffer);
}
END_TEST

/* The length alone is asked: none of the bytes is looked at. */
START_TEST(buffer_that_cannot_hold_it_all_stays_failed_until_it_is_cleared)
{
    volatile size_t too_much = SIZE_MAX / 2;
    struct buffer buffer = {0};
    buffer_text(&buffer, "kept");
    buffer_append(&buffer, "", too_much - 4);
    ck_assert(buffer.failed);
    buffer_text(&buffer, "not taken");
    ck_assert_str_eq(buffer.bytes, "kept");
    ck_assert_uint_eq(buffer.len, 4);
    ck_assert(!buffer_file(&buffer, "tests/unit/tools/client/test_buffer.c", 1 << 20));
    ck_assert_int_eq(errno, ENOMEM);
    buffer_clear(&buffer);
    buffer_text(&buffer, "taken");
    ck_assert_str_eq(buffer.bytes, "taken");
    buffer_deinit(&buffer);
}
END_TEST

SUITE("buffer", buffer_encodes_base64_as_rfc_4648_says, buffer_base64_is_appended_at_any_length,
      buffer_escapes_json, buffer_percent_encodes_a_query, buffer_grows_by_any_steps,
      buffer_refuses_files_over_the_limit,
      buffer_reads_standard_input_and_tells_what_it_cannot_read,
      buffer_takes_a_file_of_exactly_the_limit,
      buffer_that_cannot_hold_it_all_stays_failed_until_it_is_cleared)
