#include "tests/support/suite.h"
#include "wire/codec_check.h"

#include <stdlib.h>
#include <string.h>

static void counts(const char *text, size_t expected)
{
    ck_assert_msg(codec_inputs_count(text, strlen(text)) == expected, "%s", text);
}

START_TEST(elements_of_inputs_are_counted_and_nothing_else)
{
    counts("{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"b,]\"}]}", 2);
    counts("{\"inputs\":[1]}", 1);
    counts("{ \"id\" : [1,2,3] , \"inputs\" : [ {\"a\":[1,2]} , [3,4], \"x\" ] }", 3);
    counts("{\"a\": {\"inputs\": [1,2]}, \"inputs\": [1,2,3,4]}", 4);
    counts("{\"text\": \"\\\"inputs\\\": [1,2]\", \"inputs\": [\"\\\\\", \"\\\"\"]}", 2);
    counts("{\"inputs\": []}", 0);
    counts("{\"inputs\": [ \n ]}", 0);
    counts("{\"inputs\": {\"inputs\": [1,2]}}", 0);
    counts("[\"inputs\", [1,2]]", 0);
    counts("{\"input\": [1,2]}", 0);
}
END_TEST

START_TEST(codec_inputs_count_reads_broken_json_to_its_end_and_no_further)
{
    static const char text[] = "{\"a\\\"\": 1, \"inputs\": [{\"text\": \"a\\\\\"}, \"\\";
    for (size_t len = 0; len <= strlen(text); len++) {
        char *cut = strndup(text, len); /* a sanitizer sees what lies behind */
        codec_inputs_count(cut, len);
        free(cut);
    }
    counts("]]]{\"inputs\": [1,", 2);
    counts("", 0);
}
END_TEST

SUITE("codec_inputs", elements_of_inputs_are_counted_and_nothing_else,
      codec_inputs_count_reads_broken_json_to_its_end_and_no_further)
