/* stage_map.c against PyTorch's attention and gradients laid out as dense matrices
 * (tests/reference/stage_maps.py), and what holds for every layer. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "engine/engine.h"
#include "tests/support/run_logits.h"
#include "tests/support/sources.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "tests/data/golden/"

enum { PATCHES = 144, LABELS = 5, LABEL = 1 };

/* swin-1's last stage has several windows, shifted in the last layer. */
static const char *const models[] = {"swin-0", "swin-1"};

struct asked {
    const char *name;
    struct engine_model *model;
    struct engine_session *session;
    struct json_t *cases;
    struct arena arena;
};

static void must(const struct err *err)
{
    ck_assert_msg(err->code == ERR_OK, "%s", err->text);
}

static struct json_t *open_file(const struct asked *asked, const char *file)
{
    char path[256];
    struct json_t *root;
    struct err err = {0};
    snprintf(path, sizeof path, GOLDEN "%s/%s", asked->name, file);
    doc_parse_file(&root, path, 1 << 20, &err);
    must(&err);
    return root;
}

static void asked_open(struct asked *asked, const char *name, const char *dtype)
{
    char dir[128];
    struct err err = {0};
    asked->name = name;
    snprintf(dir, sizeof dir, GOLDEN "%s", name);
    /* The reference multiplies bf16 on every processor. */
    const char *backend = strcmp(dtype, "bf16") == 0 ? "reference" : NULL;
    engine_open(&asked->model, dir,
                &(struct engine_options){.dtype = dtype, .linear_backend = backend}, &err);
    must(&err);
    engine_session_open(&asked->session, asked->model, 2 * PATCHES, 2, &err);
    must(&err);
    asked->cases = open_file(asked, "cases.json");
    arena_init(&asked->arena);
}

static void asked_close(struct asked *asked)
{
    arena_deinit(&asked->arena);
    doc_free(asked->cases);
    engine_session_close(asked->session);
    engine_close(asked->model);
}

static void prepare(struct asked *asked, size_t index, struct engine_input *input)
{
    char path[256], *bytes;
    size_t len;
    struct err err = {0};
    const struct json_t *one = doc_array_item(asked->cases, index);
    snprintf(path, sizeof path, GOLDEN "images/%s", doc_as_string(doc_member(one, "image")));
    ck_assert(!file_read(&bytes, &len, path, 1 << 24, &err));
    engine_prepare(asked->model, picture_source(bytes, len, 1 << 25), NULL, &asked->arena, input,
                   &err);
    must(&err);
    free(bytes);
}

/* The map of a case, in a batch where it comes second. */
static const float *map_of(struct asked *asked, size_t index, const struct explain_options *how)
{
    struct engine_input inputs[2];
    float logits[2][LABELS];
    const float *relevance;
    struct err err = {0};
    prepare(asked, 3, &inputs[0]);
    prepare(asked, index, &inputs[1]);
    engine_capture(asked->model, &inputs[1], how, &asked->arena, &err);
    must(&err);
    run_logits_rows(asked->session, inputs, 2, logits[0], LABELS);
    engine_relevance(asked->model, &inputs[1], how, LABEL, &asked->arena, &relevance, &err);
    must(&err);
    return relevance;
}

static void check_map(struct asked *asked, size_t index, const struct json_t *expected,
                      const char *name, const struct explain_options *how, double tolerance)
{
    const struct json_t *map = doc_member(expected, name);
    const float *relevance = map_of(asked, index, how);
    ck_assert_uint_eq(doc_array_count(map), PATCHES);
    for (size_t p = 0; p < PATCHES; p++) {
        double value;
        doc_as_number(doc_array_item(map, p), &value);
        ck_assert_msg(fabs(relevance[p] - value) < tolerance,
                      "%s of %zu, patch %zu: %.7g, not %.7g", name, index, p, (double)relevance[p],
                      value);
    }
}

static void check_maps(const char *model, const char *dtype, double tolerance)
{
    static const struct {
        const char *name;
        struct explain_options how;
    } maps[] = {{"rollout", {.method = EXPLAIN_ROLLOUT}},
                {"rollout3", {.method = EXPLAIN_ROLLOUT, .layer = 3}},
                {"attention", {.method = EXPLAIN_ATTENTION}},
                {"attention2", {.method = EXPLAIN_ATTENTION, .layer = 2}},
                {"gradient", {.method = EXPLAIN_GRADIENT}},
                {"gradient-last", {.method = EXPLAIN_GRADIENT_LAST}}};
    struct asked asked;
    asked_open(&asked, model, dtype);
    struct json_t *expected = open_file(&asked, "maps.json");
    for (size_t i = 0; i < doc_array_count(expected); i++)
        for (size_t m = 0; m < sizeof maps / sizeof *maps; m++)
            check_map(&asked, i, doc_array_item(expected, i), maps[m].name, &maps[m].how,
                      tolerance);
    doc_free(expected);
    asked_close(&asked);
}

START_TEST(maps_are_those_of_pytorchs_attention_and_gradients)
{
    check_maps(models[0], "f32", 1e-6);
    check_maps(models[1], "f32", 1e-6);
}
END_TEST

START_TEST(maps_of_fewer_bits_stay_near)
{
    check_maps(models[0], "bf16", 2e-3);
    check_maps(models[0], "int8", 2e-3);
}
END_TEST

START_TEST(every_layers_map_is_a_distribution_over_the_patches)
{
    struct asked asked;
    asked_open(&asked, models[1], "f32");
    for (unsigned layer = 1; layer <= engine_describe(asked.model)->layers; layer++)
        for (unsigned m = EXPLAIN_ROLLOUT; m <= EXPLAIN_ATTENTION; m++) {
            double sum = 0;
            const struct explain_options how = {.method = (enum explain_method)m, .layer = layer};
            const float *relevance = map_of(&asked, 0, &how);
            for (size_t p = 0; p < PATCHES; p++) {
                ck_assert(relevance[p] >= 0);
                sum += relevance[p];
            }
            ck_assert_double_eq_tol(sum, 1, 1e-5);
        }
    asked_close(&asked);
}
END_TEST

/* A capture takes the bytes that engine_capture_bytes tells, or fewer. */
START_TEST(capture_takes_at_most_the_bytes_that_were_told)
{
    struct asked asked;
    asked_open(&asked, models[1], "f32");
    for (unsigned m = EXPLAIN_ROLLOUT; m <= EXPLAIN_GRADIENT_LAST; m++) {
        const struct explain_options how = {.method = (enum explain_method)m};
        struct engine_input input;
        struct arena arena;
        struct err err = {0};
        arena_init(&arena);
        prepare(&asked, 0, &input);
        ck_assert(!engine_capture(asked.model, &input, &how, &arena, &err));
        size_t told = engine_capture_bytes(asked.model, &input, &how), blocks = 1 << 16;
        ck_assert_msg(arena.bytes <= told + blocks, "%zu taken, %zu told", arena.bytes, told);
        arena_deinit(&arena);
    }
    asked_close(&asked);
}
END_TEST

START_TEST(statistics_of_attention_are_refused)
{
    struct asked asked;
    struct engine_input input;
    struct err err = {0};
    const struct explain_options how = {.statistics = true};
    asked_open(&asked, models[0], "f32");
    prepare(&asked, 0, &input);
    ck_assert_int_eq(engine_capture(asked.model, &input, &how, &asked.arena, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "there are no attention statistics of a swin: its attention has "
                               "windows, and its layers have different heads");
    asked_close(&asked);
}
END_TEST

SUITE("stage_map", maps_are_those_of_pytorchs_attention_and_gradients, maps_of_fewer_bits_stay_near,
      every_layers_map_is_a_distribution_over_the_patches,
      capture_takes_at_most_the_bytes_that_were_told, statistics_of_attention_are_refused)
