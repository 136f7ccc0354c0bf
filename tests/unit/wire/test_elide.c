#include "engine/base/doc.h"
#include "tests/support/suite.h"
#include "wire/elide.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 3000 };
static const size_t usual = 1000; /* strings */

/* One text, shortened; freed by drop. */
struct fixture {
    struct arena arena;
    char *text;
    size_t len;
    struct elided elided;
};

/* Copies the pattern with each '#' replaced by LONG letters ('A' + n modulo 26 for the n-th). */
static void setup(struct fixture *fixture, const char *pattern, size_t strings_max)
{
    struct err err = {0};
    int letters = 0;
    arena_init(&fixture->arena);
    fixture->len = 0;
    for (const char *at = pattern; *at != '\0'; at++)
        fixture->len += *at == '#' ? LONG : 1;
    fixture->text = malloc(fixture->len + 1);
    char *to = fixture->text;
    for (const char *at = pattern; *at != '\0'; at++) {
        size_t count = *at == '#' ? LONG : 1;
        memset(to, *at == '#' ? 'A' + letters++ % 26 : *at, count);
        to += count;
    }
    fixture->text = realloc(fixture->text, fixture->len > 0 ? fixture->len : 1);
    ck_assert_int_eq(elide_strings(&fixture->elided, fixture->text, fixture->len, strings_max,
                                   &fixture->arena, &err),
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
    setup(&fixture, pattern, usual);
    unsigned count = fixture.elided.span_count;
    if (count == 0)
        ck_assert_ptr_eq(fixture.elided.text, fixture.text);
    drop(&fixture);
    return count;
}

START_TEST(elide_cuts_long_base64_strings)
{
    struct fixture fixture;
    setup(&fixture, "{\"image\": \"#==\", \"b\": [\"short\", \"data:image/png;base64,#\"]}", usual);
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
    ck_assert_uint_eq(spans_in("{\"a\": \"#"), 0);
    ck_assert_uint_eq(spans_in("#"), 0);
    ck_assert_uint_eq(spans_in("{\"a\": \"\\\"#\"}"), 1);
    ck_assert_uint_eq(spans_in("{\"a\": \"\\\\\", \"b\": \"#\"}"), 1);
}
END_TEST

/* A '#' stands for LONG times 'A'. */
START_TEST(elide_cuts_any_long_string_and_says_what_it_means)
{
    static const struct {
        const char *pattern, *before, *behind; /* of the letters */
    } cases[] = {
        {"[\"# \"]", "", " "},
        {"[\"#\\/\"]", "", "/"},
        {"[\"\\/#\"]", "/", ""},
        {"[\"=#=\"]", "=", "="},
        {"[\"data:image/gif;base64,#\"]", "data:image/gif;base64,", ""},
        {"[\"\\\"#\\\\\"]", "\"", "\\"},
        {"[\"#\xC3\xA9\\u00e9\\uD83D\\ude00\"]", "", "\xC3\xA9\xC3\xA9\xF0\x9F\x98\x80"},
        {"[\"\\b\\f\\n\\r\\t#\\u0041\"]", "\b\f\n\r\t", "A"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture fixture;
        setup(&fixture, cases[i].pattern, usual);
        ck_assert_uint_eq(fixture.elided.span_count, 1);
        ck_assert_int_eq(fixture.elided.fault, ERR_OK);
        const struct elided_span *span = fixture.elided.spans;
        size_t before = strlen(cases[i].before), behind = strlen(cases[i].behind);
        ck_assert_uint_eq(span->len, before + LONG + behind);
        ck_assert(memcmp(span->bytes, cases[i].before, before) == 0);
        ck_assert(span->bytes[before] == 'A' && span->bytes[before + LONG - 1] == 'A');
        ck_assert(memcmp(span->bytes + before + LONG, cases[i].behind, behind) == 0);
        drop(&fixture);
    }
}
END_TEST

/* The head of a data URL ends with its literal. */
START_TEST(elide_reads_no_data_url_over_the_end_of_a_string)
{
    static const char *const patterns[] = {"{\"data:\":\";base64,#\"}", "[\"data:\" \";base64,#\"]",
                                           "[\"data:\\\"\",\";base64,#\"]"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct fixture fixture;
        setup(&fixture, patterns[i], usual);
        ck_assert_uint_eq(fixture.elided.span_count, 1);
        ck_assert_uint_eq(fixture.elided.spans[0].len, LONG + strlen(";base64,"));
        drop(&fixture);
    }
}
END_TEST

/* The head is taken as it stands, so it must be valid as it stands. */
START_TEST(elide_judges_the_head_of_a_data_url)
{
    static const char *const patterns[] = {"[\"data:\xD3;base64,#\"]", "[\"data:\n;base64,#\"]",
                                           "[\"data:\x7F\xC3;base64,#\"]"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        struct fixture fixture;
        setup(&fixture, patterns[i], usual);
        ck_assert_uint_eq(fixture.elided.span_count, 0);
        ck_assert_int_ne(fixture.elided.fault, ERR_OK);
        drop(&fixture);
    }
}
END_TEST

START_TEST(elide_copies_no_string_without_escapes)
{
    struct fixture fixture;
    setup(&fixture, "[\"# \xC3\xA9\"]", usual);
    ck_assert_ptr_eq(fixture.elided.spans[0].bytes, fixture.text + 2);
    drop(&fixture);
}
END_TEST

START_TEST(elide_leaves_a_long_string_that_is_none_and_says_where)
{
    static const struct {
        const char *pattern;
        enum err_code fault;
        size_t behind; /* the letters */
    } cases[] = {
        {"[\"#\xC3\"]", ERR_UNUSABLE, 0},
        {"[\"# \xED\xA0\x80\"]", ERR_UNUSABLE, 1},
        {"[\"#\n\"]", ERR_MALFORMED, 0},
        {"[\"#a\\x\"]", ERR_MALFORMED, 1},
        {"[\"#\\u12g4\"]", ERR_MALFORMED, 0},
        {"[\"#\\ud83d\"]", ERR_MALFORMED, 0},
        {"[\"#\\ude00\"]", ERR_MALFORMED, 0},
        {"[\"#\\ud83dx\\ude00\"]", ERR_MALFORMED, 0},
        {"[\"#\\ud83d\\u0041\"]", ERR_MALFORMED, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture fixture;
        setup(&fixture, cases[i].pattern, usual);
        ck_assert_uint_eq(fixture.elided.span_count, 0);
        ck_assert_int_eq(fixture.elided.fault, cases[i].fault);
        ck_assert_uint_eq(fixture.elided.fault_at, 2 + LONG + cases[i].behind);
        drop(&fixture);
    }
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
    ck_assert_uint_eq(spans_in("{\"\\u000100000000\": \"#\"}"), 1);
    ck_assert_uint_eq(spans_in("[\"#\", \"x\\u000100000000\"]"), 1);
    struct fixture fixture;
    setup(&fixture, "[\"\\u000100000001\", \"#\", \"\\u0001\"]", usual);
    static const char shortened[] =
        "[\"\\u000100000000\", \"\\u000100000001\", \"\\u000100000002\"]";
    ck_assert_uint_eq(fixture.elided.len, sizeof shortened - 1);
    ck_assert(memcmp(fixture.elided.text, shortened, sizeof shortened - 1) == 0);
    ck_assert_uint_eq(fixture.elided.spans[0].len, 9);
    ck_assert(memcmp(fixture.elided.spans[0].bytes,
                     "\x01"
                     "00000001",
                     9) == 0);
    ck_assert_uint_eq(fixture.elided.spans[2].len, 1);
    drop(&fixture);
    setup(&fixture, "[\"#\"]", usual);
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

START_TEST(elide_leaves_a_text_of_too_many_strings_whole)
{
    ck_assert_uint_eq(spans_in("[\"#\",\"\",\"\"]"), 1);
    struct fixture fixture;
    setup(&fixture, "[\"#\",\"\",\"\"]", 3);
    ck_assert_uint_eq(fixture.elided.span_count, 1);
    drop(&fixture);
    setup(&fixture, "[\"#\",\"\",\"\"]", 2);
    ck_assert_uint_eq(fixture.elided.span_count, 0);
    ck_assert_ptr_eq(fixture.elided.text, fixture.text);
    drop(&fixture);
}
END_TEST

START_TEST(elide_cuts_as_many_strings_as_there_are)
{
    enum { COUNT = 100 };
    char pattern[4 * COUNT + 2] = "[";
    for (int i = 0; i < COUNT; i++)
        strcat(pattern, i == 0 ? "\"#\"" : ",\"#\"");
    strcat(pattern, "]");
    struct fixture fixture;
    setup(&fixture, pattern, usual);
    ck_assert_uint_eq(fixture.elided.span_count, COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert_int_eq(fixture.elided.spans[i].bytes[0], (char)('A' + i % 26));
    drop(&fixture);
}
END_TEST

START_TEST(elide_maps_offsets_back)
{
    struct fixture fixture;
    setup(&fixture, "[\"#\", 1, \"#\", 2]x", usual);
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

/* The main claim: the shortened text parses exactly when the original does, to the same tree or
 * with an error of the same kind, for any bytes. */
START_TEST(elide_never_changes_what_a_text_means)
{
    static const char pattern[] =
        "{\"image\": \"#==\", \"k\\\"\": [\"\\\\\", \"\\u0041\", \"#\"], "
        "\"t\": \"data:image/jpeg;base64,#\", \"n\": [1, true, \"x\"], "
        "\"\\u0001\": \"\\u0001\", \"e\": \"\\ud83d\\ude00 \xC3\xA9#\\n\"}";
    static const char pieces[] = "\"\"\"\\\\:,{}[]= u0001\n\x01\xC3";
    struct fixture base;
    setup(&base, pattern, usual);
    unsigned state = 7, parsed = 0;
    struct doc_limits limits = doc_limits_request;
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
        elide_strings(&elided, text, base.len, usual, &arena, &err);
        doc_parse(&whole, text, base.len, &limits, &err_whole);
        doc_parse_mapped(&cut, elided.text, elided.len, &limits, elide_origin, &elided, &err_cut);
        ck_assert_msg(err_whole.code == err_cut.code, "round %d: %s / %s", round, err_whole.text,
                      err_cut.text);
        if (whole != NULL)
            ck_assert_msg(same_tree(whole, cut, &elided), "round %d", round);
        else
            ck_assert_str_eq(err_whole.text, err_cut.text);
        parsed += whole != NULL && elided.span_count > 0;
        doc_free(whole);
        doc_free(cut);
        arena_deinit(&arena);
        free(text);
    }
    ck_assert_uint_gt(parsed, 1000);
    drop(&base);
}
END_TEST

SUITE("elide", elide_judges_the_head_of_a_data_url,
      elide_reads_no_data_url_over_the_end_of_a_string, elide_cuts_long_base64_strings,
      elide_leaves_everything_else, elide_cuts_any_long_string_and_says_what_it_means,
      elide_copies_no_string_without_escapes,
      elide_leaves_a_long_string_that_is_none_and_says_where,
      elide_leaves_keys_so_that_duplicates_are_seen, elide_placeholders_cannot_be_forged,
      elide_leaves_a_text_of_too_many_strings_whole, elide_cuts_as_many_strings_as_there_are,
      elide_maps_offsets_back, elide_never_changes_what_a_text_means)
