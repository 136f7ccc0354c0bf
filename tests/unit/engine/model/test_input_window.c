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

SUITE("input_window", a_window_has_its_own_part_of_ids_and_types,
      an_input_without_types_has_windows_without, an_input_without_windows_is_its_own)
