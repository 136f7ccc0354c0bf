/* Accuracy of all traffic: the labels that count, their weights, and when nothing can be said. */
#include "server/feedback/feedback.h"

#include "tests/support/suite.h"
#include "tests/unit/server/metrics_samples.h"

#include <stdio.h>
#include <string.h>

static const char *const labels[] = {"none", "Center", "Donut"};
static const struct engine_info info = {.labels = labels, .label_count = 3, .version = "1"};

static struct feedback *feedback;
static struct arena arena;

static void opened(void)
{
    const struct feedback_options options = {.window = 100};
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(feedback_open(&feedback, &options, &err), ERR_OK);
    feedback_learn(feedback, "wafer", "1", labels, 3, 1);
}

static void closed(void)
{
    feedback_close(feedback);
    arena_deinit(&arena);
}

/* Predictions of "Center", with the ids PREFIX-0 and so on. */
static void predicted(const char *prefix, unsigned count, enum decision decision, bool is_sampled)
{
    const struct engine_result result = {.label = 1, .judgement.decision = decision};
    const struct answer answer = {
        .model_name = "wafer", .model_version = "1", .info = &info, .result = result};
    const struct observer observer = feedback_observer(feedback);
    for (unsigned i = 0; i < count; i++) {
        char id[32];
        snprintf(id, sizeof id, "%s-%u", prefix, i);
        const struct prediction_record record = {
            .id = id, .answer = &answer, .is_sampled = is_sampled};
        observer.prediction(observer.context, &record);
    }
}

static void give(const char *id, const char *label)
{
    struct feedback_item item = {.id = id, .label = label};
    struct err err = {0};
    ck_assert_int_eq(feedback_give(feedback, &item, 1, &arena, &err), ERR_OK);
    ck_assert_int_eq(item.err.code, ERR_OK);
}

static struct feedback_weighted weighted(void)
{
    struct feedback_accuracy out;
    struct err err = {0};
    ck_assert_int_eq(feedback_accuracy(feedback, "wafer", "1", false, &arena, &out, &err), ERR_OK);
    return out.weighted;
}

START_TEST(a_decision_counts_as_often_as_it_was_made)
{
    opened();
    predicted("drawn", 6, DECISION_AUTO, true);
    predicted("auto", 12, DECISION_AUTO, false);
    predicted("hard", 2, DECISION_REVIEW, false);
    ck_assert(!weighted().is_known);
    give("drawn-0", "Center");
    give("drawn-1", "Donut");
    ck_assert(!weighted().is_known); /* nothing is labelled of those for a review */
    give("hard-0", "none");
    ck_assert(weighted().is_known);
    ck_assert_double_eq_tol(weighted().value, 0.9 * 0.5 + 0.1 * 0, 1e-12);
    ck_assert_uint_eq(weighted().count, 3);
    give("hard-1", "Center");
    ck_assert_double_eq_tol(weighted().value, 0.9 * 0.5 + 0.1 * 0.5, 1e-12);
    ck_assert_double_lt(weighted().interval.low, weighted().value);
    ck_assert_double_gt(weighted().interval.high, weighted().value);
    closed();
}
END_TEST

START_TEST(automatic_answers_that_somebody_chose_do_not_count)
{
    opened();
    predicted("drawn", 2, DECISION_AUTO, true);
    predicted("auto", 8, DECISION_AUTO, false);
    for (unsigned i = 0; i < 8; i++) {
        char id[32];
        snprintf(id, sizeof id, "auto-%u", i);
        give(id, "none");
    }
    ck_assert(!weighted().is_known);
    give("drawn-1", "Center");
    ck_assert_double_eq(weighted().value, 1);
    ck_assert_uint_eq(weighted().count, 1);
    closed();
}
END_TEST

START_TEST(a_label_that_is_replaced_or_taken_back_is_not_counted_twice)
{
    opened();
    predicted("drawn", 2, DECISION_AUTO, true);
    give("drawn-0", "none");
    give("drawn-0", "Center");
    ck_assert_double_eq(weighted().value, 1);
    ck_assert_uint_eq(weighted().count, 1);
    give("drawn-0", NULL);
    ck_assert(!weighted().is_known);
    closed();
}
END_TEST

START_TEST(the_metric_has_a_series_once_it_is_known)
{
    static const char series[] = "attnd_accuracy_weighted_ratio{model=\"wafer\",version=\"1\"}";
    opened();
    struct metrics *metrics = metrics_samples_open();
    feedback_register(feedback, metrics);
    predicted("hard", 2, DECISION_REVIEW, false);
    ck_assert_double_eq(metrics_samples_value(metrics, series), -1);
    give("hard-0", "Center");
    ck_assert_double_eq(metrics_samples_value(metrics, series), 1);
    metrics_close(metrics);
    closed();
}
END_TEST

SUITE("feedback_weighted", a_decision_counts_as_often_as_it_was_made,
      automatic_answers_that_somebody_chose_do_not_count,
      a_label_that_is_replaced_or_taken_back_is_not_counted_twice,
      the_metric_has_a_series_once_it_is_known)
