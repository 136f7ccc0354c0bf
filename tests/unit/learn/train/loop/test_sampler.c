/* sampler.c: which inputs an epoch shows. Orders are a function of seed and epoch for ever: a run
 * that an earlier build began goes on with the same inputs. */
#include "learn/train/loop/run.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { ITEMS = 10, CLASSES = 3, DRAWS = 30000 };

static const unsigned classes[ITEMS] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 2};

static struct sampler open_sampler(size_t *items, float balance, uint64_t seed)
{
    struct sampler sampler;
    struct err err = {0};
    for (size_t i = 0; i < ITEMS; i++)
        items[i] = 100 + i;
    struct sampler_options options = {.items = items,
                                      .classes = classes,
                                      .count = ITEMS,
                                      .class_count = CLASSES,
                                      .balance = balance,
                                      .seed = seed};
    ck_assert_int_eq(sampler_open(&sampler, &options, &err), ERR_OK);
    return sampler;
}

START_TEST(passes_show_everything_once_before_anything_twice)
{
    size_t items[ITEMS], order[7], seen[2 * ITEMS] = {0};
    struct sampler sampler = open_sampler(items, 0, 5);
    size_t shown = 0;
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        sampler_epoch(&sampler, epoch, order, 7);
        for (size_t i = 0; i < 7; i++, shown++) {
            seen[order[i] - 100]++;
            ck_assert_uint_le(seen[order[i] - 100], shown / ITEMS + 1);
        }
    }
    sampler_close(&sampler);
}
END_TEST

START_TEST(an_epoch_is_the_same_whatever_came_before)
{
    size_t items[ITEMS], first[ITEMS], again[ITEMS], other[ITEMS];
    struct sampler a = open_sampler(items, 0, 5), b = open_sampler(items, 0, 5),
                   c = open_sampler(items, 0, 6);
    for (uint64_t epoch = 0; epoch <= 3; epoch++)
        sampler_epoch(&a, epoch, first, ITEMS);
    sampler_epoch(&b, 3, again, ITEMS);
    sampler_epoch(&c, 3, other, ITEMS);
    ck_assert_mem_eq(first, again, sizeof first);
    ck_assert_mem_ne(first, other, sizeof first);
    sampler_close(&a);
    sampler_close(&b);
    sampler_close(&c);
}
END_TEST

static void check_shares(float balance, const double *expected)
{
    size_t items[ITEMS], order[DRAWS];
    unsigned counts[CLASSES] = {0};
    struct sampler sampler = open_sampler(items, balance, 1);
    sampler_epoch(&sampler, 0, order, DRAWS);
    for (size_t i = 0; i < DRAWS; i++)
        counts[classes[order[i] - 100]]++;
    for (unsigned c = 0; c < CLASSES; c++) {
        ck_assert_double_eq_tol(sampler_share(&sampler, c), expected[c], 1e-9);
        ck_assert_double_eq_tol((double)counts[c] / DRAWS, expected[c], 0.02);
    }
    sampler_close(&sampler);
}

START_TEST(balance_lifts_the_rare_classes)
{
    check_shares(1, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
    double root = sqrt(8);
    check_shares(0.5f, (double[]){root / (root + 2), 1 / (root + 2), 1 / (root + 2)});
}
END_TEST

static void expect_order(const size_t *order, const unsigned *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(order[i] == 100 + expected[i], "place %zu: %zu instead of %u", i, order[i],
                      100 + expected[i]);
}

START_TEST(an_order_is_that_of_its_seed_for_ever)
{
    static const unsigned passes[25] = {2, 1, 4, 5, 7, 0, 9, 8, 6, 3, 6, 1, 2,
                                        0, 5, 7, 3, 8, 4, 9, 7, 1, 9, 4, 2};
    static const unsigned drawn[12] = {9, 8, 4, 7, 2, 6, 9, 5, 2, 8, 0, 4};
    size_t items[ITEMS], order[25];
    struct sampler sampler = open_sampler(items, 0, 5);
    sampler_epoch(&sampler, 0, order, 25);
    expect_order(order, passes, 25);
    sampler_epoch(&sampler, 2, order, 10); /* places 20 to 29: the third pass */
    expect_order(order, passes + 20, 5);
    sampler_close(&sampler);
    ck_assert_ptr_null(sampler.pass);
    sampler = open_sampler(items, 0.5f, 5);
    sampler_epoch(&sampler, 0, order, 6);
    expect_order(order, drawn, 6);
    sampler_epoch(&sampler, 1, order, 6);
    expect_order(order, drawn + 6, 6);
    sampler_close(&sampler);
}
END_TEST

/* Items of two classes alternate in the data; the sampler has them by class, in their order. */
START_TEST(items_lie_by_class_in_their_order)
{
    static const unsigned mixed[5] = {2, 0, 2, 0, 2};
    static const size_t items[5] = {11, 12, 13, 14, 15}, by_class[5] = {12, 14, 11, 13, 15};
    static const size_t first[4] = {0, 2, 2, 5};
    struct sampler sampler;
    struct err err = {0};
    struct sampler_options options = {
        .items = items, .classes = mixed, .count = 5, .class_count = 3, .balance = 1, .seed = 9};
    size_t order[200];
    ck_assert_int_eq(sampler_open(&sampler, &options, &err), ERR_OK);
    ck_assert_mem_eq(sampler.by_class, by_class, sizeof by_class);
    ck_assert_mem_eq(sampler.class_first, first, sizeof first);
    ck_assert_double_eq(sampler_share(&sampler, 0), 0.5);
    ck_assert_double_eq(sampler_share(&sampler, 1), 0); /* nobody: never drawn */
    ck_assert_double_eq(sampler_share(&sampler, 2), 0.5);
    unsigned seen[5] = {0};
    sampler_epoch(&sampler, 0, order, 200);
    for (size_t i = 0; i < 200; i++) {
        ck_assert(order[i] >= 11 && order[i] <= 15);
        seen[order[i] - 11]++;
    }
    for (size_t i = 0; i < 5; i++) /* 50 of class 0's, 33 of class 2's */
        ck_assert(seen[i] > 20 && seen[i] < 67);
    sampler_close(&sampler);
}
END_TEST

/* A list without classes has nothing to balance. */
START_TEST(a_balance_without_classes_goes_round_in_passes)
{
    size_t items[ITEMS], plain[25], balanced[25];
    struct sampler sampler = open_sampler(items, 0, 7);
    struct err err = {0};
    sampler_epoch(&sampler, 0, plain, 25);
    sampler_close(&sampler);
    struct sampler_options options = {
        .items = items, .count = ITEMS, .class_count = 0, .balance = 0.5f, .seed = 7};
    ck_assert_int_eq(sampler_open(&sampler, &options, &err), ERR_OK);
    sampler_epoch(&sampler, 0, balanced, 25);
    ck_assert_mem_eq(plain, balanced, sizeof plain);
    sampler_close(&sampler);
}
END_TEST

SUITE("sampler", passes_show_everything_once_before_anything_twice,
      an_epoch_is_the_same_whatever_came_before, balance_lifts_the_rare_classes,
      an_order_is_that_of_its_seed_for_ever, items_lie_by_class_in_their_order,
      a_balance_without_classes_goes_round_in_passes)
