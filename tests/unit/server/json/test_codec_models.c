/* The models in JSON: the list of all, and one alone. */
#include "server/json/codec_models.h"
#include "server/observe/drift.h"
#include "server/observe/label_shares.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const labels[] = {"Center", "Scratch"};
static const struct engine_info info = {.kind = ENGINE_IMAGE,
                                        .family = "vit",
                                        .version = "1",
                                        .dtype = "f32",
                                        .linear_backend = "openblas",
                                        .kernels = "avx2",
                                        .scores = "softmax",
                                        .labels = labels,
                                        .label_count = 2};

START_TEST(models_are_listed_with_name_version_digest_and_description)
{
    const struct model_row rows[] = {{.name = "wafer-vit",
                                      .version = "1",
                                      .digest = "sha256:00",
                                      .info = &info,
                                      .is_default = 1},
                                     {.name = "other", .version = "2", .info = &info}};
    struct arena arena;
    size_t len;
    arena_init(&arena);
    const char *text = codec_encode_models(rows, 2, &arena, &len);
    ck_assert_uint_eq(strlen(text), len);
    static const char head[] = "{\"models\":[{\"name\":\"wafer-vit\",\"version\":\"1\","
                               "\"digest\":\"sha256:00\",\"default\":true,\"kind\":\"image\"";
    ck_assert_int_eq(strncmp(text, head, sizeof head - 1), 0);
    ck_assert_ptr_nonnull(strstr(text, "{\"name\":\"other\",\"version\":\"2\",\"digest\":null,"
                                       "\"default\":false,\"kind\":\"image\""));
    ck_assert_str_eq(codec_encode_models(rows, 0, &arena, &len), "{\"models\":[]}");
    text = codec_encode_model(&rows[1], &arena, &len);
    ck_assert_int_eq(strncmp(text, "{\"name\":\"other\",\"version\":\"2\"", 29), 0);
    arena_deinit(&arena);
}
END_TEST

/* A model's description ends with it. */
static void expect_drift(const struct drift_figures *figures, const char *expected)
{
    const struct model_row row = {.name = "m", .version = "1", .info = &info, .drift = figures};
    struct arena arena;
    size_t len;
    arena_init(&arena);
    const char *text = codec_encode_model(&row, &arena, &len), *at = strstr(text, "\"drift\":");
    ck_assert_ptr_nonnull(at);
    ck_assert_str_eq(at + strlen("\"drift\":"), expected);
    arena_deinit(&arena);
}

START_TEST(a_model_tells_its_drift_as_far_as_it_is_known)
{
    expect_drift(NULL, "null,\"index\":null}");
    expect_drift(&(struct drift_figures){.count = 99},
                 "{\"label\":null,\"score\":null,\"ood\":null,\"count\":99},\"index\":null}");
    expect_drift(&(struct drift_figures){.count = 200, .has_psi = true, .psi = {0.5, 0, 1.25}},
                 "{\"label\":0.5,\"score\":0.0,\"ood\":1.25,\"count\":200},\"index\":null}");
    expect_drift(&(struct drift_figures){.count = 99, .is_number = true},
                 "{\"value\":null,\"count\":99},\"index\":null}");
    expect_drift(
        &(struct drift_figures){
            .count = 200, .has_psi = true, .is_number = true, .psi = {[DRIFT_VALUE] = 0.5}},
        "{\"value\":0.5,\"count\":200},\"index\":null}");
}
END_TEST

static void expect_label_shares(const struct model_row *row, const char *expected)
{
    struct arena arena;
    size_t len;
    arena_init(&arena);
    const char *text = codec_encode_model(row, &arena, &len);
    ck_assert_ptr_nonnull(text);
    if (expected != NULL)
        ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
    else
        ck_assert_ptr_null(strstr(text, "label_shares"));
    arena_deinit(&arena);
}

START_TEST(a_model_tells_the_shares_of_its_labels_if_it_is_asked_alone)
{
    static const double expected[] = {0.75, 0.25};
    static struct label_shares_figures figures = {.count = 99, .expected = expected};
    struct model_row row = {.name = "m", .version = "1", .info = &info};
    expect_label_shares(&row, NULL);
    row.with_label_shares = true;
    expect_label_shares(&row, "\"label_shares\":null,");
    row.label_shares = &figures;
    expect_label_shares(&row, "\"label_shares\":{\"count\":99,"
                              "\"expected\":{\"Center\":0.75,\"Scratch\":0.25");
    expect_label_shares(&row, ",\"estimated\":null},");
    figures.has_estimate = true;
    figures.estimated[0] = 0.5;
    expect_label_shares(&row, ",\"estimated\":{\"Center\":0.5,");
}
END_TEST

/* ---- allocation failure: every jansson allocation fails once, in turn ---- */

static unsigned allocations_left, live;

static void *failing_malloc(size_t size)
{
    if (allocations_left == 0)
        return NULL;
    allocations_left--;
    void *memory = malloc(size);
    live += memory != NULL;
    return memory;
}

static void counting_free(void *memory)
{
    live -= memory != NULL;
    free(memory);
}

START_TEST(a_model_survives_the_failure_of_any_allocation)
{
    static const double expected[] = {0.75, 0.25};
    static const struct label_shares_figures shares = {.has_estimate = true, .expected = expected};
    const struct drift_figures drift = {.count = 1};
    const struct model_row row = {.name = "m",
                                  .version = "1",
                                  .info = &info,
                                  .drift = &drift,
                                  .with_label_shares = true,
                                  .label_shares = &shares};
    struct arena arena;
    const char *text = NULL;
    unsigned failures = 0;
    arena_init(&arena);
    json_set_alloc_funcs(failing_malloc, counting_free);
    for (unsigned allowed = 0; text == NULL; allowed++) {
        size_t len;
        allocations_left = allowed;
        live = 0;
        text = codec_encode_model(&row, &arena, &len);
        failures += text == NULL;
        ck_assert_uint_eq(live, 0);
    }
    json_set_alloc_funcs(malloc, free);
    ck_assert_uint_gt(failures, 50);
    arena_deinit(&arena);
}
END_TEST

SUITE("codec_models", models_are_listed_with_name_version_digest_and_description,
      a_model_tells_its_drift_as_far_as_it_is_known,
      a_model_tells_the_shares_of_its_labels_if_it_is_asked_alone,
      a_model_survives_the_failure_of_any_allocation)
