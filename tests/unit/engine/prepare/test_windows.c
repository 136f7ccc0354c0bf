/* A text cut into windows: which tokens each has, and that the text is all there. */
#include "engine/prepare/pipeline.h"

#include "engine/model/input.h"
#include "tests/support/suite.h"

#include <string.h>

enum { TOKENS_MAX = 64, CLS = 101, SEP = 102 };

struct text {
    int32_t ids[TOKENS_MAX];
    uint32_t starts[TOKENS_MAX], ends[TOKENS_MAX];
    bool continued[TOKENS_MAX];
    struct encoding encoding;
};

/* Tokens 1, 2, ... between [CLS] and [SEP]; token i is the characters 2 i and 2 i + 1. */
static void fill(struct text *text, unsigned tokens)
{
    *text = (struct text){.ids = {CLS}};
    for (unsigned i = 1; i <= tokens; i++) {
        text->ids[i] = (int32_t)i;
        text->starts[i] = 2 * i;
        text->ends[i] = 2 * i + 2;
        text->continued[i] = i % 3 == 0;
    }
    text->ids[tokens + 1] = SEP;
    text->encoding = (struct encoding){.count = tokens + 2,
                                       .ids = text->ids,
                                       .starts = text->starts,
                                       .ends = text->ends,
                                       .continued = text->continued};
}

static void check_window(const struct engine_input *input, unsigned window, unsigned first,
                         unsigned room)
{
    const struct engine_input found = engine_input_window(input, window);
    ck_assert_uint_eq(found.tokens, room + 2);
    ck_assert_uint_eq(found.windows, 0);
    ck_assert_uint_eq(input->window_first[window], first);
    ck_assert_int_eq(found.ids[0], CLS);
    ck_assert_int_eq(found.ids[room + 1], SEP);
    ck_assert_uint_eq(found.ends[0], 0);
    ck_assert_uint_eq(found.ends[room + 1], 0);
    for (unsigned i = 1; i <= room; i++) {
        ck_assert_int_eq(found.ids[i], (int32_t)(first + i));
        ck_assert_uint_eq(found.starts[i], 2 * (first + i));
        ck_assert_uint_eq(found.ends[i], 2 * (first + i) + 2);
        ck_assert_int_eq(found.continued[i], (first + i) % 3 == 0);
    }
}

START_TEST(a_text_that_fits_is_one_window_as_it_stands)
{
    const struct windows_shape shape = {.room = 6, .stride = 3};
    for (unsigned tokens = 1; tokens <= 6; tokens++) {
        struct text text;
        struct engine_input input;
        struct err err = {0};
        struct arena arena;
        arena_init(&arena);
        fill(&text, tokens);
        text.encoding.truncated = tokens == 6;
        ck_assert_int_eq(windows_cut(&text.encoding, &shape, &arena, &input, &err), ERR_OK);
        ck_assert_ptr_eq(input.ids, text.ids);
        ck_assert_uint_eq(input.tokens, tokens + 2);
        ck_assert_uint_eq(engine_input_windows(&input), 1);
        ck_assert_uint_eq(engine_input_window(&input, 0).tokens, tokens + 2);
        ck_assert_int_eq(input.truncated, tokens == 6);
        ck_assert_uint_eq(arena.bytes, 0);
        ck_assert_uint_eq(windows_bytes(&shape, tokens), 0);
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(windows_follow_each_other_by_the_stride_and_the_last_ends_with_the_text)
{
    static const struct {
        unsigned room, stride, tokens, count, first[8];
    } cases[] = {
        {6, 6, 7, 2, {0, 1}},
        {6, 6, 12, 2, {0, 6}},
        {6, 6, 13, 3, {0, 6, 7}},
        {4, 3, 8, 3, {0, 3, 4}},
        {4, 1, 7, 4, {0, 1, 2, 3}},
        {5, 2, 9, 3, {0, 2, 4}},
        {5, 4, 20, 5, {0, 4, 8, 12, 15}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const struct windows_shape shape = {cases[c].room, cases[c].stride};
        struct text text;
        struct engine_input input;
        struct err err = {0};
        struct arena arena;
        arena_init(&arena);
        fill(&text, cases[c].tokens);
        ck_assert_int_eq(windows_cut(&text.encoding, &shape, &arena, &input, &err), ERR_OK);
        ck_assert_uint_eq(input.windows, cases[c].count);
        ck_assert_uint_eq(windows_count(&shape, cases[c].tokens), cases[c].count);
        ck_assert_uint_eq(input.tokens, cases[c].count * (cases[c].room + 2));
        ck_assert_uint_le(arena.bytes, windows_bytes(&shape, cases[c].tokens));
        for (unsigned w = 0; w < input.windows; w++)
            check_window(&input, w, cases[c].first[w], cases[c].room);
        ck_assert_uint_eq(cases[c].first[input.windows - 1] + cases[c].room, cases[c].tokens);
        arena_deinit(&arena);
    }
}
END_TEST

SUITE("windows", a_text_that_fits_is_one_window_as_it_stands,
      windows_follow_each_other_by_the_stride_and_the_last_ends_with_the_text)
