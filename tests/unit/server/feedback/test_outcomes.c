/* Counts of right labels: exact for a version whatever happens to its cells. */
#include "server/feedback/outcomes.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

static struct outcomes *outcomes;
static struct err err;

static void opened(void)
{
    err = (struct err){0};
    ck_assert_int_eq(outcomes_open(&outcomes, &err), ERR_OK);
}

static const struct outcomes_cell *cell(unsigned version, uint32_t label, uint32_t predicted)
{
    for (unsigned i = 0; i < 2 * OUTCOMES_CELLS; i++) {
        const struct outcomes_cell *at = &outcomes->cells[i];
        if (at->is_used && at->version == version && at->label == label &&
            at->predicted == predicted)
            return at;
    }
    return NULL;
}

START_TEST(outcomes_distinguish_versions_by_both_names)
{
    opened();
    ck_assert_int_eq(outcomes_version(outcomes, "a", "1", false), 0);
    ck_assert_int_eq(outcomes_version(outcomes, "a", "2", false), 1);
    ck_assert_int_eq(outcomes_version(outcomes, "b", "1", false), 2);
    ck_assert_int_eq(outcomes_version(outcomes, "a", "2", false), 1);
    ck_assert_ptr_null(outcomes_find(outcomes, "b", "2"));
    ck_assert_str_eq(outcomes_find(outcomes, "b", "1")->model, "b");
    outcomes_close(outcomes);
}
END_TEST

START_TEST(versions_are_bounded)
{
    char name[16];
    opened();
    for (int i = 0; i < OUTCOMES_VERSIONS; i++) {
        snprintf(name, sizeof name, "%d", i);
        ck_assert_int_eq(outcomes_version(outcomes, "m", name, false), i);
    }
    ck_assert_int_lt(outcomes_version(outcomes, "m", "more", false), 0);
    ck_assert_int_eq(outcomes_version(outcomes, "m", "0", false), 0);
    ck_assert_int_lt(outcomes_oldest(outcomes, "m", "7"), 0);
    ck_assert_int_eq(outcomes_oldest(outcomes, "m", "more"), 1);
    outcomes->versions[1].pins = 1;
    ck_assert_int_eq(outcomes_oldest(outcomes, "m", "more"), 2);
    outcomes_forget(outcomes, 2);
    ck_assert_ptr_null(outcomes_find(outcomes, "m", "2"));
    ck_assert_int_eq(outcomes_version(outcomes, "m", "more", true), 2);
    ck_assert_int_eq(outcomes_version(outcomes, "m", "3", true), 3);
    ck_assert_int_eq(outcomes_oldest(outcomes, "m", "2"), 2); /* of before the start */
    outcomes_close(outcomes);
}
END_TEST

START_TEST(a_label_keeps_its_number_and_is_new_until_a_model_has_it)
{
    static const char *const labels[] = {"x", "y"}, *const more[] = {"y", "z"};
    opened();
    unsigned version = (unsigned)outcomes_version(outcomes, "m", "1", false);
    ck_assert(outcomes_learn(outcomes, version, labels, 2));
    ck_assert_int_eq(outcomes_label(outcomes, version, "y", 0), 1);
    ck_assert_int_eq(outcomes_label(outcomes, version, "z", 0), -1);
    ck_assert_int_eq(outcomes_add_label(outcomes, version, "z", true, 99), 2);
    ck_assert(outcomes->versions[version].labels[2].is_new);
    ck_assert(outcomes_learn(outcomes, version, more, 2)); /* the model was trained anew */
    ck_assert(!outcomes->versions[version].labels[2].is_new);
    ck_assert_int_eq(outcomes_label(outcomes, version, "z", 0), 2);
    ck_assert_uint_eq(outcomes->versions[version].label_count, 3);
    ck_assert_str_eq(outcomes_text(outcomes, version, 2), "z");
    ck_assert_str_eq(outcomes_text(outcomes, version, OUTCOMES_OTHER), "other");
    outcomes_close(outcomes);
}
END_TEST

START_TEST(new_labels_are_bounded_and_known_ones_are_not)
{
    char name[16];
    opened();
    unsigned version = (unsigned)outcomes_version(outcomes, "m", "1", false);
    for (int i = 0; i < OUTCOMES_NEW_LABELS; i++) {
        snprintf(name, sizeof name, "new-%d", i);
        ck_assert_int_eq(outcomes_add_label(outcomes, version, name, true, 0), i);
        outcomes_hold(outcomes, version, (uint32_t)i, 1);
    }
    ck_assert_int_lt(outcomes_add_label(outcomes, version, "one more", true, 0), 0);
    ck_assert_int_eq(outcomes_add_label(outcomes, version, "known", false, 0), OUTCOMES_NEW_LABELS);
    outcomes_hold(outcomes, version, 5, -1);
    ck_assert_int_eq(outcomes_add_label(outcomes, version, "one more", true, 0), 5);
    outcomes_close(outcomes);
}
END_TEST

/* Texts that come and go in any order, beside a list of what stands. */
START_TEST(each_label_is_found_whatever_was_replaced)
{
    enum { TEXTS = 3000, STEPS = 30000, KNOWN = 50 };
    static bool held[TEXTS];
    static int64_t number[TEXTS];
    char text[16];
    unsigned state = 1, count = 0;
    opened();
    unsigned version = (unsigned)outcomes_version(outcomes, "m", "1", false);
    for (unsigned i = 0; i < KNOWN; i++) {
        snprintf(text, sizeof text, "known-%u", i);
        ck_assert_int_eq(outcomes_add_label(outcomes, version, text, false, 0), i);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        state = state * 1103515245 + 12345;
        const unsigned i = state / 65536 % TEXTS;
        snprintf(text, sizeof text, "new-%u", i);
        if (held[i]) {
            ck_assert_int_eq(outcomes_label(outcomes, version, text, 0), number[i]);
            outcomes_hold(outcomes, version, (uint32_t)number[i], -1);
        } else if (count < OUTCOMES_NEW_LABELS) {
            number[i] = outcomes_add_label(outcomes, version, text, true, 7);
            ck_assert_int_ge(number[i], KNOWN);
            outcomes_hold(outcomes, version, (uint32_t)number[i], 1);
        } else {
            ck_assert(outcomes_label(outcomes, version, text, 7) < 0);
            continue;
        }
        held[i] = !held[i];
        count += held[i] ? 1 : -1U;
        ck_assert_str_eq(outcomes_text(outcomes, version, (uint32_t)number[i]), text);
    }
    for (unsigned i = 0; i < KNOWN; i++) {
        snprintf(text, sizeof text, "known-%u", i);
        ck_assert_int_eq(outcomes_label(outcomes, version, text, 99), i);
    }
    outcomes_close(outcomes);
}
END_TEST

START_TEST(outcomes_lower_current_counts_but_not_given_ones)
{
    const struct outcomes_mark right = {.label = 1, .predicted = 1, .is_sampled = true},
                               wrong = {.predicted = 1, .decision = DECISION_REVIEW};
    opened();
    unsigned version = (unsigned)outcomes_version(outcomes, "m", "1", false);
    for (int i = 0; i < 3; i++) {
        outcomes_count(outcomes, version, &right, 1);
        outcomes_given(outcomes, version, &right);
    }
    outcomes_count(outcomes, version, &wrong, 1);
    outcomes_count(outcomes, version, &right, -1);
    const struct outcomes_version *of = &outcomes->versions[version];
    ck_assert_uint_eq(of->count[DECISION_AUTO], 2);
    ck_assert_uint_eq(of->right[DECISION_AUTO], 2);
    ck_assert_uint_eq(of->sampled_count, 2);
    ck_assert_uint_eq(of->sampled_right, 2);
    ck_assert_uint_eq(of->count[DECISION_REVIEW], 1);
    ck_assert_uint_eq(of->right[DECISION_REVIEW], 0);
    ck_assert_uint_eq(cell(version, 1, 1)->now[DECISION_AUTO], 2);
    ck_assert_uint_eq(cell(version, 1, 1)->total, 3);
    ck_assert_uint_eq(cell(version, 0, 1)->total, 0);
    outcomes_close(outcomes);
}
END_TEST

START_TEST(beyond_the_cells_a_version_is_still_exact)
{
    enum { PAIRS = OUTCOMES_CELLS + 500 };
    opened();
    unsigned version = (unsigned)outcomes_version(outcomes, "m", "1", false);
    for (int step = 1; step >= -1; step -= 2)
        for (uint32_t i = 0; i < PAIRS; i++) {
            const struct outcomes_mark mark = {.label = i % 100, .predicted = i / 100};
            outcomes_count(outcomes, version, &mark, step);
            if (step > 0)
                outcomes_given(outcomes, version, &mark);
            if (step > 0 && i + 1 == PAIRS) {
                ck_assert_uint_eq(outcomes->versions[version].count[DECISION_AUTO], PAIRS);
                ck_assert_uint_eq(outcomes->cell_count, OUTCOMES_CELLS);
            }
        }
    ck_assert_uint_eq(outcomes->versions[version].count[DECISION_AUTO], 0);
    ck_assert_uint_eq(outcomes->versions[version].right[DECISION_AUTO], 0);
    for (unsigned i = 0; i < 2 * OUTCOMES_CELLS; i++)
        ck_assert(!outcomes->cells[i].is_used ||
                  (outcomes->cells[i].now[DECISION_AUTO] == 0 && outcomes->cells[i].total == 1));
    outcomes_close(outcomes);
}
END_TEST

SUITE("outcomes", outcomes_distinguish_versions_by_both_names, versions_are_bounded,
      a_label_keeps_its_number_and_is_new_until_a_model_has_it,
      new_labels_are_bounded_and_known_ones_are_not, each_label_is_found_whatever_was_replaced,
      outcomes_lower_current_counts_but_not_given_ones, beyond_the_cells_a_version_is_still_exact)
