/* The bytes that decoding announces, compared with those that it took: the rise of a process's
 * resident set. */
#include "engine/vision/png.h"
#include "engine/vision/preprocess.h"
#include "tests/unit/engine/vision/fixture.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>

#if defined(__SANITIZE_ADDRESS__)
enum { RESIDENT_IS_OURS = 0 }; /* quarantine and shadow */
#else
enum { RESIDENT_IS_OURS = 1 };
#endif

enum { SIDE = 3000, SLACK_BYTES = 2 * 1024 * 1024 };

struct file {
    unsigned char *bytes;
    size_t len;
};

struct kind {
    const char *name;
    int components;
    bool progressive;
    int sampling; /* of the first component, the others 1 */
    unsigned width, height;
};

/* All grey, so that it is written quickly and lies in few bytes: only the header counts. */
static struct file write_jpeg(const struct kind *kind)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct file file = {0};
    unsigned long len = 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &file.bytes, &len);
    jpeg.image_width = kind->width;
    jpeg.image_height = kind->height;
    jpeg.input_components = kind->components;
    jpeg.in_color_space = kind->components == 4   ? JCS_CMYK
                          : kind->components == 3 ? JCS_RGB
                                                  : JCS_GRAYSCALE;
    jpeg_set_defaults(&jpeg);
    jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = kind->sampling;
    if (kind->progressive)
        jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    unsigned char *row = calloc(kind->width, 4);
    for (unsigned y = 0; y < kind->height; y++)
        jpeg_write_scanlines(&jpeg, &row, 1);
    free(row);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    file.len = len;
    return file;
}

static struct file write_png(unsigned width, unsigned height)
{
    struct file file = {0};
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_RGBA};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
    unsigned char *pixels = calloc((size_t)width * height, 4);
    file.bytes = malloc(size);
    ck_assert(png_image_write_to_memory(&png, file.bytes, &size, 0, pixels, 0, NULL));
    free(pixels);
    file.len = size;
    return file;
}

static size_t peak_bytes(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (size_t)usage.ru_maxrss * 1024;
}

struct result {
    size_t pixels, rise;
};

static void decode(const struct file *file, struct result *out)
{
    size_t before = peak_bytes();
    struct arena arena;
    struct image image;
    struct err err = {0};
    const struct image_options options = {.pixels_max = 1 << 26};
    arena_init(&arena);
    if (image_decode(&image, file->bytes, file->len, &options, &arena, &err) == ERR_OK)
        out->pixels = (size_t)image.width * image.height;
    out->rise = peak_bytes() - before;
    arena_deinit(&arena);
}

/* Decodes in a child, whose peak begins at the memory that it inherits: writing the file took more
 * than reading. Freed memory must not serve again, or the rise would be less than the memory
 * taken. */
static struct result decode_apart(const struct file *file)
{
    int status;
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    malloc_trim(0);
    struct result *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        decode(file, shared);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    struct result result = *shared;
    munmap(shared, sizeof *shared);
    return result;
}

/* The bound holds, and is not far off: a quarter above what was really taken, and some. */
static void check(const char *name, const struct file *file)
{
    size_t told = image_decode_bytes(file->bytes, file->len);
    struct result result = decode_apart(file);
    ck_assert_uint_gt(result.pixels, 0);
    ck_assert_msg(told >= 3 * result.pixels, "%s: %zu told for %zu pixels", name, told,
                  result.pixels);
    if (!RESIDENT_IS_OURS)
        return;
    ck_assert_msg(result.rise <= told + SLACK_BYTES, "%s: %zu told, %zu taken", name, told,
                  result.rise);
    ck_assert_msg(told <= result.rise + result.rise / 4 + 2 * SLACK_BYTES,
                  "%s: %zu told, %zu taken", name, told, result.rise);
}

START_TEST(decode_bytes_bound_every_kind_of_jpeg)
{
    static const struct kind kinds[] = {
        {"baseline", 3, false, 2, SIDE, SIDE},
        {"progressive", 3, true, 2, SIDE, SIDE},
        {"progressive, not subsampled", 3, true, 1, SIDE, SIDE},
        {"progressive CMYK", 4, true, 1, SIDE, SIDE},
        {"progressive CMYK, subsampled", 4, true, 2, SIDE, SIDE},
        {"progressive grey", 1, true, 1, SIDE, SIDE},
        {"wide", 3, true, 2, 65000, 100},
        {"tall", 3, true, 2, 100, 65000},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct file file = write_jpeg(&kinds[i]);
        check(kinds[i].name, &file);
        free(file.bytes);
    }
}
END_TEST

/* Orientation 6, behind IHDR; nobody checks its checksum. */
static void lay_on_side(struct file *file)
{
    enum { IHDR_END = 33 };
    static const unsigned char chunk[] = "\0\0\0\x1a"
                                         "eXIfMM\0\x2a\0\0\0\x08\0\x01"
                                         "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0\0\0\0\0";
    const size_t chunk_len = sizeof chunk - 1;
    file->bytes = realloc(file->bytes, file->len + chunk_len);
    memmove(file->bytes + IHDR_END + chunk_len, file->bytes + IHDR_END, file->len - IHDR_END);
    memcpy(file->bytes + IHDR_END, chunk, chunk_len);
    file->len += chunk_len;
}

START_TEST(decode_bytes_bound_a_png)
{
    struct file square = write_png(SIDE, SIDE), wide = write_png(99000, 40);
    check("square", &square);
    check("wide", &wide);
    lay_on_side(&square);
    check("on its side", &square);
    free(square.bytes);
    free(wide.bytes);
}
END_TEST

START_TEST(decode_bytes_bound_a_bmp)
{
    enum { HEAD = 54, ROW = 3 * SIDE };
    static const unsigned char head[HEAD] = {'B', 'M', [10] = HEAD, [14] = 40, [26] = 1, [28] = 24};
    struct file file = {.len = HEAD + (size_t)SIDE * ROW};
    file.bytes = calloc(file.len, 1);
    memcpy(file.bytes, head, HEAD);
    for (unsigned b = 0; b < 2; b++)
        file.bytes[18 + b] = file.bytes[22 + b] = (unsigned char)(SIDE >> 8 * b);
    check("24 bits", &file);
    free(file.bytes);
}
END_TEST

/* Eight bytes a pixel for the coefficients, three for the pixels. */
START_TEST(decode_bytes_of_a_small_file_may_be_large)
{
    struct file file = write_jpeg(&(struct kind){"", 4, true, 1, SIDE, SIDE});
    ck_assert_uint_le(file.len, 200000);
    ck_assert_uint_ge(image_decode_bytes(file.bytes, file.len), (size_t)SIDE * SIDE * 11);
    free(file.bytes);
}
END_TEST

START_TEST(decode_bytes_are_few_for_what_cannot_be_decoded)
{
    ck_assert_uint_eq(image_decode_bytes("GIF89a", 6), 0);
    ck_assert_uint_eq(image_decode_bytes("", 0), 0);
    ck_assert_uint_le(image_decode_bytes("\x89PNG\r\n\x1a\n", 8), 1 << 20);
    ck_assert_uint_le(image_decode_bytes("\xff\xd8\xff\xe0", 4), 1 << 20);
}
END_TEST

/* preprocess_geometry's arena and resize's scratch, as counted by the arenas themselves. */
START_TEST(preprocess_bytes_bound_what_geometry_keeps)
{
    static const unsigned sides[][2] = {{1, 1}, {224, 224}, {3000, 20}, {20, 3000}, {500, 700}};
    struct preprocess preprocess;
    struct err err = {0};
    ck_assert_int_eq(
        preprocess_open(&preprocess, "models/configs/vit-base", "ViT", extent_square(224), &err),
        ERR_OK);
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        struct arena arena;
        arena_init(&arena);
        struct image image = {.width = sides[i][0], .height = sides[i][1]}, out;
        image.rgb = arena_alloc_array(&arena, (size_t)image.width * image.height, 3);
        size_t before = arena.bytes;
        ck_assert_int_eq(preprocess_geometry(&preprocess, &image, NULL, &arena, &out, &err),
                         ERR_OK);
        ck_assert_uint_le(arena.bytes - before,
                          preprocess_bytes(&preprocess, image.width, image.height));
        arena_deinit(&arena);
    }
    ck_assert_uint_eq(preprocess_bytes(&preprocess, 0, 5), 0);
}
END_TEST

SUITE("decode_bytes", decode_bytes_bound_every_kind_of_jpeg, decode_bytes_bound_a_png,
      decode_bytes_bound_a_bmp, decode_bytes_of_a_small_file_may_be_large,
      decode_bytes_are_few_for_what_cannot_be_decoded, preprocess_bytes_bound_what_geometry_keeps)
