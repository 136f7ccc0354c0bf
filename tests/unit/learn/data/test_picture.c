#include "engine/vision/png.h"
#include "learn/data/digest.h"
#include "learn/data/picture.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_split(const char *path, const char *file, const char *wafer)
{
    size_t len = 0;
    const char *found = "unset";
    ck_assert_msg(picture_is_lot(path, &len, &found) == (file != NULL), "%s", path);
    if (file == NULL)
        return;
    ck_assert_uint_eq(len, strlen(file));
    ck_assert_int_eq(strncmp(path, file, len), 0);
    if (wafer == NULL)
        ck_assert_ptr_null(found);
    else
        ck_assert_str_eq(found, wafer);
}

START_TEST(picture_tells_stdf_by_its_name)
{
    expect_split("a.png", NULL, NULL);
    expect_split("", NULL, NULL);
    expect_split(".stdf", NULL, NULL);
    expect_split("a.stdfx", NULL, NULL);
    expect_split("a#b.png", NULL, NULL);
    expect_split("a.stdf", "a.stdf", NULL);
    expect_split("d/A.STDF.GZ", "d/A.STDF.GZ", NULL);
    expect_split("a.std#", "a.std", "");
    expect_split("a.stdf#W#3", "a.stdf", "W#3");
    expect_split("a#1.stdf.gz#W 3", "a#1.stdf.gz", "W 3");
}
END_TEST

/* Two wafers: A is a pass beside a fail, B a lone fail. */
static void write_lot(const struct tempdir *dir)
{
    struct stdf_writer writer;
    stdf_writer_open(&writer, false);
    stdf_writer_wafer(&writer, 1, "A");
    stdf_writer_die(&writer, 1, 5, 5, STDF_WRITER_PASS, 1);
    stdf_writer_die(&writer, 1, 7, 5, STDF_WRITER_FAIL, 2);
    stdf_writer_wafer(&writer, 1, "B");
    stdf_writer_die(&writer, 1, 5, 5, STDF_WRITER_FAIL, 2);
    stdf_writer_close(&writer);
    tempdir_write(dir, "lot.stdf", writer.bytes, writer.len);
}

static const struct image_options options = {.pixels_max = 1 << 24};

static void expect_grey(const struct image *image, const unsigned char *grey, unsigned width,
                        unsigned height)
{
    ck_assert_uint_eq(image->width, width);
    ck_assert_uint_eq(image->height, height);
    for (size_t i = 0; i < (size_t)width * height; i++)
        for (size_t c = 0; c < 3; c++)
            ck_assert_int_eq(image->rgb[3 * i + c], grey[i]);
}

/* Under such a name a file may lie: it is read, and not a wafer of another. */
START_TEST(picture_is_the_file_of_a_name_with_a_hash)
{
    struct tempdir dir;
    char path[128];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/lot.stdf#W1.png", dir.path);
    size_t len = 0;
    const char *wafer = NULL;
    ck_assert(picture_is_lot(path, &len, &wafer));
    ck_assert_str_eq(wafer, "W1.png");
    tempdir_write(&dir, "lot.stdf#W1.png", "x", 1);
    ck_assert(!picture_is_lot(path, &len, &wafer));
    snprintf(path, sizeof path, "%s/lot.stdf#2.stdf", dir.path);
    tempdir_write(&dir, "lot.stdf#2.stdf", "x", 1);
    expect_split(path, path, NULL);
    tempdir_close(&dir);
}
END_TEST

START_TEST(picture_draws_the_wafers_of_a_lot)
{
    static const unsigned char a[] = {127, 0, 255}, b[] = {255};
    static const struct {
        const char *wafer;
        const unsigned char *grey;
        unsigned width;
    } cases[] = {{"A", a, 3}, {"B", b, 1}, {"A", a, 3}};
    struct pictures pictures = {0};
    struct image image;
    struct arena arena;
    struct tempdir dir;
    arena_init(&arena);
    tempdir_open(&dir);
    write_lot(&dir);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128];
        struct err err = {0};
        snprintf(path, sizeof path, "%s/lot.stdf#%s", dir.path, cases[i].wafer);
        ck_assert_msg(!picture_read(&pictures, path, &options, &arena, &image, &err), "%s",
                      err.text);
        expect_grey(&image, cases[i].grey, cases[i].width, 1);
        ck_assert_uint_eq(pictures.digest, digest_of(cases[i].grey, cases[i].width));
    }
    pictures_close(&pictures);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

START_TEST(picture_names_what_is_wrong_with_a_lot)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{"lot.stdf", "2 wafers: name one as FILE#WAFER_ID, which may be A, B"},
                 {"lot.stdf#C", "no wafer 'C' among 2"},
                 {"bad.stdf#A", "not STDF: it does not begin as such a file does (7 bytes)"},
                 {"none.stdf", "cannot be opened: No such file or directory"},
                 {"none.png", "cannot be opened: No such file or directory"}};
    struct pictures pictures = {0};
    struct image image;
    struct arena arena;
    struct tempdir dir;
    arena_init(&arena);
    tempdir_open(&dir);
    write_lot(&dir);
    tempdir_write(&dir, "bad.stdf", "nothing", 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128];
        struct err err = {0};
        snprintf(path, sizeof path, "%s/%s", dir.path, cases[i].name);
        ck_assert_int_ne(picture_read(&pictures, path, &options, &arena, &image, &err), ERR_OK);
        ck_assert_str_eq(err.text, cases[i].text);
    }
    pictures_close(&pictures);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

START_TEST(picture_decodes_other_files_within_the_limit)
{
    unsigned char rgb[] = {9, 9, 9, 200, 200, 200};
    const struct image two = {2, 1, rgb};
    const struct image_options one = {.pixels_max = 1};
    struct pictures pictures = {0};
    struct image image;
    struct arena arena;
    struct tempdir dir;
    struct err err = {0};
    char path[128], *png;
    size_t len;
    arena_init(&arena);
    tempdir_open(&dir);
    ck_assert(!png_encode(&png, &len, &two, &err));
    tempdir_write(&dir, "a#b.png", png, len);
    free(png);
    snprintf(path, sizeof path, "%s/a#b.png", dir.path);
    ck_assert_int_eq(picture_read(&pictures, path, &options, &arena, &image, &err), ERR_OK);
    expect_grey(&image, (const unsigned char[]){9, 200}, 2, 1);
    ck_assert_int_eq(picture_read(&pictures, path, &one, &arena, &image, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the image is 2 x 1; the limit is 1 pixels");
    err = (struct err){0};
    write_lot(&dir);
    snprintf(path, sizeof path, "%s/lot.stdf#A", dir.path);
    ck_assert_int_eq(picture_read(&pictures, path, &one, &arena, &image, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the image is 3 x 1; the limit is 1 pixels");
    pictures_close(&pictures);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

/* A lot is read once for all of its wafers, however long its file lives; another one ends that. */
START_TEST(picture_keeps_a_lot_until_the_next)
{
    static const unsigned char a[] = {127, 0, 255}, b[] = {255};
    struct pictures pictures = {0};
    struct image image;
    struct arena arena;
    struct tempdir dir;
    struct err err = {0};
    char path[3][128];
    arena_init(&arena);
    tempdir_open(&dir);
    write_lot(&dir);
    snprintf(path[0], sizeof path[0], "%s/lot.stdf#A", dir.path);
    snprintf(path[1], sizeof path[1], "%s/lot.stdf#B", dir.path);
    snprintf(path[2], sizeof path[2], "%s/lot.std#A", dir.path);
    ck_assert_int_eq(picture_read(&pictures, path[0], &options, &arena, &image, &err), ERR_OK);
    expect_grey(&image, a, 3, 1);
    tempdir_write(&dir, "lot.stdf", "gone", 4);
    ck_assert_int_eq(picture_read(&pictures, path[1], &options, &arena, &image, &err), ERR_OK);
    expect_grey(&image, b, 1, 1);
    ck_assert_int_eq(picture_read(&pictures, path[2], &options, &arena, &image, &err),
                     ERR_UNUSABLE);
    err = (struct err){0};
    ck_assert_int_eq(picture_read(&pictures, path[0], &options, &arena, &image, &err),
                     ERR_UNUSABLE);
    pictures_close(&pictures);
    arena_deinit(&arena);
    ck_assert_ptr_null(pictures.lot_path);
    tempdir_close(&dir);
}
END_TEST

START_TEST(picture_has_as_many_rows_as_the_wafer)
{
    static const unsigned char grey[] = {127, 255, 0, 0, 255, 127};
    struct pictures pictures = {0};
    struct image image;
    struct arena arena;
    struct stdf_writer writer;
    struct tempdir dir;
    struct err err = {0};
    char path[128];
    stdf_writer_open(&writer, false);
    stdf_writer_wafer(&writer, 1, "A");
    stdf_writer_die(&writer, 1, 0, 0, STDF_WRITER_PASS, 1);
    stdf_writer_die(&writer, 1, 1, 0, STDF_WRITER_FAIL, 2);
    stdf_writer_die(&writer, 1, 0, 2, STDF_WRITER_FAIL, 2);
    stdf_writer_die(&writer, 1, 1, 2, STDF_WRITER_PASS, 1);
    stdf_writer_close(&writer);
    arena_init(&arena);
    tempdir_open(&dir);
    tempdir_write(&dir, "a.std", writer.bytes, writer.len);
    snprintf(path, sizeof path, "%s/a.std", dir.path);
    ck_assert_int_eq(picture_read(&pictures, path, &options, &arena, &image, &err), ERR_OK);
    expect_grey(&image, grey, 2, 3);
    pictures_close(&pictures);
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

SUITE("picture", picture_is_the_file_of_a_name_with_a_hash, picture_tells_stdf_by_its_name,
      picture_draws_the_wafers_of_a_lot, picture_names_what_is_wrong_with_a_lot,
      picture_decodes_other_files_within_the_limit, picture_keeps_a_lot_until_the_next,
      picture_has_as_many_rows_as_the_wafer)
