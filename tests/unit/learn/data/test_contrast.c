/* contrast.h: how much of the grey levels images use, and what training makes of 12 bits in 16. */
#include "engine/base/rng.h"
#include "engine/model/spec.h"
#include "learn/data/contrast.h"
#include "tests/support/outcome.h"
#include "tests/support/png16.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one image ---- */

static struct contrast of(const unsigned char *rgb, unsigned width, const char *bytes, size_t len)
{
    unsigned char copy[3 * 256];
    memcpy(copy, rgb, (size_t)3 * width);
    struct image image = {.width = width, .height = 1, .rgb = copy};
    return contrast_of(bytes, len, &image);
}

START_TEST(spread_is_of_all_values_and_bulk_without_the_outermost)
{
    unsigned char rgb[3 * 256];
    memset(rgb, 100, sizeof rgb);
    ck_assert(of(rgb, 256, "", 0).spread == 0 && of(rgb, 256, "", 0).bulk == 0);
    rgb[0] = 255; /* three of 768 */
    rgb[9] = 250;
    rgb[90] = 10;
    ck_assert(of(rgb, 256, "", 0).spread == 245 && of(rgb, 256, "", 0).bulk == 0);
    for (unsigned i = 0; i < sizeof rgb; i++)
        rgb[i] = (unsigned char)(i / 3);
    ck_assert_uint_eq(of(rgb, 256, "", 0).spread, 255);
    ck_assert_uint_eq(of(rgb, 256, "", 0).bulk, 251); /* seven values of each end: two levels */
}
END_TEST

START_TEST(contrast_takes_only_a_png_of_sixteen_grey_bits_as_grey16)
{
    unsigned char bytes[PNG16_BYTES_MAX], rgb[3] = {0};
    const uint16_t value = 4095;
    size_t len = png16_write(bytes, &value, 1, 1);
    const char *file = (const char *)bytes;
    ck_assert(of(rgb, 1, file, len).is_grey16);
    ck_assert(!of(rgb, 1, file, 25).is_grey16);
    bytes[25] = 4; /* with alpha */
    ck_assert(of(rgb, 1, file, len).is_grey16);
    bytes[25] = 2;
    ck_assert(!of(rgb, 1, file, len).is_grey16);
    bytes[25] = 0;
    bytes[24] = 8;
    ck_assert(!of(rgb, 1, file, len).is_grey16);
    bytes[24] = 16;
    bytes[1] = 'Q';
    ck_assert(!of(rgb, 1, file, len).is_grey16);
}
END_TEST

/* ---- many ---- */

START_TEST(nearly_all_are_nineteen_of_twenty)
{
    static const struct contrast narrow = {true, 63, 63}, wide = {true, 64, 64},
                                 other = {false, 3, 3};
    struct contrast_count count = {0};
    ck_assert(!contrast_wants_minmax(&count) && !contrast_is_low(&count));
    for (unsigned i = 0; i < 19; i++)
        contrast_count_add(&count, &narrow);
    ck_assert(contrast_wants_minmax(&count) && contrast_is_low(&count));
    contrast_count_add(&count, &wide);
    ck_assert(contrast_wants_minmax(&count) && contrast_is_low(&count));
    contrast_count_add(&count, &wide);
    ck_assert(!contrast_wants_minmax(&count) && !contrast_is_low(&count));
    count = (struct contrast_count){0};
    contrast_count_add(&count, &other);
    ck_assert(!contrast_wants_minmax(&count) && contrast_is_low(&count));
}
END_TEST

/* ---- training ---- */

static struct train_fixture f;

/* The fixture's pictures, the brightest value `top` of 65535. */
static void open_pictures(unsigned top)
{
    enum { SIDE = TRAIN_FIXTURE_SIDE };
    train_fixture_images(&f, "right");
    for (unsigned i = 0; i < TRAIN_FIXTURE_IMAGES; i++) {
        unsigned char bytes[PNG16_BYTES_MAX];
        uint16_t values[SIDE * SIDE];
        struct rng rng = rng_for(5, i, 0);
        char name[16];
        for (unsigned p = 0; p < SIDE * SIDE; p++) {
            bool bright = (p % SIDE < SIDE / 2) == (i % 2 == 0);
            values[p] = (uint16_t)(rng_below(&rng, 3) > 0 && bright ? top : top / 2);
        }
        snprintf(name, sizeof name, "%02u.png", i);
        tempdir_write(&f.data, name, bytes, png16_write(bytes, values, SIDE, SIDE));
    }
    f.options.epochs = 16;
}

static bool writes_minmax(void)
{
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    train_fixture_learn(&f);
    arena_init(&arena);
    ck_assert_msg(!spec_read(&spec, f.first.path, &arena, &err), "%s", err.text);
    bool minmax = spec.grey16_minmax;
    arena_deinit(&arena);
    return minmax;
}

START_TEST(contrast_stretches_twelve_bits_in_sixteen_in_training_and_serving)
{
    open_pictures(4095);
    ck_assert(writes_minmax());
    ck_assert_ptr_nonnull(strstr(f.remarks, "note: the 16-bit images use less than a quarter of "
                                            "their range (12 bits in 16?): each is stretched"));
    struct outcome *outcome =
        outcome_of("attnd-eval", (const char *[]){"--model", f.first.path, "--data", f.list, NULL});
    ck_assert_msg(strstr(outcome->errors, "grey levels") == NULL, "%s", outcome->errors);
    outcome_expect(outcome, 0, "accuracy       1.0000 ", "");
    tempdir_write(&f.first, "attnd.json", "{}", 2);
    outcome =
        outcome_of("attnd-eval", (const char *[]){"--model", f.first.path, "--data", f.list, NULL});
    outcome_expect(outcome, 0, "",
                   "attnd-eval: warning: of 48 16-bit images 48 use less than a quarter of the "
                   "grey levels: if the model learnt them stretched, its attnd.json lacks "
                   "\"grey16\": \"minmax\"; if not, train it with --grey16 minmax\n");
    train_fixture_close(&f);
}
END_TEST

START_TEST(images_are_read_as_the_option_says)
{
    open_pictures(4095);
    f.options.grey16 = "range";
    ck_assert(!writes_minmax());
    ck_assert_ptr_nonnull(strstr(f.remarks, "note: 48 of 48 16-bit images use less than a quarter "
                                            "of the range: the model will see little of them; "
                                            "--grey16 minmax stretches"));
    train_fixture_close(&f);
    open_pictures(40000);
    ck_assert(!writes_minmax());
    ck_assert_str_eq(f.remarks, "");
    f.options.grey16 = "minmax";
    f.options.restart = true;
    ck_assert(writes_minmax());
    train_fixture_close(&f);
    open_pictures(40000);
    tempdir_write(&f.model, "attnd.json", "{\"grey16\":\"minmax\"}", 19);
    ck_assert(writes_minmax()); /* as the source */
    f.options.grey16 = "range";
    f.options.restart = true;
    ck_assert(!writes_minmax());
    train_fixture_close(&f);
}
END_TEST

SUITE("contrast", spread_is_of_all_values_and_bulk_without_the_outermost,
      contrast_takes_only_a_png_of_sixteen_grey_bits_as_grey16, nearly_all_are_nineteen_of_twenty,
      contrast_stretches_twelve_bits_in_sixteen_in_training_and_serving,
      images_are_read_as_the_option_says)
