#include "engine/vision/png.h"
#include "tests/unit/engine/vision/fixture.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Encodes, decodes again and compares every byte. */
static size_t expect_round_trip(unsigned width, unsigned height, bool grey)
{
    static const struct image_options options = {.pixels_max = 1 << 20};
    struct image image = {.width = width, .height = height}, back = {0};
    struct arena arena;
    struct err err = {0};
    unsigned long long state = width * 1000 + height;
    char *png;
    size_t len, bytes = (size_t)width * height * 3;
    arena_init(&arena);
    image.rgb = arena_alloc(&arena, bytes);
    for (size_t i = 0; i < bytes; i++)
        image.rgb[i] = grey && i % 3 > 0 ? image.rgb[i - 1] : fixture_random(&state) % 3 * 127;
    ck_assert_msg(png_encode(&png, &len, &image, &err) == ERR_OK, "%s", err.text);
    ck_assert_msg(image_decode(&back, png, len, &options, &arena, &err) == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(back.width, width);
    ck_assert_uint_eq(back.height, height);
    ck_assert_mem_eq(back.rgb, image.rgb, bytes);
    ck_assert_uint_eq(png[25], grey ? 0 : 2); /* IHDR's colour type */
    free(png);
    arena_deinit(&arena);
    return len;
}

START_TEST(png_encode_gives_back_the_pixels)
{
    static const unsigned sizes[][2] = {{1, 1}, {1, 7}, {31, 1}, {26, 26}, {128, 96}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        expect_round_trip(sizes[i][0], sizes[i][1], false);
        expect_round_trip(sizes[i][0], sizes[i][1], true);
    }
}
END_TEST

/* Interlaced, which png_encode does not write. */
static void write_interlaced(FILE *file, unsigned width, unsigned height, unsigned char *rgb)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, file);
    png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_ADAM7,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int pass = png_set_interlace_handling(png); pass > 0; pass--)
        for (unsigned y = 0; y < height; y++)
            png_write_row(png, rgb + (size_t)y * width * 3);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    fclose(file);
}

/* The budget for data behind the last row (64 KB) begins with the last row of the last pass, not
 * with an earlier one: the last pass of this file holds three times as much. Its height is odd,
 * since all rows of such an image are complete before its last row is read. */
START_TEST(png_of_interlaced_noise_is_read_to_its_last_row)
{
    enum { WIDTH = 400, HEIGHT = 301, BYTES = WIDTH * HEIGHT * 3 };
    static const struct image_options options = {.pixels_max = WIDTH * HEIGHT};
    static unsigned char rgb[BYTES];
    unsigned long long state = 1;
    struct image back;
    struct arena arena;
    struct err err = {0};
    char *png;
    size_t len;
    for (size_t i = 0; i < BYTES; i++)
        rgb[i] = (unsigned char)fixture_random(&state);
    write_interlaced(open_memstream(&png, &len), WIDTH, HEIGHT, rgb);
    arena_init(&arena);
    ck_assert_msg(!image_decode(&back, png, len, &options, &arena, &err), "%s", err.text);
    ck_assert_mem_eq(back.rgb, rgb, BYTES);
    arena_deinit(&arena);
    free(png);
}
END_TEST

/* The same of an image in one pass. */
START_TEST(png_of_noise_is_read_to_its_last_row)
{
    ck_assert_uint_gt(expect_round_trip(700, 701, false), 250000);
}
END_TEST

static void put_u32(char *at, unsigned long value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (char)(value >> (24 - 8 * i));
}

/* A text of 100 KB between the pixels and the end, more than the budget for surplus image data. */
START_TEST(png_may_have_long_chunks_behind_its_pixels)
{
    enum { TEXT = 100000, CHUNK = TEXT + 12, END = 12 };
    static unsigned char rgb[] = {1, 2, 3, 4, 5, 6};
    static const struct image_options options = {.pixels_max = 2};
    struct image image = {.width = 2, .height = 1, .rgb = rgb}, back;
    struct arena arena;
    struct err err = {0};
    char *png;
    size_t len;
    arena_init(&arena);
    ck_assert(!png_encode(&png, &len, &image, &err));
    char *longer = calloc(1, len + CHUNK), *chunk = longer + len - END;
    ck_assert_ptr_nonnull(longer);
    memcpy(longer, png, len - END);
    memcpy(chunk + CHUNK, png + len - END, END);
    put_u32(chunk, TEXT);
    memcpy(chunk + 4, "tEXt", 4);
    memset(chunk + 8, 'a', TEXT);
    put_u32(chunk + 8 + TEXT, crc32(0, (const Bytef *)chunk + 4, TEXT + 4));
    ck_assert_msg(!image_decode(&back, longer, len + CHUNK, &options, &arena, &err), "%s",
                  err.text);
    ck_assert_mem_eq(back.rgb, rgb, sizeof rgb);
    free(longer);
    free(png);
    arena_deinit(&arena);
}
END_TEST

START_TEST(png_encode_keeps_a_wafer_map_small)
{
    ck_assert_uint_lt(expect_round_trip(64, 64, true), 64 * 64 / 2);
}
END_TEST

/* Whoever limits pixels and memory asks the probe, so what it cannot see must not be decoded. */
START_TEST(png_with_a_chunk_before_its_header_is_refused)
{
    static const struct image_options options = {.pixels_max = 1 << 20};
    static const char chunk[] = "\0\0\0\0tRNS\x36\xB9\x70\xCC"; /* empty, checksum right */
    enum { SIGNATURE_BYTES = 8, CHUNK_BYTES = sizeof chunk - 1 };
    unsigned char rgb[3] = {1, 2, 3};
    struct image image = {.width = 1, .height = 1, .rgb = rgb}, back = {0};
    struct arena arena;
    struct err err = {0};
    unsigned width, height;
    char *png;
    size_t len;
    arena_init(&arena);
    ck_assert_int_eq(png_encode(&png, &len, &image, &err), ERR_OK);
    char *shifted = malloc(len + CHUNK_BYTES);
    memcpy(shifted, png, SIGNATURE_BYTES);
    memcpy(shifted + SIGNATURE_BYTES, chunk, CHUNK_BYTES);
    memcpy(shifted + SIGNATURE_BYTES + CHUNK_BYTES, png + SIGNATURE_BYTES, len - SIGNATURE_BYTES);
    ck_assert(!image_probe(shifted, len + CHUNK_BYTES, &width, &height));
    ck_assert_int_eq(image_decode(&back, shifted, len + CHUNK_BYTES, &options, &arena, &err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the PNG does not begin with its header (IHDR)");
    free(shifted);
    free(png);
    arena_deinit(&arena);
}
END_TEST

/* Signature, IHDR (8 bits, colour and alpha), then sRGB, perceptual; every row comes back. */
START_TEST(png_encode_rgba_writes_colour_and_alpha)
{
    static const unsigned char chunks[] =
        "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\3\0\0\0\2\x08\6\0\0\0";
    unsigned char rgba[3 * 2 * 4], back[sizeof rgba];
    struct err err = {0};
    char *png;
    size_t len;
    for (size_t i = 0; i < sizeof rgba; i++)
        rgba[i] = (unsigned char)(7 * i);
    ck_assert_int_eq(png_encode_rgba(&png, &len, 3, 2, rgba, NULL, &err), ERR_OK);
    ck_assert_mem_eq(png, chunks, sizeof chunks - 1);
    ck_assert_mem_eq(png + 33, "\0\0\0\1sRGB\0", 9);
    ck_assert_mem_eq(png + len - 12, "\0\0\0\0IEND\xAE\x42\x60\x82", 12);
    png_image image = {.version = PNG_IMAGE_VERSION};
    ck_assert(png_image_begin_read_from_memory(&image, png, len));
    image.format = PNG_FORMAT_RGBA;
    ck_assert(png_image_finish_read(&image, NULL, back, 0, NULL));
    ck_assert_mem_eq(back, rgba, sizeof rgba);
    free(png);
}
END_TEST

START_TEST(png_encode_says_which_sizes_cannot_be_written)
{
    static const struct {
        unsigned width, height;
        const char *text;
    } cases[] = {
        {1000000, 1, ""},
        {1, 1000000, ""},
        {1000001, 1, "1000001 x 1 pixels cannot be written as a PNG"},
        {1, 1000001, "1 x 1000001 pixels cannot be written as a PNG"},
        {0, 1, "0 x 1 pixels cannot be written as a PNG"},
        {1, 0, "1 x 0 pixels cannot be written as a PNG"},
    };
    unsigned char *rgba = calloc(1000001, 4);
    ck_assert_ptr_nonnull(rgba);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        char *png = NULL;
        size_t len = 0;
        enum err_code code =
            png_encode_rgba(&png, &len, cases[i].width, cases[i].height, rgba, NULL, &err);
        ck_assert_str_eq(err.text, cases[i].text);
        ck_assert_int_eq(code, cases[i].text[0] != '\0' ? ERR_TOO_LARGE : ERR_OK);
        ck_assert_int_eq(png == NULL, code != ERR_OK);
        free(png);
    }
    free(rgba);
}
END_TEST

SUITE("png", png_of_interlaced_noise_is_read_to_its_last_row,
      png_may_have_long_chunks_behind_its_pixels, png_encode_gives_back_the_pixels,
      png_of_noise_is_read_to_its_last_row, png_encode_keeps_a_wafer_map_small,
      png_with_a_chunk_before_its_header_is_refused, png_encode_rgba_writes_colour_and_alpha,
      png_encode_says_which_sizes_cannot_be_written)
