/* The cache of encoded labels, over a real model. */
#include "server/serve/label_sets.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 64 * 1024 };

struct bench {
    struct engine_model *model;
    struct label_sets *sets;
    struct err err;
};

static void bench_open(struct bench *bench, size_t bytes_max)
{
    *bench = (struct bench){0};
    engine_open(&bench->model, "tests/data/golden/clip-0", &(struct engine_options){0},
                &bench->err);
    ck_assert_msg(bench->err.code == ERR_OK, "%s", bench->err.text);
    ck_assert(!label_sets_open(&bench->sets, bench->model, bytes_max, &bench->err));
}

static void bench_close(struct bench *bench)
{
    label_sets_close(bench->sets);
    engine_close(bench->model);
}

static struct engine_labels labels_of(const char *const *texts, unsigned count)
{
    return (struct engine_labels){.texts = texts, .count = count};
}

/* Finishes a set that others may have begun; returns the number of steps. */
static unsigned finish(struct label_set *set)
{
    struct err err = {0};
    unsigned left = 1, steps = 0;
    for (; left > 0; steps++)
        ck_assert_msg(!label_set_step(set, &left, &err), "%s", err.text);
    return steps;
}

static struct label_set *make(struct bench *bench, const struct engine_labels *labels)
{
    struct label_set *set;
    ck_assert_msg(!label_sets_begin(&set, bench->sets, labels, &bench->err), "%s", bench->err.text);
    finish(set);
    return set;
}

START_TEST(a_set_is_found_once_it_is_ready)
{
    static const char *const texts[] = {"center", "donut"};
    struct engine_labels labels = labels_of(texts, 2);
    struct bench bench;
    struct label_set *set;
    bench_open(&bench, ROOM);
    ck_assert_ptr_null(label_sets_find(bench.sets, &labels));
    ck_assert(!label_sets_begin(&set, bench.sets, &labels, &bench.err));
    ck_assert_ptr_null(label_sets_find(bench.sets, &labels));
    finish(set);
    struct label_set *found = label_sets_find(bench.sets, &labels);
    ck_assert_ptr_eq(found, set);
    const struct engine_info *info = engine_describe(label_set_engine(found));
    ck_assert_uint_eq(info->label_count, 2);
    ck_assert_str_eq(info->labels[1], "donut");
    label_set_release(found);
    label_set_release(set);
    bench_close(&bench);
}
END_TEST

/* Another order, another border between labels, another hypothesis: other sets. */
START_TEST(only_the_same_labels_in_the_same_hypothesis_are_the_same_set)
{
    static const char *const texts[] = {"ab", "c"}, *const moved[] = {"a", "bc"},
                             *const turned[] = {"c", "ab"};
    struct engine_labels labels = labels_of(texts, 2), fewer = labels_of(texts, 1),
                         other = labels_of(moved, 2), order = labels_of(turned, 2), same = labels,
                         hypothesis = labels;
    struct bench bench;
    bench_open(&bench, ROOM);
    label_set_release(make(&bench, &labels));
    hypothesis.hypothesis = "{}";
    same.hypothesis = "This is a photo of {}."; /* the model's own */
    ck_assert_ptr_null(label_sets_find(bench.sets, &fewer));
    ck_assert_ptr_null(label_sets_find(bench.sets, &other));
    ck_assert_ptr_null(label_sets_find(bench.sets, &order));
    ck_assert_ptr_null(label_sets_find(bench.sets, &hypothesis));
    struct label_set *set = label_sets_find(bench.sets, &same);
    ck_assert_ptr_nonnull(set);
    label_set_release(set);
    bench_close(&bench);
}
END_TEST

START_TEST(label_sets_drop_the_set_unused_for_longest)
{
    enum { SETS = 40 };
    static char texts[SETS][16];
    static const char *list[SETS];
    struct bench bench;
    bench_open(&bench, ROOM);
    struct engine_labels first = labels_of(list, 1);
    for (unsigned i = 0; i < SETS; i++) {
        snprintf(texts[i], sizeof texts[i], "label %u", i);
        list[i] = texts[i];
        struct engine_labels labels = labels_of(&list[i], 1);
        label_set_release(make(&bench, &labels));
        struct label_set *set = label_sets_find(bench.sets, &first); /* used again and again */
        ck_assert_ptr_nonnull(set);
        label_set_release(set);
    }
    struct engine_labels second = labels_of(&list[1], 1), last = labels_of(&list[SETS - 1], 1);
    ck_assert_ptr_null(label_sets_find(bench.sets, &second));
    struct label_set *set = label_sets_find(bench.sets, &last);
    ck_assert_ptr_nonnull(set);
    label_set_release(set);
    bench_close(&bench);
}
END_TEST

/* A set in use outlives its place; one that is larger than the cache never has one. */
START_TEST(a_set_lives_until_its_last_holder_leaves)
{
    static const char *const texts[] = {"a", "b", "c"};
    struct engine_labels labels = labels_of(texts, 3);
    struct bench bench;
    bench_open(&bench, 1000);
    struct label_set *set = make(&bench, &labels);
    ck_assert_ptr_null(label_sets_find(bench.sets, &labels));
    label_set_acquire(set);
    label_set_release(set);
    ck_assert_str_eq(engine_describe(label_set_engine(set))->labels[2], "c");
    label_set_release(set);
    bench_close(&bench);
}
END_TEST

/* Two requests that ask for the same labels do half of the work each. */
START_TEST(a_set_in_the_making_is_shared)
{
    enum { COUNT = 300 };
    static char texts[COUNT][16];
    static const char *list[COUNT];
    struct bench bench;
    struct label_set *one, *two;
    unsigned left;
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "defect %u", i);
        list[i] = texts[i];
    }
    struct engine_labels labels = labels_of(list, COUNT);
    bench_open(&bench, 1 << 24);
    ck_assert(!label_sets_begin(&one, bench.sets, &labels, &bench.err));
    ck_assert(!label_set_step(one, &left, &bench.err));
    ck_assert_uint_gt(left, 0);
    ck_assert(!label_sets_begin(&two, bench.sets, &labels, &bench.err));
    ck_assert_ptr_eq(one, two);
    finish(two);
    ck_assert_uint_eq(finish(one), 1);
    label_set_release(one);
    label_set_release(two);
    bench_close(&bench);
}
END_TEST

/* The next set is made as ever. */
START_TEST(a_set_that_is_refused_leaves_nothing)
{
    static const char *const texts[] = {"a", "\x7F"};
    static const char *const fine[] = {"a"};
    struct engine_labels labels = labels_of(texts, 2), good = labels_of(fine, 1);
    struct bench bench;
    struct label_set *set = NULL;
    bench_open(&bench, ROOM);
    ck_assert_int_eq(label_sets_begin(&set, bench.sets, &labels, &bench.err), ERR_UNUSABLE);
    ck_assert_ptr_null(set);
    ck_assert_ptr_nonnull(strstr(bench.err.text, "candidate_labels[1]"));
    bench.err = (struct err){0};
    label_set_release(make(&bench, &good));
    bench_close(&bench);
}
END_TEST

SUITE("label_sets", a_set_is_found_once_it_is_ready,
      only_the_same_labels_in_the_same_hypothesis_are_the_same_set,
      label_sets_drop_the_set_unused_for_longest, a_set_lives_until_its_last_holder_leaves,
      a_set_in_the_making_is_shared, a_set_that_is_refused_leaves_nothing)
