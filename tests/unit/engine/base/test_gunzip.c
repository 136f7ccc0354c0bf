#include "engine/base/gunzip.h"
#include "tests/support/gzip_writer.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One gzip member; appended to what is there. */
static void pack(unsigned char **packed, size_t *packed_len, const void *bytes, size_t len)
{
    size_t room = len + 1024;
    *packed = realloc(*packed, *packed_len + room);
    ck_assert_ptr_nonnull(*packed);
    *packed_len += gzip_pack(*packed + *packed_len, room, bytes, len);
}

static unsigned char *pattern_new(size_t len)
{
    unsigned char *bytes = malloc(len + 1);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)(i * i >> 7);
    return bytes;
}

/* Unpacks a copy. The bytes are yours to free, also after a failure. */
static enum err_code unpack(const void *packed, size_t packed_len, size_t bytes_max, char **bytes,
                            size_t *len, struct err *err)
{
    *bytes = malloc(packed_len + 1);
    ck_assert_ptr_nonnull(*bytes);
    memcpy(*bytes, packed, packed_len);
    *len = packed_len;
    *err = (struct err){0};
    enum err_code code = gunzip_if_packed(bytes, len, bytes_max, err);
    ck_assert_int_eq(code, err->code);
    return code;
}

START_TEST(gunzip_gives_back_texts_of_every_size)
{
    static const size_t sizes[] = {0, 1, 1000, 65535, 65536, 65537, 131072, 131073, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *pattern = pattern_new(sizes[i]), *packed = NULL;
        char *bytes;
        size_t packed_len = 0, len;
        struct err err;
        pack(&packed, &packed_len, pattern, sizes[i]);
        ck_assert_msg(!unpack(packed, packed_len, 1 << 20, &bytes, &len, &err), "%s", err.text);
        ck_assert_uint_eq(len, sizes[i]);
        ck_assert_int_eq(memcmp(bytes, pattern, len), 0);
        free(bytes), free(packed), free(pattern);
    }
}
END_TEST

START_TEST(gunzip_accepts_exactly_the_limit)
{
    static const size_t limits[] = {1, 100, 65536, 65537, 200000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        unsigned char *pattern = pattern_new(limits[i]), *packed = NULL;
        char *bytes, text[80];
        size_t packed_len = 0, len;
        struct err err;
        pack(&packed, &packed_len, pattern, limits[i]);
        ck_assert_int_eq(unpack(packed, packed_len, limits[i], &bytes, &len, &err), ERR_OK);
        ck_assert_uint_eq(len, limits[i]);
        free(bytes);
        ck_assert_int_eq(unpack(packed, packed_len, limits[i] - 1, &bytes, &len, &err),
                         ERR_TOO_LARGE);
        snprintf(text, sizeof text, "it unpacks to more than %zu bytes", limits[i] - 1);
        ck_assert_str_eq(err.text, text);
        ck_assert_uint_eq(len, packed_len); /* as it was */
        ck_assert_int_eq(memcmp(bytes, packed, len), 0);
        free(bytes), free(packed), free(pattern);
    }
}
END_TEST

START_TEST(gunzip_joins_the_members_of_a_file)
{
    unsigned char *packed = NULL;
    char *bytes;
    size_t packed_len = 0, len;
    struct err err;
    pack(&packed, &packed_len, "one ", 4);
    pack(&packed, &packed_len, "", 0);
    pack(&packed, &packed_len, "two", 3);
    ck_assert_int_eq(unpack(packed, packed_len, 7, &bytes, &len, &err), ERR_OK);
    ck_assert_uint_eq(len, 7);
    ck_assert_int_eq(memcmp(bytes, "one two", 7), 0);
    free(bytes);
    ck_assert_int_eq(unpack(packed, packed_len, 6, &bytes, &len, &err), ERR_TOO_LARGE);
    free(bytes);
    for (size_t cut = 2; cut < packed_len; cut++) {
        enum err_code code = unpack(packed, cut, 100, &bytes, &len, &err);
        if (code == ERR_OK) /* between two members, or within the mark of one */
            ck_assert(len == 4);
        else
            ck_assert_str_eq(err.text, "the gzip data are cut off");
        free(bytes);
    }
    free(packed);
}
END_TEST

START_TEST(gunzip_leaves_what_is_not_packed)
{
    static const char *const texts[] = {"", "\x1f", "\x1fx", "x\x8b", "text", "\x8b\x1f"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *bytes;
        size_t len;
        struct err err;
        ck_assert_int_eq(unpack(texts[i], strlen(texts[i]), 1, &bytes, &len, &err), ERR_OK);
        ck_assert_uint_eq(len, strlen(texts[i]));
        ck_assert_int_eq(memcmp(bytes, texts[i], len), 0);
        free(bytes);
    }
}
END_TEST

/* The room is full to its last byte, and there is one more member, of nothing. */
START_TEST(gunzip_of_nothing_more_at_the_limit_is_no_excess)
{
    enum { LIMIT = 65536 };
    unsigned char *pattern = pattern_new(LIMIT), *packed = NULL;
    char *bytes;
    size_t packed_len = 0, len;
    struct err err;
    pack(&packed, &packed_len, pattern, LIMIT);
    pack(&packed, &packed_len, "", 0);
    ck_assert_int_eq(unpack(packed, packed_len, LIMIT, &bytes, &len, &err), ERR_OK);
    ck_assert_uint_eq(len, LIMIT);
    free(bytes);
    pack(&packed, &packed_len, "x", 1);
    ck_assert_int_eq(unpack(packed, packed_len, LIMIT, &bytes, &len, &err), ERR_TOO_LARGE);
    ck_assert_str_eq(err.text, "it unpacks to more than 65536 bytes");
    free(bytes), free(packed), free(pattern);
}
END_TEST

START_TEST(gunzip_into_fills_exactly_the_room_that_the_data_ask_for)
{
    static const size_t sizes[] = {0, 1, 1000, 70000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *packed = NULL, *bytes = pattern_new(sizes[i]);
        size_t packed_len = 0, len = 99;
        char *out = malloc(sizes[i] + 1);
        struct err err = {0};
        pack(&packed, &packed_len, bytes, sizes[i]);
        const char *from = (const char *)packed;
        ck_assert_uint_eq(gunzip_size(from, packed_len, sizes[i]), sizes[i]);
        ck_assert_uint_eq(gunzip_size(from, packed_len, 10), sizes[i] < 10 ? sizes[i] : 11);
        ck_assert_msg(!gunzip_into(out, sizes[i], &len, from, packed_len, &err), "%s", err.text);
        ck_assert_uint_eq(len, sizes[i]);
        ck_assert_int_eq(memcmp(out, bytes, len), 0);
        if (sizes[i] > 0) {
            char expected[64];
            snprintf(expected, sizeof expected, "the gzip data unpack to more than %zu bytes",
                     sizes[i] - 1);
            ck_assert_int_eq(gunzip_into(out, sizes[i] - 1, &len, from, packed_len, &err),
                             ERR_TOO_LARGE);
            ck_assert_str_eq(err.text, expected);
        }
        free(out);
        free(bytes);
        free(packed);
    }
}
END_TEST

START_TEST(gunzip_into_joins_members_and_ignores_bytes_behind_them)
{
    static const struct {
        const char *bytes;
        size_t len;
    } behind[] = {{"", 0}, {"\0", 1}, {"\0\0\0\0", 4}, {"garbage", 7}, {"\x1f", 1}};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        unsigned char *packed = NULL;
        size_t packed_len = 0, len;
        char out[16];
        struct err err = {0};
        pack(&packed, &packed_len, "one ", 4);
        pack(&packed, &packed_len, "", 0);
        pack(&packed, &packed_len, "two", 3);
        packed = realloc(packed, packed_len + behind[i].len);
        memcpy(packed + packed_len, behind[i].bytes, behind[i].len);
        packed_len += behind[i].len;
        ck_assert_uint_eq(gunzip_size((char *)packed, packed_len, 100), 7);
        ck_assert_msg(!gunzip_into(out, 7, &len, (char *)packed, packed_len, &err), "%s", err.text);
        ck_assert_uint_eq(len, 7);
        ck_assert_int_eq(memcmp(out, "one two", 7), 0);
        ck_assert_int_eq(gunzip_into(out, 5, &len, (char *)packed, packed_len, &err),
                         ERR_TOO_LARGE);
        free(packed);
    }
}
END_TEST

START_TEST(gunzip_into_says_what_is_wrong)
{
    unsigned char *packed = NULL;
    size_t packed_len = 0, len;
    char out[16];
    pack(&packed, &packed_len, "one ", 4);
    for (size_t cut = 0; cut < packed_len; cut++) {
        struct err err = {0};
        ck_assert_int_eq(gunzip_into(out, 16, &len, (char *)packed, cut, &err), ERR_MALFORMED);
        ck_assert_str_eq(err.text, cut < 2 ? "not gzip data: they do not begin with 1f 8b"
                                           : "the gzip data are cut off");
        ck_assert_uint_le(gunzip_size((char *)packed, cut, 100), 4);
    }
    struct err err = {0};
    ck_assert_int_eq(gunzip_into(out, 16, &len, "plain text", 10, &err), ERR_MALFORMED);
    packed[packed_len / 2] ^= 0x55;
    err = (struct err){0};
    ck_assert_int_eq(gunzip_into(out, 16, &len, (char *)packed, packed_len, &err), ERR_MALFORMED);
    ck_assert_msg(strncmp(err.text, "the gzip data are damaged near byte ", 36) == 0, "%s",
                  err.text);
    free(packed);
}
END_TEST

SUITE("gunzip", gunzip_gives_back_texts_of_every_size, gunzip_accepts_exactly_the_limit,
      gunzip_joins_the_members_of_a_file, gunzip_leaves_what_is_not_packed,
      gunzip_of_nothing_more_at_the_limit_is_no_excess,
      gunzip_into_fills_exactly_the_room_that_the_data_ask_for,
      gunzip_into_joins_members_and_ignores_bytes_behind_them, gunzip_into_says_what_is_wrong)
