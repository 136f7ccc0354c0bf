/* Windows of an input as inputs of their own: every array moves along, or stays away. */
#include "engine/model/input.h"
#include "tests/support/suite.h"

static const int32_t ids[] = {2, 7, 3, 2, 8, 9, 3};
static const uint8_t types[] = {0, 0, 0, 1, 1, 1, 1};
static const unsigned offset[] = {0, 3, 7}, first[] = {0, 1};

START_TEST(a_window_has_its_own_part_of_ids_and_types)
{
    const struct engine_input input = {.kind = ENGINE_TEXT,
                                       .tokens = 7,
                                       .ids = ids,
                                       .types = types,
                                       .windows = 2,
                                       .window_offset = offset,
                                       .window_first = first};
    struct engine_input window = engine_input_window(&input, 1);
    ck_assert_uint_eq(window.tokens, 4);
    ck_assert_uint_eq(window.windows, 0);
    ck_assert_ptr_eq(window.ids, ids + 3);
    ck_assert_ptr_eq(window.types, types + 3);
    window = engine_input_window(&input, 0);
    ck_assert_uint_eq(window.tokens, 3);
    ck_assert_ptr_eq(window.types, types);
}
END_TEST

START_TEST(an_input_without_types_has_windows_without)
{
    const struct engine_input input = {.kind = ENGINE_TEXT,
                                       .tokens = 7,
                                       .ids = ids,
                                       .windows = 2,
                                       .window_offset = offset,
                                       .window_first = first};
    ck_assert_ptr_null(engine_input_window(&input, 1).types);
}
END_TEST

START_TEST(an_input_without_windows_is_its_own)
{
    const struct engine_input input = {
        .kind = ENGINE_TEXT, .tokens = 7, .ids = ids, .types = types};
    struct engine_input window = engine_input_window(&input, 0);
    ck_assert_uint_eq(window.tokens, 7);
    ck_assert_ptr_eq(window.ids, ids);
    ck_assert_ptr_eq(window.types, types);
}
END_TEST

START_TEST(a_token_of_a_text_is_where_most_is_around_it)
{
    /* 8 tokens in windows of 4, each two behind the one before, with a special token at each end */
    static const unsigned at[] = {0, 6, 12, 18}, begins[] = {0, 2, 4};
    const struct engine_input input = {.kind = ENGINE_TEXT,
                                       .tokens = 18,
                                       .windows = 3,
                                       .window_offset = at,
                                       .window_first = begins};
    /* token 2 has one token to its right in window 0, none to its left in window 1 */
    static const unsigned places[] = {1, 2, 3, 8, 9, 14, 15, 16};
    unsigned window = 0;
    for (unsigned i = 0; i < 8; i++)
        ck_assert_uint_eq(engine_input_token(&input, i, &window), places[i]);
    const struct engine_input whole = {.kind = ENGINE_TEXT, .tokens = 10};
    window = 0;
    ck_assert_uint_eq(engine_input_token(&whole, 7, &window), 8);
}
END_TEST

START_TEST(windows_without_overlap_have_each_token_once)
{
    static const unsigned at[] = {0, 4, 8}, begins[] = {0, 2};
    const struct engine_input input = {.kind = ENGINE_TEXT,
                                       .tokens = 8,
                                       .windows = 2,
                                       .window_offset = at,
                                       .window_first = begins};
    static const unsigned places[] = {1, 2, 5, 6};
    unsigned window = 0;
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(engine_input_token(&input, i, &window), places[i]);
}
END_TEST

SUITE("input_window", a_token_of_a_text_is_where_most_is_around_it,
      windows_without_overlap_have_each_token_once, a_window_has_its_own_part_of_ids_and_types,
      an_input_without_types_has_windows_without, an_input_without_windows_is_its_own)
