/* Right labels of remembered predictions: labels that are accepted, the label replaced, the counts.
 * The audit log has a label first and gives it back after a restart. */
#include "server/feedback/feedback_state.h"

#include "server/audit/audit_files.h"
#include "server/feedback/feedback_line.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tests/unit/server/metrics_samples.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const labels[] = {"none", "Center", "Donut"};
static const struct engine_info info = {.labels = labels, .label_count = 3, .version = "1"};

static struct feedback *feedback;
static struct audit *audit;
static struct tempdir dir;
static struct arena arena;
static struct err err;

static void opened(unsigned window)
{
    const struct feedback_options options = {window, audit, dir.path, true};
    err = (struct err){0};
    arena_init(&arena);
    ck_assert_msg(feedback_open(&feedback, &options, &err) == ERR_OK, "%s", err.text);
    feedback_learn(feedback, "wafer", "1", labels, 3, 1);
}

static void closed(void)
{
    feedback_close(feedback);
    arena_deinit(&arena);
}

static const char *asker; /* the name of the key that asks; NULL: none is needed */

static void predicted_as(const char *version, const char *id, unsigned index, unsigned label,
                         enum decision decision)
{
    const struct engine_result result = {.label = label, .judgement.decision = decision};
    const struct answer answer = {
        .model_name = "wafer", .model_version = version, .info = &info, .result = result};
    const struct prediction_record record = {
        .id = id, .index = index, .key = asker, .answer = &answer};
    const struct observer observer = feedback_observer(feedback);
    observer.prediction(observer.context, &record);
    if (audit == NULL)
        return;
    char line[320];
    int len = snprintf(line, sizeof line,
                       "\"type\":\"prediction\",\"id\":\"%s\",\"index\":%u,\"model\":\"wafer\","
                       "\"version\":\"%s\",\"label\":\"%s\",\"decision\":\"%s\"%s%s%s",
                       id, index, version, labels[label], decision_name(decision),
                       asker != NULL ? ",\"key\":\"" : "", asker != NULL ? asker : "",
                       asker != NULL ? "\"" : "");
    audit_append(audit, &(struct audit_members){line, (size_t)len}, 1, &err);
}

static void predicted(const char *id, unsigned index, unsigned label)
{
    predicted_as("1", id, index, label, DECISION_REVIEW);
}

static struct feedback_item give(const char *id, unsigned index, const char *label)
{
    struct feedback_item item = {.id = id, .index = index, .label = label};
    err = (struct err){0};
    feedback_give(feedback, &item, 1, &arena, &err);
    return item;
}

static struct feedback_item give_new(const char *id, const char *label)
{
    struct feedback_item item = {.id = id, .label = label, .is_new = true};
    err = (struct err){0};
    feedback_give(feedback, &item, 1, &arena, &err);
    return item;
}

/* The right label of an id, as whoever learns from it asks; NULL: none. */
static const char *learnt(const char *id)
{
    struct feedback_given given;
    uint64_t key[2];
    err = (struct err){0};
    feedback_key(feedback, id, 0, key);
    if (!feedback_given(feedback, key, &arena, &given, &err))
        return NULL;
    ck_assert_str_eq(given.model, "wafer");
    return given.label;
}

static struct feedback_accuracy accuracy(void)
{
    struct feedback_accuracy out;
    struct err failed = {0};
    ck_assert_int_eq(feedback_accuracy(feedback, "wafer", "1", true, &arena, &out, &failed),
                     ERR_OK);
    return out;
}

static void expect_all(uint64_t right, uint64_t count)
{
    const struct feedback_accuracy now = accuracy();
    ck_assert_uint_eq(now.all.right, right);
    ck_assert_uint_eq(now.all.count, count);
}

/* ---- one label ---- */

START_TEST(a_label_is_compared_with_what_was_predicted)
{
    opened(10);
    predicted("a", 0, 1);
    predicted("a", 1, 2);
    struct feedback_item right = give("a", 0, "Center"), wrong = give("a", 1, "none");
    ck_assert(right.err.code == ERR_OK && right.is_correct && right.replaced == NULL);
    ck_assert_str_eq(right.predicted, "Center");
    ck_assert(wrong.err.code == ERR_OK && !wrong.is_correct);
    ck_assert_str_eq(wrong.predicted, "Donut");
    expect_all(1, 2);
    closed();
}
END_TEST

START_TEST(a_second_label_replaces_the_first_and_says_so)
{
    opened(10);
    predicted("a", 0, 1);
    give("a", 0, "Center");
    struct feedback_item second = give("a", 0, "Donut");
    ck_assert_str_eq(second.replaced, "Center");
    expect_all(0, 1);
    struct feedback_item third = give("a", 0, "Center");
    ck_assert_str_eq(third.replaced, "Donut");
    expect_all(1, 1);
    closed();
}
END_TEST

START_TEST(an_id_that_is_not_remembered_is_not_found)
{
    opened(2);
    predicted("a", 0, 1);
    predicted("b", 0, 1);
    predicted("c", 0, 1);
    struct feedback_item gone = give("a", 0, "Center"), never = give("c", 1, "Center");
    ck_assert_int_eq(gone.err.code, ERR_NOT_FOUND);
    ck_assert_int_eq(never.err.code, ERR_NOT_FOUND);
    ck_assert_str_eq(gone.err.text,
                     "id: no prediction with this id and index is remembered: only the "
                     "last 2 are (feedback_window), of at most 256 versions, and none made with "
                     "candidate_labels nor a text of more than 4096 bytes");
    ck_assert_int_eq(give("c", 0, "Center").err.code, ERR_OK);
    expect_all(1, 1);
    closed();
}
END_TEST

START_TEST(a_label_that_the_model_lacks_is_refused_by_name_and_stored_if_it_is_new)
{
    opened(10);
    predicted("a", 0, 1);
    struct feedback_item typo = give("a", 0, "Dnut");
    ck_assert_int_eq(typo.err.code, ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(typo.err.text, "did you mean \"Donut\"?"));
    expect_all(0, 0);
    struct feedback_item fresh = give_new("a", "Bullseye");
    ck_assert(fresh.err.code == ERR_OK && !fresh.is_correct);
    expect_all(0, 1);
    ck_assert_int_eq(give("a", 0, "Bullseye").err.code, ERR_UNUSABLE); /* not the model's yet */
    ck_assert_str_eq(give("a", 0, "Center").replaced, "Bullseye");
    expect_all(1, 1);
    ck_assert(give_new("a", "Donut").err.code == ERR_OK); /* known: as without */
    const struct feedback_accuracy now = accuracy();
    for (unsigned i = 0; i < now.class_count; i++)
        ck_assert_str_ne(now.classes[i].label, "other");
    closed();
}
END_TEST

START_TEST(a_label_can_be_taken_back_once)
{
    opened(10);
    predicted("a", 0, 1);
    ck_assert_int_eq(give("a", 0, NULL).err.code, ERR_NOT_FOUND);
    give("a", 0, "Center");
    struct feedback_item removed = give("a", 0, NULL);
    ck_assert_int_eq(removed.err.code, ERR_OK);
    ck_assert_str_eq(removed.replaced, "Center");
    expect_all(0, 0);
    ck_assert_int_eq(give("a", 0, NULL).err.code, ERR_NOT_FOUND);
    ck_assert_ptr_null(give("a", 0, "Donut").replaced);
    closed();
}
END_TEST

static enum feedback_standing standing_of(const char *id, unsigned index, const char **label)
{
    return feedback_label_of(feedback, id, index, &arena, label);
}

START_TEST(the_right_label_of_a_prediction_is_found_by_its_id_and_index)
{
    const char *label;
    opened(4);
    predicted("a", 0, 1);
    predicted("a", 1, 1);
    ck_assert_int_eq(standing_of("a", 0, &label), FEEDBACK_OPEN);
    ck_assert_ptr_null(label);
    give("a", 1, "Donut");
    ck_assert_int_eq(standing_of("a", 1, &label), FEEDBACK_LABELLED);
    ck_assert_str_eq(label, "Donut");
    ck_assert_int_eq(standing_of("a", 0, &label), FEEDBACK_OPEN);
    give_new("a", "Bullseye");
    ck_assert_int_eq(standing_of("a", 0, &label), FEEDBACK_LABELLED);
    ck_assert_str_eq(label, "Bullseye");
    give("a", 1, NULL);
    ck_assert_int_eq(standing_of("a", 1, &label), FEEDBACK_OPEN);
    predicted("a", 1, 2); /* the latest with the id counts */
    ck_assert_int_eq(standing_of("a", 1, &label), FEEDBACK_OPEN);
    ck_assert_int_eq(standing_of("b", 0, &label), FEEDBACK_FORGOTTEN);
    ck_assert_ptr_null(label);
    closed();
}
END_TEST

/* Gives the prediction "p<i>" the label "new-<i>", which the model lacks. */
static struct feedback_item give_numbered(unsigned i, const char *label)
{
    static char id[16], text[16];
    snprintf(id, sizeof id, "p%u", i);
    snprintf(text, sizeof text, "new-%u", i);
    return label == NULL ? give(id, 0, NULL) : give_new(id, *label != '\0' ? label : text);
}

START_TEST(a_full_table_of_labels_is_refused_and_those_taken_back_free_it)
{
    char id[16];
    const char *label;
    opened(2000);
    for (unsigned i = 0; i < 1030; i++) {
        snprintf(id, sizeof id, "p%u", i);
        predicted(id, 0, 1);
    }
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 1024; i++)
            ck_assert_int_eq(give_numbered(i, "").err.code, ERR_OK);
        struct feedback_item item = give_numbered(1024, "");
        ck_assert_int_eq(item.err.code, ERR_UNUSABLE);
        ck_assert_ptr_nonnull(
            strstr(item.err.text, "at most 1024 are kept for a version. Take some"));
        ck_assert_int_eq(standing_of("p1024", 0, &label), FEEDBACK_OPEN);
        ck_assert_int_eq(give_numbered(7, NULL).err.code, ERR_OK); /* taken back */
        ck_assert_int_eq(give_numbered(1024, "").err.code, ERR_OK);
        ck_assert_int_eq(give_numbered(1025, "").err.code, ERR_UNUSABLE);
        ck_assert_int_eq(give_numbered(8, "Donut").err.code, ERR_OK); /* replaced */
        ck_assert_int_eq(give_numbered(1025, "").err.code, ERR_OK);
        ck_assert_int_eq(standing_of("p1025", 0, &label), FEEDBACK_LABELLED);
        ck_assert_str_eq(label, "new-1025");
        ck_assert_int_eq(standing_of("p9", 0, &label), FEEDBACK_LABELLED);
        ck_assert_str_eq(label, "new-9");
        for (unsigned i = 0; i < 1026; i++)
            give_numbered(i, NULL);
    }
    expect_all(0, 0);
    closed();
}
END_TEST

/* One label, replaced by another text 30 000 times: the texts that nobody has are gone. */
START_TEST(texts_of_labels_that_were_replaced_take_no_room)
{
    char text[16], before[16] = "";
    opened(10);
    predicted("p0", 0, 1);
    for (unsigned i = 0; i < 30000; i++) {
        snprintf(text, sizeof text, "made-up-%u", i);
        const struct feedback_item item = give_new("p0", text);
        ck_assert_msg(item.err.code == ERR_OK, "%u: %s", i, item.err.text);
        if (i > 0)
            ck_assert_str_eq(item.replaced, before);
        strcpy(before, text);
        arena_deinit(&arena);
        arena_init(&arena);
    }
    ck_assert_uint_eq(feedback->outcomes->text_count, 2 + 3); /* "wafer", "1" and its labels */
    ck_assert_uint_eq(feedback->outcomes->versions[0].label_count, 3 + OUTCOMES_NEW_LABELS);
    ck_assert_int_eq(give("p0", 0, "Center").err.code, ERR_OK);
    closed();
}
END_TEST

/* Gives `count` predictions a label each that the model lacks, and returns how many were taken. */
static unsigned give_many(unsigned from, unsigned count)
{
    char id[16], text[16];
    unsigned taken = 0;
    for (unsigned i = from; i < from + count; i++) {
        snprintf(id, sizeof id, "p%u", i);
        snprintf(text, sizeof text, "new-%u", i);
        predicted(id, 0, 1);
        taken += give_new(id, text).err.code == ERR_OK;
    }
    return taken;
}

START_TEST(a_made_up_label_holds_its_place_while_it_is_remembered)
{
    const struct feedback_options forgetful = {.window = 100};
    char id[16];
    opened(100);
    ck_assert_uint_eq(give_many(0, 1100), 1024); /* the labels outlive their predictions */
    for (unsigned i = 0; i < FEEDBACK_GIVEN; i++) {
        snprintf(id, sizeof id, "q%u", i);
        predicted(id, 0, 1);
        give(id, 0, "Donut");
        arena_deinit(&arena);
        arena_init(&arena);
    }
    ck_assert_uint_eq(give_many(2000, 1100), 1024);
    for (unsigned i = 2000; i < 3024; i++) { /* an id that is used again is another prediction */
        snprintf(id, sizeof id, "p%u", i);
        predicted(id, 0, 1);
    }
    ck_assert_uint_eq(give_many(4000, 100), 100);
    closed();
    arena_init(&arena);
    ck_assert_int_eq(feedback_open(&feedback, &forgetful, &err), ERR_OK);
    ck_assert_uint_eq(give_many(0, 3000), 3000);
    closed();
}
END_TEST

/* A fit a night gets there. */
START_TEST(a_version_more_takes_the_place_of_the_one_that_was_longest_unused)
{
    char version[16], id[16];
    const char *label;
    opened(2000);
    for (unsigned i = 0; i < 700; i++) {
        snprintf(version, sizeof version, "v%u", i);
        snprintf(id, sizeof id, "p%u", i);
        predicted_as(version, id, 0, i % 3, DECISION_REVIEW);
        predicted("of 1", 0, 0);
        ck_assert_int_eq(give(id, 0, "Center").err.code, ERR_OK);
    }
    ck_assert_int_eq(give("of 1", 0, "Donut").err.code, ERR_OK);
    ck_assert_int_eq(give("p650", 0, "Donut").err.code, ERR_OK);
    struct feedback_item old = give("p5", 0, "Donut");
    ck_assert_int_eq(old.err.code, ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(old.err.text, "of at most 256 versions"));
    ck_assert_int_eq(standing_of("p5", 0, &label), FEEDBACK_FORGOTTEN);
    ck_assert_int_eq(standing_of("p600", 0, &label), FEEDBACK_LABELLED);
    ck_assert_str_eq(label, "Center");
    for (unsigned i = 445; i < 700; i++) {
        struct feedback_accuracy accuracy;
        snprintf(version, sizeof version, "v%u", i);
        ck_assert_int_eq(
            feedback_accuracy(feedback, "wafer", version, true, &arena, &accuracy, &err), ERR_OK);
        ck_assert_uint_eq(accuracy.all.count, 1);
        ck_assert_uint_eq(accuracy.all.right, i == 650 ? i % 3 == 2 : i % 3 == 1);
        ck_assert_uint_eq(accuracy.pair_count, 1);
    }
    closed();
}
END_TEST

START_TEST(a_label_of_any_version_in_service_is_known)
{
    static const char *const more[] = {"none", "Scratch"};
    opened(10);
    predicted("a", 0, 1);
    ck_assert_int_eq(give("a", 0, "Scratch").err.code, ERR_UNUSABLE);
    feedback_learn(feedback, "other", "1", more, 2, 1);
    ck_assert_int_eq(give("a", 0, "Scratch").err.code, ERR_UNUSABLE);
    feedback_learn(feedback, "wafer", "2", more, 2, 1);
    ck_assert_int_eq(give("a", 0, "Scratch").err.code, ERR_OK);
    expect_all(0, 1);
    ck_assert_int_eq(give("a", 0, "Scrach").err.code, ERR_UNUSABLE);
    feedback_learn(feedback, "wafer", "1", labels, 3, 3); /* 2 is unloaded */
    predicted("b", 0, 1);
    ck_assert_int_eq(give("b", 0, "Scratch").err.code, ERR_UNUSABLE);
    closed();
}
END_TEST

START_TEST(labels_of_a_list_are_judged_in_order_and_by_themselves)
{
    struct feedback_item items[] = {{.id = "a", .label = "Center"},
                                    {.id = "nobody", .label = "Center"},
                                    {.id = "a", .label = "Donut"},
                                    {.id = "b", .label = "x", .err = {.code = ERR_UNUSABLE}}};
    opened(10);
    predicted("a", 0, 1);
    predicted("b", 0, 1);
    ck_assert_int_eq(feedback_give(feedback, items, 4, &arena, &err), ERR_OK);
    ck_assert_int_eq(items[0].err.code, ERR_OK);
    ck_assert_int_eq(items[1].err.code, ERR_NOT_FOUND);
    ck_assert_str_eq(items[2].replaced, "Center");
    expect_all(0, 1);
    closed();
}
END_TEST

START_TEST(feedback_names_the_nearest_label_for_the_first_wrong_ones)
{
    struct feedback_item items[64];
    opened(10);
    predicted("a", 0, 1);
    for (unsigned i = 0; i < 64; i++)
        items[i] = (struct feedback_item){.id = "a", .label = i % 2 > 0 ? "Dount" : "Center"};
    ck_assert_int_eq(feedback_give(feedback, items, 64, &arena, &err), ERR_OK);
    for (unsigned i = 0; i < 64; i++) {
        ck_assert_int_eq(items[i].err.code, i % 2 > 0 ? ERR_UNUSABLE : ERR_OK);
        ck_assert_int_eq(strstr(items[i].err.text, "did you mean \"Donut\"?") != NULL,
                         i % 2 > 0 && i < 4);
    }
    closed();
}
END_TEST

START_TEST(without_a_window_nothing_is_remembered)
{
    opened(0);
    predicted("a", 0, 1);
    ck_assert_int_eq(give("a", 0, "Center").err.code, ERR_NOT_FOUND);
    closed();
}
END_TEST

/* ---- figures ---- */

START_TEST(accuracy_is_by_decision_class_and_pair)
{
    opened(10);
    predicted_as("1", "a", 0, 1, DECISION_AUTO);
    predicted_as("1", "b", 0, 1, DECISION_AUTO);
    predicted_as("1", "c", 0, 2, DECISION_REVIEW);
    predicted_as("2", "d", 0, 2, DECISION_REVIEW); /* another version */
    give("a", 0, "Center");
    give("b", 0, "Donut");
    give_new("c", "Bullseye");
    give_new("d", "Donut");
    const struct feedback_accuracy now = accuracy();
    ck_assert_uint_eq(now.all.count, 3);
    ck_assert_uint_eq(now.by_decision[DECISION_AUTO].count, 2);
    ck_assert_uint_eq(now.by_decision[DECISION_AUTO].right, 1);
    ck_assert_uint_eq(now.by_decision[DECISION_REVIEW].count, 1);
    ck_assert_uint_eq(now.by_decision[DECISION_REVIEW].right, 0);
    ck_assert_uint_eq(now.class_count, 3);
    ck_assert_str_eq(now.classes[0].label, "Center");
    ck_assert(now.classes[0].told == 1 && now.classes[0].predicted == 2 &&
              now.classes[0].right == 1);
    ck_assert_str_eq(now.classes[1].label, "Donut");
    ck_assert(now.classes[1].told == 1 && now.classes[1].predicted == 1 &&
              now.classes[1].right == 0);
    ck_assert_str_eq(now.classes[2].label, "other");
    ck_assert(now.classes[2].told == 1 && now.classes[2].predicted == 0);
    ck_assert_uint_eq(now.pair_count, 3);
    closed();
}
END_TEST

START_TEST(labels_go_on_counting_when_their_prediction_has_left_the_window)
{
    opened(1);
    predicted("a", 0, 1);
    give("a", 0, "Center");
    predicted("b", 0, 1);
    ck_assert_int_eq(give("a", 0, "Donut").err.code, ERR_NOT_FOUND);
    expect_all(1, 1);
    closed();
}
END_TEST

static char scraped[2048];

static const char *scrape(void)
{
    struct metrics *metrics = metrics_samples_open();
    feedback_register(feedback, metrics);
    scraped[0] = '\0';
    metrics_samples_add(metrics, "attnd_feedback_total", scraped, sizeof scraped);
    metrics_samples_add(metrics, "attnd_accuracy_ratio", scraped, sizeof scraped);
    metrics_close(metrics);
    return scraped;
}

#define OF_WAFER "{model=\"wafer\",version=\"1\""
#define OF_CENTER(label)                                                                           \
    "attnd_feedback_total" OF_WAFER ",label=\"" label "\",predicted=\"Center\"} "
#define RATIO "attnd_accuracy_ratio" OF_WAFER "} "

START_TEST(series_exist_once_a_label_was_given_and_counters_never_fall)
{
    opened(10);
    predicted("a", 0, 1);
    ck_assert_str_eq(scrape(), "");
    give("a", 0, "Center");
    ck_assert_str_eq(scrape(), OF_CENTER("Center") "1\n" RATIO "1\n");
    give("a", 0, NULL);
    ck_assert_str_eq(scrape(), OF_CENTER("Center") "1\n"); /* a ratio of none is no series */
    give_new("a", "x");
    give_new("a", "y"); /* both are "other" */
    ck_assert_ptr_nonnull(strstr(scrape(), OF_CENTER("other") "2\n"));
    ck_assert_ptr_nonnull(strstr(scraped, RATIO "0\n"));
    ck_assert_uint_ge(feedback_series(feedback), 3);
    closed();
}
END_TEST

START_TEST(a_models_own_label_other_makes_one_series_with_those_that_it_lacks)
{
    static const char *const own[] = {"other"};
    opened(10);
    feedback_learn(feedback, "wafer", "1", own, 1, 2);
    predicted("a", 0, 1);
    predicted("b", 0, 1);
    give("a", 0, "other");
    give_new("b", "unheard");
    ck_assert_str_eq(scrape(), OF_CENTER("other") "2\n" RATIO "0\n");
    const struct feedback_accuracy now = accuracy();
    unsigned others = 0;
    for (unsigned i = 0; i < now.class_count; i++)
        others += strcmp(now.classes[i].label, "other") == 0 ? (unsigned)now.classes[i].told : 0;
    ck_assert_uint_eq(others, 2);
    ck_assert_uint_eq(now.pair_count, 1);
    ck_assert_uint_eq(now.pairs[0].count, 2);
    closed();
}
END_TEST

/* ---- with an audit log ---- */

static void audit_opened(size_t rotate_bytes)
{
    const struct audit_options options = {
        .dir = dir.path, .refuse = true, .rotate_bytes = rotate_bytes};
    err = (struct err){0};
    ck_assert_msg(audit_open(&audit, &options, &err) == ERR_OK, "%s", err.text);
}

/* Waits until an unknown id is called so: the past was read. */
static void await_past(void)
{
    while (give("no such id", 0, "Center").err.code == ERR_NOT_READY)
        usleep(1000);
    ck_assert_int_eq(give("no such id", 0, "Center").err.code, ERR_NOT_FOUND);
}

static void restart(unsigned window, size_t rotate_bytes)
{
    closed();
    audit_close(audit);
    audit_opened(rotate_bytes);
    opened(window);
}

static void all_closed(void)
{
    closed();
    audit_close(audit);
    audit = NULL;
    tempdir_close(&dir);
}

/* Counts a text in the log. */
static unsigned logged(const char *text)
{
    char **paths, line[4096];
    size_t count;
    unsigned found = 0;
    ck_assert_int_eq(audit_files_list(&paths, &count, dir.path, &err), ERR_OK);
    for (size_t i = 0; i < count; i++) {
        FILE *file = fopen(paths[i], "r");
        while (fgets(line, sizeof line, file) != NULL)
            found += strstr(line, text) != NULL;
        fclose(file);
    }
    audit_files_free(paths, count);
    return found;
}

START_TEST(each_label_is_a_line_of_the_audit_log)
{
    tempdir_open(&dir);
    audit_opened(1 << 20);
    opened(10);
    await_past();
    predicted("a", 2, 1);
    struct feedback_item item = {
        .id = "a", .index = 2, .label = "Donut", .source = "An\"na", .key = "line 1"};
    ck_assert_int_eq(feedback_give(feedback, &item, 1, &arena, &err), ERR_OK);
    give("a", 2, "Center");
    give("a", 2, NULL);
    give("nobody", 0, "Center");
    static const char members[] = "\"id\":\"a\",\"index\":2,\"model\":\"wafer\",\"version\":\"1\","
                                  "\"predicted\":\"Center\",";
    char text[512];
    snprintf(text, sizeof text,
             "\"type\":\"feedback\",%s\"label\":\"Donut\",\"decision\":\"review\","
             "\"source\":\"An\\\"na\",\"key\":\"line 1\",\"prev\"",
             members);
    ck_assert_uint_eq(logged(text), 1);
    snprintf(text, sizeof text,
             "\"type\":\"feedback\",%s\"label\":\"Center\",\"decision\":\"review\","
             "\"replaced\":\"Donut\",\"prev\"",
             members);
    ck_assert_uint_eq(logged(text), 1);
    snprintf(text, sizeof text,
             "\"type\":\"feedback_removed\",%s\"label\":\"Center\",\"decision\":\"review\","
             "\"prev\"",
             members);
    ck_assert_uint_eq(logged(text), 1);
    ck_assert_uint_eq(logged("\"type\":\"feedback"), 3);
    all_closed();
}
END_TEST

START_TEST(feedback_refuses_a_label_that_the_audit_log_refuses)
{
    struct rlimit before, limit;
    tempdir_open(&dir);
    audit_opened(1 << 20);
    opened(10);
    await_past();
    predicted("a", 0, 1);
    predicted("b", 0, 1);
    give("a", 0, "Center");
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    limit = before;
    limit.rlim_cur = 1;
    setrlimit(RLIMIT_FSIZE, &limit);
    struct feedback_item items[] = {{.id = "a", .label = "Donut"},
                                    {.id = "b", .label = "Center"},
                                    {.id = "a", .label = "none"}};
    err = (struct err){0};
    enum err_code code = feedback_give(feedback, items, 3, &arena, &err);
    struct feedback_item removal = {.id = "a"};
    struct err other = {0};
    enum err_code removing = feedback_give(feedback, &removal, 1, &arena, &other);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(code, ERR_NOT_READY);
    ck_assert_int_eq(removing, ERR_NOT_READY);
    expect_all(1, 1);
    ck_assert_str_eq(give("a", 0, "Center").replaced, "Center");
    ck_assert_ptr_null(give("b", 0, "Center").replaced);
    ck_assert_ptr_nonnull(strstr(scrape(), OF_CENTER("Center") "3\n"));
    all_closed();
}
END_TEST

START_TEST(after_a_restart_predictions_and_labels_are_known_again)
{
    tempdir_open(&dir);
    audit_opened(1 << 20);
    opened(10);
    await_past();
    predicted("a", 0, 1);
    predicted("b", 0, 2);
    predicted("b", 1, 0);
    predicted("c", 0, 0);
    give("a", 0, "Center");
    give("b", 0, "Center");
    give("b", 0, "Donut");
    give_new("b", "x");
    give("b", 1, "none");
    give("b", 1, NULL);
    predicted("c", 0, 1); /* the latest counts */
    for (int times = 0; times < 3; times++) {
        restart(10, 1 << 20);
        await_past();
        expect_all(1, 2);
        ck_assert_str_eq(give("b", 0, "Donut").replaced, times == 0 ? "x" : "Donut");
        expect_all(times == 0 ? 2 : 1, 2);
        ck_assert_int_eq(give("b", 1, NULL).err.code, ERR_NOT_FOUND);
        ck_assert_str_eq(give("c", 0, "none").predicted, "Center");
        ck_assert_int_eq(give("c", 0, NULL).err.code, ERR_OK);
        if (times == 0) {
            give_new("b", "Donut");
            give("a", 0, "none"); /* then one is right of two */
        }
    }
    all_closed();
}
END_TEST

START_TEST(feedback_restores_at_most_a_window_of_past_predictions)
{
    char id[16];
    tempdir_open(&dir);
    audit_opened(4096); /* of some ten lines */
    opened(200);
    await_past();
    for (unsigned i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "%u", i);
        predicted(id, 0, 1);
        ck_assert_int_eq(give(id, 0, i % 4 == 0 ? "none" : "Center").err.code, ERR_OK);
    }
    restart(40, 4096);
    await_past();
    for (unsigned i = 0; i < 100; i++) {
        snprintf(id, sizeof id, "%u", i);
        ck_assert_int_eq(give(id, 0, i % 4 == 0 ? "none" : "Center").err.code,
                         i < 60 ? ERR_NOT_FOUND : ERR_OK);
    }
    expect_all(30, 40);
    all_closed();
}
END_TEST

static void set_reading_past(bool is_reading)
{
    pthread_mutex_lock(&feedback->lock);
    feedback->is_reading_past = is_reading;
    pthread_mutex_unlock(&feedback->lock);
}

static void predicted_by(const char *key, const char *id, unsigned label)
{
    asker = key;
    predicted(id, 0, label);
    asker = NULL;
}

static void expect_contested(const char *id)
{
    const struct feedback_item item = give(id, 0, "Center"), taken = give(id, 0, NULL);
    ck_assert_int_eq(item.err.code, ERR_UNUSABLE);
    ck_assert_int_eq(taken.err.code, ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(item.err.text, "id: two keys asked under this id"));
}

START_TEST(an_id_that_two_keys_ask_under_gets_no_label)
{
    tempdir_open(&dir);
    audit_opened(1 << 20);
    opened(50);
    predicted_by("mes", "a", 0);
    predicted_by("mes", "a", 1); /* the same key asks again: the latest is meant */
    ck_assert_str_eq(give("a", 0, "Center").predicted, "Center");
    ck_assert(feedback_is_own(feedback, "a", 0, "mes"));
    ck_assert(!feedback_is_own(feedback, "a", 0, "other") &&
              !feedback_is_own(feedback, "a", 0, NULL));
    ck_assert(feedback_is_own(feedback, "a", 1, "other") &&
              feedback_is_own(feedback, "b", 0, NULL));
    predicted_by("other", "a", 2);
    expect_contested("a");
    ck_assert(feedback_is_own(feedback, "a", 0, "mes"));
    expect_all(1, 1); /* the earlier label stands */
    predicted_by("mes", "a", 1);
    expect_contested("a"); /* nobody can lift it by asking once more */
    predicted_by("mes", "c", 1);
    predicted_by("other", "c", 1);
    predicted_by(NULL, "d", 1);
    ck_assert_int_eq(give("d", 0, "Center").err.code, ERR_OK);
    predicted_by("mes", "e", 1);
    restart(50, 1 << 20);
    await_past();
    expect_contested("a");
    expect_contested("c");
    ck_assert_str_eq(give("d", 0, "Donut").replaced, "Center");
    ck_assert_int_eq(give("e", 0, "Center").err.code, ERR_OK);
    predicted_by("other", "e", 1);
    expect_contested("e");
    all_closed();
}
END_TEST

START_TEST(while_the_past_is_read_only_new_predictions_are_known)
{
    const char *label;
    tempdir_open(&dir);
    audit_opened(1 << 20);
    opened(10);
    await_past();
    predicted("a", 0, 1);
    restart(10, 1 << 20);
    await_past();
    set_reading_past(true); /* as on a disk that is slow */
    struct feedback_item old = give("a", 0, "Center"), unknown = give("z", 0, "Center");
    ck_assert_int_eq(old.err.code, ERR_NOT_READY);
    ck_assert_int_eq(unknown.err.code, ERR_NOT_READY);
    ck_assert_int_eq(standing_of("a", 0, &label), FEEDBACK_UNREAD);
    predicted("b", 0, 1);
    ck_assert_int_eq(standing_of("b", 0, &label), FEEDBACK_OPEN);
    ck_assert_int_eq(give("b", 0, "Donut").err.code, ERR_OK);
    set_reading_past(false);
    ck_assert_int_eq(give("a", 0, "Center").err.code, ERR_OK);
    ck_assert_str_eq(give("b", 0, "Center").replaced, "Donut");
    expect_all(2, 2);
    all_closed();
}
END_TEST

START_TEST(feedback_ignores_foreign_lines_of_the_audit_log)
{
    static const char *const lines[] = {
        "\"type\":\"prediction\",\"id\":7",
        "\"type\":\"prediction\"",
        "\"type\":\"prediction\",\"id\":\"q\",\"index\":-1,\"model\":\"m\",\"version\":\"1\","
        "\"label\":\"x\",\"decision\":\"auto\"",
        "\"type\":\"feedback\",\"id\":\"a\",\"index\":0,\"model\":\"m\",\"version\":\"1\","
        "\"predicted\":\"x\",\"label\":\"y\",\"decision\":\"maybe\"",
        "\"type\":\"feedback\",\"id\":\"a\"",
        "\"type\":\"feedback_removed\",\"id\":\"q\",\"index\":0",
        "\"type\":\"predictions\"",
        "\"type\":\"feedback",
        "\"typ\":1"};
    tempdir_open(&dir);
    audit_opened(1 << 20);
    opened(10);
    await_past();
    predicted("a", 0, 1);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        audit_append(audit, &(struct audit_members){lines[i], strlen(lines[i])}, 1, &err);
    give("a", 0, "Center");
    restart(10, 1 << 20);
    await_past();
    expect_all(1, 1);
    all_closed();
}
END_TEST

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 500 };

static void *label_and_predict(void *context)
{
    const unsigned thread = *(const unsigned *)context;
    struct arena own;
    char id[32];
    arena_init(&own);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct feedback_accuracy now;
        struct err failed = {0};
        snprintf(id, sizeof id, "%u-%u", thread, i);
        const struct engine_result result = {.label = i % 3};
        const struct answer answer = {
            .model_name = "wafer", .model_version = "1", .info = &info, .result = result};
        const struct prediction_record record = {.id = id, .answer = &answer};
        const struct observer observer = feedback_observer(feedback);
        observer.prediction(observer.context, &record);
        struct feedback_item items[] = {{.id = id, .label = labels[(i + i % 2) % 3]},
                                        {.id = "shared", .label = labels[i % 3]}};
        feedback_give(feedback, items, 2, &own, &failed);
        feedback_accuracy(feedback, "wafer", "1", true, &own, &now, &failed);
        ck_assert(now.all.right <= now.all.count);
        feedback_series(feedback);
    }
    arena_deinit(&own);
    return NULL;
}

START_TEST(threads_lose_no_label)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    tempdir_open(&dir);
    audit_opened(1 << 16);
    opened(THREADS * ROUNDS + 1);
    await_past();
    predicted("shared", 0, 1);
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, label_and_predict, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    const struct feedback_accuracy now = accuracy();
    ck_assert_uint_eq(now.all.count, THREADS * ROUNDS + 1);
    ck_assert_uint_eq(logged("\"type\":\"feedback\""), 2 * THREADS * ROUNDS);
    char *last = strdup(give("shared", 0, "none").replaced);
    give("shared", 0, last);
    restart(10000, 1 << 16); /* the predictions of the threads have no lines, the shared one has */
    await_past();
    ck_assert_str_eq(give("shared", 0, "none").replaced, last);
    free(last);
    all_closed();
}
END_TEST

/* ---- labels to learn from ---- */

START_TEST(a_label_outlives_its_prediction_until_its_id_is_used_again)
{
    opened(2);
    predicted("a", 0, 1);
    predicted("b", 0, 1);
    give("a", 0, "Center");
    give("a", 0, "Donut");
    give_new("b", "Bullseye");
    predicted("c", 0, 1);
    predicted("d", 0, 1);
    ck_assert_str_eq(learnt("a"), "Donut");
    ck_assert_str_eq(learnt("b"), "Bullseye");
    ck_assert_ptr_null(learnt("c"));
    give("c", 0, "none");
    give("c", 0, NULL);
    ck_assert_ptr_null(learnt("c"));
    predicted("a", 0, 1); /* another input */
    ck_assert_ptr_null(learnt("a"));
    ck_assert_int_eq(err.code, ERR_OK);
    closed();
}
END_TEST

START_TEST(labels_to_learn_from_are_those_of_the_audit_log_after_a_restart)
{
    tempdir_open(&dir);
    audit_opened(1 << 16);
    opened(4);
    await_past();
    predicted("kept", 0, 1);
    predicted("used", 0, 1);
    predicted("back", 0, 1);
    give("kept", 0, "Donut");
    give("used", 0, "Donut");
    give("back", 0, "Donut");
    give("back", 0, NULL);
    predicted("used", 0, 2);
    predicted("late", 0, 1);
    predicted("later", 0, 1);
    predicted("latest", 0, 1);
    give_new("late", "Bullseye");
    restart(2, 1 << 16); /* the first ones are not in the window */
    await_past();
    ck_assert_str_eq(learnt("kept"), "Donut");
    ck_assert_str_eq(learnt("late"), "Bullseye");
    ck_assert_ptr_null(learnt("back"));
    ck_assert_ptr_null(learnt("used")); /* the second one has no label, and is not in it either */
    all_closed();
}
END_TEST

/* There is no label to be right or wrong: the number is not remembered. */
START_TEST(an_answer_of_a_regression_is_not_remembered)
{
    struct feedback_item item = {.id = "die-1", .label = labels[0]};
    const struct engine_result result = {.task = ENGINE_REGRESS, .number = 3.5f};
    const struct answer answer = {
        .model_name = "wafer", .model_version = "1", .info = &info, .result = result};
    const struct prediction_record record = {.id = "die-1", .answer = &answer};
    opened(10);
    const struct observer observer = feedback_observer(feedback);
    observer.prediction(observer.context, &record);
    ck_assert_int_eq(feedback_give(feedback, &item, 1, &arena, &err), ERR_OK);
    ck_assert_int_eq(item.err.code, ERR_NOT_FOUND);
    closed();
}
END_TEST

SUITE("feedback", an_answer_of_a_regression_is_not_remembered,
      a_label_is_compared_with_what_was_predicted, a_second_label_replaces_the_first_and_says_so,
      an_id_that_is_not_remembered_is_not_found,
      a_label_that_the_model_lacks_is_refused_by_name_and_stored_if_it_is_new,
      a_label_can_be_taken_back_once, the_right_label_of_a_prediction_is_found_by_its_id_and_index,
      a_full_table_of_labels_is_refused_and_those_taken_back_free_it,
      texts_of_labels_that_were_replaced_take_no_room,
      a_made_up_label_holds_its_place_while_it_is_remembered,
      a_version_more_takes_the_place_of_the_one_that_was_longest_unused,
      a_label_of_any_version_in_service_is_known,
      labels_of_a_list_are_judged_in_order_and_by_themselves,
      feedback_names_the_nearest_label_for_the_first_wrong_ones,
      without_a_window_nothing_is_remembered, accuracy_is_by_decision_class_and_pair,
      labels_go_on_counting_when_their_prediction_has_left_the_window,
      series_exist_once_a_label_was_given_and_counters_never_fall,
      a_models_own_label_other_makes_one_series_with_those_that_it_lacks,
      each_label_is_a_line_of_the_audit_log, feedback_refuses_a_label_that_the_audit_log_refuses,
      after_a_restart_predictions_and_labels_are_known_again,
      feedback_restores_at_most_a_window_of_past_predictions,
      an_id_that_two_keys_ask_under_gets_no_label,
      while_the_past_is_read_only_new_predictions_are_known,
      feedback_ignores_foreign_lines_of_the_audit_log, threads_lose_no_label,
      a_label_outlives_its_prediction_until_its_id_is_used_again,
      labels_to_learn_from_are_those_of_the_audit_log_after_a_restart)
