/* Images that are read for a page, a mask or an evaluation are bounded alike: 64 MiB of a file and
 * 64 Mi pixels. The complaint names the limit. */
#include "engine/vision/png.h"
#include "learn/eval/explain/explanations.h"
#include "learn/eval/measure/evaluation.h"
#include "learn/eval/report/html_image.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static struct tempdir dir;
static char wide[96], large[96];
static struct err err;

static void put_number(char *at, uint32_t number)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (char)(number >> (24 - 8 * i));
}

/* A PNG whose header claims 8192 x 8193 pixels, and a file one byte too long, which is all hole. */
static void setup(void)
{
    unsigned char pixel[3] = {0};
    struct image image = {1, 1, pixel};
    char *png;
    size_t len;
    tempdir_open(&dir);
    ck_assert(!png_encode(&png, &len, &image, &err));
    put_number(png + 16, 8192);
    put_number(png + 20, 8193);
    put_number(png + 29, (uint32_t)crc32(0, (const unsigned char *)png + 12, 17));
    tempdir_write(&dir, "wide.png", png, len);
    free(png);
    tempdir_write(&dir, "large.png", "", 0);
    snprintf(wide, sizeof wide, "%s/wide.png", dir.path);
    snprintf(large, sizeof large, "%s/large.png", dir.path);
    ck_assert_int_eq(truncate(large, (256 << 20) + 1), 0);
}

static void expect(enum err_code code, const char *text)
{
    ck_assert_int_eq(err.code, code);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    err = (struct err){0};
}

static const char pixels[] = "the image is 8192 x 8193; the limit is 67108864 pixels";

START_TEST(pages_show_no_image_beyond_the_limits)
{
    struct html_image shown;
    FILE *nowhere = fopen("/dev/null", "w");
    setup();
    html_image(nowhere, &(struct pictures){0}, wide, &shown, &err);
    expect(ERR_UNUSABLE, pixels);
    html_image(nowhere, &(struct pictures){0}, large, &shown, &err);
    expect(ERR_TOO_LARGE, "larger than 268435456 bytes");
    fclose(nowhere);
    tempdir_close(&dir);
}
END_TEST

START_TEST(masks_are_read_within_the_limits)
{
    struct localisation_mask mask;
    struct arena arena;
    setup();
    arena_init(&arena);
    localisation_read_mask(wide, 8192, 8193, &arena, &mask, &err);
    expect(ERR_UNUSABLE, pixels);
    localisation_read_mask(large, 1, 1, &arena, &mask, &err);
    expect(ERR_TOO_LARGE, "larger than 67108864 bytes");
    arena_deinit(&arena);
    tempdir_close(&dir);
}
END_TEST

START_TEST(evaluations_read_images_within_the_limits)
{
    struct train_fixture f;
    struct engine_model *model;
    struct engine_input input;
    struct arena arena;
    struct dataset_item item = {.name = "x", .input = wide};
    const struct dataset dataset = {.kind = ENGINE_IMAGE, .items = &item, .count = 1};
    setup();
    train_fixture_images(&f, "right");
    f.options.epochs = 1;
    train_fixture_learn(&f);
    arena_init(&arena);
    ck_assert(!engine_open(&model, f.first.path, &(struct engine_options){0}, &err));
    evaluation_prepare(model, &dataset, 0, NULL, &(struct pictures){0}, &arena, &input, &err);
    expect(ERR_UNUSABLE, pixels);
    engine_close(model);
    arena_deinit(&arena);
    train_fixture_close(&f);
    tempdir_close(&dir);
}
END_TEST

SUITE("image_limits", pages_show_no_image_beyond_the_limits, masks_are_read_within_the_limits,
      evaluations_read_images_within_the_limits)
