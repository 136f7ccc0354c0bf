#include "engine/vision/image.h"
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
    ck_assert_msg(picture_is_stdf(path, &len, &found) == (file != NULL), "%s", path);
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

static void expect_decoded(const char *bytes, size_t len, const unsigned char *grey, unsigned width,
                           unsigned height)
{
    struct image_options options = {.pixels_max = 1 << 24};
    struct image image;
    struct err err = {0};
    struct arena arena;
    arena_init(&arena);
    ck_assert_msg(!image_decode(&image, bytes, len, &options, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(image.width, width);
    ck_assert_uint_eq(image.height, height);
    for (size_t i = 0; i < (size_t)width * height; i++)
        for (size_t c = 0; c < 3; c++)
            ck_assert_int_eq(image.rgb[3 * i + c], grey[i]);
    arena_deinit(&arena);
}

START_TEST(picture_draws_the_wafers_of_a_lot)
{
    static const unsigned char a[] = {127, 0, 255}, b[] = {255};
    static const struct {
        const char *wafer;
        const unsigned char *grey;
        unsigned width;
    } cases[] = {{"A", a, 3}, {"B", b, 1}, {"A", a, 3}};
    struct pictures pictures = {0};
    struct tempdir dir;
    tempdir_open(&dir);
    write_lot(&dir);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128], *bytes;
        size_t len;
        struct err err = {0};
        snprintf(path, sizeof path, "%s/lot.stdf#%s", dir.path, cases[i].wafer);
        ck_assert_msg(!picture_read(&pictures, path, &bytes, &len, &err), "%s", err.text);
        expect_decoded(bytes, len, cases[i].grey, cases[i].width, 1);
        free(bytes);
    }
    pictures_close(&pictures);
    tempdir_close(&dir);
}
END_TEST

START_TEST(picture_names_what_is_wrong_with_a_lot)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{"lot.stdf", "2 wafers: name one as FILE#WAFER_ID"},
                 {"lot.stdf#C", "no wafer 'C' among 2"},
                 {"bad.stdf#A", "not STDF: it does not begin with a FAR record (7 bytes)"},
                 {"none.stdf", "cannot be opened: No such file or directory"},
                 {"none.png", "cannot be opened: No such file or directory"}};
    struct pictures pictures = {0};
    struct tempdir dir;
    tempdir_open(&dir);
    write_lot(&dir);
    tempdir_write(&dir, "bad.stdf", "nothing", 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128], *bytes;
        size_t len;
        struct err err = {0};
        snprintf(path, sizeof path, "%s/%s", dir.path, cases[i].name);
        ck_assert_int_ne(picture_read(&pictures, path, &bytes, &len, &err), ERR_OK);
        ck_assert_str_eq(err.text, cases[i].text);
    }
    pictures_close(&pictures);
    tempdir_close(&dir);
}
END_TEST

START_TEST(picture_hands_over_other_files_as_they_stand)
{
    struct pictures pictures = {0};
    struct tempdir dir;
    struct err err = {0};
    char path[128], *bytes;
    size_t len;
    tempdir_open(&dir);
    tempdir_write(&dir, "a#b.png", "bytes", 5);
    snprintf(path, sizeof path, "%s/a#b.png", dir.path);
    ck_assert_int_eq(picture_read(&pictures, path, &bytes, &len, &err), ERR_OK);
    ck_assert_uint_eq(len, 5);
    ck_assert_mem_eq(bytes, "bytes", 5);
    free(bytes);
    pictures_close(&pictures);
    tempdir_close(&dir);
}
END_TEST

/* A lot is read once for all of its wafers, however long its file lives; another one ends that. */
START_TEST(picture_keeps_a_lot_until_the_next)
{
    static const unsigned char a[] = {127, 0, 255}, b[] = {255};
    struct pictures pictures = {0};
    struct tempdir dir;
    struct err err = {0};
    char path[3][128], *bytes;
    size_t len;
    tempdir_open(&dir);
    write_lot(&dir);
    snprintf(path[0], sizeof path[0], "%s/lot.stdf#A", dir.path);
    snprintf(path[1], sizeof path[1], "%s/lot.stdf#B", dir.path);
    snprintf(path[2], sizeof path[2], "%s/lot.std#A", dir.path);
    ck_assert_int_eq(picture_read(&pictures, path[0], &bytes, &len, &err), ERR_OK);
    expect_decoded(bytes, len, a, 3, 1);
    free(bytes);
    tempdir_write(&dir, "lot.stdf", "gone", 4);
    ck_assert_int_eq(picture_read(&pictures, path[1], &bytes, &len, &err), ERR_OK);
    expect_decoded(bytes, len, b, 1, 1);
    free(bytes);
    ck_assert_int_eq(picture_read(&pictures, path[2], &bytes, &len, &err), ERR_UNUSABLE);
    err = (struct err){0};
    ck_assert_int_eq(picture_read(&pictures, path[0], &bytes, &len, &err), ERR_UNUSABLE);
    pictures_close(&pictures);
    ck_assert_ptr_null(pictures.stdf_path);
    tempdir_close(&dir);
}
END_TEST

START_TEST(picture_has_as_many_rows_as_the_wafer)
{
    static const unsigned char grey[] = {127, 255, 0, 0, 255, 127};
    struct pictures pictures = {0};
    struct stdf_writer writer;
    struct tempdir dir;
    struct err err = {0};
    char path[128], *bytes;
    size_t len;
    stdf_writer_open(&writer, false);
    stdf_writer_wafer(&writer, 1, "A");
    stdf_writer_die(&writer, 1, 0, 0, STDF_WRITER_PASS, 1);
    stdf_writer_die(&writer, 1, 1, 0, STDF_WRITER_FAIL, 2);
    stdf_writer_die(&writer, 1, 0, 2, STDF_WRITER_FAIL, 2);
    stdf_writer_die(&writer, 1, 1, 2, STDF_WRITER_PASS, 1);
    stdf_writer_close(&writer);
    tempdir_open(&dir);
    tempdir_write(&dir, "a.std", writer.bytes, writer.len);
    snprintf(path, sizeof path, "%s/a.std", dir.path);
    ck_assert_int_eq(picture_read(&pictures, path, &bytes, &len, &err), ERR_OK);
    expect_decoded(bytes, len, grey, 2, 3);
    free(bytes);
    pictures_close(&pictures);
    tempdir_close(&dir);
}
END_TEST

SUITE("picture", picture_tells_stdf_by_its_name, picture_draws_the_wafers_of_a_lot,
      picture_names_what_is_wrong_with_a_lot, picture_hands_over_other_files_as_they_stand,
      picture_keeps_a_lot_until_the_next, picture_has_as_many_rows_as_the_wafer)
