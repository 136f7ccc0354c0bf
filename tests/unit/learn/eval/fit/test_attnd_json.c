#include "engine/base/file.h"
#include "engine/base/rng.h"
#include "learn/eval/fit/attnd_json.h"
#include "learn/eval/fit/outlier.h"
#include "learn/eval/fit/outlier_threshold.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/golden_file.h"
#include "tests/support/suite.h"

#include <limits.h>
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
                                      .width = HIDDEN,
                                      .hidden = HIDDEN,
                                      .label_count = LABELS};
    outlier_fit(&spec.policy.ood, method, &data, 0, &arena, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    outlier_scores(&spec.policy.ood, logits, &data, scores);
    ck_assert(!outlier_threshold_fit(&spec.policy.ood,
                                     &(struct outlier_answers){.scores = scores, .count = COUNT},
                                     0.99, &arena, &err));
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
    spec.policy.learnt_grey = spec.family->kind == ENGINE_IMAGE;
    spec.policy.target_precision = 0.95;
    spec.policy.thresholds = thresholds;
    struct class_code codes[LABELS] = {{.number = 17}, {.text = "B\"2"}};
    spec.class_codes = codes;
    spec.image_reading = (struct image_reading){4, REDUCTION_LINES};
    spec.token_pruning = (struct token_pruning){1, 0.28};
    spec.layers = 3;
    struct spec found = again();
    ck_assert_uint_eq(found.token_pruning.full_layers, 1);
    ck_assert_double_eq(found.token_pruning.share, 0.28);
    ck_assert_uint_eq(found.image_reading.views, 4);
    ck_assert_int_eq(found.image_reading.reduction, REDUCTION_LINES);
    ck_assert_int_eq(found.class_codes[0].number, 17);
    ck_assert_str_eq(found.class_codes[1].text, "B\"2");
    ck_assert_str_eq(found.version, spec.version);
    ck_assert_double_eq_tol(found.temperature, spec.temperature, 1e-8);
    ck_assert(found.grey16_minmax && found.policy.target_precision == 0.95);
    ck_assert(found.policy.learnt_grey == spec.policy.learnt_grey);
    for (unsigned i = 0; i < LABELS; i++)
        ck_assert(found.policy.thresholds[i] == thresholds[i] ||
                  (isnan(found.policy.thresholds[i]) && isnan(thresholds[i])));
    ck_assert_int_eq(found.policy.ood.method, OOD_ENERGY);
    ck_assert(!found.policy.ood.has_threshold);
    teardown();
}
END_TEST

START_TEST(attnd_json_keeps_what_the_scores_were_fitted_for_and_what_is_expected)
{
    static const double fitted[LABELS] = {22106, 779, 0, 1.5, 1e12, 3, 4, 4, 1.0 / 3};
    static const char *const priors[] = {"natural", "equal", "counts"};
    setup();
    double expected[LABELS] = {0.5, 0.25, 0.125, 0.125};
    for (unsigned kind = 0; kind < 3; kind++) {
        spec.class_prior = (struct class_prior){.kind = (enum class_prior_kind)kind,
                                                .fitted = fitted,
                                                .expected = kind == 2 ? expected : NULL};
        const struct class_prior found = again().class_prior;
        ck_assert_str_eq(class_prior_name(&found), priors[kind]);
        ck_assert_int_eq(found.shifts != NULL, kind > 0);
        for (unsigned i = 0; i < LABELS; i++) {
            ck_assert_double_le(fabs(found.fitted[i] - fitted[i]), 1e-12 * fitted[i]);
            if (kind == 2)
                ck_assert_double_eq(found.expected[i], expected[i]);
        }
    }
    teardown();
}
END_TEST

START_TEST(attnd_json_of_defaults_reads_back_to_defaults)
{
    setup();
    struct spec found = again();
    ck_assert_str_eq(found.version, "1");
    ck_assert(found.temperature == 1 && !found.grey16_minmax && found.policy.target_precision == 0);
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

/* ---- the text itself ---- */

/* A model of 12 features and five labels, two of which are alike. */
static const char small_config[] =
    "{\"model_type\": \"vit\", \"hidden_size\": 12, \"num_attention_heads\": 3, \"id2label\": "
    "{\"0\": \"a\", \"1\": \"twin\", \"2\": \"quote \\\" and \\\\\", \"3\": \"twin\", "
    "\"4\": \"line\\nbreak\"}}";

static void setup_small(void)
{
    arena_init(&arena);
    err = (struct err){0};
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", small_config);
    ck_assert_msg(spec_read(&spec, writer.dir, &arena, &err) == ERR_OK, "%s", err.text);
}

/* Thirds and multiples, which have no end; numbers end where they would not be read again alike. */
static void fill_small(enum ood_method method)
{
    static float numbers[64];
    static const float thresholds[] = {1.0f / 3, NAN, 0, 0.5f, 1};
    static struct class_code codes[] = {
        {.number = -17}, {.text = "B\"2"}, {.number = 1}, {.number = 2}, {.text = "\x1f"}};
    for (unsigned i = 0; i < 64; i++)
        numbers[i] = (float)(i + 1) / 3 * (i % 2 ? -1 : 1);
    static float positive[] = {0.1f, 2.0f / 3, 1e-9f};
    static float class_means[] = {1, 2, 3, NAN, 0, 0, 4, 5, 6, 7, 8, 9, -1, -2, -3};
    spec.version = "2 \"beta\"\t";
    spec.temperature = 4.0 / 3;
    spec.policy.target_precision = 0.95;
    spec.policy.thresholds = thresholds;
    spec.class_codes = codes;
    spec.grey16_minmax = true;
    spec.policy.ood = (struct ood){.method = method,
                                   .hidden = 12,
                                   .label_count = 5,
                                   .has_threshold = true,
                                   .threshold = 20.0f / 3,
                                   .quantile_count = 0,
                                   .components = 3,
                                   .mean = numbers,
                                   .projection = numbers + 12,
                                   .variances = positive,
                                   .class_means = class_means,
                                   .residual = 1.0f / 7,
                                   .background = positive};
}

static void expect_golden(const char *path)
{
    struct golden_file golden;
    char written[128], *bytes;
    size_t len;
    ck_assert_msg(!attnd_json_write(writer.dir, &spec, &err), "%s", err.text);
    snprintf(written, sizeof written, "%s/attnd.json", writer.dir);
    ck_assert(!file_read(&bytes, &len, written, 1 << 20, &err));
    golden_file_open(&golden);
    fwrite(bytes, 1, len, golden.file);
    free(bytes);
    golden_file_expect(&golden, path);
}

/* ATTND_GOLDEN_WRITE=1 writes them anew. */
START_TEST(attnd_json_is_the_golden)
{
    static float quantiles[] = {-1, -0.5f, 1.0f / 3, 1, 2, 3, 4, 5, 6.125f, 7};
    setup_small();
    fill_small(OOD_MAHALANOBIS);
    expect_golden("tests/data/eval/attnd/mahalanobis.json");
    fill_small(OOD_RELATIVE);
    spec.policy.ood.quantiles = quantiles;
    spec.policy.ood.quantile_count = 10;
    spec.policy.ood.has_threshold = false;
    spec.grey16_minmax = false;
    expect_golden("tests/data/eval/attnd/relative.json");
    fill_small(OOD_ENERGY);
    spec.policy.target_precision = 0;
    spec.policy.thresholds = NULL;
    spec.class_codes = NULL;
    expect_golden("tests/data/eval/attnd/energy.json");
    spec.policy.ood.method = OOD_NONE;
    spec.version = "1";
    expect_golden("tests/data/eval/attnd/bare.json");
    teardown();
}
END_TEST

/* Two labels share a text, and so a member. */
static struct drift_reference small_reference(void)
{
    static float shares[] = {0.5f, 1.0f / 3, 0, 1.0f / 3, 1.0f / 6};
    static float edges[] = {-1.0f / 3, 1.0f / 3, 1e30f}, bins[] = {1.0f / 7, 6.0f / 7, 0, 0};
    return (struct drift_reference){
        .count = 123456,
        .label_count = 5,
        .label_shares = shares,
        .edges = {NULL, edges, edges + 1},
        .psi = {[DRIFT_SCORE] = {4, bins, 123456}, [DRIFT_OOD] = {3, bins, 123456}}};
}

START_TEST(attnd_json_keeps_a_reference_to_the_bit)
{
    setup_small();
    fill_small(OOD_NONE);
    const struct drift_reference reference = small_reference();
    spec.reference = &reference;
    expect_golden("tests/data/eval/attnd/reference.json");
    const struct drift_reference *found = again().reference;
    ck_assert_uint_eq(found->count, reference.count);
    ck_assert_mem_eq(found->label_shares, reference.label_shares, 5 * sizeof(float));
    ck_assert_mem_eq(found->edges[DRIFT_SCORE], reference.edges[DRIFT_SCORE], 3 * sizeof(float));
    ck_assert_mem_eq(found->psi[DRIFT_SCORE].shares, reference.psi[DRIFT_SCORE].shares,
                     4 * sizeof(float));
    ck_assert_uint_eq(found->psi[DRIFT_OOD].bin_count, 3);
    ck_assert_uint_eq(found->psi[DRIFT_LABEL].bin_count, 4);
    spec.reference = found;
    ck_assert_uint_eq(again().reference->digest, found->digest);
    teardown();
}
END_TEST

START_TEST(attnd_json_keeps_a_pin_and_agreements)
{
    static const char digest[] =
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct precision_record *written = &spec.precisions;
    setup_small();
    *written = (struct precision_record){.is_pinned = true, .pinned = PRECISION_BF16};
    for (enum precision p = PRECISION_INT8; p > PRECISION_F32; p--) { /* one, then two of them */
        struct precision_agreement *of = &written->agreement[p];
        *of = (struct precision_agreement){PRECISION_INPUTS_MAX, 700u + p, -1.0 / 3, ""};
        memcpy(of->digest, digest, sizeof of->digest);
        const struct precision_record found = again().precisions;
        ck_assert(found.is_pinned && found.pinned == PRECISION_BF16);
        for (int i = 0; i < PRECISION_COUNT; i++) {
            ck_assert_uint_eq(found.agreement[i].inputs, written->agreement[i].inputs);
            ck_assert_uint_eq(found.agreement[i].same_winner, written->agreement[i].same_winner);
            ck_assert_double_eq_tol(found.agreement[i].f1_points, written->agreement[i].f1_points,
                                    1e-9);
            ck_assert_str_eq(found.agreement[i].digest, written->agreement[i].digest);
        }
    }
    written->agreement[PRECISION_INT8].same_winner = PRECISION_INPUTS_MAX + 1;
    ck_assert_int_eq(attnd_json_write(writer.dir, &spec, &err), ERR_UNUSABLE);
    teardown();
}
END_TEST

START_TEST(attnd_json_says_what_would_not_be_read_again)
{
    setup_small();
    fill_small(OOD_NONE);
    spec.temperature = 1e9;
    ck_assert_int_eq(attnd_json_write(writer.dir, &spec, &err), ERR_UNUSABLE);
    ck_assert_ptr_eq(strstr(err.text, "attnd.json would not be read again: $.temperature"),
                     err.text);
    err = (struct err){0};
    fill_small(OOD_ENERGY);
    spec.policy.ood.quantiles = (float[]){1};
    spec.policy.ood.quantile_count = 1;
    ck_assert_int_eq(attnd_json_write(writer.dir, &spec, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(
        strstr(err.text, "read again: $.ood.quantiles must be an array of 2 to "));
    teardown();
}
END_TEST

/* "/attnd.json" and the end of the text take 12 of PATH_MAX characters. */
START_TEST(attnd_json_needs_a_path_that_can_be)
{
    static char dir[PATH_MAX];
    setup_small();
    memset(dir, 'x', PATH_MAX - 11);
    ck_assert_int_eq(attnd_json_write(dir, &spec, &err), ERR_IO);
    char text[160];
    snprintf(text, sizeof text, "%.100s...: the directory's path is too long", dir);
    ck_assert_str_eq(err.text, text);
    err = (struct err){0};
    dir[PATH_MAX - 12] = '\0';
    ck_assert_int_eq(attnd_json_write(dir, &spec, &err), ERR_IO);
    ck_assert_str_ne(err.text, text);
    teardown();
}
END_TEST

SUITE("attnd_json", attnd_json_reads_back_to_the_bit,
      attnd_json_keeps_what_the_scores_were_fitted_for_and_what_is_expected,
      attnd_json_of_defaults_reads_back_to_defaults,
      attnd_json_keeps_statistics_within_200_kilobytes,
      attnd_json_leaves_the_old_file_if_the_new_one_would_be_refused, attnd_json_is_the_golden,
      attnd_json_keeps_a_reference_to_the_bit, attnd_json_says_what_would_not_be_read_again,
      attnd_json_keeps_a_pin_and_agreements, attnd_json_needs_a_path_that_can_be)
