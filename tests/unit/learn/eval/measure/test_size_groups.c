/* size_groups.h: the ends and the counts of groups, against counts made one by one. */
#include "learn/eval/measure/size_groups.h"
#include "tests/support/suite.h"

#include <string.h>

enum { ITEMS = 200, LABELS = 3 };

static unsigned sizes[ITEMS], classes[ITEMS];
static float logits[ITEMS * LABELS];
static const char *problems[ITEMS];
static struct evaluation evaluation = {
    .count = ITEMS, .label_count = LABELS, .logits = logits, .sizes = sizes, .problems = problems};

/* Every third answer is wrong. */
static void fill(unsigned low, unsigned high)
{
    memset(logits, 0, sizeof logits);
    for (unsigned i = 0; i < ITEMS; i++) {
        sizes[i] = low + (unsigned)((unsigned long)i * (high - low) / (ITEMS - 1));
        classes[i] = i * i % LABELS;
        logits[i * LABELS + (i % 3 == 0 ? (classes[i] + 1) % LABELS : classes[i])] = 1;
        problems[i] = i % 17 == 5 ? "it cannot be read" : NULL;
    }
}

/* {from, to} of each group; the last is {0}. */
static void expect_groups(unsigned low, unsigned high, const size_t (*bounds)[2])
{
    struct size_groups groups;
    struct err err = {0};
    fill(low, high);
    ck_assert(!size_groups_open(&groups, &evaluation, classes, &err));
    unsigned count = 0;
    for (; bounds[count][0] != 0; count++) {
        ck_assert_uint_lt(count, groups.count);
        ck_assert_uint_eq(groups.groups[count].from, bounds[count][0]);
        ck_assert_uint_eq(groups.groups[count].to, bounds[count][1]);
    }
    ck_assert_uint_eq(groups.count, count);
    size_groups_close(&groups);
}

START_TEST(groups_end_at_powers_of_two_and_between_them)
{
    expect_groups(
        26, 146,
        (const size_t[][2]){{25, 32}, {33, 48}, {49, 64}, {65, 96}, {97, 128}, {129, 192}, {0}});
    expect_groups(32, 33, (const size_t[][2]){{25, 32}, {33, 48}, {0}});
    expect_groups(1, 6, (const size_t[][2]){{1, 2}, {3, 3}, {4, 4}, {5, 6}, {0}});
    expect_groups(224, 224, (const size_t[][2]){{193, 256}, {0}});
}
END_TEST

START_TEST(groups_of_a_wide_range_are_wider)
{
    expect_groups(
        10, 512,
        (const size_t[][2]){{9, 16}, {17, 32}, {33, 64}, {65, 128}, {129, 256}, {257, 512}, {0}});
    expect_groups(1, 60000,
                  (const size_t[][2]){{1, 4},
                                      {5, 16},
                                      {17, 64},
                                      {65, 256},
                                      {257, 1024},
                                      {1025, 4096},
                                      {4097, 16384},
                                      {16385, 65536},
                                      {0}});
}
END_TEST

START_TEST(each_group_counts_its_own_inputs)
{
    struct size_groups groups;
    struct err err = {0};
    fill(20, 150);
    ck_assert(!size_groups_open(&groups, &evaluation, classes, &err));
    ck_assert_uint_eq(groups.count, 7);
    for (unsigned g = 0; g < groups.count; g++) {
        struct size_cell want[LABELS] = {0}, all = {0};
        for (unsigned i = 0; i < ITEMS; i++) {
            if (i % 17 == 5 || sizes[i] < groups.groups[g].from || sizes[i] > groups.groups[g].to)
                continue;
            want[classes[i]].support++;
            want[classes[i]].hits += i % 3 != 0;
            all.support++;
            all.hits += i % 3 != 0;
        }
        ck_assert(all.support > 0);
        ck_assert_mem_eq(&groups.groups[g].all, &all, sizeof all);
        for (unsigned k = 0; k < LABELS; k++)
            ck_assert_mem_eq(size_groups_cell(&groups, g, k), &want[k], sizeof want[k]);
    }
    size_groups_close(&groups);
}
END_TEST

/* Examples that a model carries are rows of numbers: nobody knows how large they were. */
START_TEST(sizes_that_are_not_known_make_no_group)
{
    struct size_groups groups;
    struct err err = {0};
    fill(20, 150);
    struct evaluation rows = evaluation;
    rows.sizes = NULL;
    ck_assert(!size_groups_open(&groups, &rows, classes, &err));
    ck_assert_uint_eq(groups.count, 0);
    size_groups_close(&groups);
}
END_TEST

START_TEST(inputs_that_all_failed_make_no_group)
{
    struct size_groups groups;
    struct err err = {0};
    fill(20, 150);
    for (unsigned i = 0; i < ITEMS; i++)
        problems[i] = "none can";
    ck_assert(!size_groups_open(&groups, &evaluation, classes, &err));
    ck_assert_uint_eq(groups.count, 0);
    size_groups_close(&groups);
}
END_TEST

SUITE("size_groups", groups_end_at_powers_of_two_and_between_them, groups_of_a_wide_range_are_wider,
      each_group_counts_its_own_inputs, sizes_that_are_not_known_make_no_group,
      inputs_that_all_failed_make_no_group)
