#include "engine/vision/exif.h"

#include "tests/unit/vision/fixture.h"

#include <stdlib.h>

/* TIFF header, a directory at byte 8 of two entries: image width 0x20, orientation 6. */
static const unsigned char big[] = "MM\0\x2a\0\0\0\x08\0\x02\x01\0\0\x03\0\0\0\x01\0\x20\0\0"
                                   "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
static const unsigned char little[] = "II\x2a\0\x08\0\0\0\x02\0\0\x01\x03\0\x01\0\0\0\x20\0\0\0"
                                      "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
enum {
    BLOCK_BYTES = sizeof big - 1,
    ENTRIES_END = 8 + 2 + 2 * 12,
    OFFSET_AT = 4,
    ENTRY_AT = 8 + 2 + 12,
};

/* Of a copy of exactly `len` bytes, so that a sanitizer sees the first byte read past them. */
static unsigned orientation_of(const unsigned char *bytes, size_t len)
{
    unsigned char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, bytes, len);
    unsigned orientation = exif_orientation(copy, len);
    free(copy);
    return orientation;
}

START_TEST(exif_reads_both_byte_orders)
{
    ck_assert_uint_eq(sizeof little, sizeof big);
    ck_assert_uint_eq(orientation_of(big, BLOCK_BYTES), 6);
    ck_assert_uint_eq(orientation_of(little, BLOCK_BYTES), 6);
}
END_TEST

START_TEST(exif_cut_off_anywhere_is_upright)
{
    for (size_t len = 0; len < ENTRIES_END; len++) {
        ck_assert_uint_eq(orientation_of(big, len), 1);
        ck_assert_uint_eq(orientation_of(little, len), 1);
    }
    ck_assert_uint_eq(orientation_of(big, ENTRIES_END), 6);
}
END_TEST

START_TEST(exif_offsets_beyond_the_block_are_upright)
{
    static const unsigned char high[] = {0x7F, 0x80, 0xFF};
    for (size_t i = 0; i < sizeof high; i++) {
        unsigned char block[BLOCK_BYTES];
        memcpy(block, big, sizeof block);
        memset(block + OFFSET_AT, high[i], 4); /* of the directory */
        ck_assert_uint_eq(orientation_of(block, sizeof block), 1);
        memcpy(block, big, sizeof block);
        memset(block + ENTRY_AT + 4, high[i], 8); /* of the values, which no longer fit the entry */
        ck_assert_uint_eq(orientation_of(block, sizeof block), 1);
    }
}
END_TEST

START_TEST(exif_orientation_out_of_range_is_upright)
{
    for (unsigned value = 0; value < 256; value++) {
        unsigned char block[BLOCK_BYTES];
        memcpy(block, big, sizeof block);
        block[ENTRY_AT + 9] = (unsigned char)value;
        ck_assert_uint_eq(orientation_of(block, sizeof block),
                          value >= 1 && value <= 8 ? value : 1);
    }
}
END_TEST

START_TEST(exif_survives_random_blocks)
{
    unsigned long long state = 1;
    for (int round = 0; round < 100000; round++) {
        unsigned char block[BLOCK_BYTES];
        memcpy(block, round % 2 ? big : little, sizeof block);
        for (int i = 0; i < 3; i++)
            block[2 + fixture_random(&state) % (sizeof block - 2)] =
                (unsigned char)fixture_random(&state);
        unsigned orientation = orientation_of(block, fixture_random(&state) % (sizeof block + 1));
        ck_assert(orientation >= 1 && orientation <= 8);
    }
}
END_TEST

SUITE("exif", exif_reads_both_byte_orders, exif_cut_off_anywhere_is_upright,
      exif_offsets_beyond_the_block_are_upright, exif_orientation_out_of_range_is_upright,
      exif_survives_random_blocks)
