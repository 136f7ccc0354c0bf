#include "engine/base/file.h"
#include "engine/base/rng.h"
#include "engine/eval/attnd_json.h"
#include "engine/eval/outlier.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HIDDEN = 192, LABELS = 9, COUNT = 1800 };

static const char config[] =
    "{\"model_type\": \"vit\", \"hidden_size\": 192, \"num_attention_heads\": 3, \"id2label\": "
    "{\"0\": \"none\", \"1\": \"Edge-Loc\", \"2\": \"quote \\\" and \\\\\", \"3\": "
    "\"line\\nbreak\", "
    "\"4\": \"\xC3\xA9\", \"5\": \"\", \"6\": \"twin\", \"7\": \"twin\", \"8\": \"last\"}}";

static struct checkpoint_writer writer;
static struct arena arena;
static struct spec spec;
static struct err err;

static void setup(void)
{
    arena_init(&arena);
    err = (struct err){0};
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    ck_assert_msg(spec_read(&spec, writer.dir, &arena, &err) == ERR_OK, "%s", err.text);
}

static void teardown(void)
{
    checkpoint_writer_close(&writer);
    arena_deinit(&arena);
}

/* Writes spec and reads it back. */
static struct spec again(void)
{
    struct spec found;
    attnd_json_write(writer.dir, &spec, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    spec_read(&found, writer.dir, &arena, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    return found;
}

static float features[COUNT * HIDDEN];

static void fit(enum ood_method method)
{
    static unsigned classes[COUNT];
    static float scores[COUNT], logits[COUNT * LABELS];
    struct rng rng = rng_for(5, 0, 0);
    for (size_t i = 0; i < COUNT; i++) {
        classes[i] = (unsigned)(i % 7); /* the second twin and "last" have no input */
        for (size_t d = 0; d < HIDDEN; d++)
            features[i * HIDDEN + d] =
                (0.05f + 1e-3f * (float)d) * rng_normal(&rng) + (d == classes[i]);
    }
    const struct outlier_data data = {.features = features,
                                      .classes = classes,
                                      .count = COUNT,
                                      .hidden = HIDDEN,
                                      .label_count = LABELS};
    outlier_fit(&spec.policy.ood, method, &data, 0, &arena, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    outlier_scores(&spec.policy.ood, logits, &data, scores);
    ck_assert_int_eq(outlier_calibrate(&spec.policy.ood, scores, COUNT, 0.99, &arena, &err),
                     ERR_OK);
}

static size_t file_bytes(void)
{
    char path[128];
    struct stat status;
    snprintf(path, sizeof path, "%s/attnd.json", writer.dir);
    ck_assert_int_eq(stat(path, &status), 0);
    return (size_t)status.st_size;
}

START_TEST(attnd_json_reads_back_to_the_bit)
{
    static const float thresholds[LABELS] = {0.1f, 1.0f / 3, 0.97654321f, NAN,   0,
                                             1,    0.5f,     0.5f,        1e-20f};
    setup();
    spec.version = "2 \"beta\"";
    spec.temperature = 1.2345678901234567;
    spec.grey16_minmax = true;
    spec.policy.purity = 0.95;
    spec.policy.thresholds = thresholds;
    struct class_code codes[LABELS] = {{.number = 17}, {.text = "B\"2"}};
    spec.class_codes = codes;
    struct spec found = again();
    ck_assert_int_eq(found.class_codes[0].number, 17);
    ck_assert_str_eq(found.class_codes[1].text, "B\"2");
    ck_assert_str_eq(found.version, spec.version);
    ck_assert_double_eq_tol(found.temperature, spec.temperature, 1e-8);
    ck_assert(found.grey16_minmax && found.policy.purity == 0.95);
    for (unsigned i = 0; i < LABELS; i++)
        ck_assert(found.policy.thresholds[i] == thresholds[i] ||
                  (isnan(found.policy.thresholds[i]) && isnan(thresholds[i])));
    ck_assert_int_eq(found.policy.ood.method, OOD_ENERGY);
    ck_assert(!found.policy.ood.has_threshold);
    teardown();
}
END_TEST

START_TEST(attnd_json_of_defaults_reads_back_to_defaults)
{
    setup();
    struct spec found = again();
    ck_assert_str_eq(found.version, "1");
    ck_assert(found.temperature == 1 && !found.grey16_minmax && found.policy.purity == 0);
    ck_assert_ptr_null(found.policy.thresholds);
    teardown();
}
END_TEST

/* The scores of inputs known and strange, by the statistics as fitted and as read again. */
static void expect_same_scores(const struct ood *fitted, const struct ood *found)
{
    struct rng rng = rng_for(6, 0, 0);
    for (unsigned i = 0; i < 40; i++) {
        float *x = features + i * HIDDEN;
        for (unsigned d = 0; d < HIDDEN && i % 2 == 1; d++)
            x[d] = rng_normal(&rng);
        double expected = (double)ood_score(fitted, NULL, x);
        ck_assert_double_eq_tol((double)ood_score(found, NULL, x), expected,
                                1e-4 * fabs(expected) + 1e-3);
    }
}

START_TEST(attnd_json_keeps_statistics_within_200_kilobytes)
{
    static const enum ood_method methods[] = {OOD_MAHALANOBIS, OOD_RELATIVE};
    for (size_t i = 0; i < 2; i++) {
        setup();
        fit(methods[i]);
        struct spec found = again();
        const struct ood *fitted = &spec.policy.ood, *read = &found.policy.ood;
        ck_assert_int_eq(read->method, methods[i]);
        ck_assert_uint_eq(read->components, fitted->components);
        ck_assert(read->threshold == fitted->threshold);
        ck_assert_mem_eq(read->quantiles, fitted->quantiles,
                         OUTLIER_QUANTILES * sizeof *read->quantiles);
        ck_assert(isnan(read->class_means[8 * read->components]));
        expect_same_scores(fitted, read);
        ck_assert_uint_lt(file_bytes(), 200 * 1000);
        teardown();
    }
}
END_TEST

START_TEST(attnd_json_leaves_the_old_file_if_the_new_one_would_be_refused)
{
    setup();
    spec.temperature = 2;
    again();
    size_t before = file_bytes();
    spec.temperature = 1e9;
    ck_assert_int_eq(attnd_json_write(writer.dir, &spec, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "$.temperature"));
    err = (struct err){0};
    spec.temperature = 2;
    spec.policy.ood.threshold = INFINITY;
    spec.policy.ood.has_threshold = true;
    ck_assert_int_eq(attnd_json_write(writer.dir, &spec, &err), ERR_UNUSABLE);
    ck_assert_uint_eq(file_bytes(), before);
    err = (struct err){0};
    ck_assert_int_eq(attnd_json_write("/no/such/dir", &spec, &err), ERR_UNUSABLE);
    err = (struct err){0};
    spec.policy.ood.has_threshold = false;
    ck_assert_int_eq(attnd_json_write("/no/such/dir", &spec, &err), ERR_IO);
    teardown();
}
END_TEST

SUITE("attnd_json", attnd_json_reads_back_to_the_bit, attnd_json_of_defaults_reads_back_to_defaults,
      attnd_json_keeps_statistics_within_200_kilobytes,
      attnd_json_leaves_the_old_file_if_the_new_one_would_be_refused)
