/* The outcome of an answer, by task, which log, audit and metrics read; and whether two models
 * agree. */
#include "tests/support/suite.h"
#include "wire/answer_outcome.h"

#include <math.h>

static const char *const labels[] = {"pass", "fail"};
static const struct engine_info info = {.labels = labels, .label_count = 2};

static struct answer_outcome labelled(unsigned label)
{
    const struct engine_result result = {.task = ENGINE_CLASSIFY, .label = label, .number = 0.75F};
    struct answer_outcome outcome = answer_outcome(&info, &result);
    outcome.judgement = NULL;
    return outcome;
}

static struct answer_outcome numbered(float number)
{
    const struct engine_result result = {.task = ENGINE_REGRESS, .number = number};
    struct answer_outcome outcome = answer_outcome(&info, &result);
    outcome.judgement = NULL;
    return outcome;
}

START_TEST(answer_outcome_has_what_the_task_gives)
{
    const struct engine_result fail = {.task = ENGINE_CLASSIFY, .label = 1, .number = 0.75F},
                               value = {.task = ENGINE_REGRESS, .number = -3};
    struct answer_outcome outcome = answer_outcome(&info, &fail);
    ck_assert_str_eq(outcome.label, "fail");
    ck_assert_uint_eq(outcome.label_index, 1);
    ck_assert_str_eq(outcome.number_name, "score");
    ck_assert_float_eq(outcome.number, 0.75F);
    ck_assert_ptr_eq(outcome.judgement, &fail.judgement);
    outcome = answer_outcome(&info, &value);
    ck_assert_ptr_null(outcome.label);
    ck_assert_str_eq(outcome.number_name, "value");
    ck_assert_float_eq(outcome.number, -3);
    ck_assert_ptr_eq(outcome.judgement, &value.judgement);
    const struct engine_text text = {.text = "W12", .len = 3, .confidence = 0.5F};
    struct engine_result written = {.task = ENGINE_GENERATE, .texts = &text, .text_count = 1};
    outcome = answer_outcome(&info, &written);
    ck_assert(outcome.is_text && outcome.label == NULL && outcome.text_len == 3);
    ck_assert_str_eq(outcome.text, "W12");
    ck_assert_str_eq(outcome.number_name, "confidence");
    ck_assert_float_eq(outcome.number, 0.5F);
    written.text_count = 0; /* none obeys the rules */
    outcome = answer_outcome(&info, &written);
    ck_assert(outcome.is_text && outcome.text == NULL && outcome.number_name == NULL);
    ck_assert_ptr_eq(outcome.judgement, &written.judgement);
    outcome = answer_outcome(&info, &(struct engine_result){.task = ENGINE_EMBED});
    ck_assert(outcome.label == NULL && outcome.number_name == NULL && outcome.judgement == NULL);
    const struct engine_result spans = {.task = ENGINE_TAG};
    outcome = answer_outcome(&info, &spans);
    ck_assert(outcome.label == NULL && outcome.number_name == NULL);
    ck_assert_ptr_eq(outcome.judgement, &spans.judgement);
}
END_TEST

START_TEST(answer_outcomes_agree_by_label_or_within_a_hundredth)
{
    const struct answer_outcome none = {.label = NULL}, pass = labelled(0), fail = labelled(1);
    const struct {
        float a, b;
        bool agree;
    } rows[] = {{100, 99, true},   {100, 98.9F, false}, {99, 100, true},   {-100, -99, true},
                {-100, 99, false}, {0, 0, true},        {0, 1e-20F, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct answer_outcome a = numbered(rows[i].a), b = numbered(rows[i].b);
        ck_assert_int_eq(answer_outcome_agrees(&a, &b), rows[i].agree);
        ck_assert(!answer_outcome_agrees(&a, &pass) && !answer_outcome_agrees(&none, &b));
    }
    ck_assert(answer_outcome_agrees(&pass, &pass) && !answer_outcome_agrees(&pass, &fail));
    ck_assert(!answer_outcome_agrees(&none, &none));
}
END_TEST

SUITE("answer_outcome", answer_outcome_has_what_the_task_gives,
      answer_outcomes_agree_by_label_or_within_a_hundredth)
