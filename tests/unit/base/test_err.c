#include "engine/base/err.h"

#include "tests/support/suite.h"

#include <string.h>

START_TEST(err_text_is_utf8_when_a_precision_cuts_a_character)
{
    struct err err = {0};
    err_set(&err, ERR_UNUSABLE, "the label '%.2s'", "a\xC3\xA9");
    ck_assert_str_eq(err.text, "the label 'a?'");
    err_prefix(&err, "%.3s: ", "\xC3\xA9\xC3\xA9");
    ck_assert_str_eq(err.text, "\xC3\xA9?: the label 'a?'");
}
END_TEST

START_TEST(err_text_is_utf8_whatever_a_path_holds)
{
    struct err err = {0};
    err_set(&err, ERR_IO, "%s: cannot be opened", "x\xFF:\xED\xA0\x80y");
    ck_assert_str_eq(err.text, "x?:???y: cannot be opened");
}
END_TEST

START_TEST(err_text_too_long_ends_with_a_whole_character)
{
    char name[600];
    struct err err = {0};
    memset(name, 'a', sizeof name);
    memcpy(name + sizeof err.text - 2, "\xC3\xA9", 3); /* its second byte has no room */
    err_set(&err, ERR_IO, "%s", name);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 2);
}
END_TEST

SUITE("err", err_text_is_utf8_when_a_precision_cuts_a_character,
      err_text_is_utf8_whatever_a_path_holds, err_text_too_long_ends_with_a_whole_character)
