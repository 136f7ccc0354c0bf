/* fit_trust.h, on a BERT that has learnt two words in milliseconds and decides by their examples: a
 * label more leaves what it decides of all others as it is. */
#include "learn/fit/fit_trust.h"

#include "engine/base/file.h"
#include "engine/base/openblas.h"
#include "engine/model/head_parts.h"
#include "learn/fit/fit_decide.h"
#include "learn/fit/fit_write.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OF_NEW = 10, LIST_BYTES = 32768 };

static const char decisions[] =
    "{\"version\": \"7\", \"temperature\": 1.5, \"head\": \"attnd_head.safetensors\", "
    "\"target_precision\": 0.9, \"thresholds\": {\"cold\": 0.625, \"hot\": null}, "
    "\"class_codes\": {\"cold\": 7, \"hot\": \"H1\"}, "
    "\"dtype\": \"int8\", \"agreement\": {\"int8\": {\"inputs\": 9, \"same_winner\": 9, "
    "\"macro_f1_points\": 0, \"digest\": \"sha256:"
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}}, "
    "\"truncation\": \"accept\", \"fitted_prior\": {\"cold\": 900, \"hot\": 100}, "
    "\"ood\": {\"method\": \"neighbours\", \"neighbours\": 10, \"threshold\": 0.0625, "
    "\"thresholds\": {\"cold\": 0.125, \"hot\": null}, \"quantiles\": [0.01, 0.03, 0.25]}, "
    "\"reference\": {\"count\": 1000, \"labels\": {\"cold\": 0.875, \"hot\": 0.125}, "
    "\"score\": {\"edges\": [0.5], \"shares\": [0.25, 0.75]}, "
    "\"ood\": {\"edges\": [0.5], \"shares\": [0.5, 0.5]}}}";

static struct train_fixture fixture;
static char list[128], out[128];

/* `count` texts of `label` behind those that are there; the first call begins anew. */
static void write_list(const char *text, const char *label, unsigned count, bool is_more)
{
    static char lines[LIST_BYTES];
    static size_t len;
    len = is_more ? len : 0;
    for (unsigned i = 0; i < count; i++)
        len += (size_t)snprintf(lines + len, sizeof lines - len,
                                "{\"text\": \"%s %s %u\", \"label\": \"%s\"}\n", text,
                                i % 2 > 0 ? "grey" : "green", i, label);
    tempdir_write(&fixture.data, "labelled.jsonl", lines, len);
}

/* A model with examples and these decisions. */
static void open_fixture(void)
{
    char text[TRAIN_FIXTURE_TEXTS * 80] = "";
    size_t len = 0;
    train_fixture_texts(&fixture);
    for (unsigned i = 0; i < 80; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "{\"text\":\"%s %u\",\"label\":\"%s\"}\n",
                                i % 2 == 0 ? "red" : "blue", i, i % 2 == 0 ? "hot" : "cold");
    tempdir_write(&fixture.data, "list.jsonl", text, len);
    train_fixture_learn(&fixture);
    tempdir_write(&fixture.first, "attnd.json", decisions, sizeof decisions - 1);
    snprintf(list, sizeof list, "%s/labelled.jsonl", fixture.data.path);
    snprintf(out, sizeof out, "%s/new", fixture.second.path);
}

static void close_fixture(void)
{
    tempdir_remove(out);
    train_fixture_close(&fixture);
}

static void run(struct fit *fit)
{
    const struct fit_progress silent = {NULL, NULL};
    const struct fit_options how = {.model = fixture.first.path,
                                    .data = list,
                                    .out = out,
                                    .threads = 1,
                                    .loss_max = 100,
                                    .automatic_max = 2,
                                    .prior = "natural",
                                    .target_precision = 0.9};
    struct err err = {0};
    openblas_set_environment();
    ck_assert_msg(!fit_open(fit, &how, &err) && !fit_features(fit, &silent, &err) &&
                      !fit_head(fit, &silent, &err),
                  "%s", err.text);
}

static void read_spec(struct spec *spec, struct arena *arena)
{
    struct err err = {0};
    arena_init(arena);
    ck_assert_msg(!spec_read(spec, out, arena, &err), "%s", err.text);
}

START_TEST(a_label_more_leaves_every_other_decision_as_it_was)
{
    struct fit fit;
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    open_fixture();
    write_list("grey green grey green", "pale", OF_NEW, false);
    run(&fit);
    ck_assert(fit.adds);
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    read_spec(&spec, &arena);
    ck_assert_str_eq(spec.version, "8");
    ck_assert_double_eq(spec.temperature, 1.5);
    ck_assert_double_eq(spec.policy.target_precision, 0.9);
    ck_assert(spec.policy.accepts_truncated);
    ck_assert(spec.precisions.is_pinned && spec.precisions.pinned == PRECISION_INT8);
    ck_assert_uint_eq(spec.precisions.agreement[PRECISION_INT8].inputs, 0); /* of other weights */
    ck_assert_int_eq(spec.class_codes[0].number, 7);
    ck_assert_str_eq(spec.class_codes[1].text, "H1");
    ck_assert(spec.class_codes[2].is_none);
    ck_assert_float_eq(spec.policy.thresholds[0], 0.625F);
    ck_assert(isnan(spec.policy.thresholds[1]) && isnan(spec.policy.thresholds[2]));
    ck_assert_int_eq(spec.policy.ood.method, OOD_NEIGHBOURS);
    ck_assert_float_eq(spec.policy.ood.threshold, 0.0625F);
    ck_assert_float_eq(spec.policy.ood.label_thresholds[0], 0.125F);
    ck_assert(isnan(spec.policy.ood.label_thresholds[1]));
    ck_assert(isnan(spec.policy.ood.label_thresholds[2]));
    ck_assert_uint_eq(spec.policy.ood.quantile_count, 3);
    ck_assert_uint_eq(spec.reference->count, 1000);
    ck_assert_float_eq(spec.reference->label_shares[0], 0.875F);
    ck_assert_float_eq(spec.reference->label_shares[2], 0);
    ck_assert_double_eq(spec.class_prior.fitted[0], 900);
    ck_assert_double_eq(spec.class_prior.fitted[2], OF_NEW);
    arena_deinit(&arena);
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(fit_keeps_the_logits_of_old_labels_and_trusts_no_more_answers)
{
    struct fit fit;
    struct err err = {0};
    open_fixture();
    write_list("grey green grey green", "pale", OF_NEW, false);
    run(&fit);
    for (size_t i = 0; i < fit.rows.count; i++)
        for (unsigned c = 0; c < 2; c++)
            ck_assert_float_eq_tol(fit.rows.after[i * 3 + c], fit.rows.before[i * 2 + c], 2e-3F);
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    ck_assert_uint_eq(fit.before.decisions.count, fit.rows.count);
    ck_assert_uint_le(fit.after.trusted, fit.before.trusted);
    ck_assert_uint_gt(fit.before.trusted, 0);
    fit_close(&fit);
    close_fixture();
}
END_TEST

static void expect_file_says(const char *name, const char *text)
{
    char path[PATH_MAX], *bytes;
    size_t len;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/%s", out, name);
    ck_assert_int_eq(file_read(&bytes, &len, path, 1 << 20, &err), ERR_OK);
    ck_assert_msg(strstr(bytes, text) != NULL, "%s: %s", name, text);
    free(bytes);
}

/* Ten inputs choose no threshold, and the report does not speak as if they had. */
START_TEST(the_report_tells_what_the_model_will_do_when_it_is_served)
{
    struct fit fit;
    struct err err = {0};
    char *text;
    size_t len;
    open_fixture();
    write_list("grey green grey green", "pale", OF_NEW, false);
    run(&fit);
    FILE *shown = open_memstream(&text, &len);
    ck_assert_msg(!fit_write(&fit, shown, &err), "%s", err.text);
    fclose(shown);
    ck_assert_ptr_nonnull(strstr(text, "note: 2 of 3 classes are never automatic: 'hot' (never the "
                                       "answer), 'pale' (10 of 10 answers right); attnd.json has "
                                       "no threshold for them\n"));
    ck_assert_ptr_nonnull(strstr(text, "\n    automatic "));
    ck_assert_ptr_nonnull(strstr(text, "\n    unknown "));
    ck_assert_ptr_nonnull(strstr(text, "     0.6250\n"));
    expect_file_says("report.html", "Automatic as it is served");
    expect_file_says("report.html", "<th scope=\"row\">Unknown</th>");
    expect_file_says("report.json", "\"decisions\":{\"inputs\":");
    free(text);
    fit_close(&fit);
    close_fixture();
}
END_TEST

/* Inputs of the labels that it has, enough for thresholds: 0.625 is not undercut, and neither are
 * the OOD score's. */
START_TEST(new_inputs_make_thresholds_stricter_only)
{
    struct fit fit;
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    open_fixture();
    write_list("blue blue blue", "cold", 60, false);
    write_list("red red red", "hot", 60, true);
    write_list("grey green grey green", "pale", OF_NEW, true);
    run(&fit);
    ck_assert(!fit.adds);
    ck_assert(fit_decides_anew(&fit));
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    read_spec(&spec, &arena);
    ck_assert_float_ge(spec.policy.thresholds[0], 0.625F);
    ck_assert(!isnan(spec.policy.thresholds[1])); /* it had none, and sixty inputs speak for it */
    ck_assert_float_le(spec.policy.ood.threshold, 0.0625F);
    ck_assert_float_le(ood_threshold(&spec.policy.ood, 0), 0.125F);
    ck_assert_float_le(ood_threshold(&spec.policy.ood, 1), 0.0625F);
    ck_assert_float_le(ood_threshold(&spec.policy.ood, 2), 0.0625F);
    arena_deinit(&arena);
    fit_close(&fit);
    close_fixture();
}
END_TEST

/* Ten of "hot", which had no threshold, and ten of "pale": together they would vouch for one that
 * both share. */
START_TEST(a_label_without_a_threshold_is_not_trusted_by_what_others_got_right)
{
    struct fit fit;
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    open_fixture();
    write_list("blue blue blue", "cold", 60, false);
    write_list("red red red", "hot", OF_NEW, true);
    write_list("grey green grey green", "pale", OF_NEW, true);
    run(&fit);
    ck_assert(fit_decides_anew(&fit));
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    read_spec(&spec, &arena);
    ck_assert_float_ge(spec.policy.thresholds[0], 0.625F);
    ck_assert(isnan(spec.policy.thresholds[1]));
    ck_assert(isnan(spec.policy.thresholds[2]));
    arena_deinit(&arena);
    fit_close(&fit);
    close_fixture();
}
END_TEST

/* Some inputs of old labels, too few for thresholds: the head is fitted anew, and may be surer. */
START_TEST(fit_cools_a_refitted_head_to_the_trust_of_the_old_one)
{
    struct fit fit;
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    open_fixture();
    write_list("blue blue blue", "cold", 8, false);
    write_list("grey green grey green", "pale", OF_NEW, true);
    run(&fit);
    ck_assert(!fit.adds && !fit_decides_anew(&fit));
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    ck_assert_uint_le(fit.after.trusted, fit.before.trusted);
    read_spec(&spec, &arena);
    const double temperature = spec.temperature;
    arena_deinit(&arena);
    fit.before.trusted = 0; /* as if the old one had trusted none: it goes on */
    fit.after.trusted = 1;
    ck_assert_msg(!fit_trust_cool(&fit, out, &err), "%s", err.text);
    read_spec(&spec, &arena);
    ck_assert_double_gt(spec.temperature, 1.02 * temperature);
    arena_deinit(&arena);
    fit_close(&fit);
    close_fixture();
}
END_TEST

static int by_value(const void *a, const void *b)
{
    const float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

/* The energy that a quarter of the rows reach; more do if several have it. */
static float reached_by_quarter(const struct ood *ood, const float *logits, size_t rows,
                                unsigned labels)
{
    float *scores = calloc(rows, sizeof *scores);
    for (size_t i = 0; i < rows; i++)
        scores[i] = ood_score(ood, logits + i * labels, NULL);
    qsort(scores, rows, sizeof *scores, by_value);
    const float found = scores[rows - rows / 4];
    free(scores);
    return found;
}

static size_t unknown_of(const struct ood *ood, const float *logits, size_t rows, unsigned labels)
{
    size_t unknown = 0;
    for (size_t i = 0; i < rows; i++)
        unknown += ood_score(ood, logits + i * labels, NULL) > ood->threshold;
    return unknown;
}

START_TEST(fit_keeps_the_number_of_unknown_rows_for_the_energy_of_a_new_head)
{
    struct fit fit;
    struct spec spec;
    struct arena arena;
    struct err err = {0};
    open_fixture();
    write_list("blue blue blue", "cold", 8, false);
    write_list("grey green grey green", "pale", OF_NEW, true);
    run(&fit);
    ck_assert(!fit.adds && !fit_decides_anew(&fit));
    const size_t rows = fit.rows.count;
    const unsigned known = fit.labels.old_count;
    struct ood energy = {.method = OOD_ENERGY, .has_threshold = true, .label_count = known};
    energy.threshold =
        nextafterf(reached_by_quarter(&energy, fit.rows.before, rows, known), -INFINITY);
    const size_t before = unknown_of(&energy, fit.rows.before, rows, known);
    ck_assert(rows / 4 <= before && before < rows);
    fit.old.policy.ood = energy;
    ck_assert_msg(!fit_write(&fit, NULL, &err), "%s", err.text);
    read_spec(&spec, &arena);
    ck_assert_int_eq(spec.policy.ood.method, OOD_ENERGY);
    spec.policy.ood.label_thresholds = NULL;
    const size_t after = unknown_of(&spec.policy.ood, fit.rows.after, rows, fit.labels.count);
    ck_assert_msg(after + 2 >= before && after <= before + 2, "%zu and %zu of %zu", before, after,
                  rows);
    arena_deinit(&arena);
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(sixty_inputs_of_the_new_label_alone_vouch_for_nothing)
{
    struct fit fit;
    open_fixture();
    write_list("grey green grey green", "pale", 60, false);
    run(&fit);
    ck_assert_uint_eq(fit.fresh_count, 60);
    ck_assert_uint_eq(fit.fresh_known, 0);
    ck_assert(!fit_decides_anew(&fit));
    fit_close(&fit);
    close_fixture();
}
END_TEST

START_TEST(a_rise_beyond_the_limit_is_refused_with_both_shares)
{
    static const float thresholds[] = {0.5F, 0.5F};
    struct err err = {0};
    struct fit fit = {.options.automatic_max = 2, .rows = {.count = 1010, .of_data = 10}};
    fit.before.trusted = 250;
    fit.after.trusted = 270;
    fit.old.policy.thresholds = thresholds;
    ck_assert_int_eq(fit_trust_accept(&fit, &err), ERR_OK);
    fit.after.trusted = 271;
    ck_assert_int_eq(fit_trust_accept(&fit, &err), ERR_UNUSABLE);
    ck_assert_str_eq(
        err.text,
        "27.1 % of the answers to the model's own examples would be automatic, with "
        "labels that it had before; until now 25.0 % are. The rise is more than 2 "
        "points: calibrate the model with attnd-eval --calibrate, or raise --automatic-max");
    fit.old.policy.thresholds = NULL; /* it trusted all of them before, or none */
    ck_assert_int_eq(fit_trust_accept(&fit, &(struct err){0}), ERR_OK);
}
END_TEST

SUITE("fit_trust", a_label_more_leaves_every_other_decision_as_it_was,
      fit_keeps_the_logits_of_old_labels_and_trusts_no_more_answers,
      the_report_tells_what_the_model_will_do_when_it_is_served,
      new_inputs_make_thresholds_stricter_only,
      a_label_without_a_threshold_is_not_trusted_by_what_others_got_right,
      fit_cools_a_refitted_head_to_the_trust_of_the_old_one,
      fit_keeps_the_number_of_unknown_rows_for_the_energy_of_a_new_head,
      sixty_inputs_of_the_new_label_alone_vouch_for_nothing,
      a_rise_beyond_the_limit_is_refused_with_both_shares)
