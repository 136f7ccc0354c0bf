/* The search for a text with every call to the C library failing in turn: options are read, a check
 * is compiled and a text is found, or it is said that there is no memory or that input failed. */
#include "engine/generate/generation.h"
#include "engine/generate/pattern.h"
#include "engine/tensor/kernels.h"
#include "tests/torture/drill.h"

#include <stdio.h>
#include <string.h>

/* Tokens: start, end, "a", "1", "2", "12". */
static const char bytes[] = "a1212";
static const uint32_t offsets[] = {0, 0, 0, 1, 2, 3, 5};
enum { VOCABULARY = 6 };
static const struct token_texts texts = {bytes, offsets};
/* The same without "12". */
static const uint32_t letter_offsets[] = {0, 0, 0, 1, 2, 3, 3};
static const struct token_texts letters = {bytes, letter_offsets};
static const struct generation_model model = {.vocabulary = VOCABULARY, .positions = 16};

/* A pattern without white space at its ends, a list of texts and a source's numbers. */
static enum err_code make_automata(struct automaton automata[3], struct arena *arena,
                                   struct err *err)
{
    const struct automaton_text words[] = {{"a12", 3}, {"a22", 3}}, source = {"12 of 22", 8};
    struct automaton pattern;
    if (pattern_compile(&pattern, "pattern", "[a-c ]\\d+", 9, arena, err) ||
        automaton_trim(&automata[0], &pattern, "pattern", PATTERN_TABLE_MAX, arena, err) ||
        automaton_words(&automata[1], "allowed", words, 2, arena, err))
        return err->code;
    return automaton_numbers(&automata[2], "copy_numbers", source, arena, err);
}

static bool holds(void *context, const uint32_t *ids, unsigned count)
{
    static const uint32_t right[] = {2, 3, 4};
    (void)context;
    return count >= 3 && memcmp(ids, right, sizeof right) == 0;
}

/* looks_ahead: the text is one of a list as a whole. */
static enum err_code search(struct generation_hypothesis *out, bool *is_found, bool looks_ahead,
                            struct arena *arena, struct err *err)
{
    struct generation_config config;
    struct automaton automata[3];
    struct generation *generation;
    struct generation_rows rows;
    float logits[3][VOCABULARY] = {{0}};
    struct output_check check = {.texts = looks_ahead ? &letters : &texts,
                                 .whole = looks_ahead ? &automata[1] : NULL,
                                 .holds = looks_ahead ? holds : NULL,
                                 .automaton_count = looks_ahead ? 0 : 3};
    for (int a = 0; a < 3; a++)
        check.automata[a] = &automata[a];
    if (generation_config_read(&config, "tests/data/generate/checkpoint", &model, arena, err) ||
        make_automata(automata, arena, err))
        return err->code;
    const struct generation_options options = {
        .config = &config, .check = &check, .kernels = kernels_best(), .vocabulary = VOCABULARY};
    if (generation_begin(&generation, &options, arena, err))
        return err->code;
    while (generation_rows(generation, &rows) > 0) {
        for (unsigned i = 0; i < 3 * VOCABULARY; i++)
            logits[i / VOCABULARY][i % VOCABULARY] = looks_ahead && i % VOCABULARY == 3 ? 9 : 0;
        if (generation_take(generation, logits[0], VOCABULARY, err))
            return err->code;
    }
    *is_found = generation_result(generation, 0, out);
    return ERR_OK;
}

/* With a context it looks ahead: "1" is by far the likeliest, so that no beam holds.
 * "12" is suppressed and "2" banned behind "2": "a12" in three tokens is what is left. */
static enum drill_outcome finds(const void *context, char *why, size_t size)
{
    static const uint32_t expected[] = {2, 3, 4, 1};
    struct generation_hypothesis hypothesis;
    struct arena arena;
    struct err err = {0};
    bool is_right = false, is_found = false;
    arena_init(&arena);
    enum err_code code = search(&hypothesis, &is_found, context != NULL, &arena, &err);
    if (code == ERR_OK && is_found && context != NULL)
        is_right = holds(NULL, hypothesis.ids, hypothesis.count);
    else if (code == ERR_OK && is_found)
        is_right = hypothesis.count == 4 && memcmp(hypothesis.ids, expected, sizeof expected) == 0;
    arena_deinit(&arena);
    if (code)
        return drill_refused(&err, why, size);
    if (!is_right)
        snprintf(why, size, "another text, or none");
    return is_right ? DRILL_RIGHT : DRILL_BAD;
}

START_TEST(a_text_is_searched_for_or_it_is_said_why_not)
{
    static const struct drill drill = {.name = "search for a text", .run = finds};
    ck_assert_uint_eq(drill_run(&drill), 0);
}
END_TEST

START_TEST(a_text_is_looked_for_ahead_or_it_is_said_why_not)
{
    static const struct drill drill = {
        .name = "search for a text ahead", .run = finds, .context = bytes};
    ck_assert_uint_eq(drill_run(&drill), 0);
}
END_TEST

DRILLS("generate", a_text_is_searched_for_or_it_is_said_why_not,
       a_text_is_looked_for_ahead_or_it_is_said_why_not)
