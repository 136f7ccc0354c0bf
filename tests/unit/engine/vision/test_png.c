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

/* The probe bounds pixels and memory, so a file that it cannot read must not be decoded. */
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

/* ---- eXIf ---- */

enum { WIDE = 3, HIGH = 2, CHUNK_MAX = 64 };

/* Puts a chunk at `at` of a PNG, which grows; its checksum is right. */
static void insert(char **png, size_t *len, size_t at, const void *block, size_t block_len)
{
    unsigned char chunk[CHUNK_MAX] = {0, 0, 0, (unsigned char)block_len, 'e', 'X', 'I', 'f'};
    memcpy(chunk + 8, block, block_len);
    unsigned long crc = crc32(0, chunk + 4, (uInt)block_len + 4);
    for (int i = 0; i < 4; i++)
        chunk[8 + block_len + (size_t)i] = (unsigned char)(crc >> (24 - 8 * i));
    *png = realloc(*png, *len + block_len + 12);
    memmove(*png + at + block_len + 12, *png + at, *len - at);
    memcpy(*png + at, chunk, block_len + 12);
    *len += block_len + 12;
}

/* The offset at which the chunk begins. */
static size_t place_of(const char *png, size_t len, const char *type)
{
    return (size_t)((const char *)memmem(png, len, type, 4) - png) - 4;
}

/* A block with one entry, the orientation. */
static size_t write_block(unsigned char *out, bool is_little, unsigned orientation)
{
    static const unsigned char big[] = "MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01";
    static const unsigned char little[] = "II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0";
    memcpy(out, is_little ? little : big, sizeof big - 1);
    memset(out + sizeof big - 1, 0, 8);
    out[sizeof big - (is_little ? 1 : 0)] = (unsigned char)orientation;
    return sizeof big - 1 + 8;
}

/* Grey pixels 0, 10, ... 50, three in a row of the file. */
static char *write_file(size_t *len)
{
    unsigned char rgb[WIDE * HIGH * 3];
    const struct image image = {.width = WIDE, .height = HIGH, .rgb = rgb};
    struct err err = {0};
    char *png;
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (unsigned char)(i / 3 * 10);
    ck_assert_int_eq(png_encode(&png, len, &image, &err), ERR_OK);
    return png;
}

static void expect_pixels(const char *png, size_t len, bool on_side, const unsigned char *expected)
{
    static const struct image_options options = {.pixels_max = WIDE * HIGH};
    struct image image;
    struct arena arena;
    struct err err = {0};
    unsigned width, height;
    arena_init(&arena);
    ck_assert_msg(!image_decode(&image, png, len, &options, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(image.width, on_side ? HIGH : WIDE);
    ck_assert_uint_eq(image.height, on_side ? WIDE : HIGH);
    ck_assert(image_probe(png, len, &width, &height));
    ck_assert(width == image.width && height == image.height);
    for (size_t i = 0; i < WIDE * HIGH; i++)
        ck_assert_uint_eq(image.rgb[3 * i], 10 * expected[i]);
    arena_deinit(&arena);
}

/* PIL 12 gives these pixels for each orientation: both byte orders, before the image data and
 * behind. */
START_TEST(png_orientation_is_obeyed_as_a_jpegs)
{
    static const unsigned char expected[9][WIDE * HIGH] = {
        [1] = {0, 1, 2, 3, 4, 5}, [2] = {2, 1, 0, 5, 4, 3}, [3] = {5, 4, 3, 2, 1, 0},
        [4] = {3, 4, 5, 0, 1, 2}, [5] = {0, 3, 1, 4, 2, 5}, [6] = {3, 0, 4, 1, 5, 2},
        [7] = {5, 2, 4, 1, 3, 0}, [8] = {2, 5, 1, 4, 0, 3}};
    for (unsigned orientation = 1; orientation <= 8; orientation++)
        for (unsigned way = 0; way < 8; way++) {
            unsigned char block[CHUNK_MAX] = "Exif\0";
            size_t prefix = way & 4 ? 6 : 0, len;
            char *png = write_file(&len);
            size_t block_len = prefix + write_block(block + prefix, way & 1, orientation);
            insert(&png, &len, place_of(png, len, way & 2 ? "IEND" : "IDAT"), block, block_len);
            expect_pixels(png, len, orientation >= 5, expected[orientation]);
            free(png);
        }
}
END_TEST

/* PIL takes the last block, and none that is damaged, declares nothing or stands behind the end. */
START_TEST(png_orientation_is_the_last_and_upright_if_broken)
{
    static const unsigned char upright[] = {0, 1, 2, 3, 4, 5}, turned[] = {5, 4, 3, 2, 1, 0};
    unsigned char block[CHUNK_MAX];
    size_t block_len = write_block(block, false, 6), len;
    for (size_t cut = 0; cut < block_len - 4; cut++) {
        char *png = write_file(&len);
        insert(&png, &len, place_of(png, len, "IDAT"), block, cut);
        expect_pixels(png, len, false, upright);
        free(png);
    }
    char *png = write_file(&len);
    insert(&png, &len, len, block, block_len);
    expect_pixels(png, len, false, upright);
    insert(&png, &len, place_of(png, len, "IDAT"), block, block_len);
    write_block(block, true, 3);
    insert(&png, &len, place_of(png, len, "IEND"), block, block_len);
    expect_pixels(png, len, false, turned);
    write_block(block, true, 9);
    insert(&png, &len, place_of(png, len, "IEND"), block, block_len);
    expect_pixels(png, len, false, upright);
    free(png);
}
END_TEST

SUITE("png", png_orientation_is_obeyed_as_a_jpegs,
      png_orientation_is_the_last_and_upright_if_broken,
      png_of_interlaced_noise_is_read_to_its_last_row, png_may_have_long_chunks_behind_its_pixels,
      png_encode_gives_back_the_pixels, png_of_noise_is_read_to_its_last_row,
      png_encode_keeps_a_wafer_map_small, png_with_a_chunk_before_its_header_is_refused,
      png_encode_rgba_writes_colour_and_alpha, png_encode_says_which_sizes_cannot_be_written)
