#include "engine/base/doc.h"
#include "engine/decide/policy.h"
#include "tests/support/suite.h"

#include <string.h>

enum { LABELS = 3 };

static const char *const labels[LABELS] = {"Center", "Donut", "Scratch"};
static struct arena arena;
static struct policy policy;
static struct err err;
static enum input_doubt doubt; /* of the input that is judged */

static enum err_code read_policy(enum spec_scores scores, const char *text)
{
    struct json_t *object;
    arena_deinit(&arena);
    arena_init(&arena);
    err = (struct err){0};
    policy = policy_default(scores, LABELS, 2);
    if (doc_parse(&object, text, strlen(text), &doc_limits_file, &err))
        return err.code;
    enum err_code code = policy_read(&policy, object, labels, &arena, &err);
    ck_assert_int_eq(code, err.code);
    doc_free(object);
    return err.code;
}

static struct judgement judge(float first, float second, float third)
{
    const float scores[LABELS] = {first, second, third}, logits[LABELS] = {0, 0, 0};
    const float features[2] = {0, 0};
    struct judgement judgement;
    policy_judge(&policy, logits, scores, features, doubt, &judgement);
    return judgement;
}

#define THRESHOLDS "{\"Center\": 0.75, \"Donut\": 0.25, \"Scratch\": null}"

/* The worth of its scores was never measured. */
START_TEST(policy_reviews_all_of_a_classifier_without_thresholds)
{
    static const enum spec_scores classifiers[] = {SCORES_SOFTMAX, SCORES_SIGMOID};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(read_policy(classifiers[i], "{}"), ERR_OK);
        struct judgement judgement = judge(1, 0, 0);
        ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
        ck_assert(judgement.uncalibrated && !judgement.never && !judgement.truncated);
        ck_assert(policy_is_uncalibrated(&policy) && policy_reviews_all(&policy));
        ck_assert_int_eq(read_policy(classifiers[i], "{\"uncalibrated\": \"auto\"}"), ERR_OK);
        ck_assert_int_eq(judge(1, 0, 0).decision, DECISION_AUTO);
        ck_assert(policy_is_uncalibrated(&policy) && !policy_reviews_all(&policy));
    }
    ck_assert_int_eq(read_policy(SCORES_NONE, "{}"), ERR_OK); /* which cannot have thresholds */
    ck_assert_int_eq(judge(7, 8, 9).decision, DECISION_AUTO);
    ck_assert(!policy_is_uncalibrated(&policy));
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"thresholds\": " THRESHOLDS "}"), ERR_OK);
    ck_assert(!policy_is_uncalibrated(&policy) && !judge(0.1f, 0.1f, 0.8f).uncalibrated);
}
END_TEST

/* The program's option is for models that do not say it themselves. */
START_TEST(policy_trusts_a_model_that_does_not_say_otherwise)
{
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{}"), ERR_OK);
    policy_trust(&policy);
    ck_assert_int_eq(judge(1, 0, 0).decision, DECISION_AUTO);
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"uncalibrated\": \"review\"}"), ERR_OK);
    policy_trust(&policy);
    ck_assert_int_eq(judge(1, 0, 0).decision, DECISION_REVIEW);
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"uncalibrated\": \"yes\"}"), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "$.uncalibrated must be \"review\" or \"auto\"");
}
END_TEST

START_TEST(policy_without_a_file_scores_energy)
{
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{}"), ERR_OK);
    struct judgement judgement = judge(0.4f, 0.3f, 0.3f);
    ck_assert(judgement.has_ood && !judgement.has_rank);
    ck_assert_double_eq_tol((double)judgement.ood_score, -1.0986123, 1e-6);
    ck_assert_int_eq(read_policy(SCORES_NONE, "{}"), ERR_OK);
    ck_assert(!judge(7, 8, 9).has_ood);
}
END_TEST

START_TEST(policy_reviews_a_winner_below_its_threshold)
{
    ck_assert_msg(read_policy(SCORES_SOFTMAX,
                              "{\"target_precision\": 0.95, \"thresholds\": " THRESHOLDS
                              "}") == ERR_OK,
                  "%s", err.text);
    ck_assert_double_eq(policy.target_precision, 0.95);
    ck_assert_int_eq(judge(0.75f, 0.25f, 0).decision, DECISION_AUTO);
    struct judgement judgement = judge(0.7499999f, 0.2f, 0.05f);
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert_uint_eq(judgement.label, 0);
    ck_assert(judgement.threshold == 0.75f && !judgement.never);
    ck_assert_int_eq(judge(0.3f, 0.4f, 0.3f).decision, DECISION_AUTO); /* Donut needs 0.25 */
}
END_TEST

START_TEST(policy_always_reviews_a_label_without_a_threshold)
{
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"thresholds\": " THRESHOLDS "}"), ERR_OK);
    struct judgement judgement = judge(0, 0, 1);
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert_uint_eq(judgement.label, 2);
    ck_assert(judgement.never);
}
END_TEST

/* Center and Donut both say yes; a label below one half is not part of the answer. */
START_TEST(policy_reviews_any_unsure_label_of_several)
{
    ck_assert_int_eq(read_policy(SCORES_SIGMOID, "{\"thresholds\": " THRESHOLDS "}"), ERR_OK);
    ck_assert_int_eq(judge(0.8f, 0.9f, 0.4f).decision, DECISION_AUTO);
    struct judgement judgement = judge(0.5f, 0.9f, 0.4f);
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert_uint_eq(judgement.label, 0);
    judgement = judge(0.6f, 0.9f, 0.7f); /* two are unsure: the higher one is named */
    ck_assert_uint_eq(judgement.label, 2);
    ck_assert_uint_eq(judge(0.6f, 0.9f, 0.6f).label, 0);                 /* of equals the first */
    ck_assert_int_eq(judge(0.4f, 0.3f, 0.1f).decision, DECISION_REVIEW); /* the best in any case */
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"thresholds\": " THRESHOLDS "}"), ERR_OK);
    ck_assert_int_eq(judge(0.5f, 0.5f, 0).decision, DECISION_REVIEW); /* equal: the first */
}
END_TEST

START_TEST(policy_calls_strange_inputs_unknown_whatever_their_score)
{
    static const char strange[] =
        "{\"thresholds\": " THRESHOLDS ", \"ood\": {\"method\": \"energy\", \"threshold\": -2, "
        "\"quantiles\": [-3, -1]}}";
    ck_assert_msg(read_policy(SCORES_SOFTMAX, strange) == ERR_OK, "%s", err.text);
    struct judgement judgement = judge(0, 0, 1); /* would be reviewed */
    ck_assert_int_eq(judgement.decision, DECISION_UNKNOWN);
    ck_assert(judgement.threshold == -2 && judgement.ood_score > -2);
    ck_assert(judgement.has_rank && judgement.ood_rank > 0.9f && judgement.ood_rank < 1);
    policy.ood.threshold = judgement.ood_score; /* at it is not above it */
    ck_assert_int_eq(judge(1, 0, 0).decision, DECISION_AUTO);
}
END_TEST

/* The energy of three equal logits is -1.0986. */
START_TEST(policy_calls_unknown_by_the_threshold_of_the_label_that_is_given)
{
    ck_assert_msg(!read_policy(SCORES_SOFTMAX,
                               "{\"uncalibrated\": \"auto\", \"ood\": {\"method\": \"energy\", "
                               "\"threshold\": 0, \"thresholds\": {\"Center\": null, \"Donut\": "
                               "-1.5, \"Scratch\": 2}}}"),
                  "%s", err.text);
    ck_assert_int_eq(judge(0.8f, 0.1f, 0.1f).decision, DECISION_AUTO);
    ck_assert_int_eq(judge(0.1f, 0.8f, 0.1f).decision, DECISION_UNKNOWN);
    ck_assert_float_eq(judge(0.1f, 0.8f, 0.1f).threshold, -1.5f);
    ck_assert_int_eq(judge(0.1f, 0.1f, 0.8f).decision, DECISION_AUTO);
}
END_TEST

START_TEST(policy_gives_equal_labels_one_threshold)
{
    static const char *const twins[] = {"same", "other", "same"};
    struct json_t *object;
    static const char text[] = "{\"thresholds\": {\"same\": 0.5, \"other\": 0.25}}";
    err = (struct err){0};
    policy = policy_default(SCORES_SOFTMAX, LABELS, 2);
    ck_assert_int_eq(doc_parse(&object, text, strlen(text), &doc_limits_file, &err), ERR_OK);
    ck_assert_int_eq(policy_read(&policy, object, twins, &arena, &err), ERR_OK);
    ck_assert(policy.thresholds[0] == 0.5f && policy.thresholds[2] == 0.5f);
    doc_free(object);
}
END_TEST

static const struct {
    const char *text, *word;
} hostile[] = {
    {"{\"thresholds\": 0.5}", "$.thresholds"},
    {"{\"thresholds\": [0.5, 0.5, 0.5]}", "$.thresholds"},
    {"{\"thresholds\": \"high\"}", "$.thresholds"},
    {"{\"thresholds\": {}}", "'Center'"},
    {"{\"thresholds\": {\"Center\": 0.5, \"Donut\": 0.5}}", "'Scratch'"},
    {"{\"thresholds\": {\"Center\": 0, \"Donut\": 0, \"Scratch\": 0, \"Loc\": 0}}", "'Loc'"},
    {"{\"thresholds\": {\"Center\": 0, \"Donut\": 0, \"Scratch\": true}}", "label 2"},
    {"{\"thresholds\": {\"Center\": 0, \"Donut\": 0, \"Scratch\": \"0\"}}", "label 2"},
    {"{\"thresholds\": {\"Center\": 0, \"Donut\": 0, \"Scratch\": [0]}}", "label 2"},
    {"{\"thresholds\": {\"Center\": 0, \"Donut\": 0, \"Scratch\": -0.1}}", "label 2"},
    {"{\"thresholds\": {\"Center\": 0, \"Donut\": 0, \"Scratch\": 1.0000001}}", "label 2"},
    {"{\"thresholds\": {\"Center\": 0, \"Donut\": 0, \"Scratch\": NaN}}", "JSON"},
    {"{\"thresholds\": {\"Center\": 0, \"Center\": 0, \"Scratch\": 0}}", "duplicate"},
    {"{\"target_precision\": 0.9}", "$.target_precision is of no effect without $.thresholds"},
    {"{\"purity\": 0.9}", "$.purity is of no effect without $.thresholds"},
    {"{\"purity\": 0, \"thresholds\": " THRESHOLDS "}", "$.purity"},
    {"{\"target_precision\": 1.5, \"thresholds\": " THRESHOLDS "}", "$.target_precision"},
    {"{\"target_precision\": \"0.9\", \"thresholds\": " THRESHOLDS "}", "$.target_precision"},
    {"{\"truncation\": \"ignore\"}", "$.truncation must be \"review\" or \"accept\""},
    {"{\"truncation\": true}", "$.truncation: expected a string"},
    {"{\"ood\": 3}", "$.ood: expected an object, found a number"},
    {"{\"ood\": {\"method\": \"knn\"}}",
     "$.ood.method must be \"energy\", \"mahalanobis\", \"relative\" or \"neighbours\""},
};

/* The part that was not read may say the opposite. */
START_TEST(policy_reviews_what_was_not_wholly_read_unless_the_model_accepts_that)
{
    doubt = DOUBT_TRUNCATED;
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"thresholds\": " THRESHOLDS "}"), ERR_OK);
    struct judgement judgement = judge(0.75f, 0.25f, 0);
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert(judgement.truncated && !judgement.never);
    judgement = judge(0.7f, 0.3f, 0); /* the score is told first */
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert(!judgement.truncated && judgement.threshold == 0.75f);
    ck_assert_int_eq(read_policy(SCORES_NONE, "{\"truncation\": \"review\"}"), ERR_OK);
    ck_assert(judge(7, 8, 9).truncated);
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"ood\": {\"method\": \"energy\", "
                                                 "\"threshold\": -2}}"),
                     ERR_OK);
    judgement = judge(0.75f, 0.25f, 0);
    ck_assert_int_eq(judgement.decision, DECISION_UNKNOWN);
    ck_assert(!judgement.truncated);
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"truncation\": \"accept\", "
                                                 "\"uncalibrated\": \"auto\"}"),
                     ERR_OK);
    ck_assert_int_eq(judge(0.75f, 0.25f, 0).decision, DECISION_AUTO);
    doubt = DOUBT_NONE;
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"uncalibrated\": \"auto\"}"), ERR_OK);
    ck_assert_int_eq(judge(0.75f, 0.25f, 0).decision, DECISION_AUTO);
}
END_TEST

START_TEST(policy_reviews_colours_where_grey_was_learnt)
{
    doubt = DOUBT_COLOURED;
    ck_assert_int_eq(
        read_policy(SCORES_SOFTMAX, "{\"colours\": \"grey\", \"thresholds\": " THRESHOLDS "}"),
        ERR_OK);
    struct judgement judgement = judge(0.75f, 0.25f, 0);
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert(judgement.coloured && !judgement.never);
    judgement = judge(0, 0, 1); /* the score of such a picture says nothing: colours come first */
    ck_assert(judgement.coloured && !judgement.never);
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"colours\": \"grey\", \"ood\": "
                                                 "{\"method\": \"energy\", \"threshold\": -2}}"),
                     ERR_OK);
    judgement = judge(0.75f, 0.25f, 0);
    ck_assert_int_eq(judgement.decision, DECISION_UNKNOWN);
    ck_assert(!judgement.coloured);
    ck_assert_int_eq(read_policy(SCORES_NONE, "{\"colours\": \"grey\"}"), ERR_OK);
    ck_assert(judge(7, 8, 9).coloured);
    ck_assert_int_eq(
        read_policy(SCORES_SOFTMAX, "{\"colours\": \"any\", \"uncalibrated\": \"auto\"}"), ERR_OK);
    ck_assert_int_eq(judge(0.75f, 0.25f, 0).decision, DECISION_AUTO);
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"colours\": \"rgb\"}"), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "$.colours must be \"grey\" or \"any\"");
    doubt = DOUBT_NONE;
    ck_assert_int_eq(
        read_policy(SCORES_SOFTMAX, "{\"colours\": \"grey\", \"uncalibrated\": \"auto\"}"), ERR_OK);
    ck_assert_int_eq(judge(0.75f, 0.25f, 0).decision, DECISION_AUTO);
}
END_TEST

START_TEST(policy_refuses_wrong_members_by_name)
{
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        ck_assert_msg(read_policy(SCORES_SOFTMAX, hostile[i].text) != ERR_OK, "%s was read",
                      hostile[i].text);
        ck_assert_msg(strstr(err.text, hostile[i].word) != NULL, "'%s' does not name '%s'",
                      err.text, hostile[i].word);
    }
    ck_assert_int_eq(read_policy(SCORES_NONE, "{\"ood\": {\"method\": \"energy\"}}"),
                     ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "$.ood is for classifiers; this model is a regression");
    ck_assert_int_eq(read_policy(SCORES_NONE, "{\"thresholds\": " THRESHOLDS "}"), ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "$.thresholds is for classifiers; this model is a regression");
}
END_TEST

/* The reason names the span that scores highest of those below their threshold. */
START_TEST(policy_judges_each_span_by_the_threshold_of_its_label)
{
    static const struct span spans[] = {{"Center", 0, 0.5f, 0, 1, 0, 1},
                                        {"Donut", 1, 0.25f, 2, 3, 1, 1},
                                        {"Center", 0, 0.625f, 4, 5, 2, 1}};
    struct judgement judgement;
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{}"), ERR_OK);
    policy_judge_spans(&policy, spans, 0, DOUBT_NONE, &judgement);
    ck_assert(judgement.decision == DECISION_REVIEW && judgement.uncalibrated);
    ck_assert_int_eq(read_policy(SCORES_SOFTMAX, "{\"thresholds\": " THRESHOLDS "}"), ERR_OK);
    policy_judge_spans(&policy, spans, 3, DOUBT_TRUNCATED, &judgement);
    ck_assert_int_eq(judgement.decision, DECISION_REVIEW);
    ck_assert(!judgement.uncalibrated && !judgement.truncated && !judgement.never);
    ck_assert_uint_eq(judgement.label, 0);
    ck_assert_float_eq(judgement.score, 0.625f);
    ck_assert_float_eq(judgement.threshold, 0.75f);
    policy_judge_spans(&policy, spans + 1, 1, DOUBT_NONE, &judgement); /* at it is not below it */
    ck_assert_int_eq(judgement.decision, DECISION_AUTO);
    ck_assert(!judgement.has_ood);
    policy_judge_spans(&policy, spans + 1, 1, DOUBT_TRUNCATED, &judgement);
    ck_assert(judgement.decision == DECISION_REVIEW && judgement.truncated);
    policy_judge_spans(&policy, &(struct span){"Scratch", 2, 1, 0, 1, 0, 1}, 1, DOUBT_NONE,
                       &judgement);
    ck_assert(judgement.decision == DECISION_REVIEW && judgement.never);
    policy_judge_spans(&policy, spans, 0, DOUBT_NONE, &judgement);
    ck_assert_int_eq(judgement.decision, DECISION_AUTO);
}
END_TEST

SUITE("policy", policy_judges_each_span_by_the_threshold_of_its_label,
      policy_calls_unknown_by_the_threshold_of_the_label_that_is_given,
      policy_without_a_file_scores_energy, policy_reviews_all_of_a_classifier_without_thresholds,
      policy_trusts_a_model_that_does_not_say_otherwise,
      policy_reviews_a_winner_below_its_threshold,
      policy_always_reviews_a_label_without_a_threshold, policy_reviews_any_unsure_label_of_several,
      policy_calls_strange_inputs_unknown_whatever_their_score,
      policy_gives_equal_labels_one_threshold,
      policy_reviews_what_was_not_wholly_read_unless_the_model_accepts_that,
      policy_reviews_colours_where_grey_was_learnt, policy_refuses_wrong_members_by_name)
