/* test_image.c - decoding against Pillow's verdicts and pixels, and against hostile bytes. The
 * table is tests/data/images/expected.csv. With ATTND_CORPORA set to a directory that holds the
 * whole collections (images/pngsuite, images/png_bugfixes, images/pillow, their
 * pillow_reference_decode.csv), all of these are checked, too. */
#include "tests/unit/engine/vision/fixture.h"

#include <stdlib.h>
#include <unistd.h>

#define IMAGES "tests/data/images/"

static const struct image_options usual = {.pixels_max = 1 << 25};

/* Decodes a file of the fixtures; the pixels live in the arena. */
static enum err_code decode_file(struct image *out, const char *name,
                                 const struct image_options *options, struct arena *arena,
                                 struct err *err)
{
    size_t len;
    unsigned char *bytes = fixture_read(arena_format(arena, IMAGES "%s", name), &len, arena);
    return image_decode(out, bytes, len, options, arena, err);
}

static void check_expectation(const char *name, const char *verdict, unsigned width,
                              unsigned height, const char *sha256)
{
    struct arena arena;
    struct err err = {0};
    struct image image;
    arena_init(&arena);
    enum err_code code = decode_file(&image, name, &usual, &arena, &err);
    if (strcmp(verdict, "refuse") == 0) {
        ck_assert_msg(code == ERR_UNUSABLE, "%s was not refused as unusable", name);
        ck_assert_msg(err.text[0] != '\0' && image.rgb == NULL, "%s: no reason, or pixels", name);
    } else {
        ck_assert_msg(code == ERR_OK, "%s: %s", name, err.text);
    }
    if (strcmp(verdict, "pixels") == 0) {
        char found[65];
        fixture_pixels_sha256(&image, found);
        ck_assert_msg(image.width == width && image.height == height, "%s: wrong size", name);
        ck_assert_msg(strcmp(found, sha256) == 0, "%s: wrong pixels", name);
    }
    arena_deinit(&arena);
}

START_TEST(image_gives_the_verdicts_and_pixels_of_pillow)
{
    FILE *table = fopen(IMAGES "expected.csv", "r");
    ck_assert_ptr_nonnull(table);
    char line[256], name[128], verdict[16], sha256[65];
    unsigned width, height, count = 0;
    for (; fgets(line, sizeof line, table) != NULL; count++) {
        ck_assert_int_eq(
            sscanf(line, "%127[^,],%15[^,],%u,%u,%64s", name, verdict, &width, &height, sha256), 5);
        check_expectation(name, verdict, width, height, sha256);
    }
    fclose(table);
    ck_assert_uint_ge(count, 164);
}
END_TEST

/* Small files of every kind: interlaced, palette, 16 bits, grey; baseline, progressive, CMYK; masks,
 * runs. */
static const char *const samples[] = {
    "pngsuite/basn0g01.png",
    "pngsuite/basi3p02.png",
    "pngsuite/basn2c16.png",
    "pngsuite/basi4a16.png",
    "pngsuite/s07i3p02.png",
    "pngsuite/tbbn3p08.png",
    "made/grey12_lower_sbit.png",
    "made/rgb.jpg",
    "made/rgb_progressive.jpg",
    "made/ycck.jpg",
    "made/orientation_6_far.jpg",
    "made/l.jpg",
    "bmp/rgb24.bmp",
    "bmp/rgb16_565.bmp",
    "bmp/pal4.bmp",
    "bmp/pal1.bmp",
    "bmp/rle8.bmp",
    "bmp/rle4.bmp",
};
enum { SAMPLE_COUNT = sizeof samples / sizeof samples[0] };

/* A copy of exactly `len` bytes, so that a sanitizer sees the first byte read past them. */
static enum err_code decode_copy(struct image *out, const unsigned char *bytes, size_t len,
                                 struct arena *arena, struct err *err)
{
    unsigned char *copy = malloc(len > 0 ? len : 1);
    memcpy(copy, bytes, len);
    unsigned width = 0, height = 0;
    image_probe(copy, len, &width, &height);
    enum err_code code = image_decode(out, copy, len, &usual, arena, err);
    free(copy);
    return code;
}

/* A JPEG may lose (part of) its end marker, two bytes, and be none the worse; a BMP the padding of
 * its last row, or the codes that end the row and the image, four bytes. */
START_TEST(image_refuses_files_cut_off_at_any_byte)
{
    for (size_t s = 0; s < SAMPLE_COUNT; s++) {
        struct arena arena, scratch;
        arena_init(&arena);
        arena_init(&scratch);
        size_t len;
        unsigned char *bytes =
            fixture_read(arena_format(&arena, IMAGES "%s", samples[s]), &len, &arena);
        size_t end = bytes[0] == 0xFF ? len - 2 : bytes[0] == 'B' ? len - 4 : len;
        for (size_t cut = 0; cut < end; cut++) {
            struct err err = {0};
            struct image image;
            ck_assert_msg(decode_copy(&image, bytes, cut, &scratch, &err) == ERR_UNUSABLE,
                          "%s: decoded from its first %zu of %zu bytes", samples[s], cut, len);
            arena_deinit(&scratch);
        }
        arena_deinit(&arena);
    }
}
END_TEST

/* An end marker stands in place of the last few bytes of data, with anything behind it. libjpeg
 * would make up the missing part, however small. */
START_TEST(image_refuses_a_jpeg_whose_end_marker_comes_too_early)
{
    static const char *const files[] = {"made/rgb.jpg", "made/l.jpg", "made/rgb_progressive.jpg"};
    enum { LOST = 6, AFTER = 4096 };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct arena arena;
        struct err err = {0};
        struct image image;
        size_t len;
        arena_init(&arena);
        const unsigned char *bytes =
            fixture_read(arena_format(&arena, IMAGES "%s", files[i]), &len, &arena);
        unsigned char *early = arena_alloc_array(&arena, len + AFTER, 1);
        memcpy(early, bytes, len - LOST);
        memcpy(early + len - LOST, "\xff\xd9", 2);
        ck_assert_int_eq(decode_copy(&image, early, len - LOST + 2, &arena, &err), ERR_UNUSABLE);
        ck_assert_msg(strncmp(err.text, "the JPEG is cut off", 19) == 0, "%s", err.text);
        err = (struct err){0};
        ck_assert_int_eq(decode_copy(&image, early, len + AFTER, &arena, &err), ERR_UNUSABLE);
        arena_deinit(&arena);
    }
}
END_TEST

static unsigned crc32_of(const unsigned char *bytes, size_t len)
{
    unsigned crc = ~0u;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

static void put_u32(unsigned char *at, unsigned value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static unsigned get_u32(const unsigned char *at)
{
    return (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3];
}

/* Makes the checksums of a PNG right again, so that a mutation reaches what lies behind them. */
static void reseal(unsigned char *bytes, size_t len)
{
    for (size_t at = 8; len >= 12 && at <= len - 12;) {
        size_t size = get_u32(bytes + at);
        if (size > len - at - 12)
            return;
        put_u32(bytes + at + 8 + size, crc32_of(bytes + at + 4, size + 4));
        at += size + 12;
    }
}

static void mutate(unsigned char *bytes, size_t len, unsigned long long *state)
{
    unsigned changes = 1 + fixture_random(state) % 4;
    for (unsigned i = 0; i < changes; i++) {
        size_t at = fixture_random(state) % len;
        if (fixture_random(state) % 2)
            bytes[at] = (unsigned char)fixture_random(state);
        else
            bytes[at] ^= (unsigned char)(1u << fixture_random(state) % 8);
    }
    if (bytes[0] == 0x89 && fixture_random(state) % 4 != 0)
        reseal(bytes, len);
}

START_TEST(image_survives_mutated_files)
{
    const struct image_options small = {.pixels_max = 1 << 16, .grey16_minmax = true};
    const char *rounds_text = getenv("ATTND_FUZZ_ROUNDS");
    long rounds = rounds_text != NULL ? strtol(rounds_text, NULL, 10) : 400;
    unsigned long long state = 1;
    unsigned decoded = 0, refused = 0;
    for (size_t s = 0; s < SAMPLE_COUNT; s++) {
        struct arena arena, scratch;
        arena_init(&arena);
        arena_init(&scratch);
        size_t len;
        unsigned char *bytes =
            fixture_read(arena_format(&arena, IMAGES "%s", samples[s]), &len, &arena);
        for (long round = 0; round < rounds; round++) {
            struct err err = {0};
            struct image image;
            unsigned char *copy = malloc(len);
            memcpy(copy, bytes, len);
            mutate(copy, len, &state);
            unsigned width, height;
            bool readable = image_probe(copy, len, &width, &height);
            if (image_decode(&image, copy, len, &small, &scratch, &err) == ERR_OK) {
                ck_assert(readable && image.width == width && image.height == height);
                ck_assert_uint_le((size_t)width * height, small.pixels_max);
                decoded++;
            } else {
                ck_assert_ptr_null(image.rgb);
                refused++;
            }
            free(copy);
            arena_deinit(&scratch);
        }
        arena_deinit(&arena);
    }
    ck_assert_uint_gt(decoded, 0);
    ck_assert_uint_gt(refused, 0);
}
END_TEST

START_TEST(image_refuses_what_is_of_no_format_that_is_read)
{
    static const char *const others[] = {"",   "\x89",     "\x89PNG", "GIF89a..........",
                                         "BM", "\xff\xd8", "<svg/>"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct arena arena;
        struct err err = {0};
        struct image image;
        unsigned width, height;
        arena_init(&arena);
        ck_assert_int_eq(image_decode(&image, others[i], strlen(others[i]), &usual, &arena, &err),
                         ERR_UNUSABLE);
        ck_assert(!image_probe(others[i], strlen(others[i]), &width, &height));
        arena_deinit(&arena);
    }
}
END_TEST

static void check_refused_unallocated(const unsigned char *bytes, size_t len, const char *text)
{
    struct arena arena;
    struct err err = {0};
    struct image image;
    arena_init(&arena);
    ck_assert_int_eq(image_decode(&image, bytes, len, &usual, &arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, text);
    ck_assert_uint_eq(arena.bytes, 0);
    arena_deinit(&arena);
}

START_TEST(image_judges_a_size_before_it_takes_memory)
{
    struct arena arena;
    arena_init(&arena);
    size_t len;
    unsigned char *png = fixture_read(IMAGES "pngsuite/basn2c08.png", &len, &arena);
    put_u32(png + 16, 65536);
    put_u32(png + 20, 65535);
    reseal(png, len);
    check_refused_unallocated(png, len, "the image is 65536 x 65535; the limit is 33554432 pixels");
    put_u32(png + 16, 100001);
    put_u32(png + 20, 1);
    reseal(png, len);
    check_refused_unallocated(png, len,
                              "the image is 100001 x 1; the limit is 100000 pixels a side");
    put_u32(png + 16, 0x7FFFFFFF);
    reseal(png, len);
    check_refused_unallocated(png, len, "the PNG is damaged near byte 33");
    unsigned char *jpeg = fixture_read(IMAGES "made/rgb.jpg", &len, &arena);
    for (size_t at = 0; at + 8 < len; at++)
        if (jpeg[at] == 0xFF && jpeg[at + 1] == 0xC0)
            memset(jpeg + at + 5, 0xFD, 4);
    check_refused_unallocated(jpeg, len,
                              "the image is 65021 x 65021; the limit is 33554432 pixels");
    arena_deinit(&arena);
}
END_TEST

static size_t put_chunk(unsigned char *at, const char *name, const void *data, size_t size)
{
    put_u32(at, (unsigned)size);
    memcpy(at + 4, name, 4);
    memcpy(at + 8, data, size);
    put_u32(at + 8 + size, crc32_of(at + 4, size + 4));
    return size + 12;
}

/* A PNG of at most 255 x 255 black pixels, grey, or `deep` of eight bytes each, whose image data is
 * 1 + `blocks` stored blocks of 65535 zeros, however few belong to a pixel. */
static size_t make_surplus(unsigned char *out, unsigned char side, bool interlaced, bool deep,
                           size_t blocks, struct arena *arena)
{
    enum { BLOCK = 5 + 65535 };
    unsigned char depth = deep ? 16 : 8, colour = deep ? 6 : 0;
    unsigned char header[13] = {0, 0, 0, side, 0, 0, 0, side, depth, colour, 0, 0, interlaced};
    size_t len = 8;
    size_t data_len = 2 + (1 + blocks) * BLOCK + 4;
    unsigned char *data = arena_alloc_array(arena, data_len, 1);
    memcpy(data, "\x78\x01", 2);
    for (size_t i = 0; i <= blocks; i++)
        memcpy(data + 2 + i * BLOCK, "\0\xff\xff\0\0", 5);
    data[2 + blocks * BLOCK] = 1;                                                     /* the last */
    put_u32(data + data_len - 4, (unsigned)((1 + blocks) * 65535 % 65521 << 16 | 1)); /* Adler-32 */
    memcpy(out, "\x89PNG\r\n\x1a\n", 8);
    len += put_chunk(out + len, "IHDR", header, sizeof header);
    len += put_chunk(out + len, "IDAT", data, data_len);
    return len + put_chunk(out + len, "IEND", "", 0);
}

/* libpng would inflate it all: a minute for 30 MB. */
START_TEST(image_refuses_a_png_with_much_more_data_than_pixels)
{
    static const unsigned char sides[] = {1, 2, 3, 5, 8, 250};
    for (size_t i = 0; i < 2 * sizeof sides; i++) {
        struct arena arena;
        struct err err = {0};
        struct image image;
        arena_init(&arena);
        unsigned char *png = arena_alloc(&arena, 1 << 19);
        size_t len = make_surplus(png, sides[i / 2], i % 2, false, 4, &arena);
        ck_assert_int_eq(image_decode(&image, png, len, &usual, &arena, &err), ERR_UNUSABLE);
        arena_deinit(&arena);
    }
}
END_TEST

/* 524 280 bytes, of which 520 679 are pixels and 259 207 those of the last pass. */
START_TEST(image_reads_a_png_whose_last_pass_is_large)
{
    struct arena arena;
    struct err err = {0};
    struct image image;
    arena_init(&arena);
    unsigned char *png = arena_alloc(&arena, 1 << 20);
    size_t len = make_surplus(png, 255, true, true, 7, &arena);
    ck_assert_msg(!image_decode(&image, png, len, &usual, &arena, &err), "%s", err.text);
    arena_deinit(&arena);
}
END_TEST

START_TEST(image_accepts_exactly_the_limit)
{
    struct arena arena;
    struct err err = {0};
    struct image image;
    arena_init(&arena);
    const struct image_options exact = {.pixels_max = 32 * 32}, less = {.pixels_max = 32 * 32 - 1};
    ck_assert_int_eq(decode_file(&image, "pngsuite/basn2c08.png", &exact, &arena, &err), ERR_OK);
    ck_assert_int_eq(decode_file(&image, "pngsuite/basn2c08.png", &less, &arena, &err),
                     ERR_UNUSABLE);
    arena_deinit(&arena);
}
END_TEST

START_TEST(image_probe_tells_the_size_that_decoding_gives)
{
    static const char *const names[] = {"pngsuite/s07i3p02.png",  "made/rgb.jpg",
                                        "made/orientation_6.jpg", "made/orientation_3.jpg",
                                        "bmp/rgb24_core.bmp",     "bmp/pal8_top_down.bmp"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct arena arena;
        struct err err = {0};
        struct image image;
        unsigned width, height;
        size_t len;
        arena_init(&arena);
        unsigned char *bytes =
            fixture_read(arena_format(&arena, IMAGES "%s", names[i]), &len, &arena);
        ck_assert(image_probe(bytes, len, &width, &height));
        ck_assert_int_eq(image_decode(&image, bytes, len, &usual, &arena, &err), ERR_OK);
        ck_assert_uint_eq(image.width, width);
        ck_assert_uint_eq(image.height, height);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(image_stretches_16_bit_grey_to_its_range_if_asked)
{
    const struct image_options stretch = {.pixels_max = 1 << 16, .grey16_minmax = true};
    struct arena arena;
    struct err err = {0};
    struct image image;
    arena_init(&arena);
    ck_assert_int_eq(decode_file(&image, "made/grey12_no_sbit.png", &usual, &arena, &err), ERR_OK);
    ck_assert_uint_eq(image.rgb[255 * 3], 16); /* 4095 of 65535 */
    ck_assert_int_eq(decode_file(&image, "made/grey12_no_sbit.png", &stretch, &arena, &err),
                     ERR_OK);
    for (unsigned i = 0; i < 256; i++) /* a ramp of 256 values from 0 to 4095 */
        ck_assert_uint_eq(image.rgb[i * 3 + 2], (i * 4095 / 255 * 255 + 2047) / 4095);
    ck_assert_int_eq(decode_file(&image, "made/grey16_flat.png", &stretch, &arena, &err), ERR_OK);
    ck_assert_uint_eq(image.rgb[0], 0);
    arena_deinit(&arena);
}
END_TEST

/* The complete collections, where this decoder differs on purpose: see make.py. */
static bool differs_on_purpose(const char *name)
{
    static const char *const names[] = {
        "xcsn0g01.png",  "x_interlaced_chck.png",     "cicp_pq.png",
        "issue_430.png", "invalid_palette_index.png", "png_decompression_dos.png"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_compared(const char *collection, const char *name)
{
    size_t len = strlen(name);
    return (strcmp(collection, "pngsuite") == 0 || strcmp(collection, "png_bugfixes") == 0 ||
            strcmp(collection, "pillow") == 0) &&
           len > 4 &&
           (strcmp(name + len - 4, ".png") == 0 || strcmp(name + len - 4, ".jpg") == 0) &&
           !differs_on_purpose(name);
}

/* Returns whether the file was there. Pixels are compared for PNG of at most 8 bits a sample. */
static bool check_corpus_file(const char *corpora, const char *collection, const char *name,
                              bool decodes, const char *sha256)
{
    struct arena arena;
    struct err err = {0};
    struct image image;
    size_t len;
    arena_init(&arena);
    unsigned char *bytes = fixture_find(
        arena_format(&arena, "%s/images/%s/%s", corpora, collection, name), &len, &arena);
    if (bytes != NULL) {
        bool decoded = image_decode(&image, bytes, len, &usual, &arena, &err) == ERR_OK;
        ck_assert_msg(decoded == decodes, "%s/%s: %s", collection, name, err.text);
        if (decoded && bytes[0] == 0x89 && bytes[24] <= 8) {
            char found[65];
            fixture_pixels_sha256(&image, found);
            ck_assert_msg(strcmp(found, sha256) == 0, "%s/%s: wrong pixels", collection, name);
        }
    }
    arena_deinit(&arena);
    return bytes != NULL;
}

START_TEST(image_agrees_with_pillow_on_the_whole_corpora)
{
    const char *corpora = getenv("ATTND_CORPORA");
    if (corpora == NULL)
        suite_skip("ATTND_CORPORA is not set");
    struct arena arena;
    arena_init(&arena);
    FILE *table =
        fopen(arena_format(&arena, "%s/images/pillow_reference_decode.csv", corpora), "r");
    ck_assert_msg(table != NULL, "ATTND_CORPORA holds no images/pillow_reference_decode.csv");
    char line[512], collection[64], name[256], result[16], sha256[65];
    unsigned count = 0;
    while (fgets(line, sizeof line, table) != NULL) {
        if (sscanf(line, "%63[^,],%255[^,],%*u,%15[^,]", collection, name, result) != 3 ||
            !is_compared(collection, name))
            continue;
        bool decodes = strcmp(result, "ok") == 0;
        sha256[0] = '\0';
        if (decodes)
            sscanf(line, "%*[^,],%*[^,],%*u,ok,%*[^,],%*[^,],%*u,%*u,%*[^,],%64[^,]", sha256);
        count += check_corpus_file(corpora, collection, name, decodes, sha256);
    }
    fclose(table);
    arena_deinit(&arena);
    printf("%u files of the corpora checked\n", count);
    ck_assert_uint_gt(count, 300);
}
END_TEST

SUITE("image", image_gives_the_verdicts_and_pixels_of_pillow,
      image_refuses_files_cut_off_at_any_byte,
      image_refuses_a_jpeg_whose_end_marker_comes_too_early, image_survives_mutated_files,
      image_refuses_what_is_of_no_format_that_is_read, image_judges_a_size_before_it_takes_memory,
      image_refuses_a_png_with_much_more_data_than_pixels,
      image_reads_a_png_whose_last_pass_is_large, image_accepts_exactly_the_limit,
      image_probe_tells_the_size_that_decoding_gives,
      image_stretches_16_bit_grey_to_its_range_if_asked,
      image_agrees_with_pillow_on_the_whole_corpora)
