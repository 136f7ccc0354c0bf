/* Kept inputs that are nearest to a new one, from files whose likeness the test writes. */
#include "server/review/review_nearest.h"

#include "server/observe/record.h"
#include "server/review/review_state.h"
#include "tests/support/look_counter.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 4, K = 3 };

static struct tempdir dir;
static struct feedback *feedback;
static struct memory memory;
static struct arena arena;
static uint64_t number;

static const char *const labels[] = {"none", "Center"};
static const struct engine_info info = {.labels = labels, .label_count = 2, .version = "1"};

/* A file as the server writes it, whose likeness points to (x, y, 0, 0), and its prediction. */
static void keep(const char *id, unsigned index, const char *model, int8_t x, int8_t y)
{
    const int8_t likeness[SIZE] = {x, y};
    char head[KEPT_FILE_HEAD_BYTES], inside[128];
    struct kept_parts parts = {
        .head = head, .likeness = likeness, .likeness_size = SIZE, .bytes = "text", .len = 4};
    const struct kept_input input = {.id = id,
                                     .index = index,
                                     .time = "2026-11-22T21:39:44.123Z",
                                     .model = model,
                                     .version = "1",
                                     .label = "none",
                                     .decision = DECISION_REVIEW,
                                     .media_type = "text/plain; charset=utf-8",
                                     .likeness_size = SIZE};
    const struct engine_result result = {.is_finite = true};
    const struct answer answer = {
        .model_name = model, .model_version = "1", .info = &info, .result = result};
    const struct prediction_record record = {.id = id, .index = index, .answer = &answer};
    const struct observer observer = feedback_observer(feedback);
    size_t bytes;
    struct err err = {0};
    snprintf(inside, sizeof inside, "%s/inputs", dir.path);
    mkdir(inside, 0700);
    ck_assert(kept_file_head(&input, head, &parts.head_len));
    ck_assert_int_eq(kept_file_write(inside, ++number, &parts, &bytes, &err), ERR_OK);
    observer.prediction(observer.context, &record);
}

static void setup(void)
{
    struct err err = {0};
    tempdir_open(&dir);
    arena_init(&arena);
    number = 0;
    ck_assert_int_eq(feedback_open(&feedback, &(struct feedback_options){.window = 100}, &err),
                     ERR_OK);
    memory_init(&memory, (size_t)64 << 20, 0, 0);
}

static void teardown(void)
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

/* The kept inputs nearest to (100, 0, 0, 0). */
static enum err_code nearest(struct interrupt *interrupt, struct answer_neighbour *items,
                             unsigned *count)
{
    static const int8_t likeness[SIZE] = {100};
    const struct review_options options = {
        .state_dir = dir.path, .bytes_max = 1 << 24, .memory = &memory, .feedback = feedback};
    const struct review_nearest_question question = {.model = "wafer",
                                                     .likeness = likeness,
                                                     .likeness_size = SIZE,
                                                     .k = K,
                                                     .feedback = feedback,
                                                     .interrupt = interrupt};
    struct review *review;
    struct err err = {0};
    ck_assert_int_eq(review_open(&review, &options, &err), ERR_OK);
    while (!atomic_load(&review->is_restored))
        usleep(1000);
    const size_t before = arena.bytes, bound = review_nearest_bytes(review, K);
    review_nearest(review, &question, items, count, &arena, &err);
    ck_assert_uint_le(arena.bytes - before, bound);
    review_close(review);
    return err.code;
}

START_TEST(nearest_are_told_in_order_with_the_labels_that_people_gave)
{
    struct answer_neighbour items[K];
    struct feedback_item given = {.id = "b", .index = 2, .label = "Center", .is_new = true};
    struct err err = {0};
    unsigned count = 0;
    setup();
    keep("a", 0, "wafer", 50, 50);
    keep("b", 2, "wafer", 90, 10);
    keep("c", 0, "wafer", 0, 100);
    keep("d", 0, "wafer", 100, 0);
    keep("e", 0, "other", 100, 0);
    keep("d", 0, "wafer", -100, 0); /* a newer input of the same id: the older one is outdated */
    feedback_give(feedback, &given, 1, &arena, &err);
    ck_assert_int_eq(given.err.code, ERR_OK);
    ck_assert_int_eq(nearest(NULL, items, &count), ERR_OK);
    ck_assert_uint_eq(count, K);
    ck_assert_str_eq(items[0].id, "b");
    ck_assert_str_eq(items[0].label, "Center");
    ck_assert_str_eq(items[0].source, "review?index=2");
    ck_assert_double_eq_tol((double)items[0].score, 0.993884, 1e-5);
    ck_assert_str_eq(items[1].id, "a");
    ck_assert_str_eq(items[1].label, "");
    ck_assert_str_eq(items[1].source, "review");
    ck_assert_str_eq(items[2].id, "c");
    teardown();
}
END_TEST

START_TEST(nearest_of_fewer_are_fewer)
{
    struct answer_neighbour items[K];
    unsigned count = 7;
    setup();
    keep("a", 0, "other", 50, 50);
    ck_assert_int_eq(nearest(NULL, items, &count), ERR_OK);
    ck_assert_uint_eq(count, 0);
    teardown();
}
END_TEST

START_TEST(nearest_ends_at_an_interrupt)
{
    struct answer_neighbour items[K];
    struct look_counter counter;
    unsigned count = 0;
    setup();
    keep("a", 0, "wafer", 50, 50);
    keep("b", 0, "wafer", 50, 50);
    ck_assert_int_eq(nearest(look_counter_init(&counter, 2), items, &count), ERR_DEADLINE);
    teardown();
}
END_TEST

SUITE("review_nearest", nearest_are_told_in_order_with_the_labels_that_people_gave,
      nearest_of_fewer_are_fewer, nearest_ends_at_an_interrupt)
