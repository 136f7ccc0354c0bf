/* Tags of tokens that stand for spans. */
#include "learn/data/tag_set.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { TOKENS_MAX = 16 };

static const struct dataset_span wanted[] = {{"value", 0, 3}, {"unit", 3, 4}, {"pin", 6, 9}};
static struct dataset_item item = {.name = "line 4", .spans = wanted, .span_count = 3};
static const struct dataset dataset = {.items = &item, .count = 1};

struct subject {
    struct arena arena;
    struct tag_set set;
    struct err err;
};

static void learn(struct subject *subject, const char **labels, unsigned count)
{
    const struct spec source = {.labels = labels, .label_count = count};
    *subject = (struct subject){0};
    arena_init(&subject->arena);
    ck_assert(!tag_set_learn(&subject->set, &dataset, &source, &subject->arena, &subject->err));
}

static void expect_tags(const struct tag_set *set, const char *const *tags)
{
    for (unsigned t = 0; t < set->tag_count; t++)
        ck_assert_str_eq(set->tags[t], tags[t]);
}

START_TEST(tags_are_sorted_by_the_labels_bytes)
{
    static const char *const tags[] = {"O",      "B-pin",   "I-pin",  "B-unit",
                                       "I-unit", "B-value", "I-value"};
    struct subject subject;
    learn(&subject, NULL, 0);
    ck_assert_uint_eq(subject.set.tag_count, 7);
    expect_tags(&subject.set, tags);
    ck_assert(subject.set.outside == 0 && subject.set.begin[1] == 3 && subject.set.inside[1] == 4);
    ck_assert(subject.set.label_of[4] == 1 && subject.set.label_of[0] == subject.set.count);
    arena_deinit(&subject.arena);
}
END_TEST

/* A head can be trained further only if its rows keep their meaning. */
START_TEST(the_order_of_a_source_with_the_same_tags_is_kept)
{
    static const char *same[] = {"B-unit", "I-unit", "B-pin", "I-pin", "B-value", "I-value", "O"};
    static const char *twice[] = {"B-unit", "B-unit", "B-pin", "I-pin", "B-value", "I-value", "O"};
    struct subject subject;
    learn(&subject, same, 7);
    expect_tags(&subject.set, same);
    ck_assert_uint_eq(subject.set.outside, 6);
    ck_assert_str_eq(subject.set.name[0], "pin");
    ck_assert(subject.set.begin[0] == 2 && subject.set.inside[0] == 3);
    arena_deinit(&subject.arena);
    learn(&subject, twice, 7);
    ck_assert_str_eq(subject.set.tags[0], "O");
    arena_deinit(&subject.arena);
    learn(&subject, same, 6);
    ck_assert_str_eq(subject.set.tags[0], "O");
    arena_deinit(&subject.arena);
}
END_TEST

START_TEST(data_without_a_span_teach_nothing)
{
    static struct dataset_item empty = {.name = "line 1"};
    const struct dataset none = {.items = &empty, .count = 1};
    const struct spec source = {.label_count = 0};
    struct subject subject = {0};
    arena_init(&subject.arena);
    ck_assert_int_eq(tag_set_learn(&subject.set, &none, &source, &subject.arena, &subject.err),
                     ERR_UNUSABLE);
    ck_assert_str_eq(subject.err.text, "no text has a span: nothing to learn");
    arena_deinit(&subject.arena);
}
END_TEST

START_TEST(more_labels_than_a_model_may_have_are_refused)
{
    enum { MANY = TAG_LABELS_MAX + 1 };
    static char labels[MANY][8];
    static struct dataset_span spans[MANY];
    struct dataset_item one = {.name = "line 1", .spans = spans, .span_count = MANY};
    const struct dataset many = {.items = &one, .count = 1};
    const struct spec source = {.label_count = 0};
    struct subject subject = {0};
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(labels[i], sizeof labels[i], "%u", i);
        spans[i] = (struct dataset_span){labels[i], i, i + 1};
    }
    arena_init(&subject.arena);
    ck_assert_int_eq(tag_set_learn(&subject.set, &many, &source, &subject.arena, &subject.err),
                     ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(subject.err.text, "line 1: more than 1000 different"));
    one.span_count = TAG_LABELS_MAX;
    subject.err = (struct err){0};
    ck_assert(!tag_set_learn(&subject.set, &many, &source, &subject.arena, &subject.err));
    ck_assert_uint_eq(subject.set.tag_count, 2 * TAG_LABELS_MAX + 1);
    arena_deinit(&subject.arena);
}
END_TEST

START_TEST(a_label_that_a_model_lacks_is_named_with_those_it_has)
{
    static const char *const tags[] = {"O", "I-pin", "B-value", "I-value", "MISC"};
    struct subject subject = {0};
    arena_init(&subject.arena);
    ck_assert(!tag_set_of(&subject.set, tags, 5, &subject.arena, &subject.err));
    ck_assert_uint_eq(subject.set.count, 3);
    ck_assert(subject.set.begin[0] == 1 && subject.set.inside[0] == 1); /* no B- */
    ck_assert(subject.set.begin[1] == 2 && subject.set.inside[1] == 3);
    ck_assert_str_eq(subject.set.name[2], "MISC");
    ck_assert(subject.set.label_of[0] == 3 && subject.set.label_of[4] == 2);
    ck_assert_int_eq(tag_set_check(&subject.set, &dataset, &subject.err), ERR_UNUSABLE);
    ck_assert_str_eq(subject.err.text, "line 4: spans[1]: the label 'unit' is not known (known "
                                       "are: pin, value, MISC)");
    arena_deinit(&subject.arena);
}
END_TEST

/* Marks and returns misfits; tags as letters: v u p, capital for the first token, . for none, - for
 * a token without characters. */
static unsigned mark(const uint32_t (*places)[2], unsigned count, bool is_cut, char *letters)
{
    struct subject subject;
    uint32_t starts[TOKENS_MAX], ends[TOKENS_MAX];
    int32_t tags[TOKENS_MAX];
    learn(&subject, NULL, 0);
    for (unsigned t = 0; t < count; t++) {
        starts[t] = places[t][0];
        ends[t] = places[t][1];
    }
    const struct tag_tokens tokens = {starts, ends, count, is_cut};
    const unsigned misfits = tag_set_mark(&subject.set, &item, &tokens, tags);
    for (unsigned t = 0; t < count; t++)
        letters[t] = tags[t] < 0 ? '-' : ".PpUuVv"[tags[t]];
    letters[count] = '\0';
    arena_deinit(&subject.arena);
    return misfits;
}

START_TEST(every_token_of_a_span_has_its_tag_and_the_first_begins_it)
{
    static const uint32_t pieces[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {5, 6}, {6, 8}, {8, 9}};
    char letters[TOKENS_MAX + 1];
    ck_assert_uint_eq(mark(pieces, 7, false, letters), 0);
    ck_assert_str_eq(letters, "VvvU.Pp");
}
END_TEST

START_TEST(spans_that_do_not_fit_tokens_are_counted)
{
    /* value and unit are one token, which is the first one's; pin begins within a token */
    static const uint32_t wide[][2] = {{0, 4}, {5, 7}, {7, 9}, {9, 10}};
    /* nothing is read of pin, then nothing at all */
    static const uint32_t few[][2] = {{0, 3}, {3, 4}};
    char letters[TOKENS_MAX + 1];
    ck_assert_uint_eq(mark(wide, 4, false, letters), 3);
    ck_assert_str_eq(letters, "VPp.");
    ck_assert_uint_eq(mark(few, 2, false, letters), 1);
    ck_assert_str_eq(letters, "VU");
    ck_assert_uint_eq(mark(few, 2, true, letters), 0);
    ck_assert_uint_eq(mark(few, 0, false, letters), 3);
    ck_assert_uint_eq(mark(few, 0, true, letters), 0);
}
END_TEST

START_TEST(a_token_without_characters_has_no_tag)
{
    static const uint32_t pieces[][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 3}, {3, 4}, {6, 9}, {9, 9}};
    char letters[TOKENS_MAX + 1];
    ck_assert_uint_eq(mark(pieces, 7, false, letters), 0);
    ck_assert_str_eq(letters, "-V-vUP-");
}
END_TEST

SUITE("tag_set", tags_are_sorted_by_the_labels_bytes,
      the_order_of_a_source_with_the_same_tags_is_kept, data_without_a_span_teach_nothing,
      more_labels_than_a_model_may_have_are_refused,
      a_label_that_a_model_lacks_is_named_with_those_it_has,
      every_token_of_a_span_has_its_tag_and_the_first_begins_it,
      spans_that_do_not_fit_tokens_are_counted, a_token_without_characters_has_no_tag)
