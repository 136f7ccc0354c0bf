/* Counts of spans against figures of seqeval 1.2.2 (mode "strict", scheme IOB2). */
#include "learn/eval/measure/span_counts.h"
#include "tests/support/suite.h"

static void expect_rates(const struct span_rates *rates, double precision, double recall, double f1)
{
    ck_assert_double_eq_tol(rates->precision, precision, 1e-12);
    ck_assert_double_eq_tol(rates->recall, recall, 1e-12);
    ck_assert_double_eq_tol(rates->f1, f1, 1e-12);
}

/* wanted B-x I-x O B-y B-x O O; answered B-x I-x O B-y I-y B-y B-z: seqeval finds x right once in
 * two, y never, z without support, which counts in the macro means as 0. */
START_TEST(figures_are_those_of_seqeval)
{
    static const struct span_key wanted[] = {{0, 0, 2}, {1, 3, 4}, {0, 4, 5}};
    static const struct span_key answered[] = {{0, 0, 2}, {1, 3, 5}, {1, 5, 6}, {2, 6, 7}};
    struct span_counts counts;
    struct err err = {0};
    ck_assert(!span_counts_open(&counts, 4, &err));
    bool right[4];
    ck_assert_uint_eq(span_counts_add(&counts, wanted, 3, answered, 4, right), 1);
    ck_assert(right[0] && !right[1] && !right[2] && !right[3]);
    span_counts_add(&counts, wanted, 0, answered, 0, NULL);
    span_counts_finish(&counts);
    expect_rates(&counts.each[0].rates, 1, 0.5, 2.0 / 3);
    expect_rates(&counts.each[1].rates, 0, 0, 0);
    expect_rates(&counts.each[2].rates, 0, 0, 0);
    expect_rates(&counts.micro.rates, 0.25, 1.0 / 3, 2.0 / 7);
    expect_rates(&counts.macro, 1.0 / 3, 0.5 / 3, 2.0 / 9);
    ck_assert_uint_eq(counts.macro_labels, 3);
    ck_assert(counts.micro.wanted == 3 && counts.micro.answered == 4 && counts.micro.right == 1);
    span_counts_close(&counts);
}
END_TEST

START_TEST(a_span_is_right_only_with_its_label_start_and_end)
{
    static const struct span_key wanted[] = {{0, 2, 5}};
    static const struct span_key others[] = {{1, 2, 5}, {0, 2, 4}, {0, 2, 6}, {0, 1, 5}, {0, 3, 5}};
    struct span_counts counts;
    struct err err = {0};
    ck_assert(!span_counts_open(&counts, 2, &err));
    for (size_t i = 0; i < 5; i++)
        span_counts_add(&counts, wanted, 1, &others[i], 1, NULL);
    span_counts_add(&counts, wanted, 1, wanted, 1, NULL);
    span_counts_finish(&counts);
    ck_assert_uint_eq(counts.micro.right, 1);
    ck_assert_uint_eq(counts.micro.wanted, 6);
    ck_assert_uint_eq(counts.micro.answered, 6);
    span_counts_close(&counts);
}
END_TEST

START_TEST(nothing_wanted_and_nothing_answered_is_nought)
{
    struct span_counts counts;
    struct err err = {0};
    ck_assert(!span_counts_open(&counts, 2, &err));
    span_counts_finish(&counts);
    expect_rates(&counts.micro.rates, 0, 0, 0);
    expect_rates(&counts.macro, 0, 0, 0);
    span_counts_close(&counts);
}
END_TEST

/* The tags O, B-x, I-x, B-y, I-y, and z, which has one tag, are joined as decide/spans.h does. */
START_TEST(tags_are_read_as_the_server_joins_them)
{
    static const char *const tags[] = {"O", "B-x", "I-x", "B-y", "I-y", "z"};
    static const int32_t row[] = {2, 2, 1, 0, TAG_NONE, 3, TAG_NONE, 4, 2, 5, 5, 0, 1, 1};
    static const struct span_key expected[] = {{0, 0, 2},  {0, 2, 3},   {1, 5, 8},  {0, 8, 9},
                                               {2, 9, 11}, {0, 12, 13}, {0, 13, 14}};
    struct span_key found[14];
    struct tag_set set;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    ck_assert(!tag_set_of(&set, tags, 6, &arena, &err));
    ck_assert_uint_eq(span_counts_read(found, &set, row, 14), 7);
    for (size_t i = 0; i < 7; i++) {
        ck_assert_uint_eq(found[i].label, expected[i].label);
        ck_assert_uint_eq(found[i].start, expected[i].start);
        ck_assert_uint_eq(found[i].end, expected[i].end);
    }
    arena_deinit(&arena);
}
END_TEST

SUITE("span_counts", figures_are_those_of_seqeval,
      a_span_is_right_only_with_its_label_start_and_end,
      nothing_wanted_and_nothing_answered_is_nought, tags_are_read_as_the_server_joins_them)
