/* Refusals of image files, word for word, and the limits at which they begin. */
#include "engine/vision/input_formats.h"
#include "tests/unit/engine/vision/fixture.h"

#include <stdlib.h>

#define IMAGES "tests/data/images/"

static const struct image_options usual = {.pixels_max = 1 << 25};

struct file {
    unsigned char *bytes;
    size_t len;
};

static struct file read_file(const char *name, struct arena *arena)
{
    struct file file;
    file.bytes = fixture_read(arena_format(arena, IMAGES "%s", name), &file.len, arena);
    return file;
}

static void must_refuse(const void *bytes, size_t len, const char *text)
{
    struct arena arena;
    struct err err = {0};
    struct image image = {.rgb = (unsigned char *)&err}; /* to be overwritten */
    arena_init(&arena);
    ck_assert_int_eq(image_decode(&image, bytes, len, &usual, &arena, &err), ERR_UNUSABLE);
    ck_assert_int_eq(err.code, ERR_UNUSABLE);
    ck_assert_str_eq(err.text, text);
    ck_assert_ptr_null(image.rgb);
    arena_deinit(&arena);
}

START_TEST(image_says_how_many_bytes_a_file_has_that_is_cut_off)
{
    static const struct {
        const char *name;
        size_t magic;
        const char *text; /* followed by the number of bytes */
    } cases[] = {
        {"pngsuite/basn0g01.png", 8, "the PNG is cut off after"},
        {"pngsuite/basi3p02.png", 8, "the PNG is cut off after"},
        {"made/rgb.jpg", 3, "the JPEG is cut off: it has"},
        {"made/orientation_6.jpg", 3, "the JPEG is cut off: it has"},
        {"made/rgb_progressive.jpg", 3, "the JPEG is cut off: it has"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        arena_init(&arena);
        struct file file = read_file(cases[i].name, &arena);
        size_t end = cases[i].magic == 3 ? file.len - 2 : file.len;
        for (size_t cut = 0; cut < end; cut++) {
            unsigned char *exact = malloc(cut + 1);
            char text[96];
            if (cut < cases[i].magic)
                snprintf(text, sizeof text, "the image is not " INPUT_FORMATS_OR " (%zu bytes)",
                         cut);
            else
                snprintf(text, sizeof text, "%s %zu bytes", cases[i].text, cut);
            memcpy(exact, file.bytes, cut);
            must_refuse(exact, cut, text);
            free(exact);
        }
        arena_deinit(&arena);
    }
}
END_TEST

/* The error names the kind of file that is given in the place of a picture. */
START_TEST(image_names_what_it_is_given)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } cases[] = {
        {"II*\0\x08\0\0\0", 8, "this is a TIFF picture: convert it to " INPUT_FORMATS_OR},
        {"GIF89a", 6, "this is a GIF picture: convert it to " INPUT_FORMATS_OR},
        {"\x1f\x8b\x08\0", 4, "this is gzip: unpack it first"},
        {"FileVersion 1 2;", 16,
         "this is a KLARF file, not a log; wafers are read as " INPUT_FORMATS_OR " pictures"},
        {"iVBORw0KGgoAAAANSUhEUgAAAEoAAABX", 32,
         "this is a PNG picture in base64, not a text: send it as \"image\" in JSON, or send its "
         "bytes"},
        {"https://fab/a.png", 17, "this is a URL, not a picture: send the picture's bytes"},
        {"abc", 3, "the image is not " INPUT_FORMATS_OR " (3 bytes)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        must_refuse((const unsigned char *)cases[i].bytes, cases[i].len, cases[i].text);
}
END_TEST

START_TEST(image_says_near_which_byte_a_file_is_damaged)
{
    static const struct {
        const char *name;
        size_t at;
        unsigned char byte;
        const char *text;
    } cases[] = {
        {"pngsuite/basn0g01.png", 24, 3, "the PNG is damaged near byte 33"},
        {"pngsuite/basn0g01.png", 12, 'J', "the PNG does not begin with its header (IHDR)"},
        {"pngsuite/basn0g01.png", 11, 14, "the PNG does not begin with its header (IHDR)"},
        {"made/two_components.jpg", 0, 0xFF,
         "the JPEG has 2 components; 1, 3 and 4 can be decoded"},
        {"made/scans_200.jpg", 0, 0xFF, "the JPEG has more than 100 scans"},
        {"made/bits_12.jpg", 0, 0xFF,
         "the JPEG is damaged, or of an unsupported kind, near byte 623"},
        {"made/rgb.jpg", 3, 0xC3, "the JPEG is damaged, or of an unsupported kind, near byte 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        arena_init(&arena);
        struct file file = read_file(cases[i].name, &arena);
        file.bytes[cases[i].at] = cases[i].byte;
        must_refuse(file.bytes, file.len, cases[i].text);
        arena_deinit(&arena);
    }
}
END_TEST

/* An APP1 segment right behind the start of a JPEG that is sound otherwise. */
static struct file with_app1(const char *segment, size_t len, struct arena *arena)
{
    struct file sound = read_file("made/rgb.jpg", arena);
    struct file out = {arena_alloc(arena, sound.len + len), sound.len + len};
    memcpy(out.bytes, sound.bytes, 2);
    memcpy(out.bytes + 2, segment, len);
    memcpy(out.bytes + 2 + len, sound.bytes + 2, sound.len - 2);
    return out;
}

#define TIFF(value) "MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0" value "\0\0\0\0\0\0"
#define EXIF(value)                                                                                \
    "\xff\xe1\0\x28"                                                                               \
    "Exif\0\0" TIFF(value)

START_TEST(jpeg_takes_the_orientation_of_the_first_exif_segment)
{
    static const struct {
        const char *segment;
        size_t len;
        unsigned width;
    } cases[] = {
        {EXIF("\6"), sizeof EXIF("\6") - 1, 17},
        {EXIF("\1"), sizeof EXIF("\1") - 1, 23},
        {EXIF("\6") EXIF("\1"), 2 * (sizeof EXIF("\6") - 1), 17},
        {EXIF("\1") EXIF("\6"), 2 * (sizeof EXIF("\6") - 1), 23},
        {"\xff\xe1\0\2" EXIF("\6"), 4 + sizeof EXIF("\6") - 1, 17},
        {"\xff\xe1\0\7Exif\0" EXIF("\6"), 9 + sizeof EXIF("\6") - 1, 17},
        {"\xff\xe1\0\x08"
         "Exif\0\0" EXIF("\6"),
         10 + sizeof EXIF("\6") - 1, 23},
        {"\xff\xe1\0\x28"
         "exif\0\0" TIFF("\6"),
         sizeof EXIF("\6") - 1, 23},
        {"\xff\xe1\0\x28"
         "Exif\0\1" TIFF("\6"),
         sizeof EXIF("\6") - 1, 23},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        unsigned width = 0, height = 0;
        struct err err = {0};
        struct image image;
        arena_init(&arena);
        struct file file = with_app1(cases[i].segment, cases[i].len, &arena);
        ck_assert(image_probe(file.bytes, file.len, &width, &height));
        ck_assert_msg(width == cases[i].width && height == 40 - width, "case %zu: %u x %u", i,
                      width, height);
        ck_assert_int_eq(image_decode(&image, file.bytes, file.len, &usual, &arena, &err), ERR_OK);
        ck_assert(image.width == width && image.height == height);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(jpeg_refuses_segments_whose_length_cannot_be)
{
    struct arena arena;
    arena_init(&arena);
    struct file file = with_app1("\xff\xe1\0\1", 4, &arena);
    must_refuse(file.bytes, file.len,
                "the JPEG is damaged, or of an unsupported kind, near byte 4");
    file = with_app1("\xff\xe1\0\0", 4, &arena);
    must_refuse(file.bytes, file.len,
                "the JPEG is damaged, or of an unsupported kind, near byte 4");
    file = with_app1("\xff\xe1\xff\xff", 4, &arena);
    must_refuse(file.bytes, file.len, "the JPEG is cut off: it has 907 bytes");
    must_refuse("\xff\xd8\xff\xe1\0\4ab", 8, "the JPEG is cut off: it has 8 bytes");
    must_refuse("\xff\xd8\xff\xe1\0\4a", 7, "the JPEG is cut off: it has 7 bytes");
    must_refuse("\xff\xd8\xff\xe1\0", 5, "the JPEG is cut off: it has 5 bytes");
    must_refuse("\xff\xd8\xff\xe1\0\1", 6,
                "the JPEG is damaged, or of an unsupported kind, near byte 4");
    unsigned width = 7, height = 7;
    ck_assert(!image_probe("\xff\xd8\xff\xe1\0\4ab", 8, &width, &height));
    ck_assert(width == 7 && height == 7);
    arena_deinit(&arena);
}
END_TEST

/* made/rgb_progressive.jpg has ten scans; its second one is said again and again. */
START_TEST(jpeg_may_have_a_hundred_scans)
{
    enum { SCANS = 10, SECOND = 291, NEXT = 320, SCAN_BYTES = NEXT - SECOND };
    for (unsigned scans = 100; scans <= 101; scans++) {
        struct arena arena;
        struct err err = {0};
        struct image image;
        arena_init(&arena);
        struct file file = read_file("made/rgb_progressive.jpg", &arena);
        size_t more = (size_t)(scans - SCANS) * SCAN_BYTES;
        unsigned char *longer = arena_alloc(&arena, file.len + more);
        memcpy(longer, file.bytes, NEXT);
        for (size_t at = NEXT; at < NEXT + more; at++)
            longer[at] = longer[at - SCAN_BYTES];
        memcpy(longer + NEXT + more, file.bytes + NEXT, file.len - NEXT);
        image_decode(&image, longer, file.len + more, &usual, &arena, &err);
        ck_assert_str_eq(err.text, scans > 100 ? "the JPEG has more than 100 scans" : "");
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(image_create_bounds_sides_and_pixels)
{
    static const struct {
        unsigned width, height;
        size_t pixels_max;
        const char *text;
    } cases[] = {
        {0, 1, 9, "the image has no pixels (0 x 1)"},
        {1, 0, 9, "the image has no pixels (1 x 0)"},
        {100000, 1, 100000, ""},
        {1, 100000, 100000, ""},
        {100001, 1, 200000, "the image is 100001 x 1; the limit is 100000 pixels a side"},
        {1, 100001, 200000, "the image is 1 x 100001; the limit is 100000 pixels a side"},
        {3, 3, 9, ""},
        {3, 3, 8, "the image is 3 x 3; the limit is 8 pixels"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct image_options options = {.pixels_max = cases[i].pixels_max};
        struct arena arena;
        struct err err = {0};
        struct image image = {0};
        arena_init(&arena);
        enum err_code code =
            image_create(&image, cases[i].width, cases[i].height, &options, &arena, &err);
        ck_assert_str_eq(err.text, cases[i].text);
        ck_assert_int_eq(code, cases[i].text[0] != '\0' ? ERR_UNUSABLE : ERR_OK);
        ck_assert_int_eq(image.rgb != NULL, code == ERR_OK);
        ck_assert_uint_eq(image.width, code == ERR_OK ? cases[i].width : 0);
        ck_assert_uint_eq(image.height, code == ERR_OK ? cases[i].height : 0);
        arena_deinit(&arena);
    }
}
END_TEST

SUITE("image_errors", image_names_what_it_is_given,
      image_says_how_many_bytes_a_file_has_that_is_cut_off,
      image_says_near_which_byte_a_file_is_damaged,
      jpeg_takes_the_orientation_of_the_first_exif_segment,
      jpeg_refuses_segments_whose_length_cannot_be, jpeg_may_have_a_hundred_scans,
      image_create_bounds_sides_and_pixels)
