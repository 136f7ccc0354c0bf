#include "engine/content/text_file.h"

#include "tests/support/gzip_writer.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 64, PACKED_MAX = 256 };

static char *copy_of(const void *bytes, size_t len)
{
    char *copy = malloc(len + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, len);
    return copy;
}

/* The bytes, and the same packed, are this text. */
static void decodes(const char *bytes, size_t len, const char *text)
{
    unsigned char packed[PACKED_MAX];
    const size_t packed_len = gzip_pack(packed, sizeof packed, bytes, len);
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        size_t found_len = is_packed ? packed_len : len;
        char *found = copy_of(is_packed ? (char *)packed : bytes, found_len);
        struct err err = {0};
        ck_assert_msg(!text_file_decode(&found, &found_len, BYTES_MAX, &err), "%s", err.text);
        ck_assert_uint_eq(found_len, strlen(text));
        ck_assert_mem_eq(found, text, found_len);
        free(found);
    }
}

static void refuses(const void *bytes, size_t len, enum err_code code, const char *why)
{
    char *found = copy_of(bytes, len);
    struct err err = {0};
    ck_assert_int_eq(text_file_decode(&found, &len, BYTES_MAX, &err), code);
    ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
    ck_assert_ptr_null(found);
}

START_TEST(a_file_is_unpacked_and_loses_its_mark)
{
    decodes("", 0, "");
    decodes("\xEF\xBB", 2, "\xEF\xBB");
    decodes("\xEF\xBB\xBF", 3, "");
    decodes("\xEF\xBB\xBFx", 4, "x");
    decodes("caf\xE9", 4, "caf\xE9");
    decodes("\xFF\xFE"
            "a\0\xE9\0",
            6, "a\xC3\xA9");
    decodes("\xFE\xFF\0a", 4, "a");
}
END_TEST

START_TEST(what_is_no_text_is_refused_and_freed)
{
    static const char long_text[BYTES_MAX + 1] = "x";
    unsigned char packed[PACKED_MAX];
    size_t len = gzip_pack(packed, sizeof packed, long_text, BYTES_MAX);
    refuses("\xFF\xFE"
            "abc",
            5, ERR_UNUSABLE, "not UTF-16");
    refuses(packed, len - 1, ERR_MALFORMED, "the gzip data are cut off");
    packed[len - 5] ^= 1; /* of the CRC-32 */
    refuses(packed, len, ERR_MALFORMED, "the gzip data are damaged");
    len = gzip_pack(packed, sizeof packed, long_text, sizeof long_text);
    refuses(packed, len, ERR_TOO_LARGE, "it unpacks to more than 64 bytes");
}
END_TEST

START_TEST(an_ending_may_have_gz_behind_it)
{
    static const char *const csv[] = {"a.csv", "a.CSV", "a.csv.gz", "x/a.csv.GZ", "a.b.csv"};
    static const char *const others[] = {"a.csv.zip", ".csv", ".csv.gz", "csv",
                                         "",          ".gz",  "a.csvgz", "a.gz"};
    for (size_t i = 0; i < sizeof csv / sizeof *csv; i++)
        ck_assert_msg(text_file_ends(csv[i], ".csv"), "%s", csv[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!text_file_ends(others[i], ".csv"), "%s", others[i]);
}
END_TEST

SUITE("text_file", a_file_is_unpacked_and_loses_its_mark, what_is_no_text_is_refused_and_freed,
      an_ending_may_have_gz_behind_it)
