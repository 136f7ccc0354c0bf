/* Labels of a call: members of JSON, and options of a query string. */
#include "tests/support/call_fixture.h"
#include "tests/support/suite.h"
#include "wire/codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(codec_reads_labels_and_what_they_are_put_into)
{
    struct call_fixture fixture;
    call_fixture_setup(&fixture, "{\"image\": \"AAAA\", \"candidate_labels\": [\"caf\\u00e9\", "
                                 "\"a\\tb\"], \"hypothesis_template\": \"a {}\"}");
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    ck_assert_uint_eq(fixture.call.labels.count, 2);
    ck_assert_str_eq(fixture.call.labels.texts[0], "caf\u00e9");
    ck_assert_str_eq(fixture.call.labels.texts[1], "a\tb");
    ck_assert_str_eq(fixture.call.labels.hypothesis, "a {}");
    call_fixture_drop(&fixture);
    call_fixture_setup(&fixture, "{\"image\": \"AAAA\", \"candidate_labels\": null}");
    ck_assert_int_eq(fixture.err.code, ERR_OK);
    ck_assert_uint_eq(fixture.call.labels.count, 0);
    call_fixture_drop(&fixture);
}
END_TEST

/* Strings of 2048 bytes and more never reach the parser. */
START_TEST(codec_reads_long_labels_that_were_cut_out)
{
    struct call_fixture fixture;
    char *body = call_fixture_padded("{\"image\": \"AAAA\", \"candidate_labels\": [\"b\", \"", 'x',
                                     3000, "\"]}");
    call_fixture_setup(&fixture, body);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    ck_assert_uint_eq(strlen(fixture.call.labels.texts[1]), 3000);
    call_fixture_drop(&fixture);
    free(body);
    body =
        call_fixture_padded("{\"image\": \"AAAA\", \"candidate_labels\": [\"", 'x', 4097, "\"]}");
    call_fixture_expect_error(body, ERR_UNUSABLE,
                              "$.candidate_labels[0]: at most 4096 bytes, found 4097");
    free(body);
}
END_TEST

/* The labels are the largest number of them, each short enough to stay in the parsed text. */
START_TEST(codec_reads_a_thousand_labels)
{
    enum { COUNT = 1000, BYTES = 1040 };
    struct call_fixture fixture;
    char *body = malloc(COUNT * (BYTES + 4) + 64), *at = body;
    at += sprintf(at, "{\"image\": \"AAAA\", \"candidate_labels\": [");
    for (int i = 0; i < COUNT; i++)
        at += sprintf(at, "%s\"%0*d\"", i > 0 ? "," : "", BYTES, i);
    sprintf(at, "]}");
    call_fixture_setup(&fixture, body);
    ck_assert_msg(fixture.err.code == ERR_OK, "%s", fixture.err.text);
    ck_assert_uint_eq(fixture.call.labels.count, COUNT);
    call_fixture_drop(&fixture);
    free(body);
}
END_TEST

START_TEST(codec_refuses_labels_by_their_place)
{
    static const struct {
        const char *members, *text;
    } wrong[] = {
        {"\"candidate_labels\": []", "$.candidate_labels: empty"},
        {"\"candidate_labels\": {}", "$.candidate_labels: expected an array, found an object"},
        {"\"candidate_labels\": [[]]", "$.candidate_labels[0]: expected a string, found an array"},
        {"\"candidate_labels\": [\"a\", \"\"]", "$.candidate_labels[1]: empty"},
        {"\"candidate_labels\": [\"a\", \"b\", \"b\"]",
         "$.candidate_labels[2]: the same as candidate_labels[1]"},
        {"\"candidate_labels\": [\"a\\u0000b\"]",
         "$.candidate_labels[0]: must not contain control characters"},
        {"\"candidate_labels\": [\"a\\u0085b\"]",
         "$.candidate_labels[0]: must not contain control characters"},
        {"\"candidate_labels\": [\"a\"], \"hypothesis_template\": \"\"",
         "$.hypothesis_template: empty"},
        {"\"candidate_labels\": [\"a\"], \"hypothesis_template\": \"{}{}\"",
         "$.hypothesis_template: must have \"{}\", where the label goes, exactly once"},
        {"\"candidate_labels\": [\"a\"], \"hypothesis_template\": \"{}\\u0000\"",
         "$.hypothesis_template: must not contain control characters"},
        {"\"candidate_labels\": [\"a\"], \"hypothesis_template\": []",
         "$.hypothesis_template: expected a string, found an array"},
        {"\"hypothesis_template\": \"{}\"",
         "$.hypothesis_template: it goes with candidate_labels, which are missing"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"image\": \"AAAA\", %s}", wrong[i].members);
        call_fixture_expect_error(body, ERR_UNUSABLE, wrong[i].text);
    }
}
END_TEST

/* The options one by one, then all together. */
static enum err_code options(struct predict_call *call, struct arena *arena,
                             const char *const *pairs, struct err *err)
{
    *err = (struct err){0};
    codec_parse_raw(call, ENGINE_IMAGE, "a", 1, arena, err);
    for (; pairs[0] != NULL && err->code == ERR_OK; pairs += 2)
        codec_parse_option(call, pairs[0], pairs[1], arena, err);
    return err->code == ERR_OK ? codec_check_options(call, err) : err->code;
}

START_TEST(codec_reads_labels_of_a_query_one_by_one_or_as_json)
{
    static const char *const each[] = {"candidate_labels",
                                       "a",
                                       "candidate_labels",
                                       "b c",
                                       "candidate_labels",
                                       "d",
                                       "hypothesis_template",
                                       "of {}",
                                       NULL};
    static const char *const json[] = {"candidate_labels", "[\"a\", \"[b\"]", NULL};
    struct predict_call call;
    struct arena arena;
    struct err err;
    arena_init(&arena);
    ck_assert_msg(!options(&call, &arena, each, &err), "%s", err.text);
    ck_assert_uint_eq(call.labels.count, 3);
    ck_assert_str_eq(call.labels.texts[1], "b c");
    ck_assert_str_eq(call.labels.hypothesis, "of {}");
    ck_assert_msg(!options(&call, &arena, json, &err), "%s", err.text);
    ck_assert_uint_eq(call.labels.count, 2);
    ck_assert_str_eq(call.labels.texts[1], "[b");
    arena_deinit(&arena);
}
END_TEST

START_TEST(codec_refuses_labels_of_a_query)
{
    static const struct {
        const char *pairs[5], *text;
    } wrong[] = {
        {{"candidate_labels", ""}, "?candidate_labels[0]: empty"},
        {{"candidate_labels", "a", "candidate_labels", "a"},
         "?candidate_labels[1]: the same as candidate_labels[0]"},
        {{"candidate_labels", "a\xFF"}, "?candidate_labels[0]: not valid UTF-8"},
        {{"candidate_labels", "[true]"},
         "?candidate_labels[0]: expected a string, found a boolean"},
        {{"candidate_labels", "[[]]"}, "?candidate_labels: "},
        {{"candidate_labels", "[\"a\""}, "?candidate_labels: JSON ends too early"},
        {{"hypothesis_template", "{}"}, "?hypothesis_template: it goes with candidate_labels"},
        {{"candidate_labels", "a", "hypothesis_template", "x"}, "?hypothesis_template: must have"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct predict_call call;
        struct arena arena;
        struct err err;
        arena_init(&arena);
        ck_assert_int_eq(options(&call, &arena, wrong[i].pairs, &err), ERR_UNUSABLE);
        ck_assert_msg(strncmp(err.text, wrong[i].text, strlen(wrong[i].text)) == 0, "'%s'",
                      err.text);
        arena_deinit(&arena);
    }
}
END_TEST

SUITE("codec_labels", codec_reads_labels_and_what_they_are_put_into,
      codec_reads_long_labels_that_were_cut_out, codec_reads_a_thousand_labels,
      codec_refuses_labels_by_their_place, codec_reads_labels_of_a_query_one_by_one_or_as_json,
      codec_refuses_labels_of_a_query)
