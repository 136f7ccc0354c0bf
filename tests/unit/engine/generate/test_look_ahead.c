/* The tests compare look_ahead.h, and a search that uses it on tables of logits, with all texts that
 * there are. */
#include "engine/generate/generation.h"
#include "engine/generate/look_ahead.h"
#include "engine/tensor/kernels.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Digits whose sum, 3 x sum + digit modulo 11, is 0 behind the last of at least one. */
enum { PAD, END, START, DIGITS_AT, DIGITS = 4, VOCABULARY = DIGITS_AT + DIGITS };
enum { MODULUS = 11, STATES = AUTOMATON_START + 1 + MODULUS, PLACES = 5, SLOTS_MAX = 64 };

static const char bytes[] = "1234";
static const uint32_t offsets[VOCABULARY + 1] = {0, 0, 0, 0, 1, 2, 3, 4};
static const struct token_texts texts = {bytes, offsets};

static struct arena arena;
static struct err err;
static struct automaton automaton;

static void prepare(void)
{
    uint16_t *next;
    uint8_t *accepts;
    arena_init(&arena);
    err = (struct err){0};
    automaton = (struct automaton){0};
    for (unsigned d = 0; d < DIGITS; d++)
        automaton.class_of[(unsigned char)bytes[d]] = (uint8_t)(d + 1);
    ck_assert(!automaton_table(&automaton, "digits", STATES, DIGITS + 1, 4096, &next, &accepts,
                               &arena, &err));
    for (unsigned s = AUTOMATON_START; s < STATES; s++)
        for (unsigned d = 1; d <= DIGITS; d++) {
            const unsigned sum = s == AUTOMATON_START ? 0 : s - AUTOMATON_START - 1;
            next[s * (DIGITS + 1) + d] = (uint16_t)(AUTOMATON_START + 1 + (3 * sum + d) % MODULUS);
        }
    accepts[AUTOMATON_START + 1] = 1;
}

/* A number of -4 to 4 for the key. */
static float number_of(uint32_t key)
{
    key = (key + 1) * 2654435769u;
    key = (key ^ key >> 15) * 2246822519u;
    return (float)((key ^ key >> 13) % 8001) / 1000 - 4;
}

/* logits[VOCABULARY] behind ids [count], by a table of places or of all that was written. */
struct table {
    uint32_t key;
    bool is_of_places;
    float sharpness; /* 0 and more */
};

static void take_logits(const struct table *table, const uint32_t *ids, unsigned count,
                        float logits[VOCABULARY])
{
    uint32_t key = table->key * 7919 + count;
    for (unsigned i = 0; i < count && !table->is_of_places; i++)
        key = key * 31 + ids[i];
    for (uint32_t t = 0; t < VOCABULARY; t++)
        logits[t] = (1 + table->sharpness) * number_of(key * VOCABULARY + t);
    logits[PAD] = logits[START] = -30;
}

/* Logarithms of the probabilities. */
static void take_logarithms(const struct table *table, const uint32_t *ids, unsigned count,
                            float out[VOCABULARY])
{
    double sum = 0;
    take_logits(table, ids, count, out);
    for (unsigned t = 0; t < VOCABULARY; t++)
        sum += exp((double)out[t]);
    for (unsigned t = 0; t < VOCABULARY; t++)
        out[t] -= (float)log(sum);
}

/* The best sum of a rest that the automaton accepts, of all rests behind ids [count]. */
static double best_rest(const struct table *table, uint32_t *ids, unsigned count, unsigned state,
                        bool is_cut)
{
    float logs[VOCABULARY];
    if (count == PLACES)
        return is_cut && automaton_accepts(&automaton, state) ? 0 : -INFINITY;
    take_logarithms(table, ids, count, logs);
    double best = automaton_accepts(&automaton, state) ? (double)logs[END] : -INFINITY;
    for (uint32_t t = 0; t < VOCABULARY; t++) {
        if (t == END)
            continue;
        ids[count] = t;
        const unsigned to =
            automaton_walk(&automaton, state, bytes + offsets[t], offsets[t + 1] - offsets[t]);
        best = fmax(best, (double)logs[t] + best_rest(table, ids, count + 1, to, is_cut));
    }
    return best;
}

START_TEST(a_rest_is_the_best_of_all_that_the_automaton_accepts)
{
    for (uint32_t key = 0; key < 6; key++) {
        const struct table table = {key, .is_of_places = true};
        const bool is_cut = key % 2 == 0;
        struct look_ahead ahead;
        uint32_t ids[PLACES] = {0};
        prepare();
        const size_t before = arena.bytes;
        ck_assert(!look_ahead_open(&ahead, &automaton, &texts, PLACES, &arena, &err));
        ck_assert_uint_le(arena.bytes - before, look_ahead_bytes(&automaton, PLACES));
        for (unsigned place = 0; place < PLACES; place++) {
            float logs[VOCABULARY];
            look_ahead_begin(&ahead, place);
            take_logarithms(&table, ids, place, logs);
            for (uint32_t t = 0; t < VOCABULARY; t++)
                look_ahead_note(&ahead, place, t, logs[t], t == END);
        }
        ck_assert(look_ahead_compute(&ahead, PLACES, is_cut, AUTOMATON_START));
        for (unsigned place = 0; place <= PLACES; place++)
            for (unsigned s = AUTOMATON_DEAD; s < STATES; s++) {
                const double right =
                    s == AUTOMATON_DEAD ? -INFINITY : best_rest(&table, ids, place, s, is_cut);
                const double found = (double)look_ahead_rest(&ahead, place, s);
                ck_assert_msg(found == right || fabs(found - right) < 1e-4, "%u, %u: %g, not %g",
                              place, s, found, right);
            }
        arena_deinit(&arena);
    }
}
END_TEST

static unsigned state_of(unsigned state, const uint32_t *ids, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        state = automaton_walk(&automaton, state, bytes + offsets[ids[i]],
                               offsets[ids[i] + 1] - offsets[ids[i]]);
    return state;
}

START_TEST(nothing_is_ahead_where_no_text_is_possible)
{
    struct look_ahead ahead;
    prepare();
    ck_assert(!look_ahead_open(&ahead, &automaton, &texts, PLACES, &arena, &err));
    for (unsigned place = 0; place < PLACES; place++) {
        look_ahead_begin(&ahead, place);
        look_ahead_note(&ahead, place, DIGITS_AT, -1, false); /* 1, 11, 111: 1, 4, 2, 7, 0 */
    }
    ck_assert(!look_ahead_compute(&ahead, PLACES, false, AUTOMATON_START));
    ck_assert(!look_ahead_compute(&ahead, PLACES - 1, true, AUTOMATON_START));
    const uint32_t one = DIGITS_AT;
    ck_assert(look_ahead_compute(&ahead, PLACES - 1, true, state_of(AUTOMATON_START, &one, 1)));
    ck_assert(look_ahead_compute(&ahead, PLACES, true, AUTOMATON_START));
    ck_assert_float_eq(look_ahead_rest(&ahead, 0, AUTOMATON_START), -PLACES);
    arena_deinit(&arena);
}
END_TEST

/* ---- a search ---- */

static struct generation *generation;
static struct generation_config config;
static const uint32_t end_ids[] = {END};

/* Runs a search; returns how often it began. Its rows' tokens are those that their slots name. */
static unsigned search(const struct table *table, const struct output_check *check, unsigned beams)
{
    float logits[GENERATION_BEAMS_MAX][VOCABULARY];
    uint32_t token_of[SLOTS_MAX] = {0};
    unsigned begun = 0;
    struct generation_rows rows;
    config = (struct generation_config){.start = START,
                                        .first = generation_no_token,
                                        .ends = {end_ids, 1},
                                        .new_max = PLACES,
                                        .beams = beams,
                                        .sequences = beams};
    const struct generation_options options = {
        .config = &config, .check = check, .kernels = kernels_best(), .vocabulary = VOCABULARY};
    ck_assert(!generation_begin(&generation, &options, &arena, &err));
    while (generation_rows(generation, &rows) > 0) {
        begun += rows.position == 0;
        for (unsigned r = 0; r < rows.count; r++)
            token_of[rows.row[r].slots[rows.position]] = rows.row[r].token;
        for (unsigned r = 0; r < rows.count; r++) {
            uint32_t ids[PLACES];
            ck_assert_uint_eq(token_of[rows.row[r].slots[0]], START);
            for (unsigned i = 0; i < rows.position; i++)
                ids[i] = token_of[rows.row[r].slots[i + 1]];
            take_logits(table, ids, rows.position, logits[r]);
        }
        ck_assert_msg(!generation_take(generation, logits[0], VOCABULARY, &err), "%s", err.text);
    }
    return begun;
}

/* context: the start that texts have, or NULL. */
static bool accepts(void *context, const uint32_t *ids, unsigned count)
{
    const unsigned first = state_of(AUTOMATON_START, context, context != NULL);
    return automaton_accepts(&automaton, state_of(first, ids, count));
}

static bool accepts_none(void *context, const uint32_t *ids, unsigned count)
{
    (void)context, (void)ids, (void)count;
    return false;
}

/* The sum of a text, token by token. */
static double sum_of(const struct table *table, const struct generation_hypothesis *text)
{
    double sum = 0;
    for (unsigned i = 0; i < text->count; i++) {
        float logs[VOCABULARY];
        take_logarithms(table, text->ids, i, logs);
        sum += (double)logs[text->ids[i]];
        ck_assert_double_eq_tol((double)text->probabilities[i], (double)logs[text->ids[i]], 1e-4);
    }
    return sum;
}

/* True if the empty text is likelier than all others together. */
static bool empty_is_likeliest(const struct table *table)
{
    float logs[VOCABULARY];
    take_logarithms(table, NULL, 0, logs);
    return logs[END] > logf(0.5F);
}

/* The search finds the best text if probabilities depend on places alone: the best rest is exact
 * then. If they depend on the text, the text that it finds holds, and has the model's score. A start
 * may be a part of the text. */
START_TEST(a_search_that_found_nothing_finds_the_likeliest_text_ahead)
{
    unsigned ahead = 0;
    for (uint32_t key = 0; key < 400; key++) {
        const struct table table = {key, .is_of_places = key % 2 == 0};
        struct generation_hypothesis found;
        uint32_t ids[PLACES];
        uint32_t start = DIGITS_AT, *has_start = key % 5 < 2 ? &start : NULL;
        prepare();
        const struct output_check check = {.texts = &texts,
                                           .start = has_start,
                                           .whole = &automaton,
                                           .holds = accepts,
                                           .context = has_start};
        const unsigned begun = search(&table, &check, 2 + key % 3);
        const unsigned first = state_of(AUTOMATON_START, has_start, has_start != NULL);
        ck_assert_uint_le(begun, 3);
        const double best = best_rest(&table, ids, 0, first, true);
        const bool is_found = generation_result(generation, 0, &found);
        ck_assert(is_found || !table.is_of_places || empty_is_likeliest(&table));
        if (is_found) {
            ck_assert(accepts(has_start, found.ids, found.count));
            ck_assert_double_eq_tol((double)found.sum, sum_of(&table, &found), 1e-4);
            ck_assert_float_eq(found.score, found.sum);
            ck_assert_double_le((double)found.sum, best + 1e-4);
        }
        if (begun == 2 && table.is_of_places) {
            ck_assert_double_eq_tol((double)found.sum, best, 1e-4);
            ahead++;
        }
        arena_deinit(&arena);
    }
    ck_assert_msg(ahead > 20, "%u", ahead);
}
END_TEST

/* Nothing may be answered: what was dropped is told as if the search had not looked ahead. */
START_TEST(a_search_that_finds_nothing_ahead_tells_what_the_first_dropped)
{
    for (uint32_t key = 0; key < 20; key++) {
        const struct table table = {key, .is_of_places = false};
        struct generation_hypothesis dropped;
        uint32_t ids[PLACES + 1];
        if (empty_is_likeliest(&table))
            continue;
        prepare();
        struct output_check check = {.texts = &texts, .holds = accepts_none};
        ck_assert_uint_eq(search(&table, &check, 3), 1);
        ck_assert(generation_dropped(generation, &dropped));
        const unsigned count = dropped.count;
        const float sum = dropped.sum;
        memcpy(ids, dropped.ids, count * sizeof *ids);
        check.whole = &automaton;
        ck_assert_uint_eq(search(&table, &check, 3), 3);
        ck_assert(!generation_result(generation, 0, &dropped));
        ck_assert(generation_dropped(generation, &dropped));
        ck_assert_uint_eq(dropped.count, count);
        ck_assert_mem_eq(dropped.ids, ids, count * sizeof *ids);
        ck_assert_float_eq(dropped.sum, sum);
        arena_deinit(&arena);
    }
}
END_TEST

/* With one beam the tokens are told as they come, and none is taken back. */
START_TEST(greedy_search_does_not_begin_again)
{
    const struct table table = {1, .is_of_places = true};
    prepare();
    const struct output_check check = {.texts = &texts, .whole = &automaton, .holds = accepts_none};
    ck_assert_uint_eq(search(&table, &check, 1), 1);
    arena_deinit(&arena);
}
END_TEST

/* The empty text is likelier than all others: one of them is answered if it has more than half of
 * what is left, and else the empty one is dropped; greedy search takes the end at once. */
START_TEST(a_text_less_likely_than_none_is_answered_where_no_other_is_near)
{
    unsigned answered = 0, given_up = 0;
    for (uint32_t key = 0; key < 4000; key++) {
        const struct table table = {key, .is_of_places = true, .sharpness = 2};
        struct generation_hypothesis found;
        float logs[VOCABULARY];
        uint32_t ids[PLACES];
        prepare();
        take_logarithms(&table, NULL, 0, logs);
        if (empty_is_likeliest(&table)) {
            const struct output_check check = {
                .texts = &texts, .whole = &automaton, .holds = accepts};
            const double best = best_rest(&table, ids, 0, AUTOMATON_START, true);
            const double left = fmax(1 - exp((double)logs[END]), (double)FLT_EPSILON);
            const bool is_near = key % 4 > 0 && best > log(left / 2);
            ck_assert_uint_eq(search(&table, &check, 1 + key % 4), 1);
            ck_assert(generation_result(generation, 0, &found) == is_near);
            ck_assert(is_near || generation_dropped(generation, &found));
            ck_assert(is_near == (found.ids[0] != END));
            ck_assert_double_eq_tol((double)found.sum, is_near ? best : (double)logs[END], 1e-4);
            answered += is_near;
            given_up += !is_near;
        }
        arena_deinit(&arena);
    }
    ck_assert_msg(answered > 20 && given_up > 50, "%u, %u", answered, given_up);
}
END_TEST

SUITE("look_ahead", a_rest_is_the_best_of_all_that_the_automaton_accepts,
      nothing_is_ahead_where_no_text_is_possible,
      a_search_that_found_nothing_finds_the_likeliest_text_ahead,
      a_search_that_finds_nothing_ahead_tells_what_the_first_dropped,
      greedy_search_does_not_begin_again,
      a_text_less_likely_than_none_is_answered_where_no_other_is_near)
