/* The bytes that decoding and resizing announce, compared exactly: requests are admitted by these
 * numbers, so they must not change unseen. The sums are written out from the comments at
 * png_decode_bytes, jpeg_decode_bytes, bmp_decode_bytes and resize_bytes; test_decode_bytes.c
 * compares them with the bytes that are taken. */
#include "engine/vision/png.h"
#include "engine/vision/preprocess.h"
#include "engine/vision/resize.h"
#include "tests/unit/engine/vision/fixture.h"

enum { STATE = 256 * 1024, BLOCKS = 32 * 1024, PROBE_BYTES = 24 };

START_TEST(bytes_told_of_a_png_are_its_pixels_its_rows_and_a_state)
{
    unsigned char header[PROBE_BYTES + 1] = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\1\2\0\3\0\4";
    const size_t width = 0x102, height = 0x30004;
    ck_assert_uint_eq(image_decode_bytes(header, PROBE_BYTES),
                      width * height * 3 + width * 32 + STATE);
    ck_assert_uint_eq(image_decode_bytes(header, PROBE_BYTES - 1), STATE);
    ck_assert_uint_eq(image_decode_bytes(header, 8), STATE);
    ck_assert_uint_eq(image_decode_bytes(header, 7), 0);
    header[11] = 12; /* IHDR's length */
    ck_assert_uint_eq(image_decode_bytes(header, PROBE_BYTES), STATE);
}
END_TEST

START_TEST(png_probe_reads_big_endian_sides_out_of_24_bytes)
{
    static const unsigned char header[] =
        "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\x12\x34\x56\x78\x9a\xbc\xde\xf0";
    unsigned width = 7, height = 7;
    ck_assert(!png_probe(header, PROBE_BYTES - 1, &width, &height));
    ck_assert(width == 7 && height == 7);
    ck_assert(png_probe(header, PROBE_BYTES, &width, &height));
    ck_assert_uint_eq(width, 0x12345678);
    ck_assert_uint_eq(height, 0x9abcdef0);
}
END_TEST

START_TEST(bytes_told_of_a_bmp_are_its_pixels_and_a_block)
{
    struct arena arena;
    size_t len;
    arena_init(&arena);
    unsigned char *bytes = fixture_read("tests/data/images/bmp/pal8.bmp", &len, &arena);
    ck_assert_uint_eq(image_decode_bytes(bytes, len), 23 * 17 * 3 + BLOCKS);
    ck_assert_uint_eq(image_decode_bytes(bytes, len - 2),
                      BLOCKS); /* cut off: no pixels are taken */
    bytes[30] = 1;             /* runs: a file of any length may be an image of any size */
    memset(bytes + 18, 0xFF, 3);
    ck_assert_uint_eq(image_decode_bytes(bytes, len), 0xFFFFFFu * 17ul * 3 + BLOCKS);
    bytes[21] = 0xFF;
    memset(bytes + 22, 0x7F, 4);
    ck_assert_uint_eq(image_decode_bytes(bytes, len), SIZE_MAX);
    arena_deinit(&arena);
}
END_TEST

/* All are 23 x 17: 3 x 3 blocks, halved 2 x 2, and a group of blocks more each way. A component
 * takes 12 lines of its blocks' columns for each of its sampling rows, and upsampled rows of
 * 23 + 32 columns for each of the largest sampling; a progressive file also two bytes a
 * coefficient. */
START_TEST(bytes_told_of_a_jpeg_follow_its_components)
{
    enum { PIXELS = 23 * 17 * 3 + 23 * 4, UP = 23 + 32 };
    static const struct {
        const char *name;
        size_t bytes;
    } cases[] = {
        {"l.jpg", 12 * 32 + UP},
        {"rgb_sampling_0.jpg", 3 * (12 * 32 + UP)},
        {"cmyk.jpg", 4 * (12 * 32 + UP)},
        {"rgb_sampling_1.jpg", (12 * 40 + UP) + 2 * (12 * 24 + UP)},
        {"rgb.jpg", (12 * 40 * 2 + 2 * UP) + 2 * (12 * 24 + 2 * UP)},
        {"rgb_progressive.jpg",
         (12 * 40 * 2 + 2 * UP + 40 * 40 * 2) + 2 * (12 * 24 + 2 * UP + 24 * 24 * 2)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        size_t len;
        arena_init(&arena);
        unsigned char *bytes = fixture_read(
            arena_format(&arena, "tests/data/images/made/%s", cases[i].name), &len, &arena);
        ck_assert_uint_eq(image_decode_bytes(bytes, len), STATE + cases[i].bytes + PIXELS);
        ck_assert_uint_eq(image_decode_bytes(bytes, 100), STATE); /* no size in it yet */
        arena_deinit(&arena);
    }
}
END_TEST

/* 100 x 50 to 10 x 20, of which a window of 4 x 6 is wanted. Bilinear: ten source columns an output
 * make 21 weights and 32 with padding, two and a half rows make 7 and 16. A weight is kept in four
 * bytes and in two halves of two. */
START_TEST(bytes_told_of_a_resize_are_sums_weights_and_a_row)
{
    const struct image image = {.width = 100, .height = 50};
    const struct resize_window window = {.left = 1, .top = 2, .width = 4, .height = 6};
    const size_t out = 4 * 6 * 3, sums = 4 * 6 * 3 * 4;
    const size_t columns = 4 * 32 * (4 + 4) + (100 + 32) * 3 * 2 + 4 * 3 + 32 * 8 + 4 * 2 * 4;
    const size_t rows = 6 * 16 * (4 + 4) + (50 + 16) * 3 * 2 + 6 * 3 + 16 * 8 + 6 * 2 * 4;
    ck_assert_uint_eq(resize_bytes(&image, 10, 20, window, RESAMPLE_BILINEAR),
                      out + BLOCKS + sums + columns + rows);
    ck_assert_uint_eq(resize_bytes(&image, 10, 20, window, RESAMPLE_NEAREST),
                      out + BLOCKS + (4 + 6) * 4);
    /* Enlarged, a filter is as wide as it stands: Lanczos takes 7 weights of 16. */
    const size_t lanczos = 4 * 16 * (4 + 4) + (100 + 16) * 3 * 2 + 4 * 3 + 16 * 8 + 4 * 2 * 4 +
                           6 * 16 * (4 + 4) + (50 + 16) * 3 * 2 + 6 * 3 + 16 * 8 + 6 * 2 * 4;
    ck_assert_uint_eq(resize_bytes(&image, 200, 100, window, RESAMPLE_LANCZOS),
                      out + BLOCKS + sums + lanczos);
}
END_TEST

/* A filter's support, times the scale where it shrinks, on both sides and the middle: here just as
 * many weights as are padded to 16, and with the next larger side as many as are padded to 32. */
START_TEST(bytes_told_of_a_resize_follow_the_filter)
{
    static const struct {
        enum resample filter;
        unsigned most, target; /* source sides with 16 weights an output, and the target's side */
    } cases[] = {
        {RESAMPLE_BOX, 56, 4},     {RESAMPLE_BILINEAR, 28, 4}, {RESAMPLE_HAMMING, 28, 4},
        {RESAMPLE_BICUBIC, 14, 4}, {RESAMPLE_LANCZOS, 7, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned more = 0; more <= 1; more++) {
            const unsigned source = cases[i].most + more, target = cases[i].target;
            const struct image image = {.width = source, .height = source};
            const struct resize_window one = {.width = 1, .height = 1};
            const size_t taps = more ? 32 : 16;
            const size_t axis = taps * (4 + 4) + (source + taps) * 3 * 2 + 3 + taps * 8 + 2 * 4;
            ck_assert_uint_eq(resize_bytes(&image, target, target, one, cases[i].filter),
                              3 + BLOCKS + 3 * 4 + 2 * axis);
        }
}
END_TEST

START_TEST(bytes_told_of_preprocessing_are_those_of_its_resize_and_its_result)
{
    const struct image image = {.width = 100, .height = 50};
    struct preprocess plain = {.do_resize = true, .resize_width = 10, .resize_height = 20};
    plain.resample = RESAMPLE_BILINEAR;
    struct preprocess crop = plain, edge = plain, pad = plain;
    crop.do_center_crop = pad.do_center_crop = true;
    crop.crop_width = 4, crop.crop_height = 6;
    pad.crop_width = 30, pad.crop_height = 6;
    edge.shortest_edge = 20;
    edge.resize_width = edge.resize_height = 0;
    ck_assert_uint_eq(preprocess_bytes(&plain, 100, 50),
                      resize_bytes(&image, 10, 20,
                                   (struct resize_window){.width = 10, .height = 20},
                                   RESAMPLE_BILINEAR) +
                          10 * 20 * 3);
    ck_assert_uint_eq(preprocess_bytes(&crop, 100, 50),
                      resize_bytes(&image, 10, 20, (struct resize_window){.width = 4, .height = 6},
                                   RESAMPLE_BILINEAR) +
                          4 * 6 * 3);
    ck_assert_uint_eq(preprocess_bytes(&pad, 100, 50),
                      resize_bytes(&image, 10, 20, (struct resize_window){.width = 10, .height = 6},
                                   RESAMPLE_BILINEAR) +
                          30 * 6 * 3);
    ck_assert_uint_eq(preprocess_bytes(&edge, 100, 50),
                      resize_bytes(&image, 40, 20,
                                   (struct resize_window){.width = 40, .height = 20},
                                   RESAMPLE_BILINEAR) +
                          40 * 20 * 3);
    ck_assert_uint_eq(preprocess_bytes(&plain, 0, 50), 0);
    ck_assert_uint_eq(preprocess_bytes(&plain, 100, 0), 0);
    ck_assert_uint_ne(preprocess_bytes(&plain, 1, 1), 0);
    ck_assert_uint_ne(preprocess_bytes(&edge, 5000, 1), 0);
    ck_assert_uint_eq(preprocess_bytes(&edge, 5001, 1), 0); /* too thin: 100020 pixels a side */
}
END_TEST

SUITE("bytes_told", bytes_told_of_a_png_are_its_pixels_its_rows_and_a_state,
      png_probe_reads_big_endian_sides_out_of_24_bytes,
      bytes_told_of_a_bmp_are_its_pixels_and_a_block, bytes_told_of_a_jpeg_follow_its_components,
      bytes_told_of_a_resize_are_sums_weights_and_a_row, bytes_told_of_a_resize_follow_the_filter,
      bytes_told_of_preprocessing_are_those_of_its_resize_and_its_result)
