/* The rules of transformers' TokenClassificationPipeline, one by one, and attnd's own path. */
#include "engine/base/arena.h"
#include "engine/base/rng.h"
#include "engine/decide/spans.h"
#include "engine/decide/tag_pairs.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

enum { TOKENS_MAX = 8, LABELS = 7 };
enum { O, B_PIN, I_PIN, B_VALUE, I_VALUE, PLAIN, ODD };

static const char *const labels[LABELS] = {"O",       "B-PIN", "I-PIN", "B-VALUE",
                                           "I-VALUE", "LOT",   "X-Y-O"};
static const unsigned in_order[TOKENS_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};

static float logits[TOKENS_MAX][LABELS];
static uint32_t starts[TOKENS_MAX], ends[TOKENS_MAX];
static bool continued[TOKENS_MAX];
static struct span spans[TOKENS_MAX];
static float scratch[LABELS * (2 + (TOKENS_MAX + 3) / 4)];

/* Tokens of two characters with a space between; each has a logit of 3 for its label, all others
 * have 0. */
static struct tagged_tokens tokens_of(const int *tags, unsigned count)
{
    memset(logits, 0, sizeof logits);
    memset(continued, 0, sizeof continued);
    for (unsigned i = 0; i < count; i++) {
        logits[i][tags[i]] = 3;
        starts[i] = 3 * i;
        ends[i] = 3 * i + 2;
    }
    return (struct tagged_tokens){.labels = labels,
                                  .label_count = LABELS,
                                  .temperature = 1,
                                  .logits = logits[0],
                                  .starts = starts,
                                  .ends = ends,
                                  .continued = continued,
                                  .order = in_order,
                                  .count = count};
}

#define TOKENS(...)                                                                                \
    tokens_of((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

/* The score of a label with a logit of `logit`, where all others have 0. */
static double share(double logit)
{
    return exp(logit) / (exp(logit) + LABELS - 1);
}

static void expect(unsigned i, const char *name, unsigned start, unsigned end, double score)
{
    ck_assert_str_eq(spans[i].name, name);
    ck_assert_uint_eq(spans[i].start, start);
    ck_assert_uint_eq(spans[i].end, end);
    ck_assert_double_eq_tol((double)spans[i].score, score, 1e-6);
}

START_TEST(spans_none_gives_each_token_with_its_whole_label)
{
    const struct tagged_tokens tokens = TOKENS(B_PIN, I_PIN, O, PLAIN);
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_NONE, scratch), 3);
    expect(0, "B-PIN", 0, 2, share(3));
    expect(1, "I-PIN", 3, 5, share(3));
    expect(2, "LOT", 9, 11, share(3));
}
END_TEST

START_TEST(spans_simple_joins_a_tag_until_it_begins_again)
{
    const struct tagged_tokens tokens = TOKENS(B_PIN, I_PIN, B_PIN, I_VALUE, I_PIN, PLAIN, PLAIN);
    logits[1][I_PIN] = 1;
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_OWN, scratch), 5);
    expect(0, "PIN", 0, 5, (share(3) + share(1)) / 2);
    expect(1, "PIN", 6, 8, share(3));
    expect(2, "VALUE", 9, 11, share(3));
    expect(3, "PIN", 12, 14, share(3));
    expect(4, "LOT", 15, 20, share(3));
    ck_assert_uint_eq(spans[0].label, B_PIN);
    ck_assert_uint_eq(spans[2].label, I_VALUE);
}
END_TEST

START_TEST(spans_of_o_separate_and_are_left_out)
{
    const struct tagged_tokens tokens = TOKENS(I_PIN, O, I_PIN, O, O, ODD, ODD);
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_SIMPLE, scratch), 3);
    expect(0, "PIN", 0, 2, share(3));
    expect(1, "PIN", 6, 8, share(3));
    expect(2, "Y-O", 15, 20, share(3)); /* behind the first dash */
    const struct tagged_tokens all = TOKENS(O, O);
    ck_assert_uint_eq(spans_make(spans, &all, AGGREGATION_MAX, scratch), 0);
    const struct tagged_tokens none = TOKENS(O);
    ck_assert_uint_eq(spans_make(spans, &(struct tagged_tokens){.labels = none.labels},
                                 AGGREGATION_SIMPLE, scratch),
                      0);
}
END_TEST

START_TEST(spans_first_gives_a_word_the_label_of_its_first_token)
{
    const struct tagged_tokens tokens = TOKENS(B_PIN, O, I_VALUE, I_PIN);
    continued[1] = continued[2] = true;
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_FIRST, scratch), 1);
    expect(0, "PIN", 0, 11, share(3)); /* and the next word continues the tag */
}
END_TEST

START_TEST(spans_max_gives_a_word_the_label_of_its_surest_token)
{
    const struct tagged_tokens tokens = TOKENS(B_PIN, I_VALUE, B_PIN);
    continued[1] = true;
    logits[1][I_VALUE] = 4;
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_MAX, scratch), 2);
    expect(0, "VALUE", 0, 5, share(4));
    expect(1, "PIN", 6, 8, share(3));
    logits[1][I_VALUE] = 3; /* of equal ones the first */
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_MAX, scratch), 2);
    expect(0, "PIN", 0, 5, share(3));
}
END_TEST

START_TEST(spans_average_gives_a_word_the_best_mean)
{
    const struct tagged_tokens tokens = TOKENS(B_PIN, I_VALUE, I_VALUE);
    continued[1] = continued[2] = true;
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_AVERAGE, scratch), 1);
    expect(0, "VALUE", 0, 8, (2 * share(3) + 1 / (exp(3) + LABELS - 1)) / 3);
}
END_TEST

/* A word that begins in the middle of one, at the start of the text, begins a word. */
START_TEST(spans_first_token_begins_a_word_whatever_it_says)
{
    const struct tagged_tokens tokens = TOKENS(B_PIN, B_PIN);
    continued[0] = true;
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_FIRST, scratch), 2);
}
END_TEST

static unsigned path_of(struct tagged_tokens tokens)
{
    struct arena arena;
    arena_init(&arena);
    tokens.insides = tag_insides(labels, LABELS, &arena);
    ck_assert_ptr_nonnull(tokens.insides);
    const unsigned count = spans_make(spans, &tokens, AGGREGATION_PATH, scratch);
    arena_deinit(&arena);
    return count;
}

START_TEST(spans_path_lets_a_label_go_on_only_where_it_began)
{
    struct tagged_tokens tokens = TOKENS(B_PIN, I_VALUE, I_PIN, O, I_PIN);
    logits[1][I_PIN] = 1;
    logits[4][B_PIN] = 2;
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_SIMPLE, scratch), 4);
    ck_assert_uint_eq(path_of(tokens), 2);
    const double rest = exp(3) + LABELS - 2;
    expect(0, "PIN", 0, 8, (2 * share(3) + exp(1) / (rest + exp(1))) / 3);
    expect(1, "PIN", 12, 14, exp(2) / (rest + exp(2)));
    ck_assert_uint_eq(spans[1].label, B_PIN);
    ck_assert_uint_eq(spans[0].first, 0);
    ck_assert_uint_eq(spans[0].count, 3);
    ck_assert_uint_eq(spans[1].first, 4);
}
END_TEST

START_TEST(spans_path_keeps_neighbours_and_labels_without_a_beginning)
{
    const struct tagged_tokens tokens =
        TOKENS(B_PIN, B_PIN, I_PIN, PLAIN, PLAIN, B_VALUE, B_PIN, ODD);
    ck_assert_uint_eq(path_of(tokens), 6);
    expect(0, "PIN", 0, 2, share(3));
    expect(1, "PIN", 3, 8, share(3));
    expect(2, "LOT", 9, 14, share(3));
    expect(3, "VALUE", 15, 17, share(3));
    expect(4, "PIN", 18, 20, share(3));
    expect(5, "Y-O", 21, 23, share(3));
    ck_assert_uint_eq(path_of(TOKENS(O, O)), 0);
    ck_assert_uint_eq(path_of((struct tagged_tokens){.labels = labels, .label_count = LABELS}), 0);
}
END_TEST

/* The logits of a sequence of labels; false: an I- does not follow its label. */
static bool add_up(const int *tags, unsigned count, double *sum)
{
    *sum = 0;
    for (unsigned i = 0; i < count; i++) {
        const int begin = tags[i] - 1;
        if ((tags[i] == I_PIN || tags[i] == I_VALUE) &&
            (i == 0 || (tags[i - 1] != begin && tags[i - 1] != tags[i])))
            return false;
        *sum += (double)logits[i][tags[i]];
    }
    return true;
}

START_TEST(spans_path_is_the_best_of_all_sequences)
{
    enum { TOKENS_TRIED = 5 };
    struct tagged_tokens tokens = TOKENS(O, O, O, O, O);
    struct rng rng = rng_for(3, 0, 0);
    for (unsigned round = 0; round < 100; round++) {
        double best = -INFINITY, sum;
        int tags[TOKENS_TRIED], right[TOKENS_TRIED] = {0};
        for (unsigned i = 0; i < TOKENS_TRIED * LABELS; i++)
            logits[i / LABELS][i % LABELS] = rng_normal(&rng);
        for (unsigned code = 0; code < LABELS * LABELS * LABELS * LABELS * LABELS; code++) {
            for (unsigned i = 0, rest = code; i < TOKENS_TRIED; i++, rest /= LABELS)
                tags[i] = (int)(rest % LABELS);
            if (add_up(tags, TOKENS_TRIED, &sum) && sum > best) {
                best = sum;
                memcpy(right, tags, sizeof right);
            }
        }
        tokens.keeps_outside = true;
        const unsigned count = path_of(tokens);
        for (unsigned s = 0; s < count; s++) {
            const unsigned first = spans[s].first;
            ck_assert_int_eq((int)spans[s].label, right[first]);
            for (unsigned i = first + 1; i < first + spans[s].count; i++)
                ck_assert(right[i] != B_PIN && right[i] != B_VALUE);
        }
    }
}
END_TEST

/* Counts are drawn; every second token touches the one before. */
START_TEST(spans_path_weighs_how_often_labels_follow_one_another)
{
    enum { TRIED = 5, PAIRS = TAG_GAPS * LABELS * LABELS };
    struct tagged_tokens tokens = TOKENS(O, O, O, O, O);
    struct rng rng = rng_for(4, 0, 0);
    struct tag_pairs pairs;
    struct arena arena;
    struct err err;
    double counts[PAIRS];
    unsigned differ = 0;
    arena_init(&arena);
    tokens.insides = tag_insides(labels, LABELS, &arena);
    tokens.keeps_outside = true;
    for (unsigned i = 1; i < TRIED; i += 2)
        ends[i - 1] = starts[i];
    for (unsigned round = 0; round < 60; round++) {
        double best = -INFINITY, sum;
        int tags[TRIED], right[TRIED] = {0};
        for (unsigned i = 0; i < PAIRS; i++)
            counts[i] = rng_uniform(&rng) < 0.5f ? 0 : (double)(1000 * rng_uniform(&rng));
        ck_assert(!tag_pairs_fit(&pairs, counts, tokens.insides, LABELS, &arena, &err));
        for (unsigned i = 0; i < TRIED * LABELS; i++)
            logits[i / LABELS][i % LABELS] = rng_normal(&rng);
        for (unsigned code = 0; code < LABELS * LABELS * LABELS * LABELS * LABELS; code++) {
            for (unsigned i = 0, rest = code; i < TRIED; i++, rest /= LABELS)
                tags[i] = (int)(rest % LABELS);
            if (!add_up(tags, TRIED, &sum))
                continue;
            for (unsigned i = 1; i < TRIED; i++)
                sum += (double)pairs.weights[((i % 2) * LABELS + (unsigned)tags[i]) * LABELS +
                                             (unsigned)tags[i - 1]];
            if (sum > best) {
                best = sum;
                memcpy(right, tags, sizeof right);
            }
        }
        tokens.pairs = NULL;
        spans_make(spans, &tokens, AGGREGATION_PATH, scratch);
        const unsigned alone = spans[0].label;
        tokens.pairs = pairs.weights;
        const unsigned count = spans_make(spans, &tokens, AGGREGATION_PATH, scratch);
        differ += spans[0].label != alone;
        for (unsigned s = 0, at = 0; s < count; s++) {
            ck_assert_uint_eq(spans[s].first, at);
            ck_assert_int_eq((int)spans[s].label, right[at]);
            for (at++; at < spans[s].first + spans[s].count; at++)
                ck_assert(right[at] != B_PIN && right[at] != B_VALUE);
        }
    }
    ck_assert_uint_gt(differ, 5);
    tokens.count = 0;
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_PATH, scratch), 0);
    arena_deinit(&arena);
}
END_TEST

START_TEST(spans_follow_the_order_and_the_temperature)
{
    static const unsigned order[] = {3, 0};
    struct tagged_tokens tokens = TOKENS(I_PIN, O, O, B_PIN);
    tokens.order = order;
    tokens.count = 2;
    tokens.temperature = 2;
    ck_assert_uint_eq(spans_make(spans, &tokens, AGGREGATION_SIMPLE, scratch), 1);
    expect(0, "PIN", 9, 2, share(1.5));
}
END_TEST

START_TEST(aggregations_are_found_by_their_whole_names)
{
    enum aggregation found = AGGREGATION_OWN;
    ck_assert(aggregation_find("average", 7, &found) && found == AGGREGATION_AVERAGE);
    ck_assert(aggregation_find("none", 4, &found) && found == AGGREGATION_NONE);
    ck_assert(aggregation_find("path", 4, &found) && found == AGGREGATION_PATH);
    ck_assert_str_eq(aggregation_name(AGGREGATION_PATH), "path");
    ck_assert(aggregation_find("none", 4, &found));
    ck_assert(!aggregation_find("aver", 4, &found) && !aggregation_find("", 0, &found));
    ck_assert_int_eq(found, AGGREGATION_NONE);
}
END_TEST

SUITE("spans", spans_none_gives_each_token_with_its_whole_label,
      spans_simple_joins_a_tag_until_it_begins_again, spans_of_o_separate_and_are_left_out,
      spans_first_gives_a_word_the_label_of_its_first_token,
      spans_max_gives_a_word_the_label_of_its_surest_token,
      spans_average_gives_a_word_the_best_mean, spans_path_lets_a_label_go_on_only_where_it_began,
      spans_path_keeps_neighbours_and_labels_without_a_beginning,
      spans_path_is_the_best_of_all_sequences,
      spans_path_weighs_how_often_labels_follow_one_another,
      spans_first_token_begins_a_word_whatever_it_says, spans_follow_the_order_and_the_temperature,
      aggregations_are_found_by_their_whole_names)
