/* folds.h: inputs that are left out together. */
#include "learn/fit/folds.h"
#include "tests/support/suite.h"

#include <string.h>

enum { COUNT = 137, LARGE = 100, SMALL = 7 };

static uint64_t digests[COUNT];
static unsigned classes[COUNT];

/* Class 0 has a hundred inputs, class 1 seven, class 2 the others; digests are in no order. */
static void fill(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        digests[i] = (i + 1) * 0x9e3779b97f4a7c15u;
        classes[i] = i < LARGE ? 0 : i < LARGE + SMALL ? 1 : 2;
    }
}

static void deal(unsigned char *folds)
{
    struct err err = {0};
    ck_assert_int_eq(folds_deal(digests, classes, COUNT, folds, &err), ERR_OK);
}

START_TEST(each_of_a_small_class_is_left_out_alone)
{
    unsigned char folds[COUNT];
    unsigned in_fold[FOLDS] = {0};
    fill();
    deal(folds);
    for (unsigned i = LARGE; i < LARGE + SMALL; i++)
        ck_assert_uint_eq(in_fold[folds[i]]++, 0);
}
END_TEST

START_TEST(a_large_class_is_left_out_a_tenth_at_a_time)
{
    unsigned char folds[COUNT];
    unsigned in_fold[FOLDS] = {0};
    fill();
    deal(folds);
    for (unsigned i = 0; i < LARGE; i++)
        in_fold[folds[i]]++;
    for (unsigned f = 0; f < FOLDS; f++)
        ck_assert_uint_eq(in_fold[f], LARGE / FOLDS);
}
END_TEST

START_TEST(an_input_that_was_given_twice_stays_together)
{
    unsigned char folds[COUNT];
    fill();
    digests[3] = digests[77] = digests[50];
    deal(folds);
    ck_assert_uint_eq(folds[3], folds[50]);
    ck_assert_uint_eq(folds[77], folds[50]);
}
END_TEST

START_TEST(folds_do_not_depend_on_the_order_of_inputs)
{
    unsigned char folds[COUNT], reversed[COUNT];
    fill();
    deal(folds);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned k = COUNT - 1 - i;
        digests[i] = (k + 1) * 0x9e3779b97f4a7c15u;
        classes[i] = k < LARGE ? 0 : k < LARGE + SMALL ? 1 : 2;
    }
    deal(reversed);
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert_uint_eq(reversed[i], folds[COUNT - 1 - i]);
}
END_TEST

SUITE("folds", each_of_a_small_class_is_left_out_alone, a_large_class_is_left_out_a_tenth_at_a_time,
      an_input_that_was_given_twice_stays_together, folds_do_not_depend_on_the_order_of_inputs)
