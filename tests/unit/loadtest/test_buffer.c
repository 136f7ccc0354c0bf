#include "loadtest/buffer.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <string.h>

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
    ck_assert(!buffer_file(&buffer, "tests/unit/loadtest/test_buffer.c", 100));
    ck_assert_int_eq(errno, EFBIG);
    ck_assert(!buffer_file(&buffer, "tests/no-such-file", 100));
    ck_assert_int_eq(errno, ENOENT);
    buffer_clear(&buffer);
    ck_assert(buffer_file(&buffer, "tests/unit/loadtest/test_buffer.c", 1 << 20));
    ck_assert_uint_gt(buffer.len, 100);
    buffer_deinit(&buffer);
}
END_TEST

SUITE("buffer", buffer_encodes_base64_as_rfc_4648_says, buffer_escapes_json,
      buffer_percent_encodes_a_query, buffer_grows_by_any_steps,
      buffer_refuses_files_over_the_limit)
