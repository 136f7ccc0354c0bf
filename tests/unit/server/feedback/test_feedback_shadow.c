/* A label judges what was answered and what shadows would have answered, in whichever order the
 * three come. */
#include "server/feedback/feedback.h"
#include "tests/support/suite.h"

#include <stdio.h>

static const char *const labels[] = {"none", "Center", "Donut"};
static const char *const other_labels[] = {"Donut", "Scratch", "Center"};
static const struct engine_info info = {.labels = labels, .label_count = 3, .version = "1"};

static struct feedback *feedback;
static struct arena arena;
static struct err err;

static void opened(unsigned window)
{
    const struct feedback_options options = {.window = window};
    err = (struct err){0};
    arena_init(&arena);
    ck_assert_int_eq(feedback_open(&feedback, &options, &err), ERR_OK);
    feedback_learn(feedback, "wafer", "1", labels, 3, 1);
}

static void closed(void)
{
    feedback_close(feedback);
    arena_deinit(&arena);
}

static void answered(const char *id, unsigned label)
{
    const struct engine_result result = {.label = label};
    const struct answer answer = {
        .model_name = "wafer", .model_version = "1", .info = &info, .result = result};
    const struct prediction_record record = {.id = id, .answer = &answer};
    const struct observer observer = feedback_observer(feedback);
    observer.prediction(observer.context, &record);
}

static void shadowed(const char *version, const char *id, const char *label)
{
    const struct shadow_record record = {.id = id,
                                         .model = "wafer",
                                         .version = version,
                                         .label = label,
                                         .labels = other_labels,
                                         .label_count = 3};
    const struct observer observer = feedback_observer(feedback);
    observer.shadow(observer.context, &record);
}

/* label NULL: it is taken back. */
static void told(const char *id, const char *label)
{
    struct feedback_item item = {.id = id, .label = label, .is_new = true};
    err = (struct err){0};
    feedback_give(feedback, &item, 1, &arena, &err);
    ck_assert_msg(item.err.code == ERR_OK, "%s", item.err.text);
}

static void expect(const char *version, uint64_t both, uint64_t answer_only, uint64_t shadow_only,
                   uint64_t neither)
{
    struct feedback_accuracy out;
    err = (struct err){0};
    feedback_accuracy(feedback, "wafer", version, false, &arena, &out, &err);
    ck_assert_uint_eq(out.paired.both, both);
    ck_assert_uint_eq(out.paired.answer_only, answer_only);
    ck_assert_uint_eq(out.paired.shadow_only, shadow_only);
    ck_assert_uint_eq(out.paired.neither, neither);
}

/* The sets of the two versions are bits of other places. */
START_TEST(a_set_judges_both_by_its_texts)
{
    struct engine_info several = info;
    several.scores = "sigmoid";
    float scores[] = {0.1f, 0.9f, 0.8f};
    opened(10);
    const struct answer answer = {
        .model_name = "wafer",
        .model_version = "1",
        .info = &several,
        .result = {.task = ENGINE_CLASSIFY, .label = 1, .scores = scores}};
    const struct prediction_record record = {.id = "a", .answer = &answer};
    const struct observer observer = feedback_observer(feedback);
    observer.prediction(observer.context, &record);
    struct shadow_record shadow = {.id = "a",
                                   .model = "wafer",
                                   .version = "2",
                                   .label = "Donut",
                                   .is_set = true,
                                   .set = 5, /* Donut and Center */
                                   .labels = other_labels,
                                   .label_count = 3};
    observer.shadow(observer.context, &shadow);
    shadow.version = "3";
    shadow.set = 1;
    observer.shadow(observer.context, &shadow);
    const char *both[] = {"Donut", "Center"};
    struct feedback_item item = {.id = "a", .labels = {both, 2}};
    feedback_give(feedback, &item, 1, &arena, &err);
    ck_assert(item.err.code == ERR_OK && item.is_correct);
    expect("2", 1, 0, 0, 0);
    expect("3", 0, 1, 0, 0);
    item = (struct feedback_item){.id = "a", .labels = {both, 1}};
    feedback_give(feedback, &item, 1, &arena, &err);
    ck_assert(item.err.code == ERR_OK && !item.is_correct);
    expect("2", 0, 0, 0, 1);
    expect("3", 0, 0, 1, 0);
    closed();
}
END_TEST

/* The labels of the two versions have other places. */
START_TEST(a_label_judges_both_by_their_texts)
{
    opened(10);
    answered("a", 1);
    shadowed("2", "a", "Center");
    answered("b", 1);
    shadowed("2", "b", "Donut");
    answered("c", 1);
    shadowed("2", "c", "Donut");
    answered("d", 0);
    shadowed("2", "d", "Scratch");
    told("a", "Center");
    told("b", "Center");
    told("c", "Donut");
    told("d", "Edge");
    expect("2", 1, 1, 1, 1);
    expect("1", 0, 0, 0, 0);
    closed();
}
END_TEST

START_TEST(a_label_may_come_before_the_shadow_and_be_changed_or_taken_back)
{
    opened(10);
    answered("a", 1);
    told("a", "Donut");
    shadowed("2", "a", "Donut");
    expect("2", 0, 0, 1, 0);
    told("a", "Center");
    expect("2", 0, 1, 0, 0);
    told("a", NULL);
    expect("2", 0, 0, 0, 0);
    closed();
}
END_TEST

START_TEST(each_shadow_of_an_input_is_judged_by_itself)
{
    opened(10);
    answered("a", 1);
    shadowed("2", "a", "Center");
    shadowed("3", "a", "Donut");
    told("a", "Donut");
    expect("2", 0, 0, 0, 1);
    expect("3", 0, 0, 1, 0);
    closed();
}
END_TEST

START_TEST(feedback_ignores_a_shadow_of_an_earlier_answer_with_the_same_id)
{
    opened(10);
    answered("a", 1);
    shadowed("2", "a", "Center");
    answered("a", 2);
    told("a", "Donut");
    expect("2", 0, 0, 0, 0);
    shadowed("2", "a", "Center");
    expect("2", 0, 1, 0, 0);
    closed();
}
END_TEST

START_TEST(a_shadow_of_what_is_not_remembered_is_forgotten)
{
    opened(2);
    shadowed("2", "never", "Center");
    answered("a", 1);
    answered("b", 1);
    answered("c", 1);
    shadowed("2", "a", "Center");
    told("b", "Center");
    told("c", "Center");
    expect("2", 0, 0, 0, 0);
    closed();
    opened(0);
    answered("a", 1);
    shadowed("2", "a", "Center");
    expect("2", 0, 0, 0, 0);
    closed();
}
END_TEST

/* The answer's version made room for the shadow's. */
START_TEST(a_shadow_whose_version_takes_the_answers_place_judges_nothing)
{
    enum { VERSIONS = 256 };
    char version[16];
    opened(10);
    answered("a", 1);
    told("a", "Donut");
    for (int i = 2; i <= VERSIONS; i++) {
        snprintf(version, sizeof version, "%d", i);
        feedback_learn(feedback, "wafer", version, labels, 3, 1);
    }
    shadowed("more", "a", "Donut");
    expect("more", 0, 0, 0, 0);
    expect("1", 0, 0, 0, 0);
    closed();
}
END_TEST

SUITE("feedback_shadow", a_set_judges_both_by_its_texts, a_label_judges_both_by_their_texts,
      a_label_may_come_before_the_shadow_and_be_changed_or_taken_back,
      each_shadow_of_an_input_is_judged_by_itself,
      feedback_ignores_a_shadow_of_an_earlier_answer_with_the_same_id,
      a_shadow_of_what_is_not_remembered_is_forgotten,
      a_shadow_whose_version_takes_the_answers_place_judges_nothing)
