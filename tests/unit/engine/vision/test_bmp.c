/* BMP beyond the files of expected.csv: pixels that Pillow does not read, headers that lie, and
 * runs. */
#include "engine/vision/decoders.h"
#include "tests/unit/engine/vision/fixture.h"

#include <stdlib.h>

static const struct image_options usual = {.pixels_max = 1 << 25};

struct subject {
    struct arena arena;
    struct image image;
    struct err err;
};

/* Decodes a copy of exactly len bytes, so that a sanitizer sees what is read behind it. */
static enum err_code decode(struct subject *subject, const void *bytes, size_t len)
{
    unsigned width = 0, height = 0;
    unsigned char *copy = malloc(len);
    memcpy(copy, bytes, len);
    *subject = (struct subject){0};
    arena_init(&subject->arena);
    const bool is_probed = image_probe(copy, len, &width, &height);
    const enum err_code code =
        image_decode(&subject->image, copy, len, &usual, &subject->arena, &subject->err);
    ck_assert(code != ERR_OK ||
              (is_probed && width == subject->image.width && height == subject->image.height));
    ck_assert_msg((code == ERR_OK) == (subject->image.rgb != NULL), "pixels of a refused file");
    free(copy);
    return code;
}

static void check_pixels(struct subject *subject, const void *bytes, size_t len, const char *rgb)
{
    ck_assert_msg(decode(subject, bytes, len) == ERR_OK, "%s", subject->err.text);
    const size_t size = 3 * (size_t)subject->image.width * subject->image.height;
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(subject->image.rgb[i] == (unsigned char)rgb[i], "byte %zu: %u, not %u", i,
                      subject->image.rgb[i], (unsigned char)rgb[i]);
    arena_deinit(&subject->arena);
}

/* ---- files in memory ---- */

enum { HEAD = 54, FILE_BYTES = 512 };

struct file {
    unsigned char bytes[FILE_BYTES];
    size_t len;
};

static void put_u32(struct file *file, size_t at, unsigned value)
{
    for (unsigned i = 0; i < 4; i++)
        file->bytes[at + i] = (unsigned char)(value >> 8 * i);
}

/* A BITMAPINFOHEADER, `colours` colours or masks of four bytes each, and the data behind them. */
static struct file make(unsigned width, unsigned height, unsigned bits, unsigned compression,
                        const void *colours, size_t colour_count, const void *data, size_t data_len)
{
    struct file file = {.len = HEAD + 4 * colour_count + data_len};
    ck_assert_uint_le(file.len, FILE_BYTES);
    memcpy(file.bytes, "BM", 2);
    put_u32(&file, 10, (unsigned)(HEAD + 4 * colour_count));
    put_u32(&file, 14, 40);
    put_u32(&file, 18, width);
    put_u32(&file, 22, height);
    put_u32(&file, 26, 1 | bits << 16);
    put_u32(&file, 30, compression);
    put_u32(&file, 46, bits <= 8 ? (unsigned)colour_count : 0);
    memcpy(file.bytes + HEAD, colours, 4 * colour_count);
    memcpy(file.bytes + HEAD + 4 * colour_count, data, data_len);
    return file;
}

/* Blue, green, red and a byte that is not read: A is 1 2 3, B 4 5 6, C 7 8 9 as RGB. */
static const char palette[] = "\3\2\1x\6\5\4x\11\10\7x";
#define A "\1\2\3"
#define B "\4\5\6"
#define C "\7\10\11"

#define RUNS(width, height, bits, codes)                                                           \
    make(width, height, bits, (bits) == 8 ? 1 : 2, palette, 3, codes, sizeof(codes) - 1)

static void check_refused(const struct file *file, const char *text)
{
    struct subject subject;
    ck_assert_int_eq(decode(&subject, file->bytes, file->len), ERR_UNUSABLE);
    ck_assert_str_eq(subject.err.text, text);
    arena_deinit(&subject.arena);
}

/* ---- pixels ---- */

START_TEST(a_channel_of_any_width_becomes_eight_bits)
{
    /* 10, 10 and 10 bits; 1, 15 and 16; 4, 4 and 4 of sixteen */
    static const unsigned char ten[] = "\0\0\xF0\x3F\0\xFC\x0F\0\xFF\3\0\0",
                               uneven[] = "\0\0\0\x80\0\0\xFF\x7F\xFF\xFF\0\0",
                               four[] = "\0\x0F\0\0\xF0\0\0\0\x0F\0\0\0";
    struct subject subject;
    struct file file = make(2, 1, 32, 3, ten, 3, "\x01\x08\xF0\x3F\x09\x14\x40\0", 8);
    check_pixels(&subject, file.bytes, file.len, "\xFF\0\0\0\1\2");
    file = make(2, 1, 32, 3, uneven, 3, "\xFF\x7F\xFF\x7F\0\x80\0\xC0", 8);
    check_pixels(&subject, file.bytes, file.len, "\0\xFF\x7F\xFF\x7F\x7F");
    file = make(2, 1, 16, 3, four, 3, "\x5A\xFF\x3C\x01", 4);
    check_pixels(&subject, file.bytes, file.len, "\xFF\x55\xAA\x11\x33\xCC");
}
END_TEST

START_TEST(rows_come_from_below_unless_the_height_is_negative)
{
    struct subject subject;
    struct file file = make(1, 2, 24, 0, "", 0, "\3\2\1x\6\5\4x", 8);
    check_pixels(&subject, file.bytes, file.len, B A);
    put_u32(&file, 22, 0u - 2);
    check_pixels(&subject, file.bytes, file.len, A B);
    file.len--; /* the padding of the last row may be missing */
    check_pixels(&subject, file.bytes, file.len, A B);
    file.len--;
    check_refused(&file, "the BMP is cut off after 60 bytes");
}
END_TEST

START_TEST(palettes_may_be_longer_or_shorter_than_the_bits_allow)
{
    struct subject subject;
    struct file file = make(4, 1, 1, 0, palette, 3, "\x50\0\0\0", 4);
    check_pixels(&subject, file.bytes, file.len, A B A B);
    file = make(3, 1, 4, 0, palette, 3, "\x02\x10\0\0", 4);
    check_pixels(&subject, file.bytes, file.len, A C B);
    file = make(3, 1, 4, 0, palette, 3, "\x02\x30\0\0", 4);
    check_refused(&file, "the BMP is damaged: a pixel has colour 3 of 3");
    put_u32(&file, 46, 0); /* 16 colours: longer than the file */
    check_refused(&file, "the BMP is cut off after 70 bytes");
}
END_TEST

/* ---- runs ---- */

START_TEST(runs_of_four_bits_alternate_and_single_pixels_are_padded)
{
    struct subject subject;
    const struct file file = RUNS(5, 2, 4, "\5\x12\0\0\0\5\x01\x21\x20\0\0\1");
    check_pixels(&subject, file.bytes, file.len, A B C B C B C B C B);
}
END_TEST

START_TEST(pixels_that_runs_step_over_have_the_first_colour)
{
    struct subject subject;
    struct file file = RUNS(4, 3, 8, "\1\1\0\2\1\1\1\2\0\1");
    check_pixels(&subject, file.bytes, file.len, A A A A A A C A B A A A);
    file = RUNS(2, 2, 8, "\0\0\0\0"); /* rows without a pixel */
    check_pixels(&subject, file.bytes, file.len, A A A A);
    file = RUNS(2, 2, 8, "\0\1");
    check_pixels(&subject, file.bytes, file.len, A A A A);
    file = RUNS(2, 2, 8, "\0\2\0\xFF\1\1"); /* beyond the last row nothing is read */
    check_pixels(&subject, file.bytes, file.len, A A A A);
}
END_TEST

START_TEST(runs_behind_the_end_of_a_row_are_dropped)
{
    struct subject subject;
    struct file file = RUNS(2, 2, 8, "\xFF\1\xFF\2\0\0\2\2\0\1");
    check_pixels(&subject, file.bytes, file.len, C C B B);
    file = RUNS(2, 1, 8, "\0\4\1\2\1\2\0\1");
    check_pixels(&subject, file.bytes, file.len, B C);
    file = RUNS(2, 1, 8, "\0\2\xFF\0\1\1\0\1");
    check_pixels(&subject, file.bytes, file.len, A A);
}
END_TEST

START_TEST(runs_that_stop_early_are_cut_off_and_other_colours_damage)
{
    struct file file = RUNS(2, 2, 8, "\2\1\0\0\1\1");
    check_refused(&file, "the BMP is cut off after 72 bytes");
    file = RUNS(4, 1, 8, "\0\4\1\2\1");
    check_refused(&file, "the BMP is cut off after 71 bytes");
    file = RUNS(4, 1, 8, "\0\2\1");
    check_refused(&file, "the BMP is cut off after 69 bytes");
    file = RUNS(4, 1, 8, "");
    check_refused(&file, "the BMP is cut off after 66 bytes");
    file = RUNS(4, 1, 8, "\4\3");
    check_refused(&file, "the BMP is damaged: a pixel has colour 3 of 3");
    file = RUNS(4, 1, 4, "\0\3\x01\x50");
    check_refused(&file, "the BMP is damaged: a pixel has colour 5 of 3");
}
END_TEST

/* ---- headers that lie ---- */

START_TEST(headers_that_cannot_be_decoded_are_refused_with_the_reason)
{
    static const char kind[] = "; 1, 4, 8, 16, 24 and 32 bits, runs and masks can be decoded";
    static const struct {
        unsigned at, value;
        const char *text;
    } cases[] = {
        {14, 64, "the BMP has a header of 64 bytes; 12, 40, 52, 56, 108 and 124 can be decoded"},
        {14, 0xFFFFFFFF,
         "the BMP has a header of 4294967295 bytes; 12, 40, 52, 56, 108 and 124 can be decoded"},
        {14, 124, "the BMP is cut off after 58 bytes"},
        {10, 53, "the BMP is damaged: its pixels begin at byte 53"},
        {10, 59, "the BMP is cut off after 58 bytes"},
        {10, 0xFFFFFFFF, "the BMP is cut off after 58 bytes"},
        {18, 0, "the image has no pixels (0 x 1)"},
        {22, 0, "the image has no pixels (1 x 0)"},
        {18, 0xFFFFFFFF, "the BMP is cut off after 58 bytes"},
        {22, 0x80000000, "the BMP is cut off after 58 bytes"},
        {22, 0x7FFFFFFF, "the BMP is cut off after 58 bytes"},
    };
    static const unsigned kinds[][2] = {{0, 0},  {2, 0}, {24, 1}, {8, 2},  {4, 1},
                                        {24, 3}, {8, 3}, {24, 4}, {24, 5}, {65535, 0}};
    const struct file plain = make(1, 1, 24, 0, "", 0, "\3\2\1x", 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file file = plain;
        put_u32(&file, cases[i].at, cases[i].value);
        check_refused(&file, cases[i].text);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[160];
        struct file file = plain;
        put_u32(&file, 26, 1 | kinds[i][0] << 16);
        put_u32(&file, 30, kinds[i][1]);
        snprintf(text, sizeof text, "the BMP has %u bits a pixel in compression %u%s", kinds[i][0],
                 kinds[i][1], kind);
        check_refused(&file, text);
    }
}
END_TEST

START_TEST(masks_without_bits_with_gaps_or_outside_the_pixel_are_refused)
{
    static const struct {
        unsigned bits, mask;
        const char *text;
    } cases[] = {
        {32, 0, "the BMP is damaged: mask 1 is 0x00000000"},
        {32, 0xF0F00, "the BMP is damaged: mask 1 is 0x000f0f00"},
        {16, 0xFF000, "the BMP is damaged: mask 1 is 0x000ff000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file file = make(1, 1, cases[i].bits, 3, "\xFF\0\0\0xxxx\xFF\0\0\0", 3, "1234", 4);
        put_u32(&file, HEAD + 4, cases[i].mask);
        check_refused(&file, cases[i].text);
        file.len = HEAD + 11;
        check_refused(&file, "the BMP is cut off after 65 bytes");
    }
}
END_TEST

/* Runs may stand for any size, so the limit alone stands between a short file and the memory. */
START_TEST(sizes_are_judged_before_memory_is_taken)
{
    struct subject subject;
    struct file file = RUNS(65536, 65535, 8, "\0\1");
    ck_assert_int_eq(decode(&subject, file.bytes, file.len), ERR_UNUSABLE);
    ck_assert_str_eq(subject.err.text, "the image is 65536 x 65535; the limit is 33554432 pixels");
    ck_assert_uint_eq(subject.arena.bytes, 0);
    file = make(5000, 5000, 24, 0, "", 0, "\3\2\1x", 4);
    ck_assert_int_eq(decode(&subject, file.bytes, file.len), ERR_UNUSABLE);
    ck_assert_uint_eq(subject.arena.bytes, 0);
}
END_TEST

SUITE("bmp", a_channel_of_any_width_becomes_eight_bits,
      rows_come_from_below_unless_the_height_is_negative,
      palettes_may_be_longer_or_shorter_than_the_bits_allow,
      runs_of_four_bits_alternate_and_single_pixels_are_padded,
      pixels_that_runs_step_over_have_the_first_colour, runs_behind_the_end_of_a_row_are_dropped,
      runs_that_stop_early_are_cut_off_and_other_colours_damage,
      headers_that_cannot_be_decoded_are_refused_with_the_reason,
      masks_without_bits_with_gaps_or_outside_the_pixel_are_refused,
      sizes_are_judged_before_memory_is_taken)
