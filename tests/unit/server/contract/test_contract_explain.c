/* POST /predict with explanations, over HTTP, on the shipped models. */
#include "tests/support/contract.h"

#include <jansson.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#define WAFER "tests/data/examples/wafer_map.png"
#define REPORT "tests/data/examples/kernel_report.txt"

static const char *const options[] = {NULL};

static struct reply explain_image(const char *query)
{
    size_t len;
    char *png = contract_file(WAFER, &len);
    struct reply reply = contract_post_as(query, "image/png", png, len);
    reply_expect_status(&reply, 200);
    free(png);
    return reply;
}

static struct reply explain_text(const char *query)
{
    size_t len;
    char *text = contract_file(REPORT, &len);
    struct reply reply = contract_post_as(query, "text/plain", text, len);
    reply_expect_status(&reply, 200);
    free(text);
    return reply;
}

/* The sum of the numbers, or of the members `key` of the objects, of an array. */
static double sum(const struct reply *reply, const char *path, const char *key)
{
    const json_t *array = contract_at(reply->json, path), *value;
    double total = 0;
    size_t i;
    ck_assert(json_is_array(array));
    json_array_foreach(array, i, value)
    {
        double number = json_number_value(key != NULL ? json_object_get(value, key) : value);
        ck_assert(number >= 0);
        total += number;
    }
    return total;
}

START_TEST(an_image_is_explained_by_its_grid_and_boxes)
{
    static const char *const methods[] = {"rollout", "attention", "gradient"};
    for (size_t i = 0; i < 3; i++) {
        char query[64];
        snprintf(query, sizeof query, "/predict?explain=%s", methods[i]);
        struct reply reply = explain_image(query);
        reply_expect_text(&reply, "explanation.method", methods[i]);
        ck_assert_double_eq(reply_number(&reply, "explanation.grid.0"), 12);
        ck_assert_double_eq(reply_number(&reply, "explanation.grid.1"), 12);
        ck_assert_double_eq(reply_number(&reply, "explanation.region.2"), 74);
        ck_assert_double_eq(reply_number(&reply, "explanation.region.3"), 87);
        ck_assert_uint_eq(reply_count(&reply, "explanation.relevance"), 144);
        ck_assert_double_eq_tol(sum(&reply, "explanation.relevance", NULL), 1, 1e-5);
        ck_assert_uint_eq(reply_count(&reply, "explanation.top_patches"), 5);
        ck_assert(contract_at(reply.json, "explanation.overlay") == NULL);
        ck_assert(contract_at(reply.json, "attention_stats") == NULL);
        ck_assert(reply_number(&reply, "timing_ms.explain") > 0);
        reply_free(&reply);
    }
}
END_TEST

START_TEST(a_text_is_explained_by_its_words_and_spans)
{
    size_t len;
    free(contract_file(REPORT, &len));
    struct reply reply = explain_text("/predict?explain=true");
    size_t words = reply_count(&reply, "explanation.words");
    ck_assert_uint_gt(words, 20);
    ck_assert_double_eq_tol(sum(&reply, "explanation.words", "relevance"), 1, 1e-5);
    ck_assert(sum(&reply, "explanation.spans", "relevance") > 0);
    double before = 0;
    for (size_t i = 0; i < words; i++) {
        char path[64];
        snprintf(path, sizeof path, "explanation.words.%zu.start", i);
        double start = reply_number(&reply, path);
        ck_assert(start >= before);
        snprintf(path, sizeof path, "explanation.words.%zu.end", i);
        before = reply_number(&reply, path);
        ck_assert(before > start && before <= (double)len);
    }
    reply_free(&reply);
}
END_TEST

START_TEST(an_overlay_is_a_png_of_the_images_size)
{
    /* "\x89PNG\r\n\x1a\n", the IHDR's length and name, 74 and 87, and its 8 bits of RGBA */
    static const char head[] = "iVBORw0KGgoAAAANSUhEUgAAAEoAAABXCAYA";
    struct reply reply = explain_image("/predict?explain=rollout&overlay=true");
    ck_assert_int_eq(strncmp(reply_text(&reply, "explanation.overlay"), head, sizeof head - 1), 0);
    reply_free(&reply);
    reply = explain_text("/predict?explain=rollout&overlay=true");
    ck_assert(contract_at(reply.json, "explanation.overlay") == NULL);
    reply_free(&reply);
}
END_TEST

/* A black image, as PNG; yours to free. */
static char *black_png(unsigned width, unsigned height, size_t *len)
{
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_GRAY};
    unsigned char *pixels = calloc(width, height);
    png_alloc_size_t bytes = (png_alloc_size_t)width * height + 1024;
    char *png = malloc(bytes);
    ck_assert(pixels != NULL && png != NULL);
    ck_assert(png_image_write_to_memory(&image, png, &bytes, 0, pixels, 0, NULL) != 0);
    free(pixels);
    *len = bytes;
    return png;
}

START_TEST(explain_bounds_the_pixels_of_an_overlay_only)
{
    static const struct {
        unsigned width;
        const char *query;
        int status;
    } rows[] = {
        {2048, "/predict?explain=rollout&overlay=true", 200},
        {2049, "/predict?explain=rollout&overlay=true", 422},
        {2049, "/predict?explain=rollout", 200},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t len;
        char *png = black_png(rows[i].width, 2048, &len);
        struct reply reply = contract_post_as(rows[i].query, "image/png", png, len);
        if (rows[i].status == 200)
            reply_expect_status(&reply, 200);
        else
            reply_expect_problem(
                &reply, 422, "unusable",
                "body: overlay: a heat map has at most 4194304 pixels, the image has "
                "4196352; without overlay it is explained by its grid");
        reply_free(&reply);
        free(png);
    }
}
END_TEST

START_TEST(a_layer_can_be_chosen)
{
    struct reply last = explain_image("/predict?explain=attention");
    struct reply sixth = explain_image("/predict?explain=attention&explain_layer=6");
    struct reply first = explain_image("/predict?explain=attention&explain_layer=1");
    double largest = 0;
    ck_assert_double_eq(reply_number(&first, "explanation.layer"), 1);
    for (int i = 0; i < 144; i++) {
        char path[64];
        snprintf(path, sizeof path, "explanation.relevance.%d", i);
        double of_last = reply_number(&last, path);
        ck_assert_double_eq_tol(reply_number(&sixth, path), of_last, 1e-6);
        largest = fmax(largest, fabs(reply_number(&first, path) - of_last));
    }
    ck_assert(largest > 1e-3);
    reply_free(&last);
    reply_free(&sixth);
    reply_free(&first);
}
END_TEST

START_TEST(attention_statistics_are_told_for_each_head)
{
    static const char *const numbers[] = {"entropy", "distance", "diagonal", "neighbour",
                                          "sparsity"};
    struct reply reply = explain_text("/predict?explain=attention&attention_stats=true");
    for (size_t i = 0; i < 5; i++) {
        char path[64];
        snprintf(path, sizeof path, "attention_stats.%s", numbers[i]);
        ck_assert_uint_eq(reply_count(&reply, path), 6);
        for (int layer = 0; layer < 6; layer++) {
            snprintf(path, sizeof path, "attention_stats.%s.%d", numbers[i], layer);
            ck_assert_uint_eq(reply_count(&reply, path), 12);
            ck_assert(sum(&reply, path, NULL) > 0);
        }
    }
    reply_free(&reply);
}
END_TEST

START_TEST(several_inputs_are_explained_each)
{
    char *png = contract_file_base64(WAFER);
    char *body = contract_format("{\"inputs\": [{\"image\": \"%s\"}, {\"text\": \"kernel BUG at "
                                 "mm/slub.c\"}, {\"text\": \"\"}], \"explain\": true}",
                                 png);
    struct reply reply = contract_post(body);
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "results.0.explanation.relevance"), 144);
    ck_assert_uint_ge(reply_count(&reply, "results.1.explanation.words"), 5);
    reply_expect_problem_at(&reply, "results.2", 422, "unusable", "$.inputs[2].text: empty");
    reply_free(&reply);
    free(body);
    free(png);
}
END_TEST

START_TEST(an_explanation_does_not_change_the_answer)
{
    struct reply plain = explain_image("/predict?top_k=all");
    struct reply explained = explain_image("/predict?top_k=all&explain=gradient");
    for (int i = 0; i < 9; i++) {
        char path[64];
        snprintf(path, sizeof path, "predictions.%d.score", i);
        ck_assert_double_eq_tol(reply_number(&explained, path), reply_number(&plain, path), 1e-5);
    }
    ck_assert(contract_at(plain.json, "explanation") == NULL);
    ck_assert(contract_at(plain.json, "timing_ms.explain") == NULL);
    reply_free(&plain);
    reply_free(&explained);
}
END_TEST

CONTRACT_SUITE("contract_explain", options, an_image_is_explained_by_its_grid_and_boxes,
               a_text_is_explained_by_its_words_and_spans, an_overlay_is_a_png_of_the_images_size,
               a_layer_can_be_chosen, attention_statistics_are_told_for_each_head,
               several_inputs_are_explained_each, an_explanation_does_not_change_the_answer,
               explain_bounds_the_pixels_of_an_overlay_only)
