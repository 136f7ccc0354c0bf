#include "loadtest/answer.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char expected[] =
    "{\"label\":\"a\",\"score\":0.9,\"predictions\":[{\"label\":\"a\",\"score\":0.9},"
    "{\"label\":\"b\",\"score\":0.1}]}\n"
    "{\"status\":422,\"title\":\"Unusable input\"}\n";

static enum err_code open_book(struct answer_book **book, const char *lines, unsigned inputs,
                               struct err *err)
{
    char path[] = "/tmp/attnd-answer-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, lines, strlen(lines)), (ssize_t)strlen(lines));
    close(fd);
    enum err_code code = answer_book_open(book, path, inputs, err);
    unlink(path);
    return code;
}

static enum outcome judge(const struct answer_book *book, unsigned item, unsigned status,
                          const char *body)
{
    struct answer answer;
    return answer_judge(book, item, status, body, strlen(body), 1e-5, &answer);
}

START_TEST(answer_agrees_within_the_tolerance)
{
    struct answer_book *book;
    struct err err = {0};
    ck_assert_int_eq(open_book(&book, expected, 2, &err), ERR_OK);
    ck_assert_int_eq(judge(book, 0, 200,
                           "{\"label\":\"a\",\"score\":0.900009,\"predictions\":[{\"label\":\"a\","
                           "\"score\":0.900009},{\"label\":\"b\",\"score\":0.099991}]}"),
                     OUTCOME_OK);
    ck_assert_int_eq(judge(book, 1, 422, "{\"status\":422}"), OUTCOME_OK);
    answer_book_close(book);
}
END_TEST

#define PREDICTIONS(first, score, second)                                                          \
    ",\"predictions\":[{\"label\":\"" first "\",\"score\":0.9},"                                   \
    "{\"label\":\"" second "\",\"score\":" score "}]}"

START_TEST(answer_tells_every_difference)
{
    static const struct {
        const char *body, *why;
    } different[] = {
        {"{\"label\":\"b\",\"score\":0.9" PREDICTIONS("a", "0.1", "b"),
         "label \"b\" instead of \"a\""},
        {"{\"label\":\"a\",\"score\":0.90002" PREDICTIONS("a", "0.1", "b"),
         "score differs by more than 1e-05"},
        {"{\"label\":\"a\",\"score\":0.89998" PREDICTIONS("a", "0.1", "b"),
         "score differs by more than 1e-05"},
        {"{\"label\":\"a\",\"score\":null" PREDICTIONS("a", "0.1", "b"),
         "score differs by more than 1e-05"},
        {"{\"label\":\"a\",\"score\":0.9" PREDICTIONS("b", "0.1", "a"), "another label in place 1"},
        {"{\"label\":\"a\",\"score\":0.9" PREDICTIONS("a", "0.1", "a"), "another label in place 2"},
        {"{\"label\":\"a\",\"score\":0.9" PREDICTIONS("a", "0.1001", "b"),
         "score 2 differs by more than 1e-05"},
        {"{\"label\":\"a\",\"score\":0.9,\"predictions\":[{\"label\":\"a\",\"score\":0.9}]}",
         "1 predictions instead of 2"},
        {"{\"label\":\"a\",\"score\":0.9}", "0 predictions instead of 2"},
    };
    struct answer_book *book;
    struct answer answer;
    struct err err = {0};
    ck_assert_int_eq(open_book(&book, expected, 2, &err), ERR_OK);
    for (size_t i = 0; i < sizeof different / sizeof different[0]; i++) {
        const char *body = different[i].body;
        ck_assert_msg(answer_judge(book, 0, 200, body, strlen(body), 1e-5, &answer) ==
                          OUTCOME_MISMATCH,
                      "accepted: %s", body);
        ck_assert_str_eq(answer.why, different[i].why);
    }
    ck_assert_int_eq(judge(book, 1, 200, different[0].body), OUTCOME_STATUS);
    ck_assert_int_eq(judge(book, 0, 422, "{}"), OUTCOME_STATUS);
    answer_book_close(book);
}
END_TEST

START_TEST(answer_of_200_must_be_an_answer)
{
    ck_assert_int_eq(judge(NULL, 0, 200, "{\"label\":\"x\"}"), OUTCOME_OK);
    ck_assert_int_eq(judge(NULL, 0, 200, "{\"label\":1}"), OUTCOME_MALFORMED);
    ck_assert_int_eq(judge(NULL, 0, 200, "[]"), OUTCOME_MALFORMED);
    ck_assert_int_eq(judge(NULL, 0, 200, "{"), OUTCOME_MALFORMED);
    ck_assert_int_eq(judge(NULL, 0, 500, "{\"label\":\"x\"}"), OUTCOME_STATUS);
}
END_TEST

START_TEST(answer_times_are_complete_or_absent)
{
    struct answer answer;
    const char *body =
        "{\"label\":\"x\",\"timing_ms\":{\"queue\":1,\"prepare\":2,\"inference\":3.5,"
        "\"total\":7}}";
    answer_judge(NULL, 0, 200, body, strlen(body), 0, &answer);
    ck_assert(answer.timed && answer.inference_ms == 3.5 && answer.total_ms == 7);
    body = "{\"label\":\"x\",\"timing_ms\":{\"queue\":1}}";
    answer_judge(NULL, 0, 200, body, strlen(body), 0, &answer);
    ck_assert(!answer.timed);
}
END_TEST

START_TEST(answer_book_has_a_line_for_each_input)
{
    struct answer_book *book;
    static const struct {
        const char *lines;
        unsigned inputs;
        enum err_code code;
        const char *why; /* behind the path */
    } bad[] = {
        {expected, 1, ERR_UNUSABLE, ": line 2: more lines than inputs (1)"},
        {expected, 3, ERR_UNUSABLE, ": 2 lines for 3 inputs"},
        {"", 1, ERR_UNUSABLE, ": 0 lines for 1 inputs"},
        {"{\"score\":1}\n", 1, ERR_UNUSABLE, ": line 1: neither $.label nor $.status is there"},
        {"\n{\"status\":600}", 1, ERR_UNUSABLE, ": line 2: $.status: must be from 200 to 599"},
        {"{\"label\":\"a\"\n", 1, ERR_MALFORMED, ": line 1: "},
        {"{\"label\":\"a\"}\n\n\n[]x\n", 2, ERR_MALFORMED, ": line 4: "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};
        ck_assert_int_eq(open_book(&book, bad[i].lines, bad[i].inputs, &err), bad[i].code);
        ck_assert_ptr_null(book);
        const char *why = strstr(err.text, ": ");
        ck_assert_msg(why != NULL && strncmp(why, bad[i].why, strlen(bad[i].why)) == 0, "%s",
                      err.text);
    }
    struct err err = {0};
    ck_assert_int_eq(answer_book_open(&book, "tests", 1, &err), ERR_IO);
    ck_assert_str_eq(err.text, "tests: cannot be read: Is a directory");
    ck_assert_ptr_null(book);
}
END_TEST

SUITE("answer", answer_agrees_within_the_tolerance, answer_tells_every_difference,
      answer_of_200_must_be_an_answer, answer_times_are_complete_or_absent,
      answer_book_has_a_line_for_each_input)
