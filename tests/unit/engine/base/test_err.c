#include "engine/base/err.h"

#include "tests/support/suite.h"

#include <errno.h>
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

START_TEST(err_keeps_the_text_of_its_first_writer)
{
    struct err err = {0};
    ck_assert_int_eq(err_set(&err, ERR_IO, "the cause is %d", 7), ERR_IO);
    ck_assert_int_eq(err.code, ERR_IO);
    ck_assert_str_eq(err.text, "the cause is 7");
    ck_assert_int_eq(err_set(&err, ERR_UNUSABLE, "what came of it"), ERR_IO);
    ck_assert_int_eq(err.code, ERR_IO);
    ck_assert_str_eq(err.text, "the cause is 7");
    ck_assert_int_eq(err_prefix(&err, "%s: ", "a.txt"), ERR_IO);
    ck_assert_int_eq(err.code, ERR_IO);
    ck_assert_str_eq(err.text, "a.txt: the cause is 7");
    err = (struct err){0};
    ck_assert_int_eq(err_no_memory(&err, 12), ERR_NO_MEMORY);
    ck_assert_str_eq(err.text, "out of memory (12 bytes were needed)");
}
END_TEST

/* Names are the words of the API: clients handle them, and metrics have them as labels. */
START_TEST(err_codes_have_names_of_their_own)
{
    ck_assert_str_eq(err_name(ERR_OK), "ok");
    ck_assert_str_eq(err_name(ERR_CONFLICT), "conflict");
    ck_assert_str_eq(err_name(ERR_FORBIDDEN), "forbidden");
    ck_assert_str_eq(err_name(ERR_QUEUE_FULL), "queue_full");
    ck_assert_str_eq(err_name(ERR_DEADLINE), "deadline_passed");
    for (int code = 0; code < ERR_CODE_COUNT; code++)
        for (int other = 0; other < code; other++)
            ck_assert_str_ne(err_name((enum err_code)code), err_name((enum err_code)other));
}
END_TEST

/* A character of each length, of which the buffer's end leaves all, all but one byte, ... or none.
 */
START_TEST(err_text_ends_with_a_whole_character_of_any_length)
{
    static const char *const characters[] = {"a", "\xC3\xA9", "\xE6\x99\xB6", "\xF0\x9F\x98\x80"};
    enum { ROOM = sizeof((struct err *)NULL)->text - 1 };
    for (size_t bytes = 1; bytes <= 4; bytes++)
        for (size_t kept = 0; kept <= bytes; kept++) {
            char name[600];
            struct err err = {0}, longer = {0};
            memset(name, 'a', sizeof name);
            memcpy(name + ROOM - kept, characters[bytes - 1], bytes);
            name[ROOM - kept + bytes] = '\0';
            err_set(&err, ERR_IO, "%s", name);
            ck_assert_uint_eq(strlen(err.text), ROOM - (kept < bytes ? kept : 0));
            ck_assert_int_eq(strncmp(err.text, name, strlen(err.text)), 0);
            err_set(&longer, ERR_IO, "%s", name + 2);
            err_prefix(&longer, "aa");
            ck_assert_str_eq(longer.text, err.text);
        }
}
END_TEST

START_TEST(err_prefix_that_fills_the_text_leaves_no_room_for_the_cause)
{
    enum { ROOM = sizeof((struct err *)NULL)->text - 1 };
    char prefix[ROOM + 2];
    for (size_t len = ROOM - 1; len <= ROOM + 1; len++) {
        struct err err = {0};
        memset(prefix, 'p', len);
        prefix[len] = '\0';
        err_set(&err, ERR_IO, "x");
        ck_assert_int_eq(err_prefix(&err, "%s", prefix), ERR_IO);
        ck_assert_uint_eq(strlen(err.text), ROOM);
        ck_assert_int_eq(err.text[ROOM - 1], len < ROOM ? 'x' : 'p');
    }
}
END_TEST

START_TEST(err_code_of_errno_tells_no_memory_from_the_rest)
{
    ck_assert_int_eq(err_code_of_errno(ENOMEM), ERR_NO_MEMORY);
    ck_assert_int_eq(err_code_of_errno(EAGAIN), ERR_NO_MEMORY); /* no room for a thread */
    ck_assert_int_eq(err_code_of_errno(EIO), ERR_IO);
    ck_assert_int_eq(err_code_of_errno(EMFILE), ERR_IO);
}
END_TEST

START_TEST(err_check_utf8_says_where_and_how_to_convert)
{
    struct err err = {0};
    ck_assert_int_eq(err_check_utf8(&err, "K\xC3\xBChl", 6, "the label"), ERR_OK);
    ck_assert_int_eq(err_check_utf8(&err, "K\xFChl", 4, "the label"), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "invalid UTF-8 at byte 1 of the label (iconv -f windows-1252 -t "
                               "UTF-8 converts a file)");
}
END_TEST

SUITE("err", err_check_utf8_says_where_and_how_to_convert,
      err_code_of_errno_tells_no_memory_from_the_rest,
      err_text_is_utf8_when_a_precision_cuts_a_character, err_text_is_utf8_whatever_a_path_holds,
      err_text_too_long_ends_with_a_whole_character, err_keeps_the_text_of_its_first_writer,
      err_codes_have_names_of_their_own, err_text_ends_with_a_whole_character_of_any_length,
      err_prefix_that_fills_the_text_leaves_no_room_for_the_cause)
