/* The search by hand-made logits: rows and slots, what a check allows, and what ends it. Beside
 * transformers it stands in test_generation_golden.c. */
#include "engine/generate/generation.h"
#include "engine/generate/pattern.h"
#include "engine/tensor/kernels.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A vocabulary of the special tokens and of pieces of text. */
enum { PAD, END, START, LANGUAGE, FIRST_PIECE };
static const char *const pieces[] = {"",  "",   "",   "",   "a", "b",  "c", "ab", "1",
                                     "2", "12", "97", " a", ".", "xy", "-", "é",  " "};
enum { VOCABULARY = sizeof pieces / sizeof *pieces, STEPS_MAX = 64 };

static char texts_bytes[64];
static uint32_t texts_offset[VOCABULARY + 1];
static const struct token_texts texts = {texts_bytes, texts_offset};

static struct arena arena;
static struct err err;
static struct generation *generation;
static struct generation_config config;
static const uint32_t end_ids[] = {END};

static uint32_t token(const char *piece)
{
    for (uint32_t t = FIRST_PIECE; t < VOCABULARY; t++)
        if (strcmp(pieces[t], piece) == 0)
            return t;
    ck_abort_msg("no token %s", piece);
}

static void prepare(unsigned beams, unsigned new_max)
{
    uint32_t at = 0;
    for (uint32_t t = 0; t < VOCABULARY; t++) {
        texts_offset[t] = at;
        memcpy(texts_bytes + at, pieces[t], strlen(pieces[t]));
        at += (uint32_t)strlen(pieces[t]);
    }
    texts_offset[VOCABULARY] = at;
    arena_deinit(&arena);
    err = (struct err){0};
    config = (struct generation_config){.start = START,
                                        .first = generation_no_token,
                                        .ends = {end_ids, 1},
                                        .new_max = new_max,
                                        .beams = beams,
                                        .sequences = beams,
                                        .length_penalty = 1};
}

static void begin(const struct output_check *check)
{
    const struct generation_options options = {
        .config = &config, .check = check, .kernels = kernels_best(), .vocabulary = VOCABULARY};
    ck_assert(!generation_begin(&generation, &options, &arena, &err));
}

/* Runs the search with the same logits at each step. */
static unsigned run(const float *logits)
{
    float rows_logits[GENERATION_BEAMS_MAX][VOCABULARY];
    struct generation_rows rows;
    unsigned steps = 0;
    for (; generation_rows(generation, &rows) > 0; steps++) {
        ck_assert_uint_lt(steps, STEPS_MAX);
        for (unsigned r = 0; r < rows.count; r++)
            memcpy(rows_logits[r], logits, sizeof rows_logits[r]);
        ck_assert_msg(!generation_take(generation, rows_logits[0], VOCABULARY, &err), "%s",
                      err.text);
    }
    return steps;
}

/* Logits by token: all 0 but for those of the list, "a", 2, "b", 1, NULL. */
static const float *logits_of(const char *piece, double logit, ...)
{
    static float logits[VOCABULARY];
    va_list list;
    memset(logits, 0, sizeof logits);
    va_start(list, logit);
    for (; piece != NULL; logit = piece != NULL ? va_arg(list, double) : 0) {
        logits[*piece == '\0' ? END : token(piece)] = (float)logit;
        piece = va_arg(list, const char *);
    }
    va_end(list);
    return logits;
}

/* The text of a hypothesis, its end as "$". */
static const char *text_of(const struct generation_hypothesis *hypothesis)
{
    static char text[256];
    text[0] = '\0';
    for (unsigned i = 0; i < hypothesis->count; i++)
        strcat(text, hypothesis->ids[i] == END ? "$" : pieces[hypothesis->ids[i]]);
    return text;
}

static void expect_result(unsigned index, const char *text)
{
    struct generation_hypothesis hypothesis;
    const bool is_there = generation_result(generation, index, &hypothesis);
    ck_assert_msg(is_there == (text != NULL), "result %u", index);
    if (is_there)
        ck_assert_str_eq(text_of(&hypothesis), text);
}

/* ---- rows and ends ---- */

START_TEST(generation_is_greedy_with_one_beam)
{
    prepare(1, 5);
    begin(NULL);
    ck_assert_uint_eq(run(logits_of("b", 3.0, "a", 2.0, NULL)), 5);
    struct generation_hypothesis hypothesis;
    expect_result(0, "bbbbb");
    expect_result(1, NULL);
    ck_assert(generation_result(generation, 0, &hypothesis));
    const double expected = 3 - log(exp(3) + exp(2) + VOCABULARY - 2);
    ck_assert_double_eq_tol((double)hypothesis.score, expected, 1e-6);
    ck_assert_double_eq_tol((double)hypothesis.sum, 5 * expected, 1e-5);
    ck_assert_double_eq_tol((double)hypothesis.probabilities[3], expected, 1e-6);
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_takes_the_first_of_equal_logits)
{
    prepare(1, 1);
    begin(NULL);
    run(logits_of("b", 3.0, "a", 3.0, NULL));
    expect_result(0, "a");
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_begins_with_one_row_and_joins_equal_ones)
{
    struct generation_rows rows;
    float logits[GENERATION_BEAMS_MAX * VOCABULARY] = {0};
    prepare(4, 8);
    config.first = LANGUAGE;
    begin(NULL);
    ck_assert_uint_eq(generation_rows(generation, &rows), 1);
    ck_assert_uint_eq(rows.row[0].token, START);
    ck_assert_uint_eq(rows.position, 0);
    ck_assert(!generation_take(generation, logits, VOCABULARY, &err));
    ck_assert_uint_eq(generation_rows(generation, &rows), 1); /* the forced token is one for all */
    ck_assert_uint_eq(rows.row[0].token, LANGUAGE);
    memset(logits, 0, sizeof logits);
    ck_assert(!generation_take(generation, logits, VOCABULARY, &err));
    ck_assert_uint_eq(generation_rows(generation, &rows), 4);
    for (unsigned r = 0; r < 4; r++) {
        ck_assert_uint_eq(rows.row[r].parent, 0);
        ck_assert_uint_eq(rows.row[r].slots[0], rows.row[0].slots[0]);
        ck_assert_uint_eq(rows.row[r].slots[1], rows.row[0].slots[1]);
        for (unsigned s = 0; s < r; s++)
            ck_assert_uint_ne(rows.row[r].slots[2], rows.row[s].slots[2]);
        ck_assert_uint_lt(rows.row[r].slots[2], generation_slots(&config));
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_scores_by_length_and_returns_the_best_first)
{
    struct generation_hypothesis hypothesis;
    float before = INFINITY;
    for (double penalty = -1; penalty <= 2; penalty += 1) {
        prepare(4, 6);
        config.length_penalty = penalty;
        before = INFINITY;
        begin(NULL);
        run(logits_of("", 2.0, "a", 2.5, "b", 1.0, NULL));
        for (unsigned i = 0; i < 4; i++) {
            ck_assert(generation_result(generation, i, &hypothesis));
            ck_assert_double_eq_tol((double)hypothesis.score,
                                    (double)hypothesis.sum / pow(hypothesis.count, penalty), 1e-5);
            ck_assert(hypothesis.score <= before);
            before = hypothesis.score;
        }
        ck_assert(!generation_result(generation, 4, &hypothesis));
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_refuses_logits_that_are_not_finite)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    float logits[VOCABULARY];
    struct generation_rows rows;
    for (int o = 0; o < 3; o++) {
        prepare(2, 4);
        begin(NULL);
        for (int t = 0; t < VOCABULARY; t++)
            logits[t] = o == 2 ? odd[o] : 0;
        logits[7] = odd[o];
        ck_assert_int_eq(generation_take(generation, logits, VOCABULARY, &err), ERR_INTERNAL);
        ck_assert_str_eq(err.text, "the logits of token 1 are not finite");
        ck_assert_uint_eq(generation_rows(generation, &rows), 0);
        expect_result(0, NULL);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_takes_the_memory_that_it_says)
{
    for (unsigned beams = 1; beams <= GENERATION_BEAMS_MAX; beams++) {
        prepare(beams, 100);
        begin(NULL);
        ck_assert_uint_eq(arena.bytes, generation_bytes(&config, VOCABULARY));
    }
    prepare(GENERATION_BEAMS_MAX, GENERATION_NEW_MAX); /* and it is small */
    ck_assert_uint_le(generation_bytes(&config, 65000), 1 << 20);
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_has_no_result_where_every_token_is_banned)
{
    uint32_t all[VOCABULARY];
    for (uint32_t t = 0; t < VOCABULARY; t++)
        all[t] = t;
    for (unsigned beams = 1; beams <= 4; beams += 3) {
        prepare(beams, 4);
        config.suppressed = (struct token_ids){all, VOCABULARY};
        begin(NULL);
        run(logits_of(NULL, 0));
        expect_result(0, NULL);
    }
    arena_deinit(&arena);
}
END_TEST

/* ---- checks ---- */

static struct automaton automata[2];

static struct output_check check_of(const char *pattern)
{
    ck_assert_msg(!pattern_compile(&automata[0], "pattern", pattern, strlen(pattern), &arena, &err),
                  "%s", err.text);
    return (struct output_check){.texts = &texts, .automata = {&automata[0]}, .automaton_count = 1};
}

START_TEST(generation_writes_what_the_pattern_says)
{
    static const char *const patterns[] = {"[abc]{3}",      "(12|97)-a", "1*2",
                                           "\xC3\xA9+x?y?", "a\\.?",     "(ab)?c"};
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (unsigned beams = 1; beams <= 4; beams += 3) {
            prepare(beams, 12);
            const struct output_check check = check_of(patterns[p]);
            begin(&check);
            run(logits_of("", 6.0, "b", 3.0, "97", 2.0, "ab", 1.0, "xy", 1.0, "2", 1.0, NULL));
            struct generation_hypothesis hypothesis;
            ck_assert_msg(generation_result(generation, 0, &hypothesis), "%s", patterns[p]);
            char text[256];
            snprintf(text, sizeof text, "%s", text_of(&hypothesis));
            ck_assert_msg(text[strlen(text) - 1] == '$', "%s", text);
            ck_assert_msg(
                automaton_accepts(&automata[0], automaton_walk(&automata[0], AUTOMATON_START, text,
                                                               strlen(text) - 1)),
                "%s: %s", patterns[p], text);
        }
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_of_a_pattern_has_each_text_once_and_no_more_than_there_are)
{
    prepare(4, 12);
    const struct output_check check = check_of("(12|97)-a?");
    begin(&check);
    run(logits_of("", 2.0, "97", 1.0, "1", 4.0, NULL));
    static const char *const all[] = {"12-$", "97-$", "12-a$", "97-a$"};
    struct generation_hypothesis hypothesis;
    unsigned count = 0;
    for (; generation_result(generation, count, &hypothesis); count++) {
        bool is_one = false;
        for (int t = 0; t < 4; t++)
            is_one = is_one || strcmp(text_of(&hypothesis), all[t]) == 0;
        ck_assert_msg(is_one, "%s", text_of(&hypothesis));
    }
    ck_assert_uint_eq(count, 4);
    arena_deinit(&arena);
    prepare(4, 12);
    const struct output_check one = check_of("-\\.");
    begin(&one);
    run(logits_of(NULL, 0));
    expect_result(0, "-.$");
    expect_result(1, NULL); /* copies of it are none */
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_at_its_longest_must_be_where_the_text_may_end)
{
    for (unsigned beams = 1; beams <= 4; beams += 3) {
        prepare(beams, 3);
        const struct output_check check = check_of("a{3}|b{4}");
        begin(&check);
        run(logits_of("b", 5.0, NULL));
        expect_result(0, beams == 1 ? NULL : "aaa"); /* greedy search took b, and has no way back */
        arena_deinit(&arena);
        prepare(beams, 3); /* with a forced end, which the text does not allow */
        config.last = (struct token_ids){end_ids, 1};
        const struct output_check two = check_of("a{2}|b{4}");
        begin(&two);
        run(logits_of("b", 5.0, NULL));
        expect_result(0, beams == 1 ? NULL : "aa$");
    }
    arena_deinit(&arena);
}
END_TEST

/* No token goes on behind "a": none may be taken although the largest logits are those of others. */
START_TEST(generation_ends_where_no_token_of_the_vocabulary_goes_on)
{
    for (unsigned beams = 1; beams <= 4; beams += 3) {
        prepare(beams, 12);
        const struct output_check check = check_of("az");
        begin(&check);
        ck_assert_uint_eq(run(logits_of("", 6.0, "b", 5.0, NULL)), 2);
        expect_result(0, NULL);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_lets_special_tokens_through_where_they_are_forced)
{
    prepare(2, 6);
    config.first = LANGUAGE;
    const struct output_check check = check_of("ab");
    begin(&check);
    run(logits_of("", 9.0, NULL));
    struct generation_hypothesis hypothesis;
    ck_assert(generation_result(generation, 0, &hypothesis));
    ck_assert_uint_eq(hypothesis.ids[0], LANGUAGE);
    ck_assert(hypothesis.probabilities[0] == 0);
    ck_assert_str_eq(text_of(&hypothesis), "ab$");
    for (unsigned i = 1; i + 1 < hypothesis.count; i++)
        ck_assert_uint_ge(hypothesis.ids[i], FIRST_PIECE);
    arena_deinit(&arena);
}
END_TEST

START_TEST(generation_holds_to_all_automata_at_once)
{
    prepare(4, 8);
    struct output_check check = check_of("[ab]+ ?[0-9]+");
    ck_assert(!automaton_numbers(&automata[1], "copy_numbers",
                                 (struct automaton_text){"lot 12 of 1", 11}, &arena, &err));
    check.automata[check.automaton_count++] = &automata[1];
    begin(&check);
    run(logits_of("97", 5.0, "2", 4.0, "12", 2.0, "", 1.0, NULL));
    struct generation_hypothesis hypothesis;
    for (unsigned i = 0; i < 2; i++) {
        ck_assert(generation_result(generation, i, &hypothesis));
        const char *text = text_of(&hypothesis);
        const char *number = text + strcspn(text, "0123456789");
        ck_assert_msg(strcmp(number, "12$") == 0 || strcmp(number, "1$") == 0, "%s", text);
    }
    arena_deinit(&arena);
}
END_TEST

/* True for texts with an even number of tokens; counts the questions. */
static unsigned asked;
static bool is_even(void *context, const uint32_t *ids, unsigned count)
{
    asked++;
    ck_assert_ptr_eq(context, &asked);
    ck_assert(count >= 1 && ids[0] != START);
    return (count - (ids[count - 1] == END)) % 2 == 0;
}

START_TEST(generation_drops_what_does_not_hold_and_keeps_the_best_of_it)
{
    struct generation_hypothesis hypothesis;
    const struct output_check check = {.holds = is_even, .context = &asked};
    prepare(3, 6);
    config.new_min = 1;
    begin(&check);
    asked = 0;
    run(logits_of("", 3.0, "a", 3.5, NULL));
    ck_assert_uint_gt(asked, 2);
    expect_result(0, "aaaaaa");
    for (unsigned i = 0; generation_result(generation, i, &hypothesis); i++)
        ck_assert_msg(strcspn(text_of(&hypothesis), "$") % 2 == 0, "%s", text_of(&hypothesis));
    ck_assert(generation_dropped(generation, &hypothesis));
    ck_assert_uint_eq(strcspn(text_of(&hypothesis), "$") % 2, 1);
    arena_deinit(&arena);
}
END_TEST

static bool never(void *context, const uint32_t *ids, unsigned count)
{
    (void)context, (void)ids, (void)count;
    return false;
}

START_TEST(generation_has_no_result_where_nothing_holds)
{
    struct generation_hypothesis hypothesis;
    const struct output_check check = {.holds = never};
    for (unsigned beams = 1; beams <= 4; beams += 3) {
        prepare(beams, 6);
        begin(&check);
        run(logits_of("", 3.0, "a", 3.5, NULL));
        expect_result(0, NULL);
        ck_assert(generation_dropped(generation, &hypothesis));
        arena_deinit(&arena);
    }
}
END_TEST

static void expect_dropped(const char *text)
{
    struct generation_hypothesis hypothesis;
    ck_assert(generation_dropped(generation, &hypothesis));
    ck_assert_str_eq(text_of(&hypothesis), text);
    ck_assert_double_eq_tol((double)hypothesis.score, (double)hypothesis.sum / hypothesis.count,
                            1e-6);
}

START_TEST(generation_drops_what_is_cut_or_has_no_way_on)
{
    static const struct {
        const char *pattern, *dropped;
    } cases[] = {{"a{5}", "aaa"}, {"bz", "b"}, {"(12)*97z", "12"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (unsigned beams = 1; beams <= 4; beams += 3) {
            prepare(beams, c == 2 ? 1 : 3);
            const struct output_check check = check_of(cases[c].pattern);
            begin(&check);
            run(logits_of("a", 3.0, "12", 2.0, NULL));
            expect_result(0, NULL);
            expect_dropped(cases[c].dropped);
            arena_deinit(&arena);
        }
    prepare(1, 3); /* nothing can be begun, so nothing is dropped */
    const struct output_check check = check_of("zz");
    struct generation_hypothesis hypothesis;
    begin(&check);
    run(logits_of(NULL, 0));
    ck_assert(!generation_dropped(generation, &hypothesis));
    arena_deinit(&arena);
}
END_TEST

/* "ab" ends at once but does not hold; "cccc" is cut and scores better. */
START_TEST(generation_drops_a_whole_text_before_one_that_is_cut)
{
    prepare(4, 4);
    struct output_check check = check_of("ab|c{9}");
    check.holds = never;
    begin(&check);
    run(logits_of("c", 5.0, NULL));
    expect_result(0, NULL);
    struct generation_hypothesis hypothesis;
    ck_assert(generation_dropped(generation, &hypothesis));
    ck_assert_str_eq(text_of(&hypothesis), "ab$");
    arena_deinit(&arena);
}
END_TEST

/* The first token loses its space; one that was nothing else was the first all the same. */
START_TEST(generation_reads_the_first_token_as_the_decoder_does)
{
    static char first_bytes[64];
    static uint32_t first_offset[VOCABULARY + 1];
    static const struct token_texts first = {first_bytes, first_offset};
    for (int skips = 0; skips < 2; skips++) {
        prepare(1, 6);
        for (uint32_t t = 0, at = 0; t < VOCABULARY; t++) {
            const char *text = pieces[t] + (pieces[t][0] == ' ');
            memcpy(first_bytes + at, text, strlen(text));
            first_offset[t + 1] = at += (uint32_t)strlen(text);
        }
        struct output_check check = check_of(skips ? "a b" : " a b");
        check.first = &first;
        check.skips_empty = skips;
        begin(&check);
        /* an empty first token: then the space of " a" counts, or does not */
        run(logits_of(" ", skips ? 2.0 : 5.0, " a", 3.0, "b", 1.0, NULL));
        expect_result(0, skips ? " a b$" : "  a b$");
        arena_deinit(&arena);
    }
}
END_TEST

SUITE("generation", generation_is_greedy_with_one_beam, generation_takes_the_first_of_equal_logits,
      generation_begins_with_one_row_and_joins_equal_ones,
      generation_scores_by_length_and_returns_the_best_first,
      generation_refuses_logits_that_are_not_finite, generation_takes_the_memory_that_it_says,
      generation_has_no_result_where_every_token_is_banned, generation_writes_what_the_pattern_says,
      generation_of_a_pattern_has_each_text_once_and_no_more_than_there_are,
      generation_at_its_longest_must_be_where_the_text_may_end,
      generation_ends_where_no_token_of_the_vocabulary_goes_on,
      generation_lets_special_tokens_through_where_they_are_forced,
      generation_holds_to_all_automata_at_once,
      generation_drops_what_does_not_hold_and_keeps_the_best_of_it,
      generation_has_no_result_where_nothing_holds, generation_drops_what_is_cut_or_has_no_way_on,
      generation_drops_a_whole_text_before_one_that_is_cut,
      generation_reads_the_first_token_as_the_decoder_does)
