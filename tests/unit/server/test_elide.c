#include "engine/base/json.h"
#include "server/elide.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 3000 };
static const struct elide_limits usual = {.strings_max = 1000, .spans_max = 8};

/* One text, shortened; freed by drop. */
struct fixture {
    struct arena arena;
    char *text;
    size_t len;
    struct elided elided;
};

/* Copies the pattern with each '#' replaced by LONG letters ('A' + n for the n-th). */
static void setup(struct fixture *fixture, const char *pattern, const struct elide_limits *limits)
{
    struct err err = {0};
    char letter = 'A';
    arena_init(&fixture->arena);
    fixture->len = 0;
    for (const char *at = pattern; *at != '\0'; at++)
        fixture->len += *at == '#' ? LONG : 1;
    fixture->text = malloc(fixture->len + 1);
    char *to = fixture->text;
    for (const char *at = pattern; *at != '\0'; at++) {
        size_t count = *at == '#' ? LONG : 1;
        memset(to, *at == '#' ? letter++ : *at, count);
        to += count;
    }
    fixture->text = realloc(fixture->text, fixture->len > 0 ? fixture->len : 1);
    ck_assert_int_eq(
        elide_base64(&fixture->elided, fixture->text, fixture->len, limits, &fixture->arena, &err),
        ERR_OK);
}

static void drop(struct fixture *fixture)
{
    arena_deinit(&fixture->arena);
    free(fixture->text);
}

static unsigned spans_in(const char *pattern)
{
    struct fixture fixture;
    setup(&fixture, pattern, &usual);
    unsigned count = fixture.elided.span_count;
    if (count == 0)
        ck_assert_ptr_eq(fixture.elided.text, fixture.text);
    drop(&fixture);
    return count;
}

START_TEST(elide_cuts_long_base64_strings)
{
    struct fixture fixture;
    setup(&fixture, "{\"image\": \"#==\", \"b\": [\"short\", \"data:image/png;base64,#\"]}",
          &usual);
    ck_assert_uint_eq(fixture.elided.span_count, 2);
    ck_assert_uint_eq(fixture.elided.spans[0].len, LONG + 2);
    ck_assert_uint_eq(fixture.elided.spans[1].len, LONG + 22);
    static const char shortened[] =
        "{\"image\": \"\\u000100000000\", \"b\": [\"short\", \"\\u000100000001\"]}";
    ck_assert_uint_eq(fixture.elided.len, sizeof shortened - 1);
    ck_assert(memcmp(fixture.elided.text, shortened, sizeof shortened - 1) == 0);
    drop(&fixture);
}
END_TEST

START_TEST(elide_leaves_everything_else)
{
    ck_assert_uint_eq(spans_in(""), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"short\"}"), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"# \"}"), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"#\\/\"}"), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"\\/#\"}"), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"#=#\"}"), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"data:image/gif;base64,#\"}"), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"#"), 0);
    ck_assert_uint_eq(spans_in("#"), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"\\\"#\"}"), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"\\\\\", \"b\": \"#\"}"), 1);
}
END_TEST

START_TEST(elide_leaves_keys_so_that_duplicates_are_seen)
{
    ck_assert_uint_eq(spans_in("{\"#\": 1}"), 0);
    ck_assert_uint_eq(spans_in("{\"#\" \t\r\n : 1}"), 0);
    ck_assert_uint_eq(spans_in("[\"#\" , 1]"), 1);
}
END_TEST

START_TEST(elide_placeholders_cannot_be_forged)
{
    ck_assert_uint_eq(spans_in("[\"#\", \"\\u000100000000\"]"), 0);
    ck_assert_uint_eq(spans_in("[\"\\u000100000000\", \"#\"]"), 0);
    ck_assert_uint_eq(spans_in("{\"\\u000100000000\": \"#\"}"), 0);
    ck_assert_uint_eq(spans_in("[\"#\", \"x\\u000100000000\"]"), 1);
    struct fixture fixture;
    setup(&fixture, "[\"#\"]", &usual);
    ck_assert_ptr_null(elide_find(&fixture.elided,
                                  "\x01"
                                  "00000001",
                                  9));
    ck_assert_ptr_null(elide_find(&fixture.elided,
                                  "\x01"
                                  "0000000",
                                  8));
    ck_assert_ptr_null(elide_find(&fixture.elided, "000000000", 9));
    ck_assert_ptr_null(elide_find(&fixture.elided, "\x01zzzzzzzz", 9));
    ck_assert_ptr_nonnull(elide_find(&fixture.elided,
                                     "\x01"
                                     "00000000",
                                     9));
    drop(&fixture);
}
END_TEST

START_TEST(elide_keeps_to_its_limits)
{
    struct fixture fixture;
    setup(&fixture, "[\"#\",\"#\",\"#\"]",
          &(struct elide_limits){.strings_max = 9, .spans_max = 2});
    ck_assert_uint_eq(fixture.elided.span_count, 2);
    ck_assert_uint_lt(fixture.elided.len, fixture.len - LONG);
    drop(&fixture);
    setup(&fixture, "[\"#\",\"\",\"\"]", &(struct elide_limits){.strings_max = 2, .spans_max = 2});
    ck_assert_uint_eq(fixture.elided.span_count, 0);
    drop(&fixture);
}
END_TEST

START_TEST(elide_maps_offsets_back)
{
    struct fixture fixture;
    setup(&fixture, "[\"#\", 1, \"#\", 2]x", &usual);
    const struct elided *elided = &fixture.elided;
    size_t checked = 0;
    for (size_t at = 0; at < elided->len; at++) {
        size_t origin = elide_origin(elided, at);
        ck_assert_uint_lt(origin, fixture.len);
        if (strchr("[]12x,", elided->text[at]) == NULL || origin == 2)
            continue;
        if (fixture.text[origin] == elided->text[at])
            checked++;
    }
    ck_assert_uint_ge(checked, 8);
    ck_assert_uint_eq(elide_origin(elided, 0), 0);
    ck_assert_uint_eq(elide_origin(elided, 5), 2);
    ck_assert_uint_eq(elide_origin(elided, elided->len), fixture.len);
    ck_assert_uint_eq(elide_origin(elided, elided->len - 1), fixture.len - 1);
    drop(&fixture);
}
END_TEST

/* Are the trees equal when placeholders are put back? */
static int same_tree(const json_t *original, const json_t *cut, const struct elided *elided)
{
    if (json_is_string(cut)) {
        size_t len = json_string_length(cut);
        const struct elided_span *span = elide_find(elided, json_string_value(cut), len);
        const char *bytes = span != NULL ? span->bytes : json_string_value(cut);
        len = span != NULL ? span->len : len;
        return json_is_string(original) && json_string_length(original) == len &&
               memcmp(json_string_value(original), bytes, len) == 0;
    }
    if (json_is_array(cut) && json_array_size(cut) == json_array_size(original)) {
        for (size_t i = 0; i < json_array_size(cut); i++)
            if (!same_tree(json_array_get(original, i), json_array_get(cut, i), elided))
                return 0;
        return json_is_array(original);
    }
    if (json_is_object(cut) && json_object_size(cut) == json_object_size(original)) {
        const char *key;
        json_t *value, *copy = json_deep_copy(cut); /* the iteration wants what is not const */
        int same = 1;
        json_object_foreach(copy, key, value)
        {
            same &= same_tree(json_object_get(original, key), value, elided);
        }
        json_decref(copy);
        return same;
    }
    return json_equal(original, cut);
}

/* The claim everything rests on: whatever the bytes, the shortened text parses exactly when the
 * original does, to the same tree or with an error of the same kind. */
START_TEST(elide_never_changes_what_a_text_means)
{
    static const char pattern[] = "{\"image\": \"#==\", \"k\\\"\": [\"\\\\\", \"\\u0041\", \"#\"], "
                                  "\"t\": \"data:image/jpeg;base64,#\", \"n\": [1, true, \"x\"]}";
    static const char pieces[] = "\"\"\"\\\\:,{}[]= u0001\n\x01\xC3";
    struct fixture base;
    setup(&base, pattern, &usual);
    unsigned state = 7, parsed = 0;
    struct json_limits limits = json_limits_request;
    for (int round = 0; round < 6000; round++) {
        char *text = malloc(base.len);
        memcpy(text, base.text, base.len);
        for (int k = 0; k < round % 4; k++) {
            state = state * 1664525u + 1013904223u;
            size_t at = (state >> 8) % base.len;
            if (k > 0) /* near a quote, where it matters */
                while (at > 0 && text[at] != '"')
                    at--;
            text[at] = pieces[(state >> 20) % (sizeof pieces - 1)];
        }
        struct arena arena;
        struct err err = {0}, err_whole = {0}, err_cut = {0};
        struct elided elided;
        struct json_t *whole, *cut;
        arena_init(&arena);
        elide_base64(&elided, text, base.len, &usual, &arena, &err);
        json_parse(&whole, text, base.len, &limits, &err_whole);
        json_parse_mapped(&cut, elided.text, elided.len, &limits, elide_origin, &elided, &err_cut);
        ck_assert_msg(err_whole.code == err_cut.code, "round %d: %s / %s", round, err_whole.text,
                      err_cut.text);
        if (whole != NULL)
            ck_assert_msg(same_tree(whole, cut, &elided), "round %d", round);
        else
            ck_assert_str_eq(err_whole.text, err_cut.text);
        parsed += whole != NULL && elided.span_count > 0;
        json_free(whole);
        json_free(cut);
        arena_deinit(&arena);
        free(text);
    }
    ck_assert_uint_gt(parsed, 1000);
    drop(&base);
}
END_TEST

SUITE("elide", elide_cuts_long_base64_strings, elide_leaves_everything_else,
      elide_leaves_keys_so_that_duplicates_are_seen, elide_placeholders_cannot_be_forged,
      elide_keeps_to_its_limits, elide_maps_offsets_back, elide_never_changes_what_a_text_means)
