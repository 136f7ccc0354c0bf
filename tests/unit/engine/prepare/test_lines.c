/* Lines of a text, and the tokens that belong to them. */
#include "engine/prepare/pipeline.h"
#include "tests/support/suite.h"

#include <string.h>

enum { TOKENS_MAX = 8, MOST = 6 };

/* Tokens of a text: characters [start, end) each; an end of 0 is a special one. */
struct tokens {
    unsigned count;
    uint32_t starts[TOKENS_MAX], ends[TOKENS_MAX];
};

static enum err_code cut(struct engine_input *input, const char *text, int64_t shift,
                         const struct tokens *tokens, struct arena *arena)
{
    struct err err = {0};
    *input = (struct engine_input){
        .tokens = tokens->count, .starts = tokens->starts, .ends = tokens->ends};
    return lines_cut(text, strlen(text), shift, MOST, arena, input, &err);
}

static void expect(const struct input_part *line, uint32_t start, uint32_t stop, unsigned first,
                   unsigned end)
{
    ck_assert_uint_eq(line->start, start);
    ck_assert_uint_eq(line->stop, stop);
    ck_assert_uint_eq(line->first, first);
    ck_assert_uint_eq(line->end, end);
}

START_TEST(lines_have_the_tokens_whose_last_character_they_have)
{
    /* [CLS] a | the break | nothing | " b" with the break before it, c | [SEP] */
    static const struct tokens tokens = {6, {0, 0, 1, 3, 5, 0}, {0, 1, 2, 5, 6, 0}};
    struct arena arena;
    struct engine_input input;
    arena_init(&arena);
    ck_assert_int_eq(cut(&input, "a\n\n\nbc\r\n", 0, &tokens, &arena), ERR_OK);
    ck_assert_uint_eq(input.part_count, 4);
    expect(&input.parts[0], 0, 1, 1, 2);
    expect(&input.parts[1], 2, 2, 0, 0);
    expect(&input.parts[2], 3, 3, 0, 0);
    expect(&input.parts[3], 4, 6, 3, 5);
    arena_deinit(&arena);
}
END_TEST

START_TEST(lines_leave_out_the_tokens_of_a_prompt)
{
    /* "q: " in front of "\xC2\xB5a" and a second line */
    static const struct tokens tokens = {5, {0, 0, 3, 6, 0}, {0, 2, 5, 7, 0}};
    struct arena arena;
    struct engine_input input;
    arena_init(&arena);
    ck_assert_int_eq(cut(&input,
                         "\xC2\xB5"
                         "a\nb",
                         3, &tokens, &arena),
                     ERR_OK);
    ck_assert_uint_eq(input.part_count, 2);
    expect(&input.parts[0], 0, 2, 2, 3);
    expect(&input.parts[1], 3, 4, 3, 4);
    /* a text whose first two characters, a space and a line break, are gone */
    static const struct tokens stripped = {3, {0, 0, 0}, {0, 1, 0}};
    ck_assert_int_eq(cut(&input, " \nx", -2, &stripped, &arena), ERR_OK);
    expect(&input.parts[0], 0, 1, 0, 0);
    expect(&input.parts[1], 2, 3, 1, 2);
    arena_deinit(&arena);
}
END_TEST

START_TEST(lines_of_a_text_that_is_cut_and_too_many_are_refused)
{
    static const struct tokens tokens = {2, {0, 0}, {0, 0}};
    struct arena arena;
    struct engine_input input = {.truncated = true};
    struct err err = {0};
    arena_init(&arena);
    ck_assert_int_eq(lines_cut("a\nb", 3, 0, MOST, &arena, &input, &err), ERR_TOO_LARGE);
    ck_assert_ptr_nonnull(strstr(err.text, "longer than the 6 tokens"));
    ck_assert_int_eq(cut(&input, "\n\n\n\n\n\n", 0, &tokens, &arena), ERR_OK);
    ck_assert_int_eq(cut(&input, "\n\n\n\n\n\n\n", 0, &tokens, &arena), ERR_TOO_LARGE);
    ck_assert_uint_eq(lines_count("\n\n\n", 3, 1), 2);
    ck_assert_uint_eq(lines_count("", 0, 1), 0);
    arena_deinit(&arena);
}
END_TEST

SUITE("lines", lines_have_the_tokens_whose_last_character_they_have,
      lines_leave_out_the_tokens_of_a_prompt, lines_of_a_text_that_is_cut_and_too_many_are_refused)
