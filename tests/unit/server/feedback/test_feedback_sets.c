/* Right labels of answers that may have several: sets are judged whole, labels are counted each by
 * itself, and the audit log gives both back after a restart. */
#include "server/feedback/feedback_state.h"

#include "server/audit/audit_record.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

static const char *const labels[] = {"Center", "Donut", "Scratch"};
static const struct engine_info several = {.task = ENGINE_CLASSIFY,
                                           .labels = labels,
                                           .label_count = 3,
                                           .version = "1",
                                           .scores = "sigmoid"};

static struct feedback *feedback;
static struct audit *audit;
static struct tempdir dir;
static struct arena arena;
static struct err err;

static void opened(const struct engine_info *info)
{
    const struct feedback_options options = {10, audit, dir.path, true};
    err = (struct err){0};
    arena_init(&arena);
    ck_assert_msg(feedback_open(&feedback, &options, &err) == ERR_OK, "%s", err.text);
    feedback_learn(feedback, "wafer", "1", info->labels, info->label_count, 1);
}

static void closed(void)
{
    feedback_close(feedback);
    arena_deinit(&arena);
}

/* An answer whose labels are those of `scores` that are at least 0.5; the best one is `best`. */
static void predicted_by(const struct engine_info *info, const char *id, float *scores,
                         unsigned best)
{
    const struct answer answer = {.model_name = "wafer",
                                  .model_version = "1",
                                  .info = info,
                                  .result = {.task = ENGINE_CLASSIFY,
                                             .label = best,
                                             .scores = scores,
                                             .judgement.decision = DECISION_REVIEW}};
    const struct prediction_record record = {.id = id, .answer = &answer};
    const struct observer observer = feedback_observer(feedback);
    observer.prediction(observer.context, &record);
    if (audit != NULL)
        ck_assert_int_eq(audit_predictions(audit, &record, 1, &err), ERR_OK);
}

static void predicted(const char *id, float center, float donut, float scratch)
{
    float scores[] = {center, donut, scratch};
    predicted_by(&several, id, scores, 0);
}

static struct feedback_item give(const char *id, const char *const *texts, unsigned count)
{
    const char **list = arena_alloc_array(&arena, count + 1, sizeof *list);
    if (count > 0)
        memcpy(list, texts, count * sizeof *list);
    struct feedback_item item = {.id = id, .labels = {list, count}};
    err = (struct err){0};
    feedback_give(feedback, &item, 1, &arena, &err);
    return item;
}

#define GIVE(id, ...)                                                                              \
    give(id, (const char *const[]){__VA_ARGS__},                                                   \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void expect_labels(const struct feedback_labels *labels_of, const char *joined)
{
    char text[64] = "";
    ck_assert_ptr_nonnull(labels_of->texts);
    for (unsigned i = 0; i < labels_of->count; i++) {
        strcat(text, i > 0 ? "|" : "");
        strcat(text, labels_of->texts[i]);
    }
    ck_assert_str_eq(text, joined);
}

static struct feedback_accuracy accuracy(void)
{
    struct feedback_accuracy out;
    ck_assert_int_eq(feedback_accuracy(feedback, "wafer", "1", true, &arena, &out, &err), ERR_OK);
    return out;
}

static void expect_class(const struct feedback_accuracy *now, const char *label, uint64_t right,
                         uint64_t told, uint64_t said)
{
    for (unsigned i = 0; i < now->class_count; i++)
        if (strcmp(now->classes[i].label, label) == 0) {
            ck_assert_uint_eq(now->classes[i].right, right);
            ck_assert_uint_eq(now->classes[i].told, told);
            ck_assert_uint_eq(now->classes[i].predicted, said);
            return;
        }
    ck_assert_msg(told + said == 0, "%s", label);
}

START_TEST(a_set_is_right_whole_and_its_labels_each_by_itself)
{
    opened(&several);
    predicted("a", 0.9f, 0.5f, 0.1f);
    predicted("b", 0.9f, 0.2f, 0.1f);
    predicted("c", 0.1f, 0.2f, 0.3f);
    const struct feedback_item a = GIVE("a", "Donut", "Center"), b = GIVE("b", "Scratch", "Center"),
                               c = give("c", NULL, 0);
    ck_assert(a.err.code == ERR_OK && a.is_correct && a.replaced_labels.texts == NULL);
    expect_labels(&a.predicted_labels, "Center|Donut");
    ck_assert(b.err.code == ERR_OK && !b.is_correct);
    expect_labels(&b.predicted_labels, "Center");
    ck_assert(c.err.code == ERR_OK && c.is_correct);
    expect_labels(&c.predicted_labels, "");
    const struct feedback_accuracy now = accuracy();
    ck_assert(now.all.right == 2 && now.all.count == 3 && now.pair_count == 3);
    expect_class(&now, "Center", 2, 2, 2);
    expect_class(&now, "Donut", 1, 1, 1);
    expect_class(&now, "Scratch", 0, 1, 0);
    for (unsigned i = 0; i < now.pair_count; i++)
        ck_assert(strcmp(now.pairs[i].label, "Center|Scratch") != 0 ||
                  strcmp(now.pairs[i].predicted, "Center") == 0);
    closed();
}
END_TEST

/* A reply claims 512 bytes for each before it is written: a confusion has both texts of a pair four
 * times. */
START_TEST(pairs_of_long_sets_count_as_many_series_as_their_texts_fill)
{
    static char texts[4][OUTCOME_SET_BYTES / 4 + 1];
    static const char *many[4];
    float all[] = {0.9f, 0.9f, 0.9f, 0.9f};
    struct engine_info info = several;
    for (unsigned i = 0; i < 4; i++)
        many[i] = memset(texts[i], 'a' + (int)i, OUTCOME_SET_BYTES / 4);
    info.labels = many;
    info.label_count = 4;
    opened(&info);
    const size_t before = feedback_series(feedback);
    predicted_by(&info, "a", all, 0);
    ck_assert_int_eq(give("a", many, 4).err.code, ERR_OK);
    ck_assert_uint_ge((feedback_series(feedback) - before) * 512, 8 * OUTCOME_SET_BYTES);
    closed();
}
END_TEST

START_TEST(a_set_is_replaced_and_taken_back)
{
    const char *text;
    opened(&several);
    predicted("a", 0.9f, 0.1f, 0.1f);
    GIVE("a", "Donut");
    const struct feedback_item second = GIVE("a", "Center");
    expect_labels(&second.replaced_labels, "Donut");
    ck_assert(second.is_correct && accuracy().all.count == 1 && accuracy().all.right == 1);
    GIVE("a", "Center", "Donut");
    ck_assert_int_eq(feedback_label_of(feedback, "a", 0, &arena, &text), FEEDBACK_LABELLED);
    ck_assert_str_eq(text, "Center|Donut");
    const struct feedback_item removed = give("a", NULL, 0);
    expect_labels(&removed.replaced_labels, "Center|Donut"); /* the empty set is a set */
    struct feedback_item back = {.id = "a"};
    feedback_give(feedback, &back, 1, &arena, &err);
    expect_labels(&back.replaced_labels, "");
    ck_assert(accuracy().all.count == 0);
    ck_assert_int_eq(feedback_label_of(feedback, "a", 0, &arena, &text), FEEDBACK_OPEN);
    closed();
}
END_TEST

START_TEST(one_label_of_such_an_answer_is_compared_with_the_best_one)
{
    opened(&several);
    predicted("a", 0.9f, 0.7f, 0.1f);
    struct feedback_item item = {.id = "a", .label = "Center"};
    feedback_give(feedback, &item, 1, &arena, &err);
    ck_assert(item.err.code == ERR_OK && item.is_correct);
    ck_assert_str_eq(item.predicted, "Center");
    const struct feedback_item set = GIVE("a", "Center");
    ck_assert(set.err.code == ERR_OK && !set.is_correct);
    ck_assert_str_eq(set.replaced, "Center");
    item = (struct feedback_item){.id = "a", .label = "Bullseye", .is_new = true};
    feedback_give(feedback, &item, 1, &arena, &err);
    ck_assert(item.err.code == ERR_OK && !item.is_correct);
    expect_labels(&item.replaced_labels, "Center");
    const struct feedback_item last = GIVE("a", "Donut", "Center");
    ck_assert(last.is_correct);
    ck_assert_str_eq(last.replaced, "Bullseye");
    const struct feedback_accuracy now = accuracy();
    ck_assert(now.all.count == 1 && now.all.right == 1);
    expect_class(&now, "Center", 1, 1, 1);
    closed();
}
END_TEST

START_TEST(a_set_of_what_the_model_lacks_is_refused)
{
    opened(&several);
    predicted("a", 0.9f, 0.1f, 0.1f);
    ck_assert_str_eq(GIVE("a", "Center", "Bullseye").err.text,
                     "labels: the model has no label \"Bullseye\"");
    struct feedback_item fresh = GIVE("a", "Center");
    fresh = (struct feedback_item){.id = "a", .labels = fresh.labels, .is_new = true};
    feedback_give(feedback, &fresh, 1, &arena, &err);
    ck_assert_int_eq(fresh.err.code, ERR_UNUSABLE);
    ck_assert(accuracy().all.count == 1);
    closed();
}
END_TEST

/* Within both limits; one more label; labels that exclude each other; texts of one byte more than
 * three sets of a line may have. */
START_TEST(an_answer_without_a_set_takes_one_label)
{
    static const struct {
        unsigned count;
        size_t bytes;
        const char *scores;
        bool is_set;
    } cases[] = {{OUTCOME_SET_LABELS, OUTCOME_SET_BYTES, "sigmoid", true},
                 {OUTCOME_SET_LABELS + 1, OUTCOME_SET_BYTES, "sigmoid", false},
                 {OUTCOME_SET_LABELS, OUTCOME_SET_BYTES, "softmax", false},
                 {OUTCOME_SET_LABELS, OUTCOME_SET_BYTES + 1, "sigmoid", false}};
    static const char *many[OUTCOME_SET_LABELS + 1];
    static char texts[OUTCOME_SET_LABELS + 1][OUTCOME_SET_BYTES];
    float scores[OUTCOME_SET_LABELS + 1] = {0.9f, 0.8f};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct engine_info info = several;
        size_t left = cases[c].bytes;
        for (unsigned i = 0; i < cases[c].count; i++) {
            many[i] = texts[i];
            left -= (size_t)snprintf(texts[i], sizeof texts[i], "l%02u", i);
        }
        memset(texts[2] + 3, 'x', left);
        texts[2][3 + left] = '\0';
        info.labels = many;
        info.label_count = cases[c].count;
        info.scores = cases[c].scores;
        opened(&info);
        predicted_by(&info, "a", scores, 0);
        const struct feedback_item item = GIVE("a", "l00", "l01");
        ck_assert_int_eq(item.err.code, cases[c].is_set ? ERR_OK : ERR_UNUSABLE);
        ck_assert(item.is_correct == cases[c].is_set);
        ck_assert(cases[c].is_set || strstr(item.err.text, "at most 63 labels of 2048 bytes"));
        struct feedback_item one = {.id = "a", .label = "l00"};
        feedback_give(feedback, &one, 1, &arena, &err);
        ck_assert(one.err.code == ERR_OK && one.is_correct);
        closed();
    }
}
END_TEST

START_TEST(after_a_restart_sets_are_known_again)
{
    tempdir_open(&dir);
    const struct audit_options options = {.dir = dir.path, .refuse = true, .rotate_bytes = 1 << 20};
    ck_assert_msg(audit_open(&audit, &options, &err) == ERR_OK, "%s", err.text);
    opened(&several);
    predicted("a", 0.9f, 0.8f, 0.1f);
    predicted("b", 0.1f, 0.2f, 0.1f);
    predicted("c", 0.1f, 0.9f, 0.1f);
    /* A line of a program that knew no sets, about the best label. */
    static const char old[] =
        "\"type\":\"prediction\",\"id\":\"old\",\"index\":0,\"model\":\"wafer\","
        "\"version\":\"1\",\"label\":\"Scratch\",\"decision\":\"review\"";
    audit_append(audit, &(struct audit_members){old, sizeof old - 1}, 1, &err);
    GIVE("a", "Center", "Donut");
    GIVE("b", "Scratch");
    GIVE("c", "Donut");
    struct feedback_item back = {.id = "c"};
    feedback_give(feedback, &back, 1, &arena, &err);
    ck_assert_int_eq(err.code, ERR_OK);
    closed();
    audit_close(audit);
    ck_assert_msg(audit_open(&audit, &options, &err) == ERR_OK, "%s", err.text);
    opened(&several);
    pthread_join(feedback->reader, NULL);
    feedback->has_reader = false;
    const struct feedback_accuracy now = accuracy();
    ck_assert(now.all.right == 1 && now.all.count == 2);
    expect_class(&now, "Scratch", 0, 1, 0);
    expect_labels(&(struct feedback_labels){GIVE("a", "Donut").replaced_labels.texts, 2},
                  "Center|Donut");
    ck_assert_ptr_null(GIVE("c", "Donut").replaced_labels.texts);
    struct feedback_item one = {.id = "old", .label = "Scratch"};
    feedback_give(feedback, &one, 1, &arena, &err);
    ck_assert(one.err.code == ERR_OK && one.is_correct);
    closed();
    audit_close(audit);
    audit = NULL;
    tempdir_close(&dir);
}
END_TEST

SUITE("feedback_sets", a_set_is_right_whole_and_its_labels_each_by_itself,
      pairs_of_long_sets_count_as_many_series_as_their_texts_fill, a_set_is_replaced_and_taken_back,
      one_label_of_such_an_answer_is_compared_with_the_best_one,
      a_set_of_what_the_model_lacks_is_refused, an_answer_without_a_set_takes_one_label,
      after_a_restart_sets_are_known_again)
