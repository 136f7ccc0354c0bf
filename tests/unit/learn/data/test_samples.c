/* Serving is the oracle: samples without an rng must be the inputs that engine_prepare_* gives. */
#include "engine/base/file.h"
#include "engine/vision/image.h"
#include "engine/vision/input_formats.h"
#include "engine/vision/png.h"
#include "engine/vision/preprocess.h"
#include "learn/data/samples_form.h"
#include "tests/support/samples_fixture.h"
#include "tests/support/sources.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- images ---- */

static struct engine_input served_image(struct samples_fixture *fixture, const char *path)
{
    struct engine_input input;
    char *bytes;
    size_t len;
    ck_assert(!file_read(&bytes, &len, path, 1 << 24, &fixture->err));
    ck_assert_msg(!engine_prepare(fixture->model, picture_source(bytes, len, 1 << 24), NULL,
                                  &fixture->arena, &input, &fixture->err),
                  "%s", fixture->err.text);
    free(bytes);
    return input;
}

static size_t patch_bytes(const struct samples_fixture *fixture, unsigned patches)
{
    return 3 * patches * extent_area(fixture->spec.patch) * sizeof(float);
}

static void expect_served_images(const char *dir)
{
    static const char list[] = "0_center.png,a\n1_scratch.png,a\n2_edge-ring.png,a\n"
                               "3_donut.png,a\n4_loc.png,a\n5_random.png,a\n6_texture.png,a\n";
    struct tempdir folder;
    char path[128], text[8 * PATH_MAX] = "image,label\n", here[PATH_MAX];
    ck_assert_ptr_nonnull(realpath(GOLDEN "images", here));
    for (const char *at = list; *at != '\0'; at = strchr(at, '\n') + 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s/%.*s\n", here,
                 (int)strcspn(at, "\n"), at);
    tempdir_open(&folder);
    tempdir_write(&folder, "list.csv", text, strlen(text));
    snprintf(path, sizeof path, "%s/list.csv", folder.path);
    struct samples_fixture fixture;
    samples_fixture_open(&fixture, dir, path);
    ck_assert_uint_eq(fixture.samples->count, 7);
    for (size_t i = 0; i < 7; i++) {
        struct engine_input ours =
            samples_fixture_input(&fixture, i, &(struct samples_view){0}, NULL);
        struct engine_input served = served_image(&fixture, fixture.dataset.items[i].input);
        ck_assert_uint_eq(ours.tokens, served.tokens);
        ck_assert_int_eq(ours.kind, ENGINE_IMAGE);
        ck_assert_mem_eq(ours.patches, served.patches, patch_bytes(&fixture, fixture.spec.patches));
    }
    samples_fixture_close(&fixture);
    tempdir_close(&folder);
}

START_TEST(samples_prepare_images_bit_for_bit_as_serving_does)
{
    expect_served_images(GOLDEN "vit-0");
    expect_served_images(GOLDEN "vit-1");
    expect_served_images(GOLDEN "deit-0");
}
END_TEST

START_TEST(samples_shrink_images_as_attnd_json_says)
{
    static const char *const files[] = {"config.json", "model.safetensors",
                                        "preprocessor_config.json"};
    static const char lines[] = "{\"reduction\": \"lines\"}";
    struct tempdir dir;
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char from[PATH_MAX], target[PATH_MAX], to[PATH_MAX];
        snprintf(from, sizeof from, GOLDEN "vit-0/%s", files[i]);
        snprintf(to, sizeof to, "%s/%s", dir.path, files[i]);
        ck_assert_ptr_nonnull(realpath(from, target));
        ck_assert_int_eq(symlink(target, to), 0);
    }
    tempdir_write(&dir, "attnd.json", lines, sizeof lines - 1);
    expect_served_images(dir.path);
    tempdir_close(&dir);
}
END_TEST

START_TEST(samples_prepare_an_image_at_another_size)
{
    struct samples_fixture fixture;
    samples_fixture_open(&fixture, GOLDEN "deit-0", "tests/data/eval/wafer");
    unsigned patch = fixture.spec.patch.width, specials = fixture.spec.family->image_specials;
    for (unsigned side = 1; side <= 6; side++) {
        struct samples_view view = {.image_size = extent_square(side * patch)};
        struct engine_input input = samples_fixture_input(&fixture, 0, &view, NULL);
        ck_assert_uint_eq(input.tokens, side * side + specials);
        ck_assert_uint_eq(samples_tokens_max(fixture.samples, &view), input.tokens);
    }
    struct engine_input input;
    char text[80];
    ck_assert_int_eq(samples_input(fixture.samples, 0,
                                   &(struct samples_view){.image_size = extent_square(patch - 1)},
                                   NULL, &fixture.arena, &input, &fixture.err),
                     ERR_UNUSABLE);
    snprintf(text, sizeof text, "an image size of %u; it is from %u (a patch) to 100000", patch - 1,
             patch);
    ck_assert_str_eq(fixture.err.text, text);
    fixture.err = (struct err){0};
    ck_assert_int_eq(samples_input(fixture.samples, 0,
                                   &(struct samples_view){.image_size = {100001, 100001},
                                                          .patch = {100000, 100000}},
                                   NULL, &fixture.arena, &input, &fixture.err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(fixture.err.text,
                     "an image size of 100001; it is from 100000 (a patch) to 100000");
    samples_fixture_close(&fixture);
}
END_TEST

/* Doubled size: the same processing with every size of preprocessor_config.json doubled. */
static void expect_doubled(const char *dir)
{
    struct samples_fixture fixture;
    struct preprocess twice;
    struct image image, fitted;
    char *bytes;
    size_t len;
    samples_fixture_open(&fixture, dir, "tests/data/eval/wafer");
    unsigned size = fixture.spec.image_size.width, patch = fixture.spec.patch.width;
    struct err *err = &fixture.err;
    ck_assert(!preprocess_open(&twice, dir, "ViT", extent_square(size), err));
    twice.resize_height *= 2, twice.resize_width *= 2, twice.shortest_edge *= 2;
    twice.crop_height *= 2, twice.crop_width *= 2;
    ck_assert(!file_read(&bytes, &len, fixture.dataset.items[0].input, 1 << 24, err));
    ck_assert(!image_decode(&image, bytes, len, &(struct image_options){.pixels_max = 1 << 24},
                            &fixture.arena, err));
    ck_assert(!preprocess_geometry(&twice, &image, NULL, &fixture.arena, &fitted, err));
    ck_assert_uint_eq(fitted.width, 2 * size);
    size_t numbers = (size_t)4 * size * size * 3;
    float *expected = arena_alloc(&fixture.arena, numbers * sizeof *expected);
    preprocess_patches(&twice, &fitted, extent_square(patch), expected);
    struct samples_view view = {.image_size = extent_square(2 * size)};
    struct engine_input input = samples_fixture_input(&fixture, 0, &view, NULL);
    ck_assert_mem_eq(input.patches, expected, numbers * sizeof *expected);
    free(bytes);
    samples_fixture_close(&fixture);
}

START_TEST(samples_keep_the_proportions_of_resize_and_crop_at_another_size)
{
    expect_doubled(GOLDEN "vit-0");
    expect_doubled(GOLDEN "deit-0");
}
END_TEST

START_TEST(samples_augment_only_with_an_rng_and_repeat_themselves)
{
    struct samples_fixture fixture;
    samples_fixture_open(&fixture, GOLDEN "vit-0", "tests/data/eval/wafer");
    struct samples_view view = {
        .augment = {.mirror = 1, .turn = 1, .shift = 0.1f, .die_noise = 0.1f}};
    struct rng one = rng_for(1, 2, 3), again = rng_for(1, 2, 3), other = rng_for(1, 2, 4);
    const struct samples_view plain = {0};
    struct engine_input inputs[] = {samples_fixture_input(&fixture, 0, &view, NULL),
                                    samples_fixture_input(&fixture, 0, &plain, NULL),
                                    samples_fixture_input(&fixture, 0, &view, &one),
                                    samples_fixture_input(&fixture, 0, &view, &again),
                                    samples_fixture_input(&fixture, 0, &view, &other)};
    size_t bytes = patch_bytes(&fixture, fixture.spec.patches);
    ck_assert_mem_eq(inputs[0].patches, inputs[1].patches, bytes);
    ck_assert_mem_ne(inputs[0].patches, inputs[2].patches, bytes);
    ck_assert_mem_eq(inputs[2].patches, inputs[3].patches, bytes);
    ck_assert_mem_ne(inputs[2].patches, inputs[4].patches, bytes);
    samples_fixture_close(&fixture);
}
END_TEST

/* Memory held. */
static size_t bytes_of(const struct samples *samples)
{
    size_t bytes = samples->count * sizeof *samples->items;
    for (unsigned i = 0; i < samples->arena_count; i++)
        bytes += samples->arenas[i].bytes;
    return bytes;
}

START_TEST(samples_keep_a_grey_image_in_one_byte_a_pixel)
{
    struct samples_fixture fixture;
    samples_fixture_open(&fixture, GOLDEN "vit-0", "tests/data/eval/wafer");
    ck_assert_uint_lt(bytes_of(fixture.samples), 6 * 64 * 64 + 6 * 256);
    samples_fixture_close(&fixture);
}
END_TEST

START_TEST(samples_shrink_an_image_above_the_bound)
{
    struct samples_fixture whole, bound;
    struct samples_options options = {.threads = 1, .pixels_max = 100};
    samples_fixture_open(&whole, GOLDEN "vit-0", "tests/data/eval/wafer");
    samples_fixture_open_with(&bound, GOLDEN "vit-0", "tests/data/eval/wafer", &options);
    ck_assert_int_eq(bound.err.code, ERR_OK);
    ck_assert_uint_lt(bytes_of(bound.samples), bytes_of(whole.samples) - 3000);
    ck_assert_uint_eq(samples_fixture_input(&bound, 0, &(struct samples_view){0}, NULL).tokens,
                      samples_fixture_input(&whole, 0, &(struct samples_view){0}, NULL).tokens);
    samples_fixture_close(&whole);
    samples_fixture_close(&bound);
}
END_TEST

static void count_calls(void *context, size_t done)
{
    size_t *last = context;
    ck_assert_uint_gt(done, *last);
    *last = done;
}

START_TEST(samples_name_an_item_that_fails_and_go_on)
{
    static const char list[] = "image,label\nmissing.png,a\nnone.png,a\n";
    struct tempdir folder;
    struct samples_fixture fixture;
    char path[128], text[PATH_MAX + 64], here[PATH_MAX];
    size_t done = 0, first;
    ck_assert_ptr_nonnull(realpath(GOLDEN "images/0_center.png", here));
    snprintf(text, sizeof text, "image,label\n%s,a\nmissing.png,a\nnone.png,a\n", here);
    tempdir_open(&folder);
    tempdir_write(&folder, "good.csv", text, strlen(text));
    tempdir_write(&folder, "bad.csv", list, strlen(list));
    tempdir_write(&folder, "none.png", "not an image", 12);
    snprintf(path, sizeof path, "%s/good.csv", folder.path);
    struct samples_options options = {.threads = 3, .progress = count_calls, .context = &done};
    samples_fixture_open_with(&fixture, GOLDEN "vit-0", path, &options);
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert_uint_eq(done, 3);
    ck_assert_uint_eq(samples_failed(fixture.samples, &first), 2);
    ck_assert_uint_eq(first, 1);
    ck_assert_ptr_null(samples_problem(fixture.samples, 0));
    ck_assert_str_eq(samples_problem(fixture.samples, 1),
                     "cannot be opened: No such file or directory");
    ck_assert_str_eq(samples_problem(fixture.samples, 2),
                     "the image is not " INPUT_FORMATS_OR " (12 bytes)");
    struct engine_input input;
    ck_assert_int_eq(samples_input(fixture.samples, 2, &(struct samples_view){0}, NULL,
                                   &fixture.arena, &input, &fixture.err),
                     ERR_UNUSABLE);
    samples_fixture_close(&fixture);
    snprintf(path, sizeof path, "%s/bad.csv", folder.path);
    samples_fixture_open_with(&fixture, GOLDEN "vit-0", path,
                              &(struct samples_options){.threads = 1});
    ck_assert_int_eq(fixture.err.code, ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(fixture.err.text, "/bad.csv: none of 2 inputs can be used; "
                                                   "missing.png: cannot be opened: No such file"));
    ck_assert_ptr_null(fixture.samples);
    samples_fixture_close(&fixture);
    tempdir_close(&folder);
}
END_TEST

/* A wafer of an STDF file is what its picture would be. */
START_TEST(samples_read_wafers_from_stdf)
{
    struct tempdir dir;
    struct samples_fixture fixture;
    struct stdf_writer writer;
    char path[128];
    static const char list[] = "image,label\nlot.stdf#B,a\nlot.stdf#A,a\nlot.stdf,a\n";
    tempdir_open(&dir);
    stdf_writer_open(&writer, false);
    for (unsigned w = 0; w < 2; w++) {
        stdf_writer_wafer(&writer, 1, w == 0 ? "A" : "B");
        for (int i = 0; i < 30; i++)
            stdf_writer_die(&writer, 1, i % 6, i / 6, w == 0 ? STDF_WRITER_FAIL : 0, 1);
    }
    stdf_writer_close(&writer);
    tempdir_write(&dir, "lot.stdf", writer.bytes, writer.len);
    tempdir_write(&dir, "a.csv", list, strlen(list));
    snprintf(path, sizeof path, "%s/a.csv", dir.path);
    samples_fixture_open(&fixture, GOLDEN "vit-0", path);
    float passes = samples_fixture_input(&fixture, 0, &(struct samples_view){0}, NULL).patches[0];
    float fails = samples_fixture_input(&fixture, 1, &(struct samples_view){0}, NULL).patches[0];
    ck_assert_float_eq_tol(passes, 127 / 127.5f - 1, 1e-6f);
    ck_assert_float_eq_tol(fails, 1, 1e-6f);
    ck_assert_ptr_nonnull(strstr(samples_problem(fixture.samples, 2), "2 wafers: name one"));
    samples_fixture_close(&fixture);
    tempdir_close(&dir);
}
END_TEST

/* ---- threads ---- */

struct reader {
    const struct samples *samples;
    float *patches;
    size_t bytes;
};

static void *read_all(void *context)
{
    struct reader *reader = context;
    for (unsigned round = 0; round < 20; round++)
        for (size_t i = 0; i < reader->samples->count; i++) {
            struct samples_view view = {.augment = {.turn = 1, .die_noise = 0.1f}};
            struct rng rng = rng_for(1, round, i);
            struct engine_input input;
            struct err err = {0};
            struct arena arena;
            arena_init(&arena);
            if (!samples_input(reader->samples, i, &view, &rng, &arena, &input, &err))
                memcpy(reader->patches, input.patches, reader->bytes);
            arena_deinit(&arena);
        }
    return NULL;
}

START_TEST(samples_are_prepared_by_many_threads_alike)
{
    struct samples_fixture fixture;
    samples_fixture_open(&fixture, GOLDEN "vit-0", "tests/data/eval/wafer");
    size_t bytes = patch_bytes(&fixture, fixture.spec.patches);
    pthread_t threads[3];
    struct reader readers[3];
    for (unsigned t = 0; t < 3; t++) {
        readers[t] = (struct reader){fixture.samples, calloc(1, bytes), bytes};
        ck_assert_int_eq(pthread_create(&threads[t], NULL, read_all, &readers[t]), 0);
    }
    for (unsigned t = 0; t < 3; t++)
        pthread_join(threads[t], NULL);
    ck_assert_mem_eq(readers[0].patches, readers[1].patches, bytes);
    ck_assert_mem_eq(readers[0].patches, readers[2].patches, bytes);
    for (unsigned t = 0; t < 3; t++)
        free(readers[t].patches);
    samples_fixture_close(&fixture);
}
END_TEST

/* Grey is what has three equal channels in every pixel: two do not make it. */
START_TEST(samples_keep_the_colours_of_an_image)
{
    static const unsigned char colours[][3] = {{5, 5, 90}, {5, 90, 5}, {90, 5, 5}, {5, 5, 5}};
    for (unsigned i = 0; i < 4; i++) {
        unsigned char rgb[8 * 8 * 3];
        struct image image = {.width = 8, .height = 8, .rgb = rgb};
        struct samples_fixture fixture;
        struct tempdir dir;
        struct err err = {0};
        char path[128], picture[128], *png;
        size_t len;
        memset(rgb, 7, sizeof rgb);
        memcpy(rgb + sizeof rgb - 3, colours[i], 3);
        ck_assert_int_eq(png_encode(&png, &len, &image, &err), ERR_OK);
        tempdir_open(&dir);
        tempdir_write(&dir, "a.png", png, len);
        tempdir_write(&dir, "a.csv", "image,label\na.png,a\n", 20);
        free(png);
        snprintf(path, sizeof path, "%s/a.csv", dir.path);
        snprintf(picture, sizeof picture, "%s/a.png", dir.path);
        samples_fixture_open(&fixture, GOLDEN "vit-0", path);
        struct engine_input ours =
            samples_fixture_input(&fixture, 0, &(struct samples_view){0}, NULL);
        struct engine_input served = served_image(&fixture, picture);
        ck_assert_mem_eq(ours.patches, served.patches, patch_bytes(&fixture, fixture.spec.patches));
        samples_fixture_close(&fixture);
        tempdir_close(&dir);
    }
}
END_TEST

SUITE("samples", samples_keep_the_proportions_of_resize_and_crop_at_another_size,
      samples_prepare_images_bit_for_bit_as_serving_does, samples_shrink_images_as_attnd_json_says,
      samples_prepare_an_image_at_another_size,
      samples_augment_only_with_an_rng_and_repeat_themselves,
      samples_keep_a_grey_image_in_one_byte_a_pixel, samples_shrink_an_image_above_the_bound,
      samples_name_an_item_that_fails_and_go_on, samples_read_wafers_from_stdf,
      samples_are_prepared_by_many_threads_alike, samples_keep_the_colours_of_an_image)
