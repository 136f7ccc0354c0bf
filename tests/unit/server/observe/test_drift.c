/* drift.h: a stream that turns is seen within a hundred inputs, and a steady one is not. Windows
 * belong to versions, and are forgotten after a time. */
#include "engine/base/rng.h"
#include "server/observe/drift.h"
#include "server/observe/drift_window.h"
#include "server/observe/version_table.h"
#include "tests/support/suite.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS = 9, BINS = 10, WINDOW = 200, INPUTS = 2000 };

#define ALERT 0.25 /* deploy/prometheus/alerts.yml: AttndDrift */

static const char *const labels[LABELS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
static float label_shares[LABELS], label_bin_shares[LABELS], tenths[BINS], edges[BINS - 1];
static uint8_t label_bins[LABELS];
static struct drift_reference reference;
static struct engine_info info;
static struct drift *drift;

/* Seven of ten are "a", as most wafers have no defect; scores and OOD scores are 0 to 1. */
static void open_drift(unsigned window)
{
    struct err err = {0};
    for (unsigned i = 0; i < BINS; i++)
        tenths[i] = 0.1f;
    for (unsigned i = 0; i + 1 < BINS; i++)
        edges[i] = 0.1f * (float)(i + 1);
    for (unsigned i = 0; i < LABELS; i++) {
        label_bins[i] = (uint8_t)i;
        label_shares[i] = label_bin_shares[i] = i == 0 ? 0.7f : 0.3f / 8;
    }
    reference = (struct drift_reference){.digest = 1,
                                         .count = INPUTS,
                                         .label_count = LABELS,
                                         .label_shares = label_shares,
                                         .label_bins = label_bins,
                                         .edges = {NULL, edges, edges},
                                         .psi = {{LABELS, label_bin_shares, INPUTS},
                                                 {BINS, tenths, INPUTS},
                                                 {BINS, tenths, INPUTS}}};
    info = (struct engine_info){
        .version = "1", .labels = labels, .label_count = LABELS, .reference = &reference};
    ck_assert_int_eq(drift_open(&drift, window, &err), ERR_OK);
}

static void predict_of(const char *model, const struct engine_info *of, unsigned label, float score,
                       float ood_score)
{
    const struct observer observer = drift_observer(drift);
    const struct engine_result result = {
        .label = label, .number = score, .judgement = {.has_ood = true, .ood_score = ood_score}};
    const struct answer answer = {
        .model_name = model, .model_version = of->version, .info = of, .result = result};
    const struct prediction_record record = {.answer = &answer};
    observer.prediction(observer.context, &record);
}

static void predict(unsigned label, float score, float ood_score)
{
    predict_of("m", &info, label, score, ood_score);
}

static struct drift_figures figures_of(const char *model, const struct engine_info *of)
{
    struct drift_figures figures;
    ck_assert(drift_read(drift, model, of, &figures));
    return figures;
}

static struct drift_figures figures(void)
{
    return figures_of("m", &info);
}

/* ---- streams ---- */

static unsigned draw_label(struct rng *rng)
{
    return rng_uniform(rng) < 0.7f ? 0 : 1 + rng_below(rng, LABELS - 1);
}

/* Predicts as for the inputs of the reference. */
static void predict_usual(struct rng *rng)
{
    unsigned label = draw_label(rng);
    float score = rng_uniform(rng);
    predict(label, score, rng_uniform(rng));
}

/* Predicts with drift of one kind: defects everywhere; unsure answers, in the lowest three deciles;
 * odd inputs, three of four in the highest two. The rest stays. */
static void predict_turned(struct rng *rng, enum drift_kind kind)
{
    unsigned label = kind == DRIFT_LABEL ? 1 + rng_below(rng, LABELS - 1) : draw_label(rng);
    float score = rng_uniform(rng), ood_score = rng_uniform(rng);
    if (kind == DRIFT_SCORE)
        score *= 0.3f;
    if (kind == DRIFT_OOD && rng_below(rng, 4) != 0)
        ood_score = 0.8f + 0.2f * ood_score;
    predict(label, score, ood_score);
}

START_TEST(a_stream_that_turns_is_above_the_alerts_bound_within_a_hundred_inputs)
{
    for (enum drift_kind kind = 0; kind <= DRIFT_OOD; kind++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct rng rng = rng_for(seed, kind, 0);
            open_drift(WINDOW);
            for (unsigned i = 0; i < 3 * WINDOW; i++)
                predict_usual(&rng);
            ck_assert_double_lt(figures().psi[kind], ALERT);
            for (unsigned i = 0; i < 100; i++)
                predict_turned(&rng, kind);
            const struct drift_figures after = figures();
            for (enum drift_kind other = 0; other <= DRIFT_OOD; other++)
                ck_assert_msg((after.psi[other] > ALERT) == (other == kind),
                              "%s turned, seed %u: %s has %g", drift_kind_name(kind),
                              (unsigned)seed, drift_kind_name(other), after.psi[other]);
            drift_close(drift);
        }
}
END_TEST

/* 20 seeds of 5000 inputs, looked at after each one. */
/* A regression whose numbers fall into the lowest three tenths. */
START_TEST(numbers_that_turn_are_above_the_alerts_bound_within_a_hundred_inputs)
{
    struct rng rng = rng_for(7, 0, 0);
    open_drift(WINDOW);
    reference = (struct drift_reference){.digest = 2,
                                         .count = INPUTS,
                                         .edges = {[DRIFT_VALUE] = edges},
                                         .psi = {[DRIFT_VALUE] = {BINS, tenths, INPUTS}}};
    for (unsigned i = 0; i < 3 * WINDOW; i++)
        predict(0, rng_uniform(&rng), 0);
    ck_assert(figures().is_number && figures().has_psi);
    ck_assert_double_lt(figures().psi[DRIFT_VALUE], ALERT);
    for (unsigned i = 0; i < 100; i++)
        predict(0, 0.3f * rng_uniform(&rng), 0);
    ck_assert_double_gt(figures().psi[DRIFT_VALUE], ALERT);
    for (enum drift_kind kind = 0; kind <= DRIFT_OOD; kind++)
        ck_assert_double_eq(figures().psi[kind], 0);
    drift_close(drift);
}
END_TEST

START_TEST(a_stream_that_does_not_turn_stays_below_the_alerts_bound)
{
    double most = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct rng rng = rng_for(seed, 100, 0);
        open_drift(WINDOW);
        for (unsigned i = 0; i < 5000; i++) {
            predict_usual(&rng);
            const struct drift_figures now = figures();
            ck_assert(now.has_psi == (i + 1 >= DRIFT_LEAST));
            for (int kind = 0; kind <= DRIFT_OOD; kind++)
                most = fmax(most, now.psi[kind]);
        }
        drift_close(drift);
    }
    ck_assert_msg(most < ALERT, "%g", most);
    ck_assert_msg(most > 0.02, "%g: nothing was compared", most);
}
END_TEST

START_TEST(a_stream_that_turns_back_is_below_the_bound_again)
{
    struct rng rng = rng_for(3, 0, 0);
    open_drift(WINDOW);
    for (unsigned i = 0; i < WINDOW; i++)
        predict_turned(&rng, DRIFT_OOD);
    ck_assert_double_gt(figures().psi[DRIFT_OOD], ALERT);
    for (unsigned i = 0; i < WINDOW; i++)
        predict_usual(&rng);
    ck_assert_double_lt(figures().psi[DRIFT_OOD], ALERT);
    drift_close(drift);
}
END_TEST

/* ---- windows ---- */

START_TEST(a_window_of_few_predictions_has_no_figure)
{
    open_drift(WINDOW);
    ck_assert_uint_eq(figures().count, 0);
    for (unsigned i = 0; i < DRIFT_LEAST - 1; i++)
        predict(1, 0.5f, 0.5f);
    ck_assert(figures().count == DRIFT_LEAST - 1 && !figures().has_psi);
    ck_assert_double_eq(figures().psi[DRIFT_LABEL], 0);
    predict(1, 0.5f, 0.5f);
    ck_assert(figures().has_psi);
    ck_assert_double_gt(figures().psi[DRIFT_LABEL], ALERT);
    for (unsigned i = 0; i < 2 * WINDOW; i++)
        predict(1, 0.5f, 0.5f);
    ck_assert_uint_eq(figures().count, WINDOW);
    drift_close(drift);
}
END_TEST

START_TEST(a_model_without_a_reference_has_no_figures)
{
    struct drift_figures none;
    open_drift(WINDOW);
    info.reference = NULL;
    predict(0, 1, 1);
    ck_assert(!drift_read(drift, "m", &info, &none));
    drift_close(drift);
}
END_TEST

START_TEST(a_failed_input_is_not_counted)
{
    const struct observer observer = (open_drift(WINDOW), drift_observer(drift));
    struct prediction_record record = {.err.code = ERR_UNUSABLE};
    observer.prediction(observer.context, &record);
    ck_assert_uint_eq(figures().count, 0);
    drift_close(drift);
}
END_TEST

START_TEST(each_name_version_and_reference_has_a_window_of_its_own)
{
    open_drift(WINDOW);
    struct engine_info second = info, unnamed = info, again = info;
    struct drift_reference calibrated = reference;
    calibrated.digest = 2;
    second.version = "2";
    unnamed.version = NULL;
    again.reference = &calibrated;
    predict_of("m", &info, 0, 1, 1);
    for (unsigned i = 0; i < 2; i++)
        predict_of("m", &second, 0, 1, 1);
    for (unsigned i = 0; i < 3; i++)
        predict_of("other", &info, 0, 1, 1);
    for (unsigned i = 0; i < 4; i++)
        predict_of("m", &unnamed, 0, 1, 1);
    for (unsigned i = 0; i < 5; i++)
        predict_of("m", &again, 0, 1, 1);
    ck_assert_uint_eq(figures_of("m", &info).count, 1);
    ck_assert_uint_eq(figures_of("m", &second).count, 2);
    ck_assert_uint_eq(figures_of("other", &info).count, 3);
    ck_assert_uint_eq(figures_of("m", &unnamed).count, 4);
    ck_assert_uint_eq(figures_of("m", &again).count, 5);
    ck_assert_uint_eq(figures_of("nobody", &info).count, 0);
    drift_close(drift);
}
END_TEST

START_TEST(the_version_that_was_longest_without_a_prediction_is_given_up)
{
    char names[VERSION_TABLE_MAX + 1][16];
    open_drift(WINDOW);
    for (unsigned i = 0; i < VERSION_TABLE_MAX; i++) {
        snprintf(names[i], sizeof names[i], "model-%u", i);
        predict_of(names[i], &info, 0, 1, 1);
    }
    predict_of("new", &info, 0, 1, 1);
    ck_assert_uint_eq(figures_of(names[0], &info).count, 0);
    predict_of(names[1], &info, 0, 1, 1);
    predict_of("newer", &info, 0, 1, 1);
    ck_assert_uint_eq(figures_of(names[1], &info).count, 2);
    ck_assert_uint_eq(figures_of(names[2], &info).count, 0);
    ck_assert_uint_eq(figures_of(names[3], &info).count, 1);
    ck_assert_uint_eq(figures_of("new", &info).count, 1);
    ck_assert_uint_eq(figures_of("newer", &info).count, 1);
    drift_close(drift);
}
END_TEST

START_TEST(memory_is_bounded_by_the_window_alone)
{
    ck_assert_uint_eq(drift_bytes(1200) - drift_bytes(200), (size_t)VERSION_TABLE_MAX * 8 * 1000);
    ck_assert_uint_lt(drift_bytes(200), 500000);
    drift_close(NULL);
}
END_TEST

/* Bins 0 of all kinds but for the last prediction; the counts are what the entries say. */
START_TEST(a_window_forgets_what_is_too_many_or_too_old)
{
    static const uint8_t low[DRIFT_KINDS] = {0, 1, 2, 6}, high[DRIFT_KINDS] = {3, 4, 5, 7};
    struct drift_window *window = calloc(1, drift_window_bytes(3));
    const uint32_t start = UINT32_MAX - 5; /* the clock may wrap */
    ck_assert_ptr_nonnull(window);
    window->size = 3;
    for (unsigned i = 0; i < 4; i++)
        drift_window_put(window, low, start + i);
    drift_window_put(window, high, start + 4);
    ck_assert_uint_eq(window->count, 3);
    ck_assert_uint_eq(window->counts[DRIFT_LABEL][0], 2);
    ck_assert_uint_eq(window->counts[DRIFT_SCORE][4], 1);
    drift_window_forget(window, start + 3 + DRIFT_AGE_S);
    ck_assert_uint_eq(window->count, 2); /* not yet: it is as old as may be */
    drift_window_forget(window, start + 4 + DRIFT_AGE_S);
    ck_assert_uint_eq(window->count, 1);
    ck_assert_uint_eq(window->counts[DRIFT_OOD][2], 0);
    ck_assert_uint_eq(window->counts[DRIFT_OOD][5], 1);
    drift_window_put(window, low, start + 5 + DRIFT_AGE_S);
    ck_assert_uint_eq(window->count, 1);
    ck_assert_uint_eq(window->counts[DRIFT_OOD][5], 0);
    free(window);
}
END_TEST

static void *predict_and_read(void *unused)
{
    for (unsigned i = 0; i < 1000; i++) {
        predict(i % LABELS, 0.5f, 0.5f);
        ck_assert_uint_le(figures().count, 5000);
    }
    return unused;
}

START_TEST(threads_lose_no_prediction)
{
    pthread_t threads[4];
    open_drift(5000);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, predict_and_read, NULL), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(figures().count, 4000);
    drift_close(drift);
}
END_TEST

SUITE("drift", a_stream_that_turns_is_above_the_alerts_bound_within_a_hundred_inputs,
      numbers_that_turn_are_above_the_alerts_bound_within_a_hundred_inputs,
      a_stream_that_does_not_turn_stays_below_the_alerts_bound,
      a_stream_that_turns_back_is_below_the_bound_again, a_window_of_few_predictions_has_no_figure,
      a_model_without_a_reference_has_no_figures, a_failed_input_is_not_counted,
      each_name_version_and_reference_has_a_window_of_its_own,
      the_version_that_was_longest_without_a_prediction_is_given_up,
      memory_is_bounded_by_the_window_alone, a_window_forgets_what_is_too_many_or_too_old,
      threads_lose_no_prediction)
