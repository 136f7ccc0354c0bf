/* The report on faithful explanations in all its forms, for a specimen that is filled in by hand,
 * compared byte by byte with tests/data/eval/explanations/. Some of its figures are worked out by
 * hand below. ATTND_GOLDEN_WRITE=1 writes the goldens anew. */
#include "engine/base/file.h"
#include "engine/vision/image.h"
#include "engine/vision/png.h"
#include "learn/eval/report/explanations_report.h"
#include "tests/support/golden_file.h"
#include "tests/support/labels_model.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/data/eval/explanations/"

enum { INPUTS = 7, LABELS = 3, PARTS = 4 };

static const char *const labels[LABELS] = {"a", "<b>", "no input has this"};

/* Four words with what lies between them; the last is not UTF-8. */
static const char text[] = "w\xC3\xB6rd <two>\n  three, \xFF\xFE end";

static struct specimen {
    struct engine_model *model;
    struct dataset_item items[INPUTS + 1];
    struct dataset dataset;
    struct explained inputs[INPUTS];
    struct excerpt words[PARTS];
    float relevance[EXPLANATIONS_METHODS][PARTS];
    struct explanations explanations;
    struct explanations_report report;
} specimen;

/* ---- the specimen ---- */

/* The labels are a, b, a, b ...; the last answer is wrong. Method w and input i have the deletion
 * (w + i) / 32 and the insertion (32 - w - i x i / 4) / 32, and log-odds ten times as large. */
static void fill_inputs(struct specimen *made)
{
    for (unsigned i = 0; i < INPUTS; i++) {
        struct explained *explained = &made->inputs[i];
        *explained = (struct explained){
            .item = i + 1, .label = i % 2, .winner = i + 1 < INPUTS ? i % 2 : 2, .parts = PARTS};
        for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
            for (unsigned scale = 0; scale < SCORE_SCALES; scale++) {
                double unit = scale == SCORE_PROBABILITY ? 1.0 / 32 : 10.0 / 32;
                explained->methods[method].deletion[scale] = (method + i) * unit;
                explained->methods[method].insertion[scale] = (32 - method - i * i / 4.0) * unit;
            }
    }
}

static void fill_sums(struct explanations *out)
{
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
        out->ms[method] = 3.5 * (method + 1);
        for (unsigned p = 0; p < FAITHFULNESS_POINTS; p++) {
            double x = p / (double)FAITHFULNESS_STEPS;
            out->curves[method].deletion[p].on[SCORE_PROBABILITY] =
                INPUTS * (1 - x) * (1 - x / (method + 1));
            out->curves[method].insertion[p].on[SCORE_PROBABILITY] = INPUTS * x / (method + 1);
        }
    }
    out->inference_ms = 17.5;
}

/* The second method finds nothing, the last method something against the class. Each method has
 * another most relevant part. */
static void fill_gallery(struct specimen *made)
{
    struct explanations *out = &made->explanations;
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
        for (unsigned part = 0; part < PARTS; part++)
            made->relevance[method][part] = method == 1 ? 0 : 0.125f * ((method + part) % PARTS);
    made->relevance[METHOD_OCCLUSION][0] = -2;
    for (unsigned i = 0; i < INPUTS - 1; i++) {
        struct explanations_exhibit *exhibit = &out->gallery[out->gallery_count++];
        *exhibit = (struct explanations_exhibit){
            .explained = &made->inputs[i], .shape = {.words = made->words, .word_count = PARTS}};
        for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
            exhibit->relevance[method] = made->relevance[method];
    }
}

static void make(struct specimen *made)
{
    static const struct excerpt words[PARTS] = {
        {0, 4, 0, false}, {6, 9, 0, false}, {13, 18, 0, false}, {20, 22, 0, false}};
    *made = (struct specimen){.model = labels_model_open(labels, LABELS)};
    for (unsigned i = 0; i <= INPUTS; i++)
        made->items[i] = (struct dataset_item){
            .name = "line <1>", .input = text, .input_len = sizeof text - 1, .label = "a"};
    made->dataset =
        (struct dataset){.kind = ENGINE_TEXT, .items = made->items, .count = INPUTS + 1};
    memcpy(made->words, words, sizeof words);
    fill_inputs(made);
    made->explanations.source =
        (struct explanations_source){.model = made->model, .dataset = &made->dataset};
    made->explanations.inputs = made->inputs;
    made->explanations.count = INPUTS;
    fill_sums(&made->explanations);
    fill_gallery(made);
    made->report = (struct explanations_report){"a&b", "<data>", &made->explanations};
}

/* All images but the first have a mask. Random orders point to it by chance. */
static void make_images(struct specimen *made, const char *path)
{
    make(made);
    made->dataset.kind = ENGINE_IMAGE;
    for (unsigned i = 0; i <= INPUTS; i++)
        made->items[i].input = path;
    for (unsigned i = 1; i < INPUTS; i++) {
        made->inputs[i].marked = i / 16.0;
        for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++) {
            made->inputs[i].methods[method].points =
                method == METHOD_RANDOM ? 1.0 / 3 : (i + method) % 2;
            made->inputs[i].methods[method].iou = i / (8.0 + method);
        }
    }
    for (unsigned i = 0; i < made->explanations.gallery_count; i++)
        made->explanations.gallery[i].shape = (struct explanation){
            .view = {
                .width = 256, .height = 128, .all = {128, 0, 64, 128}, .rows = 2, .columns = 2}};
}

/* ---- printing ---- */

typedef enum err_code (*printer)(const struct explanations_report *report, FILE *file,
                                 struct err *err);

static void print(struct golden_file *out, printer form)
{
    struct err err = {0};
    golden_file_open(out);
    ck_assert_msg(!form(&specimen.report, out->file, &err), "%s", err.text);
    golden_file_text(out);
}

static void mask_page(struct golden_file *out)
{
    golden_file_mask(out, "\">attnd ", "</p>");
    golden_file_mask(out, ":root{", ".range{");
    golden_file_mask(out, ";base64,", "\"");
}

static void expect(struct golden_file *out, const char *claim)
{
    ck_assert_msg(strstr(golden_file_text(out), claim) != NULL, "no '%s'", claim);
}

/* ---- tests ---- */

/* Way 0, all inputs: deletion's mean is 3 / 32; of insertion 1 - 91 / 28 / 32. The right ones are
 * the first six: 2.5 / 32. Way 5 less random's (4) in difference: -1 - 1 of 32 for each. */
START_TEST(explanations_of_texts_for_a_terminal_are_the_golden)
{
    struct golden_file out;
    make(&specimen);
    print(&out, explanations_print);
    expect(&out, "explanations    7 inputs, 6 of them right; removed words leave the sequence; "
                 "inference 2.50 ms an input\n");
    expect(&out, "rollout          0.0938 ( ");
    expect(&out, "rollout          0.0781 ( ");
    expect(&out, "   0.8984 ( ");
    expect(&out, "  -0.0625 (-0.0625 to -0.0625)        3.00\n");
    golden_file_expect(&out, GOLDEN "texts.txt");
    engine_close(specimen.model);
}
END_TEST

START_TEST(explanations_of_texts_as_json_are_the_golden)
{
    struct golden_file out;
    make(&specimen);
    print(&out, explanations_print_json);
    expect(&out, "\"inputs\":7,\"right\":6,\"parts\":\"words\"");
    golden_file_expect(&out, GOLDEN "texts.json");
    engine_close(specimen.model);
}
END_TEST

START_TEST(explanations_of_texts_as_a_page_are_the_golden)
{
    struct golden_file out;
    make(&specimen);
    print(&out, explanations_print_html);
    mask_page(&out);
    expect(&out, ".shaded{white-space:pre-wrap");
    golden_file_expect(&out, GOLDEN "texts.html");
    engine_close(specimen.model);
}
END_TEST

/* Five right answers have a mask, of 1 to 5 sixteenths of their patches: 18.75 %. */
START_TEST(explanations_of_images_are_the_golden)
{
    struct golden_file out;
    make_images(&specimen, "tests/data/eval/wafer/none/none_0.png");
    specimen.explanations.options.fill = PERTURBATION_CLIP;
    print(&out, explanations_print);
    expect(&out, "places: 6 inputs have a mask, of which 5 got the right answer; their masks have "
                 "18.8 % of the patches\n");
    golden_file_expect(&out, GOLDEN "images.txt");
    print(&out, explanations_print_json);
    expect(&out, "\"masked\":6,\"marked_share\":0.1875,");
    golden_file_expect(&out, GOLDEN "images.json");
    print(&out, explanations_print_html);
    mask_page(&out);
    golden_file_expect(&out, GOLDEN "images.html");
    engine_close(specimen.model);
}
END_TEST

/* Two inputs bound nothing. */
START_TEST(explanations_of_few_inputs_have_no_intervals)
{
    struct golden_file out;
    make(&specimen);
    specimen.explanations.count = 2;
    specimen.explanations.gallery_count = 0;
    print(&out, explanations_print);
    golden_file_expect(&out, GOLDEN "few.txt");
    print(&out, explanations_print_json);
    expect(&out, "\"interval\":null");
    golden_file_expect(&out, GOLDEN "few.json");
    print(&out, explanations_print_html);
    ck_assert_ptr_null(strstr(out.text, "\"range\""));
    free(out.text);
    engine_close(specimen.model);
}
END_TEST

/* An exhibit whose picture is gone is left out, and the page goes on. */
START_TEST(explanations_page_leaves_out_a_picture_that_is_gone)
{
    struct golden_file out;
    make_images(&specimen, "tests/data/eval/wafer/none/none_0.png");
    specimen.items[2].input = "missing.png"; /* of the second exhibit */
    print(&out, explanations_print_html);
    unsigned figures = 0;
    for (const char *at = out.text; (at = strstr(at, "<div class=\"stack\">")) != NULL; at++)
        figures++;
    ck_assert_uint_eq(figures, (INPUTS - 2) * (EXPLANATIONS_METHODS - 1) + 1);
    free(out.text);
    engine_close(specimen.model);
}
END_TEST

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Decodes the image of a data URI that begins behind `at`. */
static void decode_uri(const char *at, struct image *image, struct arena *arena)
{
    static char bytes[65536];
    const struct image_options options = {.pixels_max = 1 << 16};
    struct err err = {0};
    size_t len = 0;
    unsigned bits = 0, held = 0;
    for (; digit_of(*at) >= 0 && len < sizeof bytes; at++) {
        bits = bits << 6 | (unsigned)digit_of(*at);
        held += 6;
        if (held >= 8)
            bytes[len++] = (char)(bits >> (held -= 8));
    }
    ck_assert_msg(!image_decode(image, bytes, len, &options, arena, &err), "%s", err.text);
}

/* 256 x 128 pixels are shown as 128 x 64. The patches cover columns 128 to 192 and rows 32 to 96 of
 * the former, so 64 to 96 and 16 to 48 of the latter. Method 0 has the last patch as the most
 * relevant, and no relevance in the first. */
static void expect_map(const struct image *map)
{
    static const unsigned beside[][2] = {{63, 47}, {96, 47}, {95, 48}, {95, 15}};
    const unsigned char *inside = map->rgb + 3 * ((size_t)47 * 128 + 95);
    ck_assert(map->width == 128 && map->height == 64);
    ck_assert_int_gt(inside[0], 200); /* light yellow */
    for (unsigned i = 0; i < 4; i++) {
        const unsigned char *rgb = map->rgb + 3 * ((size_t)beside[i][1] * 128 + beside[i][0]);
        ck_assert_msg(rgb[0] + rgb[1] + rgb[2] == 0, "%u, %u", beside[i][0], beside[i][1]);
    }
}

START_TEST(explanations_page_lays_the_map_where_the_patches_are)
{
    static unsigned char pixels[256 * 128 * 3];
    struct image image = {256, 128, pixels}, map;
    struct golden_file out;
    struct tempdir dir;
    struct arena arena;
    struct err err = {0};
    char *png, path[96];
    size_t len;
    ck_assert_int_eq(png_encode(&png, &len, &image, &err), ERR_OK);
    tempdir_open(&dir);
    tempdir_write(&dir, "wide.png", png, len);
    snprintf(path, sizeof path, "%s/wide.png", dir.path);
    make_images(&specimen, path);
    for (unsigned i = 0; i < specimen.explanations.gallery_count; i++)
        specimen.explanations.gallery[i].shape.view.all = (struct image_region){128, 32, 64, 64};
    print(&out, explanations_print_html);
    const char *first = strstr(out.text, ";base64,"), *second = strstr(first + 8, ";base64,");
    arena_init(&arena);
    decode_uri(first + 8, &map, &arena);
    ck_assert(map.width == 128 && map.height == 64);
    decode_uri(second + 8, &map, &arena);
    expect_map(&map);
    arena_deinit(&arena);
    free(out.text);
    free(png);
    tempdir_close(&dir);
    engine_close(specimen.model);
}
END_TEST

START_TEST(explanations_files_are_the_forms_that_are_printed)
{
    static const char *const names[] = {"explanations.json", "explanations.html"};
    const printer forms[] = {explanations_print_json, explanations_print_html};
    struct tempdir dir;
    struct err err = {0};
    tempdir_open(&dir);
    make(&specimen);
    ck_assert_msg(!explanations_write(&specimen.report, dir.path, &err), "%s", err.text);
    for (unsigned i = 0; i < 2; i++) {
        struct golden_file out;
        char path[128], *bytes;
        size_t len;
        print(&out, forms[i]);
        snprintf(path, sizeof path, "%s/%s", dir.path, names[i]);
        ck_assert_int_eq(file_read(&bytes, &len, path, 1 << 20, &err), ERR_OK);
        ck_assert_uint_eq(len, out.len);
        ck_assert_int_eq(memcmp(bytes, out.text, len), 0);
        free(bytes);
        free(out.text);
    }
    ck_assert_int_eq(explanations_write(&specimen.report, "/no/where", &err), ERR_IO);
    tempdir_close(&dir);
    engine_close(specimen.model);
}
END_TEST

START_TEST(explanations_that_cannot_be_written_are_an_error)
{
    const printer forms[] = {explanations_print, explanations_print_json, explanations_print_html};
    make(&specimen);
    for (unsigned i = 0; i < 3; i++) {
        struct err err = {0};
        FILE *full = fopen("/dev/full", "w");
        ck_assert_ptr_nonnull(full);
        setvbuf(full, NULL, _IONBF, 0);
        ck_assert_int_eq(forms[i](&specimen.report, full, &err), ERR_IO);
        fclose(full);
    }
    engine_close(specimen.model);
}
END_TEST

/* "/explanations.json" and the end of the text take 19 of PATH_MAX characters. */
START_TEST(explanations_need_a_path_that_can_be)
{
    static char folder[PATH_MAX];
    char expected[160];
    struct err err = {0};
    make(&specimen);
    memset(folder, 'x', PATH_MAX - 18);
    ck_assert_int_eq(explanations_write(&specimen.report, folder, &err), ERR_IO);
    snprintf(expected, sizeof expected, "%.100s...: the directory's path is too long", folder);
    ck_assert_str_eq(err.text, expected);
    err = (struct err){0};
    folder[PATH_MAX - 19] = '\0';
    ck_assert_int_eq(explanations_write(&specimen.report, folder, &err), ERR_IO);
    ck_assert_str_ne(err.text, expected);
    engine_close(specimen.model);
}
END_TEST

/* Over three inputs of the first method, deletions of 0, 1 and 2 of 32 and insertions of 32, 31.75 and
 * 31: by hand; over one label and over none. */
START_TEST(explanations_figures_are_what_was_computed_by_hand)
{
    struct explanations_figures found;
    struct err err = {0};
    double marked;
    make(&specimen);
    specimen.explanations.count = 3;
    ck_assert(!explanations_figures(&specimen.explanations, 0, EXPLANATIONS_ALL, SCORE_PROBABILITY,
                                    &found, &err));
    ck_assert(found.count == 3 && found.deletion.mean == 1 / 32.0);
    ck_assert_double_eq_tol(found.insertion.mean, 94.75 / 96, 1e-12);
    ck_assert_double_eq_tol(found.difference.mean, 91.75 / 96, 1e-12);
    ck_assert_double_eq_tol(found.gain.mean, 2 * METHOD_RANDOM / 32.0, 1e-12);
    ck_assert(!explanations_figures(&specimen.explanations, 1, EXPLANATIONS_CLASS + 1,
                                    SCORE_LOG_ODDS, &found, &err));
    ck_assert(found.count == 1);
    ck_assert_double_eq_tol(found.deletion.mean, 20 / 32.0, 1e-12);
    ck_assert(!explanations_figures(&specimen.explanations, 1, EXPLANATIONS_CLASS + 2,
                                    SCORE_LOG_ODDS, &found, &err));
    ck_assert(found.count == 0 && found.deletion.mean == 0);
    ck_assert(explanations_masked(&specimen.explanations, &marked) == 0 && marked == 0);
    specimen.inputs[1].marked = 0.5;
    ck_assert(explanations_masked(&specimen.explanations, &marked) == 1 && marked == 0.5);
    specimen.inputs[1].winner = 2; /* a mask of a wrong answer */
    ck_assert(explanations_masked(&specimen.explanations, &marked) == 1 && marked == 0);
    ck_assert_uint_eq(explanations_right(&specimen.explanations), 2);
    ck_assert(explanations_mean_ms(&specimen.explanations, 6) == 2);
    specimen.explanations.count = 0;
    ck_assert(explanations_mean_ms(&specimen.explanations, 6) == 0);
    engine_close(specimen.model);
}
END_TEST

/* Two of three point to the mask: Wilson's interval of that share, whose mean rounds down. Random
 * orders have the mean's own interval. */
START_TEST(explanations_points_are_a_share)
{
    struct explanations_figures found;
    struct err err = {0};
    make_images(&specimen, "unread");
    specimen.explanations.count = 4;
    for (unsigned i = 1; i < 4; i++) {
        specimen.inputs[i].methods[0].points = i != 2;
        specimen.inputs[i].methods[METHOD_RANDOM].points = i / 4.0;
        specimen.inputs[i].methods[0].iou = i / 8.0;
    }
    ck_assert(!explanations_figures(&specimen.explanations, 0, EXPLANATIONS_MASKED,
                                    SCORE_PROBABILITY, &found, &err));
    struct interval share = wilson_interval(2, 3);
    ck_assert_uint_eq(found.count, 3);
    ck_assert_double_eq_tol(found.points.mean, 2.0 / 3, 1e-12);
    ck_assert(found.points.interval.low == share.low && found.points.interval.high == share.high);
    ck_assert_double_eq_tol(found.iou.mean, 0.25, 1e-12);
    ck_assert(!explanations_figures(&specimen.explanations, METHOD_RANDOM, EXPLANATIONS_MASKED,
                                    SCORE_PROBABILITY, &found, &err));
    ck_assert_double_eq_tol(found.points.mean, 0.5, 1e-12);
    double mean, values[] = {0.25, 0.5, 0.75};
    ck_assert_double_eq_tol(found.points.interval.low, interval_mean(values, 3, &mean).low, 1e-12);
    engine_close(specimen.model);
}
END_TEST

START_TEST(explanations_methods_have_names)
{
    static const char *const names[] = {"random", "occlusion"};
    for (unsigned method = 0; method < EXPLANATIONS_METHODS; method++)
        ck_assert_str_eq(explanations_method_name(method),
                         method < EXPLAIN_LABEL_METHODS ? method_name((enum explain_method)method)
                                                  : names[method - EXPLAIN_LABEL_METHODS]);
}
END_TEST

SUITE("explanations_report", explanations_of_texts_for_a_terminal_are_the_golden,
      explanations_of_texts_as_json_are_the_golden, explanations_of_texts_as_a_page_are_the_golden,
      explanations_of_images_are_the_golden, explanations_of_few_inputs_have_no_intervals,
      explanations_page_leaves_out_a_picture_that_is_gone,
      explanations_page_lays_the_map_where_the_patches_are,
      explanations_files_are_the_forms_that_are_printed,
      explanations_that_cannot_be_written_are_an_error, explanations_need_a_path_that_can_be,
      explanations_figures_are_what_was_computed_by_hand, explanations_points_are_a_share,
      explanations_methods_have_names)
