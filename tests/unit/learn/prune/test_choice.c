/* choice.h: the least important go, counted by hand. */
#include "learn/prune/choice.h"

#include "tests/support/suite.h"

#include <string.h>

enum { LAYERS = 3, HEADS = 4, COLUMNS = 5 };

static struct importance importance;
static struct spec spec;
static struct choice choice;
static struct err err;

static void begin(void)
{
    spec = (struct spec){.family = family_find("bert", NULL),
                         .layers = LAYERS,
                         .heads = HEADS,
                         .hidden = 16,
                         .intermediate = COLUMNS};
    err = (struct err){0};
    ck_assert_int_eq(importance_open(&importance, &spec, &err), ERR_OK);
}

static void end(void)
{
    choice_close(&choice);
    importance_close(&importance);
}

static void set_heads(const double scores[LAYERS][HEADS])
{
    memcpy(importance.head, scores, LAYERS * HEADS * sizeof **scores);
}

static void ck_gone(unsigned layer, const char *wanted)
{
    for (unsigned h = 0; h < HEADS; h++)
        ck_assert_msg(choice.head_goes[layer * HEADS + h] == (wanted[h] == 'x'), "layer %u head %u",
                      layer, h);
}

START_TEST(the_least_important_heads_go_wherever_they_are)
{
    static const double scores[LAYERS][HEADS] = {{9, 1, 9, 9}, {9, 9, 2, 3}, {9, 9, 9, 9}};
    begin();
    set_heads(scores);
    ck_assert_int_eq(choice_make(&choice, &spec, &importance, 0.25, 0, &err), ERR_OK);
    ck_assert_uint_eq(choice.head_count, 12);
    ck_assert_uint_eq(choice.heads_gone, 3);
    ck_gone(0, ".x..");
    ck_gone(1, "..xx");
    ck_gone(2, "....");
    end();
}
END_TEST

/* A layer whose scores are a thousandth of another's: over its norm they count alike. */
START_TEST(layers_of_other_sizes_of_scores_are_compared_by_their_norms)
{
    static const double scores[LAYERS][HEADS] = {
        {0.009, 0.001, 0.009, 0.009}, {9, 1, 9, 9}, {9000, 9000, 1000, 9000}};
    begin();
    set_heads(scores);
    ck_assert_int_eq(choice_make(&choice, &spec, &importance, 0.25, 0, &err), ERR_OK);
    ck_gone(0, ".x..");
    ck_gone(1, ".x..");
    ck_gone(2, "..x.");
    end();
}
END_TEST

START_TEST(every_layer_keeps_its_most_important_head)
{
    static const double scores[LAYERS][HEADS] = {{1, 2, 3, 4}, {0, 0, 0, 0}, {5, 5, 6, 5}};
    begin();
    set_heads(scores);
    ck_assert_int_eq(choice_make(&choice, &spec, &importance, 0.75, 0, &err), ERR_OK);
    ck_assert_uint_eq(choice.heads_gone, 9);
    ck_gone(0, "xxx.");
    ck_gone(1, ".xxx");
    ck_gone(2, "xx.x");
    end();
}
END_TEST

START_TEST(heads_that_are_gone_already_are_not_counted)
{
    static const unsigned left[LAYERS] = {4, 2, 1};
    static const double scores[LAYERS][HEADS] = {{4, 4, 4, 1}, {3, 9, 0, 0}, {1, 0, 0, 0}};
    begin();
    set_heads(scores);
    spec.pruned.left = left;
    ck_assert_int_eq(choice_make(&choice, &spec, &importance, 0.3, 0, &err), ERR_OK);
    ck_assert_uint_eq(choice.head_count, 7);
    ck_assert_uint_eq(choice.heads_gone, 2);
    ck_gone(0, "...x");
    ck_gone(1, "x...");
    ck_gone(2, "....");
    choice_close(&choice);
    ck_assert_int_eq(choice_make(&choice, &spec, &importance, 0.7, 0, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "5 of 7 heads cannot go: each of 3 layers keeps one, so 4 can");
    end();
}
END_TEST

START_TEST(each_layer_loses_its_own_columns_and_as_many_as_the_others)
{
    static const double scores[LAYERS][COLUMNS] = {
        {5, 1, 4, 2, 3}, {0, 0, 0, 0, 0}, {1, 2, 3, 4, 5}};
    static const char *const wanted[] = {".x.x.", "...xx", "xx..."};
    begin();
    memcpy(importance.column, scores, sizeof scores);
    ck_assert_int_eq(choice_make(&choice, &spec, &importance, 0, 0.4, &err), ERR_OK);
    ck_assert_uint_eq(choice.heads_gone, 0);
    ck_assert_uint_eq(choice.columns_gone, 2);
    for (unsigned b = 0; b < LAYERS; b++)
        for (unsigned c = 0; c < COLUMNS; c++)
            ck_assert_int_eq(choice.column_goes[b * COLUMNS + c], wanted[b][c] == 'x');
    choice_close(&choice);
    ck_assert_int_eq(choice_make(&choice, &spec, &importance, 0, 0.95, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "5 of 5 MLP columns cannot go: one has to stay");
    end();
}
END_TEST

SUITE("choice", the_least_important_heads_go_wherever_they_are,
      layers_of_other_sizes_of_scores_are_compared_by_their_norms,
      every_layer_keeps_its_most_important_head, heads_that_are_gone_already_are_not_counted,
      each_layer_loses_its_own_columns_and_as_many_as_the_others)
