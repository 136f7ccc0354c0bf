#include "engine/vision/exif.h"

#include "tests/unit/engine/vision/fixture.h"

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

/* The orientation in a copy of exactly `len` bytes, so that a sanitizer sees the first byte read
 * past them. */
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
    for (int round = 0; round < 20000; round++) {
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

/* ---- blocks made entry by entry ---- */

enum {
    SHORT = 3,
    LONG = 4,
    DIRECTORY_AT = 8,
    DATA_AT = DIRECTORY_AT + 2 + 12 + 4,
    MADE_BYTES = 32
};

static void put(unsigned char *at, bool is_little, unsigned size, unsigned long value)
{
    for (unsigned i = 0; i < size; i++)
        at[is_little ? i : size - 1 - i] = (unsigned char)(value >> 8 * i);
}

struct entry {
    unsigned tag, type;
    unsigned long count, value;
};

/* One entry and, behind the directory's end, six bytes of data: 7 as a LONG and 5 as a SHORT. */
static void make(unsigned char block[MADE_BYTES], bool is_little, const struct entry *entry)
{
    memset(block, 0, MADE_BYTES);
    memcpy(block, is_little ? "II" : "MM", 2);
    put(block + 2, is_little, 2, 42);
    put(block + 4, is_little, 4, DIRECTORY_AT);
    put(block + 8, is_little, 2, 1);
    put(block + 10, is_little, 2, entry->tag);
    put(block + 12, is_little, 2, entry->type);
    put(block + 14, is_little, 4, entry->count);
    bool is_short = entry->type == SHORT && entry->count <= 2;
    put(block + 18, is_little, is_short ? 2 : 4, entry->value);
    put(block + DATA_AT, is_little, 4, 7);
    put(block + DATA_AT + 4, is_little, 2, 5);
}

START_TEST(exif_takes_the_first_number_of_an_entry)
{
    static const struct {
        struct entry entry;
        unsigned orientation;
    } cases[] = {
        {{0x112, SHORT, 1, 6}, 6},
        {{0x112, SHORT, 1, 8}, 8},
        {{0x112, SHORT, 1, 9}, 1},
        {{0x112, SHORT, 1, 0}, 1},
        {{0x112, SHORT, 2, 6}, 6},
        {{0x112, SHORT, 0, 6}, 1},
        {{0x112, SHORT, 3, DATA_AT + 4}, 5},
        {{0x112, SHORT, 3, DATA_AT + 5}, 1},
        {{0x112, SHORT, 3, 0xFFFFFFFF}, 1},
        {{0x112, LONG, 1, 6}, 6},
        {{0x112, LONG, 1, 0x10006}, 1},
        {{0x112, LONG, 0, 6}, 1},
        {{0x112, LONG, 2, DATA_AT}, 7},
        {{0x112, LONG, 2, DATA_AT + 3}, 1},
        {{0x112, LONG, 2, MADE_BYTES}, 1},
        {{0x112, 1, 1, 0x06060606}, 1},
        {{0x112, 2, 1, 6}, 1},
        {{0x112, 5, 1, 6}, 1},
        {{0x111, SHORT, 1, 6}, 1},
        {{0x113, SHORT, 1, 6}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned little_endian = 0; little_endian <= 1; little_endian++) {
            unsigned char block[MADE_BYTES];
            make(block, little_endian != 0, &cases[i].entry);
            ck_assert_msg(orientation_of(block, MADE_BYTES) == cases[i].orientation, "case %zu: %u",
                          i, orientation_of(block, MADE_BYTES));
        }
}
END_TEST

START_TEST(exif_header_is_checked_byte_by_byte)
{
    static const struct entry six = {0x112, SHORT, 1, 6};
    unsigned char block[MADE_BYTES];
    for (unsigned at = 0; at < 8; at++) {
        make(block, false, &six);
        block[at] ^= 1;
        ck_assert_uint_eq(orientation_of(block, MADE_BYTES), 1);
    }
    make(block, true, &six);
    ck_assert_uint_eq(orientation_of(block, MADE_BYTES), 6);
    ck_assert_uint_eq(orientation_of(block, DIRECTORY_AT + 2 + 12), 6);
    ck_assert_uint_eq(orientation_of(block, DIRECTORY_AT + 2 + 11), 1);
    put(block + 8, true, 2, 0); /* no entry */
    ck_assert_uint_eq(orientation_of(block, MADE_BYTES), 1);
    put(block + 8, true, 2, 9); /* more than there is room for */
    ck_assert_uint_eq(orientation_of(block, MADE_BYTES), 6);
}
END_TEST

START_TEST(exif_takes_the_last_of_two_orientations)
{
    static const unsigned char two[] = "MM\0\x2a\0\0\0\x08\0\x02\x01\x12\0\x03\0\0\0\x01\0\x03\0\0"
                                       "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
    unsigned char one[sizeof two];
    ck_assert_uint_eq(orientation_of(two, sizeof two - 1), 6);
    ck_assert_uint_eq(orientation_of(two, sizeof two - 2), 3);
    memcpy(one, two, sizeof two);
    one[9] = 1;
    ck_assert_uint_eq(orientation_of(one, sizeof two - 1), 3);
}
END_TEST

SUITE("exif", exif_reads_both_byte_orders, exif_cut_off_anywhere_is_upright,
      exif_offsets_beyond_the_block_are_upright, exif_orientation_out_of_range_is_upright,
      exif_survives_random_blocks, exif_takes_the_first_number_of_an_entry,
      exif_header_is_checked_byte_by_byte, exif_takes_the_last_of_two_orientations)
