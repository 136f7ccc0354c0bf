/* Groups of kept inputs, from files of which the test says what they are like: which inputs are in
 * a group, which labelled ones stand beside it, and what bounds both. */
#include "server/review/review_groups.h"

#include "server/observe/record.h"
#include "server/review/review_state.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 8 };

static struct tempdir dir;
static struct feedback *feedback;
static struct review *review;
static struct memory memory;
static struct arena arena;
static struct review_found found;
static uint64_t number;

static const char *const labels[] = {"none", "Center"};
static const struct engine_info info = {.labels = labels, .label_count = 2, .version = "1"};

/* A file as the server writes it. */
static void keep_as(const char *id, unsigned kind, unsigned size, enum decision decision)
{
    int8_t likeness[SIZE] = {0};
    char head[KEPT_FILE_HEAD_BYTES], inside[128];
    struct kept_parts parts = {
        .head = head, .likeness = likeness, .likeness_size = size, .bytes = "text", .len = 4};
    const struct kept_input input = {.id = id,
                                     .time = "2026-11-22T21:39:44.123Z",
                                     .model = "wafer",
                                     .version = "1",
                                     .label = labels[kind % 2],
                                     .score = 0.5,
                                     .decision = decision,
                                     .media_type = "text/plain; charset=utf-8",
                                     .likeness_size = size};
    size_t bytes;
    struct err err = {0};
    likeness[kind] = 100;
    likeness[SIZE - 1] = (int8_t)(number % 7);
    snprintf(inside, sizeof inside, "%s/inputs", dir.path);
    mkdir(inside, 0700);
    ck_assert(kept_file_head(&input, head, &parts.head_len));
    ck_assert_int_eq(kept_file_write(inside, ++number, &parts, &bytes, &err), ERR_OK);
}

static void predicted(const char *id)
{
    const struct engine_result result = {.is_finite = true};
    const struct answer answer = {
        .model_name = "wafer", .model_version = "1", .info = &info, .result = result};
    const struct prediction_record record = {.id = id, .answer = &answer};
    const struct observer observer = feedback_observer(feedback);
    observer.prediction(observer.context, &record);
}

static void keep(const char *id, unsigned kind)
{
    keep_as(id, kind, SIZE, DECISION_REVIEW);
    predicted(id);
}

static void give(const char *id, const char *label)
{
    struct feedback_item item = {.id = id, .label = label, .is_new = true};
    struct err err = {0};
    feedback_give(feedback, &item, 1, &arena, &err);
    ck_assert_int_eq(item.err.code, ERR_OK);
}

static void opened(void)
{
    struct err err = {0};
    tempdir_open(&dir);
    arena_init(&arena);
    number = 0;
    ck_assert_int_eq(feedback_open(&feedback, &(struct feedback_options){.window = 5000}, &err),
                     ERR_OK);
    memory_init(&memory, (size_t)64 << 20, 0, 0);
}

/* Reads what was kept, and groups it. */
static void found_of(unsigned decisions, unsigned limit)
{
    const struct review_options options = {
        .state_dir = dir.path, .bytes_max = 1 << 24, .memory = &memory, .feedback = feedback};
    const struct review_question question = {.model = "wafer",
                                             .decisions = decisions,
                                             .limit = limit,
                                             .likeness_size = SIZE,
                                             .feedback = feedback};
    struct err err = {0};
    ck_assert_int_eq(review_open(&review, &options, &err), ERR_OK);
    while (!atomic_load(&review->is_restored))
        usleep(1000);
    const size_t before = arena.bytes, bound = review_groups_finding(review, &question);
    ck_assert_msg(review_groups_find(review, &question, &found, &arena, &err) == ERR_OK, "%s",
                  err.text);
    ck_assert_uint_le(arena.bytes - before, bound);
    ck_assert_int_eq(review_groups_read(review, &found, &arena, &err), ERR_OK);
    review_close(review);
}

static void closed(void)
{
    char path[512], inside[128];
    snprintf(inside, sizeof inside, "%s/inputs", dir.path);
    DIR *entries = opendir(inside);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", inside, entry->d_name);
        unlink(path);
    }
    closedir(entries);
    rmdir(inside);
    tempdir_close(&dir);
    feedback_close(feedback);
    arena_deinit(&arena);
}

START_TEST(alike_inputs_are_one_group_the_largest_first)
{
    char id[16];
    opened();
    for (int i = 0; i < 9; i++) {
        snprintf(id, sizeof id, "die-%d", i);
        keep(id, i % 3 == 0 ? 0 : 1);
    }
    found_of(REVIEW_NOT_AUTO, 10);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_uint_eq(found.groups[0].size, 6);
    ck_assert_uint_eq(found.groups[0].decisions[DECISION_REVIEW], 6);
    ck_assert_str_eq(found.groups[0].label, "Center");
    ck_assert_uint_eq(found.groups[1].size, 3);
    ck_assert_uint_eq(found.groups[1].input_count, 3);
    ck_assert_uint_eq(found.inputs, 9);
    for (unsigned i = 1; i < 6; i++)
        ck_assert_float_ge(found.groups[0].items[i - 1].similarity,
                           found.groups[0].items[i].similarity);
    for (unsigned i = 0; i < 6; i++) /* of the line, not of the file's block on the disk */
        ck_assert_uint_lt(found.groups[0].items[i].line, 1000);
    closed();
}
END_TEST

START_TEST(the_labelled_stand_beside_a_group_the_nearest_first)
{
    opened();
    keep("a", 0);
    keep("b", 0);
    keep("far", 1);
    keep("near", 0);
    give("far", "Center");
    give("near", "Bullseye");
    found_of(REVIEW_NOT_AUTO, 10);
    ck_assert_uint_eq(found.count, 1);
    const struct review_group *group = &found.groups[0];
    ck_assert_uint_eq(group->size, 2);
    ck_assert_uint_eq(group->nearest_count, 2);
    ck_assert_str_eq(group->nearest[0].label, "Bullseye");
    ck_assert_str_eq(group->nearest[0].input->id, "near");
    ck_assert_float_gt(group->nearest[0].similarity, 0.99F);
    ck_assert_str_eq(group->nearest[1].label, "Center");
    ck_assert_uint_eq(found.label_count, 2);
    closed();
}
END_TEST

START_TEST(review_groups_tell_the_five_nearest_labelled_inputs)
{
    char id[16];
    opened();
    keep("open", 0);
    for (int i = 0; i < 12; i++) {
        snprintf(id, sizeof id, "die-%d", i);
        keep(id, i % 2 == 0 ? 0 : 1);
        give(id, i % 2 == 0 ? "like" : "unlike");
    }
    found_of(REVIEW_NOT_AUTO, 10);
    ck_assert_uint_eq(found.groups[0].nearest_count, REVIEW_NEAREST_MAX);
    for (unsigned i = 0; i < REVIEW_NEAREST_MAX; i++)
        ck_assert_str_eq(found.groups[0].nearest[i].label, "like");
    ck_assert(found.labels[0].count == 6 && found.labels[1].count == 6);
    closed();
}
END_TEST

START_TEST(review_groups_put_inputs_that_cannot_be_compared_last_and_alone)
{
    opened();
    keep_as("old", 0, 0, DECISION_REVIEW); /* format 1 has no likeness either */
    predicted("old");
    keep_as("other", 0, SIZE / 2, DECISION_UNKNOWN); /* of a version with fewer features */
    predicted("other");
    keep("a", 0);
    found_of(REVIEW_NOT_AUTO, 10);
    ck_assert_uint_eq(found.count, 3);
    ck_assert_uint_eq(found.ungrouped, 2);
    ck_assert_str_eq(found.groups[0].inputs[0].id, "a");
    ck_assert_str_eq(found.groups[1].inputs[0].id, "other");
    ck_assert_str_eq(found.groups[2].inputs[0].id, "old");
    ck_assert_uint_eq(found.groups[2].nearest_count, 0);
    closed();
}
END_TEST

START_TEST(review_groups_hold_only_wanted_inputs_that_can_be_labelled)
{
    opened();
    keep_as("forgotten", 0, SIZE, DECISION_REVIEW);
    keep_as("auto", 0, SIZE, DECISION_AUTO);
    predicted("auto");
    keep("twice", 0);
    keep("twice", 0); /* the newer one is meant */
    found_of(REVIEW_NOT_AUTO, 10);
    ck_assert_uint_eq(found.forgotten, 1);
    ck_assert_uint_eq(found.inputs, 1);
    ck_assert_uint_eq(found.groups[0].inputs[0].number, 4);
    found_of(1u << DECISION_AUTO, 10);
    ck_assert_uint_eq(found.inputs, 1);
    ck_assert_str_eq(found.groups[0].inputs[0].id, "auto");
    closed();
}
END_TEST

START_TEST(a_group_counts_all_and_tells_a_hundred_and_a_list_ends_at_its_limit)
{
    char id[16];
    opened();
    for (int i = 0; i < 130; i++) {
        snprintf(id, sizeof id, "die-%d", i);
        keep(id, i < 120 ? 0 : (unsigned)(i % 5 + 1));
    }
    found_of(REVIEW_NOT_AUTO, 2);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_uint_eq(found.total, 6);
    ck_assert_uint_eq(found.groups[0].size, 120);
    ck_assert_uint_eq(found.groups[0].count, REVIEW_GROUP_ITEMS_MAX);
    ck_assert_uint_eq(found.groups[0].input_count, REVIEW_GROUP_ITEMS_MAX);
    closed();
}
END_TEST

SUITE("review/review_groups", alike_inputs_are_one_group_the_largest_first,
      the_labelled_stand_beside_a_group_the_nearest_first,
      review_groups_tell_the_five_nearest_labelled_inputs,
      review_groups_put_inputs_that_cannot_be_compared_last_and_alone,
      review_groups_hold_only_wanted_inputs_that_can_be_labelled,
      a_group_counts_all_and_tells_a_hundred_and_a_list_ends_at_its_limit)
