#include "learn/eval/measure/confusion.h"
#include "tests/support/suite.h"

#include <math.h>

static struct confusion measure(unsigned classes, const unsigned (*pairs)[2], size_t count)
{
    struct confusion confusion;
    struct err err = {0};
    ck_assert_int_eq(confusion_open(&confusion, classes, &err), ERR_OK);
    for (size_t i = 0; i < count; i++)
        confusion_add(&confusion, pairs[i][0], pairs[i][1]);
    confusion_finish(&confusion);
    return confusion;
}

static void expect(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) < 1e-12, "%.15g instead of %.15g", found, expected);
}

/* The counts by hand: class 0 has 2 of 3 right and is predicted 3 times; class 1 has 1 of 2,
 * predicted twice; class 2 has 0 of 1, predicted once. */
static const unsigned three[][2] = {{0, 0}, {0, 0}, {0, 1}, {1, 1}, {1, 2}, {2, 0}};

START_TEST(confusion_is_what_was_computed_by_hand)
{
    struct confusion confusion = measure(3, three, 6);
    ck_assert_uint_eq(confusion.count, 6);
    ck_assert_uint_eq(confusion.hits, 3);
    expect(confusion.accuracy, 0.5);
    expect(confusion.classes[0].precision, 2.0 / 3);
    expect(confusion.classes[0].recall, 2.0 / 3);
    expect(confusion.classes[0].f1, 2.0 / 3);
    expect(confusion.classes[1].precision, 0.5);
    expect(confusion.classes[1].f1, 0.5);
    expect(confusion.classes[2].f1, 0.0);
    expect(confusion.macro_f1, (2.0 / 3 + 0.5 + 0.0) / 3);
    ck_assert_uint_eq(confusion.macro_classes, 3);
    confusion_close(&confusion);
}
END_TEST

START_TEST(confusion_has_labels_in_rows)
{
    static const size_t expected[] = {2, 1, 0, 0, 1, 1, 1, 0, 0};
    struct confusion confusion = measure(3, three, 6);
    ck_assert_mem_eq(confusion.matrix, expected, sizeof expected);
    confusion_close(&confusion);
}
END_TEST

/* f1_score([0, 0, 1], [0, 1, 1], average="macro") is 2/3, whatever other classes a model has. */
START_TEST(confusion_leaves_out_classes_that_never_occur)
{
    static const unsigned pairs[][2] = {{0, 0}, {0, 1}, {1, 1}};
    struct confusion confusion = measure(5, pairs, 3);
    expect(confusion.macro_f1, 2.0 / 3);
    ck_assert_uint_eq(confusion.macro_classes, 2);
    expect(confusion.classes[4].f1, 0.0);
    confusion_close(&confusion);
}
END_TEST

/* f1_score([0, 0, 1], [0, 2, 1], average="macro", zero_division=0) is (2/3 + 1 + 0) / 3. */
START_TEST(confusion_counts_a_predicted_class_without_support_as_zero)
{
    static const unsigned pairs[][2] = {{0, 0}, {0, 2}, {1, 1}};
    struct confusion confusion = measure(4, pairs, 3);
    expect(confusion.macro_f1, (2.0 / 3 + 1.0) / 3);
    ck_assert_uint_eq(confusion.macro_classes, 3);
    expect(confusion.classes[2].precision, 0.0);
    expect(confusion.classes[2].recall, 0.0);
    confusion_close(&confusion);
}
END_TEST

START_TEST(confusion_of_nothing_is_zero)
{
    struct confusion confusion = measure(2, three, 0);
    expect(confusion.accuracy, 0.0);
    expect(confusion.macro_f1, 0.0);
    confusion_close(&confusion);
}
END_TEST

START_TEST(confusion_counts_both_ways_of_every_class)
{
    static const struct {
        size_t support, predicted, hits;
        double recall;
    } expected[] = {{3, 3, 2, 2.0 / 3}, {2, 2, 1, 0.5}, {1, 1, 0, 0}};
    struct confusion confusion = measure(3, three, 6);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(confusion.classes[i].support, expected[i].support);
        ck_assert_uint_eq(confusion.classes[i].predicted, expected[i].predicted);
        ck_assert_uint_eq(confusion.classes[i].hits, expected[i].hits);
        expect(confusion.classes[i].recall, expected[i].recall);
    }
    confusion_close(&confusion);
    ck_assert(confusion.matrix == NULL && confusion.classes == NULL && confusion.class_count == 0);
}
END_TEST

SUITE("confusion", confusion_is_what_was_computed_by_hand, confusion_has_labels_in_rows,
      confusion_leaves_out_classes_that_never_occur,
      confusion_counts_a_predicted_class_without_support_as_zero, confusion_of_nothing_is_zero,
      confusion_counts_both_ways_of_every_class)
