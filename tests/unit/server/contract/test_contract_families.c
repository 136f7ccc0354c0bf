/* Image encoders of other families in the program: answers of the references, over HTTP. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/data/golden/"

static const char *const models[] = {"dinov2-0", "dinov2-1", "dinov2-with-registers-0", "beit-0",
                                     "swin-0"};
static const unsigned grids[] = {6, 5, 5, 7, 12};
enum { MODELS = sizeof models / sizeof *models };

static struct server_process server;

static void start(const char *dtype)
{
    char specs[MODELS][128];
    const char *arguments[2 * MODELS + 7] = {"--workers", "1", "--threads-per-worker", "1"};
    for (size_t i = 0; i < MODELS; i++) {
        snprintf(specs[i], sizeof specs[i], "%s=" GOLDEN "%s,dtype=%s", models[i], models[i],
                 dtype);
        arguments[4 + 2 * i] = "--model";
        arguments[5 + 2 * i] = specs[i];
    }
    if (strcmp(dtype, "bf16") == 0) { /* the reference multiplies it on every processor */
        arguments[4 + 2 * MODELS] = "--linear-backend";
        arguments[5 + 2 * MODELS] = "reference";
    }
    server_process_start(&server, arguments);
}

static struct json_t *open_cases(const char *name)
{
    char path[128];
    struct err err = {0};
    struct json_t *cases;
    snprintf(path, sizeof path, GOLDEN "%s/cases.json", name);
    ck_assert_msg(!doc_parse_file(&cases, path, 1 << 20, &err), "%s", err.text);
    return cases;
}

static struct reply ask(const char *name, const struct json_t *one, const char *options)
{
    char path[160], query[160];
    size_t len;
    snprintf(path, sizeof path, GOLDEN "images/%s", doc_as_string(doc_member(one, "image")));
    snprintf(query, sizeof query, "/predict?model=%s%s", name, options);
    char *png = contract_file(path, &len);
    struct reply reply =
        reply_of(http_request(server.port, "POST", query, "Content-Type: image/png\r\n", png, len));
    reply_expect_status(&reply, 200);
    free(png);
    return reply;
}

/* The largest number of an array, and which it is. */
static size_t top(const struct json_t *array, double *value)
{
    size_t best = 0;
    *value = -INFINITY;
    for (size_t i = 0; i < doc_array_count(array); i++) {
        double number;
        doc_as_number(doc_array_item(array, i), &number);
        if (number > *value) {
            *value = number;
            best = i;
        }
    }
    return best;
}

START_TEST(the_program_scores_images_as_the_references_do)
{
    start("f32");
    for (size_t m = 0; m < MODELS; m++) {
        struct json_t *cases = open_cases(models[m]);
        for (size_t i = 0; i < doc_array_count(cases); i++) {
            const struct json_t *one = doc_array_item(cases, i);
            double score;
            top(doc_member(one, "probs"), &score);
            struct reply reply = ask(models[m], one, "");
            ck_assert_double_eq_tol(reply_number(&reply, "score"), score, 1e-5);
            reply_free(&reply);
        }
        doc_free(cases);
    }
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

/* A model's rollout if it is in a file of its own; else NULL. */
static struct json_t *open_maps(const char *name)
{
    char path[128];
    bool found;
    struct err err = {0};
    struct json_t *maps = NULL;
    snprintf(path, sizeof path, GOLDEN "%s/maps.json", name);
    if (!file_exists(path, &found, &err) && found)
        ck_assert_msg(!doc_parse_file(&maps, path, 1 << 20, &err), "%s", err.text);
    return maps;
}

/* Rollout's [CLS] row over the patches. Every method has the grid of the part that the model
 * saw. */
START_TEST(the_program_explains_images_by_the_grid_that_the_model_saw)
{
    static const char *const methods[] = {"rollout", "attention", "gradient", "gradient-last"};
    start("f32");
    for (size_t m = 0; m < MODELS * 4; m++) {
        struct json_t *cases = open_cases(models[m / 4]), *maps = open_maps(models[m / 4]);
        const struct json_t *one = doc_array_item(cases, 1);
        const struct json_t *row =
            doc_member(maps != NULL ? doc_array_item(maps, 1) : one, "rollout");
        char options[64], place[64];
        size_t patches = (size_t)grids[m / 4] * grids[m / 4], tokens = doc_array_count(row);
        double sum = 0, first, expected = 0;
        snprintf(options, sizeof options, "&explain=%s", methods[m % 4]);
        struct reply reply = ask(models[m / 4], one, options);
        ck_assert_uint_eq(reply_count(&reply, "explanation.relevance"), patches);
        ck_assert_double_eq(reply_number(&reply, "explanation.grid.0"), grids[m / 4]);
        for (size_t p = 0; p < patches; p++) {
            snprintf(place, sizeof place, "explanation.relevance.%zu", p);
            sum += reply_number(&reply, place);
            doc_as_number(doc_array_item(row, tokens - patches + p), &first);
            expected += first;
        }
        ck_assert_double_eq_tol(sum, 1, 1e-5);
        doc_as_number(doc_array_item(row, tokens - patches), &first);
        if (m % 4 == 0)
            ck_assert_double_eq_tol(reply_number(&reply, "explanation.relevance.0"),
                                    first / expected, 1e-5);
        reply_free(&reply);
        doc_free(cases);
        doc_free(maps);
    }
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

/* The checkpoints are seeded at random and their scores nearly level: an error shows. */
START_TEST(fewer_bits_leave_the_best_score_where_it_is)
{
    static const char *const dtypes[] = {"int8", "bf16"};
    for (size_t d = 0; d < 2; d++) {
        start(dtypes[d]);
        for (size_t m = 0; m < MODELS; m++) {
            struct json_t *cases = open_cases(models[m]);
            for (size_t i = 0; i < doc_array_count(cases); i++) {
                const struct json_t *one = doc_array_item(cases, i);
                double score;
                top(doc_member(one, "probs"), &score);
                struct reply reply = ask(models[m], one, "");
                ck_assert_msg(fabs(reply_number(&reply, "score") - score) < 0.05, "%s %s %zu",
                              models[m], dtypes[d], i);
                reply_free(&reply);
            }
            doc_free(cases);
        }
        ck_assert_int_eq(server_process_stop(&server), 0);
    }
}
END_TEST

SUITE("contract_families", the_program_scores_images_as_the_references_do,
      the_program_explains_images_by_the_grid_that_the_model_saw,
      fewer_bits_leave_the_best_score_where_it_is)
