/* test_preprocess.c - geometry and normalisation against transformers' processors. With
 * ATTND_GOLDEN set to a directory of whole golden checkpoints and their images/, every image of
 * every vit-*, deit-* and dinov2-* there is checked, too. */
#include "engine/vision/preprocess.h"

#include "engine/base/doc.h"
#include "tests/support/tempdir.h"
#include "tests/unit/engine/vision/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREPROCESS "tests/data/preprocess/"
#define GOLDEN_IMAGES "tests/data/images/golden"

/* An image through the whole of preprocess, as [channel, y, x]; the patch is the image. */
static float *run(const struct preprocess *preprocess, const char *path, struct arena *arena,
                  struct image *fitted)
{
    struct err err = {0};
    struct image image;
    size_t len;
    unsigned char *bytes = fixture_read(path, &len, arena);
    const struct image_options options = {.pixels_max = 1 << 25};
    ck_assert_int_eq(image_decode(&image, bytes, len, &options, arena, &err), ERR_OK);
    ck_assert_msg(preprocess_geometry(preprocess, &image, NULL, arena, fitted, &err) == ERR_OK,
                  "%s", err.text);
    size_t count = (size_t)fitted->width * fitted->height * 3;
    float *out = arena_alloc_array(arena, count, sizeof *out);
    preprocess_patches(preprocess, fitted, extent_square(fitted->width), out);
    return out;
}

static double number_of(const struct json_t *object, const char *key)
{
    double number = NAN;
    doc_as_number(doc_member(object, key), &number);
    return number;
}

static void check_golden_case(const char *model, const struct preprocess *preprocess,
                              const struct json_t *item, const char *images)
{
    struct arena arena;
    struct image fitted;
    arena_init(&arena);
    const char *name = doc_as_string(doc_member(item, "image"));
    const char *sha256 = doc_as_string(doc_member(item, "resized_sha256"));
    float *pixels = run(preprocess, arena_format(&arena, "%s/%s", images, name), &arena, &fitted);
    if (sha256 != NULL) {
        char found[65];
        fixture_pixels_sha256(&fitted, found);
        ck_assert_msg(strcmp(found, sha256) == 0, "%s %s: wrong pixels", model, name);
    }
    double sum = 0;
    for (size_t i = 0; i < (size_t)fitted.width * fitted.height * 3; i++)
        sum += pixels[i];
    ck_assert_msg(fabs(sum - number_of(item, "pixels_sum")) < 1e-2, "%s %s: sum %.9g", model, name,
                  sum);
    const struct json_t *head = doc_member(item, "pixels_head");
    for (size_t i = 0; i < 16; i++) {
        double expected = NAN;
        doc_as_number(doc_array_item(head, i), &expected);
        ck_assert_msg(fabs(pixels[i] - expected) < 1e-6, "%s %s: pixel %zu", model, name, i);
    }
    arena_deinit(&arena);
}

/* Returns the number of images checked. */
static size_t check_golden(const char *checkpoints, const char *model, const char *images)
{
    const char *family = strncmp(model, "vit", 3) == 0 ? "ViT" : "DeiT";
    struct arena arena;
    struct err err = {0};
    struct json_t *config, *cases;
    struct preprocess preprocess;
    arena_init(&arena);
    const char *dir = arena_format(&arena, "%s/%s", checkpoints, model);
    ck_assert_int_eq(
        doc_parse_file(&config, arena_format(&arena, "%s/config.json", dir), 1 << 20, &err), 0);
    ck_assert_int_eq(
        doc_parse_file(&cases, arena_format(&arena, "%s/cases.json", dir), 1 << 24, &err), 0);
    ck_assert_msg(preprocess_open(&preprocess, dir, family,
                                  extent_square((unsigned)number_of(config, "image_size")),
                                  &err) == 0,
                  "%s: %s", model, err.text);
    size_t count = doc_array_count(cases);
    for (size_t i = 0; i < count; i++)
        check_golden_case(model, &preprocess, doc_array_item(cases, i), images);
    doc_free(config);
    doc_free(cases);
    arena_deinit(&arena);
    return count;
}

static const char *const models[] = {"vit-0", "vit-1", "vit-2", "deit-0", "deit-1", "dinov2-0"};
enum { MODEL_COUNT = sizeof models / sizeof models[0] };

START_TEST(preprocess_gives_the_golden_pixels)
{
    for (size_t i = 0; i < MODEL_COUNT; i++)
        ck_assert_uint_eq(check_golden(PREPROCESS, models[i], GOLDEN_IMAGES), 4);
}
END_TEST

START_TEST(preprocess_gives_all_golden_pixels_of_the_full_set)
{
    const char *golden = getenv("ATTND_GOLDEN");
    if (golden == NULL)
        suite_skip("ATTND_GOLDEN is not set");
    struct arena arena;
    size_t count = 0;
    arena_init(&arena);
    for (size_t i = 0; i < MODEL_COUNT; i++)
        count += check_golden(golden, models[i], arena_format(&arena, "%s/images", golden));
    printf("%zu golden images checked\n", count);
    arena_deinit(&arena);
}
END_TEST

/* A checkpoint directory that holds nothing but `config`; none if it is NULL. */
static enum err_code open_config(struct preprocess *out, const char *config, unsigned image_size,
                                 struct err *err)
{
    char dir[] = "/tmp/attnd-preprocess-XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/preprocessor_config.json", dir);
    if (config != NULL) {
        FILE *file = fopen(path, "w");
        fputs(config, file);
        fclose(file);
    }
    *err = (struct err){0};
    enum err_code code = preprocess_open(out, dir, "ViT", extent_square(image_size), err);
    unlink(path);
    rmdir(dir);
    ck_assert_int_eq(code, err->code);
    return code;
}

static void check_made_case(const struct json_t *item)
{
    struct arena arena;
    struct err err;
    struct preprocess preprocess;
    struct image fitted;
    char found[65];
    arena_init(&arena);
    const char *config = doc_as_string(doc_member(item, "config"));
    unsigned size = (unsigned)number_of(item, "image_size");
    ck_assert_msg(open_config(&preprocess, config, size, &err) == ERR_OK, "%s: %s", config,
                  err.text);
    const char *path =
        arena_format(&arena, GOLDEN_IMAGES "/%s", doc_as_string(doc_member(item, "image")));
    float *pixels = run(&preprocess, path, &arena, &fitted);
    ck_assert_uint_eq(fitted.width, size);
    sha256_hex(pixels, (size_t)size * size * 3 * sizeof *pixels, found);
    ck_assert_msg(strcmp(found, doc_as_string(doc_member(item, "sha256"))) == 0, "%s: %s", config,
                  path);
    arena_deinit(&arena);
}

START_TEST(preprocess_gives_the_very_floats_of_transformers)
{
    struct err err = {0};
    struct json_t *cases;
    ck_assert_int_eq(doc_parse_file(&cases, PREPROCESS "made.json", 1 << 20, &err), ERR_OK);
    ck_assert_uint_ge(doc_array_count(cases), 60);
    for (size_t i = 0; i < doc_array_count(cases); i++)
        check_made_case(doc_array_item(cases, i));
    doc_free(cases);
}
END_TEST

START_TEST(preprocess_without_a_file_is_refused_with_what_to_write)
{
    struct err err;
    struct preprocess preprocess;
    ck_assert_int_eq(open_config(&preprocess, NULL, 96, &err), ERR_UNSUPPORTED);
    ck_assert_str_eq(
        err.text,
        "there is no preprocessor_config.json, which says how images are resized and normalised: "
        "copy it from the source of the model, or write the values of its training, such as "
        "{\"image_processor_type\": \"ViTImageProcessor\", \"size\": {\"height\": 96, \"width\": "
        "96}, \"image_mean\": [0.5, 0.5, 0.5], \"image_std\": [0.5, 0.5, 0.5]}");
    ck_assert_int_eq(open_config(&preprocess, strchr(err.text, '{'), 96, &err), ERR_OK);
}
END_TEST

/* ---- files, as transformers reads them: tests/data/preprocess/make_files.py ---- */

enum { FILE_SIDE = 48 };

static enum err_code open_files(struct preprocess *out, const struct json_t *item, struct err *err)
{
    static const char *const names[] = {"preprocessor_config.json", "processor_config.json"};
    struct tempdir dir;
    tempdir_open(&dir);
    for (size_t i = 0; i < 2; i++) {
        const char *text = doc_as_string(doc_member(doc_member(item, "files"), names[i]));
        if (text != NULL)
            tempdir_write(&dir, names[i], text, strlen(text));
    }
    preprocess_open(out, dir.path, doc_as_string(doc_member(item, "family")),
                    extent_square(FILE_SIDE), err);
    tempdir_close(&dir);
    return err->code;
}

static const char *files_of(const struct json_t *item)
{
    const struct json_t *files = doc_member(item, "files");
    const char *text = doc_as_string(doc_member(files, "preprocessor_config.json"));
    return text != NULL ? text : doc_as_string(doc_member(files, "processor_config.json"));
}

/* Every 19th row and every 13th column. A fast class filters bytes with other roundings than PIL:
 * a level or two of 255. */
static void check_pixels(const struct json_t *item, const struct preprocess *preprocess)
{
    static const char *const images[] = {"0_center.png", "4_loc.png"};
    const bool is_fast = strstr(files_of(item), "Fast") != NULL;
    for (size_t i = 0; i < 2; i++) {
        const struct json_t *row = doc_array_item(doc_member(item, "rows"), i);
        struct arena arena;
        struct image fitted;
        size_t at = 0;
        arena_init(&arena);
        const float *pixels =
            run(preprocess, arena_format(&arena, GOLDEN_IMAGES "/%s", images[i]), &arena, &fitted);
        for (size_t c = 0; c < 3; c++) {
            float table[256];
            preprocess_table(preprocess, c, table);
            const double near = is_fast ? 2.01 * fabs((double)table[1] - table[0]) : 1e-4;
            for (size_t y = 5; y < FILE_SIDE; y += 19)
                for (size_t x = 3; x < FILE_SIDE; x += 13, at++) {
                    double expected = NAN, found = pixels[(c * FILE_SIDE + y) * FILE_SIDE + x];
                    doc_as_number(doc_array_item(row, at), &expected);
                    ck_assert_msg(fabs(found - expected) <= near, "%s: %s: %g, not %g at %zu",
                                  files_of(item), images[i], found, expected, at);
                }
        }
        ck_assert_uint_eq(doc_array_count(row), at);
        arena_deinit(&arena);
    }
}

/* Cases that only one of the two reads, transformers or this, each with its reason. */
static bool is_left_out(const struct json_t *item)
{
    static const char *const reasons[] = {
        "\"ConvNextImageProcessor\"",     /* crops by a share of the size */
        "\"DonutImageProcessor\"",        /* pads and rotates */
        "\"size\": 40, \"do_pad\": true", /* zeros beside the image */
        "Fast\", \"size\": {\"shortest_edge\": 48, \"longest_edge\": 60}", /* its own rounding */
        "\"ViTImageProcessorPil\"", /* transformers 5 writes it, 4.57 has none */
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (files_of(item) != NULL && strstr(files_of(item), reasons[i]) != NULL)
            return true;
    return false;
}

START_TEST(preprocess_reads_and_refuses_the_files_that_transformers_does)
{
    struct json_t *cases;
    struct err err = {0};
    unsigned read = 0, left_out = 0;
    ck_assert_int_eq(doc_parse_file(&cases, PREPROCESS "files.json", 1 << 20, &err), ERR_OK);
    for (size_t i = 0; i < doc_array_count(cases); i++) {
        const struct json_t *item = doc_array_item(cases, i);
        const bool is_read = doc_member(item, "rows") != NULL;
        struct preprocess preprocess;
        err = (struct err){0};
        open_files(&preprocess, item, &err);
        if (is_left_out(item) && is_read == (err.code != ERR_OK)) {
            left_out++;
            continue;
        }
        ck_assert_msg(is_read == (err.code == ERR_OK), "%s: %s", files_of(item), err.text);
        if (is_read)
            check_pixels(item, &preprocess);
        read += is_read;
    }
    ck_assert_uint_ge(read, 90);
    ck_assert_uint_eq(left_out, 5);
    doc_free(cases);
}
END_TEST

#define NO_SIZE(member)                                                                            \
    "$." member ": expected a number, [height, width], {height, width} or {shortest_edge}, "       \
    "from 1 to 16384 pixels"
#define PIXELS "$.rescale_factor, $.image_mean and $.image_std make pixels that are "
#define NO_PROCESSOR(name)                                                                         \
    "$.image_processor_type: '" name                                                               \
    "' is not one of the image processors of ViT, DeiT, BEiT, Bit, CLIP and SigLIP"

struct refusal {
    const char *config, *text;
};

static void expect_refusals(const struct refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct err err;
        struct preprocess preprocess;
        char expected[256];
        snprintf(expected, sizeof expected, "preprocessor_config.json: %s", cases[i].text);
        ck_assert_msg(open_config(&preprocess, cases[i].config, 224, &err) != ERR_OK, "%s",
                      cases[i].config);
        ck_assert_str_eq(err.text, expected);
    }
}

START_TEST(preprocess_refuses_sizes_that_the_model_does_not_take)
{
    static const struct refusal cases[] = {
        {"{\"size\": 96}", "images become 96 x 96; the model takes 224 x 224"},
        {"{\"size\": {\"height\": 224, \"width\": 225}}",
         "images become 224 x 225; the model takes 224 x 224"},
        {"{\"size\": [224, 225]}", "images become 224 x 225; the model takes 224 x 224"},
        {"{\"size\": [223, 224]}", "images become 223 x 224; the model takes 224 x 224"},
        {"{\"size\": [0, 224]}", NO_SIZE("size")},
        {"{\"size\": 16384}", "images become 16384 x 16384; the model takes 224 x 224"},
        {"{\"size\": 16385}", NO_SIZE("size")},
        {"{\"image_processor_type\": \"DeiTImageProcessor\", \"crop_size\": [224, 200]}",
         "images become 224 x 200; the model takes 224 x 224"},
        {"{\"image_processor_type\": \"DeiTImageProcessor\", \"crop_size\": 200}",
         "images become 200 x 200; the model takes 224 x 224"},
        {"{\"size\": {\"shortest_edge\": 224}}",
         "$.size: ViTImageProcessor takes a height and a width, not a shortest edge"},
        {"{\"image_processor_type\": \"ViTImageProcessorFast\", \"size\": {\"shortest_edge\": "
         "224}}",
         "images would keep their own shape; the model takes 224 x 224"},
        {"{\"do_resize\": false}", "images would keep their own shape; the model takes 224 x 224"},
        {"{\"size\": {\"longest_edge\": 224}}", NO_SIZE("size")},
        {"{\"size\": {\"height\": 224}}", NO_SIZE("size")},
        {"{\"size\": {\"height\": 224, \"width\": 224, \"depth\": 1}}", NO_SIZE("size")},
        {"{\"size\": 0}", NO_SIZE("size")},
        {"{\"size\": -224}", NO_SIZE("size")},
        {"{\"size\": 224.5}", NO_SIZE("size")},
        {"{\"size\": 1e30}", NO_SIZE("size")},
        {"{\"size\": \"224\"}", NO_SIZE("size")},
        {"{\"size\": [224]}", NO_SIZE("size")},
        {"{\"size\": [224, \"x\"]}", NO_SIZE("size")},
        {"{\"crop_size\": {\"shortest_edge\": 224}}", NO_SIZE("crop_size")},
    };
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(preprocess_refuses_what_it_cannot_do_and_says_where)
{
    static const struct refusal cases[] = {
        {"{\"resample\": 6}", "$.resample: must be from 0 to 5"},
        {"{\"do_resize\": 1}", "$.do_resize: expected true or false, found a number"},
        {"{\"rescale_factor\": \"x\"}", "$.rescale_factor: expected a number, found a string"},
        {"{\"image_mean\": [0.5, 0.5]}", "$.image_mean: expected a number or three"},
        {"{\"image_mean\": 1e300}", "$.image_mean: expected a number or three"},
        {"{\"image_std\": [0.5, 0, 0.5]}", "$.image_std: must not be zero"},
        {"{\"rescale_factor\": 1e308}", PIXELS "not finite numbers"},
        {"{\"rescale_factor\": 1e37}", PIXELS "not finite numbers"},
        {"{\"rescale_factor\": 0}", PIXELS "all the same"},
        {"{\"rescale_factor\": 1e-320}", PIXELS "all the same"},
        {"{\"image_mean\": [0.5, 0.5, 1e30]}", PIXELS "all the same"},
        {"{\"image_std\": 1e-44}", PIXELS "not finite numbers"},
        {"{\"image_std\": [1, 1, 1e-40]}", PIXELS "not finite numbers"},
        {"{\"rescale_factor\": 1, \"image_mean\": 255, \"image_std\": 7.478e-37}",
         PIXELS "not finite numbers"}, /* black alone is not */
        {"{\"rescale_factor\": 1, \"image_mean\": 0, \"image_std\": 7.478e-37}",
         PIXELS "not finite numbers"}, /* white alone is not */
        {"{\"image_std\": 1e-60}", "$.image_std: must not be zero"},
        {"{\"image_processor_type\": \"DonutImageProcessor\"}",
         NO_PROCESSOR("DonutImageProcessor")},
        {"{\"image_processor_type\": \"ViTHybridImageProcessor\"}",
         NO_PROCESSOR("ViTHybridImageProcessor")},
        {"{\"image_processor_type\": 7}",
         "$.image_processor_type: expected a string, found a number"},
        {"{", "JSON ends too early at byte 1"},
        {"", "JSON ends too early at byte 0"},
    };
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(preprocess_lays_patches_out_row_by_row_and_channel_by_channel)
{
    struct preprocess as_is = {0};
    unsigned char rgb[4 * 6 * 3];
    float out[4 * 6 * 3];
    for (unsigned i = 0; i < sizeof rgb; i++)
        rgb[i] = (unsigned char)i;
    struct image image = {.width = 6, .height = 4, .rgb = rgb};
    preprocess_patches(&as_is, &image, extent_square(2), out);
    for (unsigned p = 0; p < 6; p++)
        for (unsigned c = 0; c < 3; c++)
            for (unsigned y = 0; y < 2; y++)
                for (unsigned x = 0; x < 2; x++) {
                    unsigned row = p / 3 * 2 + y, column = p % 3 * 2 + x;
                    float expected = (float)rgb[(row * 6 + column) * 3 + c];
                    ck_assert(out[((p * 3 + c) * 2 + y) * 2 + x] == expected);
                }
}
END_TEST

START_TEST(preprocess_refuses_an_image_that_is_too_thin_for_its_shortest_edge)
{
    struct arena arena;
    struct err err;
    struct preprocess preprocess;
    struct image out;
    arena_init(&arena);
    ck_assert_int_eq(
        open_config(&preprocess, "{\"image_processor_type\": \"BitImageProcessor\"}", 224, &err),
        ERR_OK);
    struct image thin = {1, 400, arena_alloc_array(&arena, 400, 3)};
    struct image thinner = {500, 1, arena_alloc_array(&arena, 500, 3)};
    ck_assert_int_eq(preprocess_geometry(&preprocess, &thin, NULL, &arena, &out, &err), ERR_OK);
    ck_assert(out.width == 224 && out.height == 224);
    ck_assert_int_eq(preprocess_geometry(&preprocess, &thinner, NULL, &arena, &out, &err),
                     ERR_UNUSABLE);
    arena_deinit(&arena);
}
END_TEST

SUITE("preprocess", preprocess_gives_the_golden_pixels,
      preprocess_gives_all_golden_pixels_of_the_full_set,
      preprocess_gives_the_very_floats_of_transformers,
      preprocess_without_a_file_is_refused_with_what_to_write,
      preprocess_reads_and_refuses_the_files_that_transformers_does,
      preprocess_refuses_sizes_that_the_model_does_not_take,
      preprocess_refuses_what_it_cannot_do_and_says_where,
      preprocess_lays_patches_out_row_by_row_and_channel_by_channel,
      preprocess_refuses_an_image_that_is_too_thin_for_its_shortest_edge)
