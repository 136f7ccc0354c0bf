/* labels.c: the names that data give, in which order, and which of them an input has. */
#include "learn/train/loop/corpus.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct labels learn(const char *const *text, size_t count, bool several,
                           const struct spec *spec, struct arena *arena, struct err *err)
{
    struct dataset_item items[8] = {{0}};
    struct dataset dataset = {.items = items, .count = count};
    struct labels labels;
    static const char *const names[] = {"line 1", "line 2", "line 3", "line 4",
                                        "line 5", "line 6", "line 7", "line 8"};
    for (size_t i = 0; i < count; i++)
        items[i] = (struct dataset_item){.name = names[i], .label = text[i]};
    arena_init(arena);
    labels_learn(&labels, &dataset, several, spec, arena, err);
    return labels;
}

START_TEST(labels_are_sorted_by_bytes)
{
    const char *const text[] = {"b", "a", "B", "a", "ab"};
    const char *const sorted[] = {"B", "a", "ab", "b"};
    struct arena arena;
    struct err err = {0};
    struct labels labels = learn(text, 5, false, &(struct spec){0}, &arena, &err);
    ck_assert_uint_eq(labels.count, 4);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_str_eq(labels.name[i], sorted[i]);
    arena_deinit(&arena);
}
END_TEST

START_TEST(labels_of_the_source_keep_its_order)
{
    const char *const text[] = {"a", "b", "c"};
    const char *known[] = {"c", "a", "b"};
    struct arena arena;
    struct err err = {0};
    struct spec spec = {.labels = known, .label_count = 3};
    struct labels labels = learn(text, 3, false, &spec, &arena, &err);
    ck_assert_str_eq(labels.name[0], "c");
    arena_deinit(&arena);
    labels = learn(text, 2, false, &spec, &arena, &err);
    ck_assert_str_eq(labels.name[0], "a");
    arena_deinit(&arena);
}
END_TEST

START_TEST(several_labels_are_split_at_bars)
{
    const char *const text[] = {"x|y", "y", "z|x|y"};
    struct arena arena;
    struct err err = {0};
    float targets[3];
    unsigned first;
    struct labels labels = learn(text, 3, true, &(struct spec){0}, &arena, &err);
    ck_assert_uint_eq(labels.count, 3);
    ck_assert_int_eq(labels_match(&labels, "z|x", targets, &first, &err), ERR_OK);
    ck_assert_uint_eq(first, 2);
    ck_assert(targets[0] == 1 && targets[1] == 0 && targets[2] == 1);
    ck_assert_int_eq(labels_match(&labels, "z|w", targets, &first, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "'w'"));
    arena_deinit(&arena);
}
END_TEST

START_TEST(one_label_only_is_nothing_to_learn)
{
    const char *const text[] = {"same", "same"};
    struct arena arena;
    struct err err = {0};
    learn(text, 2, false, &(struct spec){0}, &arena, &err);
    ck_assert_int_eq(err.code, ERR_UNUSABLE);
    arena_deinit(&arena);
}
END_TEST

/* Each name again, among others that begin with it or that it begins with. */
START_TEST(names_that_begin_alike_are_different_names)
{
    static const char *const text[] = {"ab", "abc", "a", "abd", "b", "ab", "abc", "a"};
    static const char *const sorted[] = {"a", "ab", "abc", "abd", "b"};
    struct arena arena;
    struct err err = {0};
    float targets[6] = {9, 9, 9, 9, 9, 9};
    struct labels labels = learn(text, 8, false, &(struct spec){0}, &arena, &err);
    ck_assert_uint_eq(labels.count, 5);
    for (unsigned i = 0; i < 5; i++) {
        unsigned first = 99;
        ck_assert_str_eq(labels.name[i], sorted[i]);
        ck_assert_int_eq(labels_match(&labels, sorted[i], targets, &first, &err), ERR_OK);
        ck_assert_uint_eq(first, i);
        for (unsigned k = 0; k < 5; k++)
            ck_assert_float_eq(targets[k], k == i);
    }
    ck_assert_float_eq(targets[5], 9); /* nobody else's */
    ck_assert_int_eq(labels_match(&labels, "abcd", targets, &(unsigned){0}, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the label 'abcd' is not among those to learn");
    arena_deinit(&arena);
}
END_TEST

/* A bar is a plain character if an input has one label. */
START_TEST(a_bar_is_part_of_a_name_unless_there_are_several)
{
    static const char *const text[] = {"x|y", "x"};
    struct arena arena;
    struct err err = {0};
    float targets[2];
    unsigned first;
    struct labels labels = learn(text, 2, false, &(struct spec){0}, &arena, &err);
    ck_assert(labels.count == 2 && !labels.several);
    ck_assert_str_eq(labels.name[1], "x|y");
    ck_assert_int_eq(labels_match(&labels, "x|y", targets, &first, &err), ERR_OK);
    ck_assert(first == 1 && targets[0] == 0 && targets[1] == 1);
    arena_deinit(&arena);
}
END_TEST

START_TEST(several_labels_may_be_one_and_the_first_named_is_first)
{
    static const char *const text[] = {"b|a|b", "b"}, *const alone[] = {"a", "a"};
    struct arena arena;
    struct err err = {0};
    float targets[2];
    unsigned first = 99;
    struct labels labels = learn(text, 2, true, &(struct spec){0}, &arena, &err);
    ck_assert(labels.count == 2 && labels.several);
    ck_assert_int_eq(labels_match(&labels, "b|a", targets, &first, &err), ERR_OK);
    ck_assert(first == 1 && targets[0] == 1 && targets[1] == 1);
    arena_deinit(&arena);
    labels = learn(alone, 2, true, &(struct spec){0}, &arena, &err); /* yes or no */
    ck_assert(err.code == ERR_OK && labels.count == 1);
    arena_deinit(&arena);
}
END_TEST

/* A wafer of mixed-type maps may have no defect at all. */
START_TEST(labels_of_a_multi_label_input_may_be_empty)
{
    const char *const text[] = {"a|b", "", "b"};
    struct arena arena;
    struct err err = {0};
    float targets[2] = {9, 9};
    unsigned first = 99;
    struct labels labels = learn(text, 3, true, &(struct spec){0}, &arena, &err);
    ck_assert_msg(err.code == ERR_OK && labels.count == 2, "%s", err.text);
    ck_assert_int_eq(labels_match(&labels, "", targets, &first, &err), ERR_OK);
    ck_assert(first == 2 && targets[0] == 0 && targets[1] == 0);
    arena_deinit(&arena);
    learn(text + 1, 1, true, &(struct spec){0}, &arena, &err);
    ck_assert_int_eq(err.code, ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "no input has a label: nothing to learn");
    arena_deinit(&arena);
    err = (struct err){0};
    learn(text, 2, false, &(struct spec){0}, &arena, &err);
    ck_assert_str_eq(err.text, "line 2: a label is empty");
    arena_deinit(&arena);
}
END_TEST

/* An empty name is refused wherever it stands; an unknown one is cut at 80 bytes. */
START_TEST(labels_errors_name_the_input_of_a_bad_label)
{
    static const char *const wrong[] = {"a|", "|a", "a||b", "|"};
    struct arena arena;
    for (unsigned i = 0; i < 4; i++) {
        struct err err = {0};
        learn((const char *[]){"a|b", wrong[i]}, 2, true, &(struct spec){0}, &arena, &err);
        ck_assert_int_eq(err.code, ERR_UNUSABLE);
        ck_assert_str_eq(err.text, "line 2: a label is empty");
        arena_deinit(&arena);
    }
    struct err err = {0};
    char name[100], want[160];
    float targets[2];
    unsigned first;
    struct labels labels = learn((const char *[]){"a|b"}, 1, true, &(struct spec){0}, &arena, &err);
    for (int len = 79; len <= 82; len++) {
        err = (struct err){0};
        snprintf(name, sizeof name, "%0*d|a", len, 7);
        snprintf(want, sizeof want, "the label '%.*s' is not among those to learn",
                 len < 80 ? len : 80, name);
        ck_assert_int_eq(labels_match(&labels, name, targets, &first, &err), ERR_UNUSABLE);
        ck_assert_str_eq(err.text, want);
    }
    err = (struct err){0};
    ck_assert_int_eq(labels_match(&labels, "a|", targets, &first, &err), ERR_UNUSABLE);
    ck_assert_str_eq(err.text, "the label '' is not among those to learn");
    arena_deinit(&arena);
    err = (struct err){0};
    learn((const char *[]){"same", "same"}, 2, false, &(struct spec){0}, &arena, &err);
    ck_assert_str_eq(err.text, "every input has the label 'same': nothing to learn");
    arena_deinit(&arena);
}
END_TEST

/* Names "0000" to the limit, told in a mixed order; one more is too many, one again is not. */
START_TEST(labels_have_a_limited_count)
{
    enum { COUNT = SPEC_LABELS_MAX + 1, MIXER = 1009 }; /* a prime that divides no COUNT - 1 */
    struct dataset_item *items = calloc(COUNT, sizeof *items);
    char(*names)[8] = calloc(COUNT, sizeof *names);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned number = i < COUNT - 1 ? i * MIXER % (COUNT - 1) : 0;
        snprintf(names[i], sizeof names[i], "%06u", number);
        items[i] = (struct dataset_item){.name = "there", .label = names[i]};
    }
    struct dataset dataset = {.items = items, .count = COUNT};
    struct labels labels;
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    labels_learn(&labels, &dataset, false, &(struct spec){0}, &arena, &err);
    ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    ck_assert_uint_eq(labels.count, SPEC_LABELS_MAX);
    for (unsigned i = 0; i < labels.count; i++)
        ck_assert_uint_eq((unsigned)strtoul(labels.name[i], NULL, 10), i);
    strcpy(names[COUNT - 1], "more");
    ck_assert_int_eq(labels_learn(&labels, &dataset, false, &(struct spec){0}, &arena, &err),
                     ERR_UNUSABLE);
    char want[64];
    snprintf(want, sizeof want, "there: more than %d different labels", SPEC_LABELS_MAX);
    ck_assert_str_eq(err.text, want);
    arena_deinit(&arena);
    free(items);
    free(names);
}
END_TEST

/* The source's order is taken only if its names are these and no others. */
START_TEST(a_source_with_one_other_label_decides_nothing)
{
    static const char *const text[] = {"a", "b", "c"};
    float targets[3];
    unsigned first;
    const char *others[][3] = {{"c", "b", "x"}, {"c", "b", "b"}, {"c", "b", "a"}};
    struct arena arena;
    for (unsigned i = 0; i < 3; i++) {
        struct err err = {0};
        struct spec spec = {.labels = others[i], .label_count = 3};
        struct labels labels = learn(text, 3, false, &spec, &arena, &err);
        ck_assert_str_eq(labels.name[0], i < 2 ? "a" : "c");
        ck_assert_int_eq(labels_match(&labels, "a", targets, &first, &err), ERR_OK);
        ck_assert_uint_eq(first, i < 2 ? 0 : 2);
        arena_deinit(&arena);
    }
}
END_TEST

SUITE("labels", labels_of_a_multi_label_input_may_be_empty, labels_are_sorted_by_bytes,
      labels_of_the_source_keep_its_order, several_labels_are_split_at_bars,
      one_label_only_is_nothing_to_learn, names_that_begin_alike_are_different_names,
      a_bar_is_part_of_a_name_unless_there_are_several,
      several_labels_may_be_one_and_the_first_named_is_first,
      labels_errors_name_the_input_of_a_bad_label, labels_have_a_limited_count,
      a_source_with_one_other_label_decides_nothing)
