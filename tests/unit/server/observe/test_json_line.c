/* A JSON object in a buffer of fixed size. */
#include "server/observe/json_line.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

static char bytes[64];

static struct json_line line_of(size_t size)
{
    return (struct json_line){.bytes = bytes, .size = size};
}

static void expect(const struct json_line *line, const char *text, bool is_cut)
{
    ck_assert_msg(line->len == strlen(text) && memcmp(line->bytes, text, line->len) == 0, "%.*s",
                  (int)line->len, line->bytes);
    ck_assert_int_eq(line->is_cut, is_cut);
}

START_TEST(json_line_separates_members_at_the_start_and_inside_an_object)
{
    struct json_line line = line_of(64);
    json_line_text(&line, "a", "x\"\x1b");
    json_line_number(&line, "b", 1.5);
    json_line_number(&line, "c", 12345678901234);
    expect(&line, "{\"a\":\"x\\\"\\u001b\",\"b\":1.5,\"c\":12345678901234", false);
    line = line_of(64);
    line.is_inside = true;
    json_line_text(&line, "a", NULL);
    json_line_json(&line, "b", "[1]");
    json_line_number(&line, "c", NAN);
    expect(&line, "\"a\":null,\"b\":[1],\"c\":null", false);
    line = line_of(64);
    json_line_element(&line, "p");
    json_line_element(&line, "q");
    expect(&line, "[\"p\",\"q\"", false);
}
END_TEST

/* Characters that a reader may take for the end of a line are escaped also inside of JSON. */
START_TEST(json_that_is_put_in_means_the_same_and_has_no_separators_of_lines)
{
    struct json_line line = line_of(64);
    json_line_json(&line, "a", "{\"b\":\"\\\"\xC3\xA9\xE2\x80\xA8\x7F\xC2\x85\"}");
    expect(&line, "{\"a\":{\"b\":\"\\\"\xC3\xA9\\u2028\\u007f\\u0085\"}", false);
    line = line_of(10);
    json_line_json(&line, "a", "\"\xE2\x80\xA8\"");
    expect(&line, "", true);
}
END_TEST

/* A list of any size is written whole, or json_line says no and leaves the line as it was. */
START_TEST(a_list_is_put_in_whole_or_not_at_all)
{
    static const char *const texts[] = {"a\"", "bc"};
    static const char whole[] = "{\"x\":1,\"l\":[\"a\\\"\",\"bc\"]";
    for (size_t size = 6; size <= sizeof whole; size++) {
        struct json_line line = line_of(size);
        json_line_number(&line, "x", 1);
        json_line_list(&line, "l", texts, 2);
        const bool fits = size >= sizeof whole - 1;
        expect(&line, fits ? whole : "{\"x\":1", !fits);
    }
    struct json_line line = line_of(64);
    json_line_list(&line, "l", NULL, 0);
    expect(&line, "{\"l\":[]", false);
}
END_TEST

START_TEST(json_line_cuts_or_leaves_out_what_does_not_fit_and_says_so)
{
    static const struct {
        size_t size;
        const char *text;
        bool is_cut;
    } texts[] = {
        {14, "{\"a\":\"\xC3\xA9\xC3\xA9xyz\"", false},
        {13, "{\"a\":\"\xC3\xA9\xC3\xA9xy\"", true},
        {10, "{\"a\":\"\xC3\xA9\"", true},
        {9, "{\"a\":\"\xC3\xA9\"", true},
        {7, "{\"a\":\"\"", true},
        {6, "", true},
        {4, "", true},
        {0, "", true},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct json_line line = line_of(texts[i].size);
        json_line_text(&line, "a", "\xC3\xA9\xC3\xA9xyz");
        expect(&line, texts[i].text, texts[i].is_cut);
    }
    struct json_line line = line_of(12);
    json_line_number(&line, "a", 1);
    json_line_number(&line, "b", 23);
    expect(&line, "{\"a\":1", true);
    json_line_number(&line, "b", 2);
    expect(&line, "{\"a\":1,\"b\":2", true);
}
END_TEST

SUITE("json_line", a_list_is_put_in_whole_or_not_at_all,
      json_line_separates_members_at_the_start_and_inside_an_object,
      json_that_is_put_in_means_the_same_and_has_no_separators_of_lines,
      json_line_cuts_or_leaves_out_what_does_not_fit_and_says_so)
