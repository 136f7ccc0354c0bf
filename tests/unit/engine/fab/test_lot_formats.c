#include "engine/content/file_kind.h"
#include "engine/fab/lot.h"
#include "engine/fab/lot_formats.h"
#include "tests/support/suite.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

START_TEST(a_lot_s_first_bytes_tell_its_format_and_fewer_do_not)
{
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++) {
        ck_assert_uint_gt(format->signatures[0].len, 0);
        for (const struct file_signature *of = format->signatures; of->len > 0; of++) {
            ck_assert_ptr_eq(lot_format_of_bytes(of->magic, of->len), format);
            ck_assert_ptr_null(lot_format_of_bytes(of->magic, of->len - 1));
            ck_assert_ptr_eq(file_kind_of(of->magic, of->len), &format->kind);
            ck_assert_ptr_eq(file_kind_of_text(of->magic, of->len), &format->kind);
        }
        ck_assert_int_eq(format->kind.use, FILE_IS_LOT);
        ck_assert_ptr_nonnull(strstr(format->kind.name, format->name));
    }
    ck_assert_ptr_null(lot_format_of_bytes("", 0));
    ck_assert_ptr_null(lot_format_of_bytes("\2\0\1\x0a\2\4", 6));
}
END_TEST

START_TEST(media_types_and_endings_tell_one_lot_in_any_case)
{
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++) {
        for (const char *const *type = format->media_types; *type != NULL; type++) {
            char shouted[64] = "";
            for (size_t i = 0; i < strlen(*type); i++)
                shouted[i] = (char)toupper((unsigned char)(*type)[i]);
            ck_assert_ptr_eq(lot_format_of_media_type(*type, strlen(*type)), format);
            ck_assert_ptr_eq(lot_format_of_media_type(shouted, strlen(shouted)), format);
            ck_assert_ptr_null(lot_format_of_media_type(*type, strlen(*type) - 1));
        }
        for (const char *const *ending = format->endings; *ending != NULL; ending++) {
            char name[64];
            const size_t len = (size_t)snprintf(name, sizeof name, "7/a%s.gz", *ending);
            ck_assert_ptr_eq(lot_format_of_name(name, len), format);
            ck_assert_ptr_eq(lot_format_of_name(name, len - 3), format);
            ck_assert_ptr_null(lot_format_of_name(name, len - 5));
            ck_assert_ptr_null(lot_format_of_name(*ending, strlen(*ending)));
        }
    }
    ck_assert_ptr_null(lot_format_of_media_type("image/png", 9));
    ck_assert_ptr_null(lot_format_of_name("lot.gz", 6));
    ck_assert_ptr_null(lot_format_of_name("", 0));
}
END_TEST

/* The words of all rows, with `last` before the last. */
static void join(bool takes_types, const char *last, char *out, size_t size)
{
    size_t used = 0;
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++) {
        const char *before = format == lot_formats ? "" : format[1].name == NULL ? last : ", ";
        used += (size_t)snprintf(out + used, size - used, "%s%s", before,
                                 takes_types ? format->media_types[0] : format->name);
        ck_assert_uint_lt(used, size);
    }
}

START_TEST(words_of_messages_are_those_of_the_lots)
{
    char words[256];
    join(false, " or ", words, sizeof words);
    ck_assert_str_eq(LOT_FORMATS_OR, words);
    join(true, ", ", words, sizeof words);
    ck_assert_str_eq(LOT_FORMATS_MEDIA_TYPES, words);
}
END_TEST

__attribute__((format(printf, 2, 3))) static void expect(const char *path, const char *form, ...)
{
    static char text[256 * 1024];
    char wanted[128];
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    va_list words;
    va_start(words, form);
    vsnprintf(wanted, sizeof wanted, form, words);
    va_end(words);
    ck_assert_msg(strstr(text, wanted) != NULL, "%s has no %s", path, wanted);
}

/* Documents, of the interface and for people, are files and do not ask the table. */
START_TEST(documents_tell_every_format_of_lots)
{
    for (const struct lot_format *format = lot_formats; format->name != NULL; format++)
        expect("docs/api.md", "`%s`", format->media_types[0]);
    expect("server/openapi/openapi.json", "The bytes of an %s file", LOT_FORMATS_OR);
    expect("README.md", "base64 in JSON, %s lots |", LOT_FORMATS_OR);
    expect("README.md", "wafers of %s |", LOT_FORMATS_OR);
    expect("SECURITY.md", "\n| %s | `engine/fab`", LOT_FORMATS_OR);
    expect("docs/api.md", "A lot, an %s", LOT_FORMATS_OR);
    expect("docs/batch.md", "BMP and %s are recognised", LOT_FORMATS_OR);
    expect("docs/faq.md", "write %s.", LOT_FORMATS_OR);
    expect("docs/limits.md", "A lot (%s) has at most", LOT_FORMATS_OR);
    expect("docs/training.md", "wafers from %s files", LOT_FORMATS_OR);
    expect("learn/data/dataset_left_out.c", "and %s are read", LOT_FORMATS_OR);
}
END_TEST

START_TEST(the_bound_of_readers_is_that_of_the_largest)
{
    for (size_t len = 0; len < 100000; len = 3 * len + 1)
        for (const struct lot_format *format = lot_formats; format->name != NULL; format++) {
            ck_assert_uint_ge(lot_formats_read_bytes(len, 64), format->read_bytes(len, 64));
            ck_assert_uint_ge(format->read_bytes(len, LOT_WAFERS_MAX), format->read_bytes(len, 64));
        }
}
END_TEST

SUITE("lot_formats", a_lot_s_first_bytes_tell_its_format_and_fewer_do_not,
      media_types_and_endings_tell_one_lot_in_any_case, words_of_messages_are_those_of_the_lots,
      documents_tell_every_format_of_lots, the_bound_of_readers_is_that_of_the_largest)
