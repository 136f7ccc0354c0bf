/* Two texts read together, in the program, beside a checkpoint that transformers answered pairs of. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/data/golden/xlm-roberta-1"

static struct server_process server;

static void start(void)
{
    server_process_start(&server, (const char *[]){"--model", "pairs=" MODEL, NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static struct reply ask(const json_t *call)
{
    char *body = json_dumps(call, 0);
    struct reply reply = contract_ask(server.port, "POST", "/predict", "", body);
    free(body);
    return reply;
}

/* A model of one label: a sigmoid. */
static void check(const json_t *one)
{
    const double expected = json_number_value(json_array_get(json_object_get(one, "probs"), 0));
    json_t *call = json_pack("{s:O,s:O}", "text", json_object_get(one, "text"), "text_pair",
                             json_object_get(one, "text_pair"));
    struct reply reply = ask(call);
    reply_expect_status(&reply, 200);
    ck_assert_double_lt(fabs(reply_number(&reply, "score") - expected), 1e-4);
    reply_free(&reply);
    json_decref(call);
}

START_TEST(pairs_have_the_scores_of_transformers)
{
    json_t *cases = json_load_file(MODEL "/cases.json", JSON_ALLOW_NUL, NULL);
    unsigned checked = 0;
    size_t i;
    const json_t *one;
    start();
    json_array_foreach(cases, i, one)
    {
        if (json_string_length(json_object_get(one, "text_pair")) == 0 ||
            json_string_length(json_object_get(one, "text")) == 0)
            continue;
        check(one);
        checked++;
    }
    ck_assert_uint_ge(checked, 5);
    json_decref(cases);
    stop();
}
END_TEST

START_TEST(pair_errors_name_the_field_and_an_empty_second_text_is_ignored)
{
    static const struct {
        const char *body, *detail;
    } wrong[] = {
        {"{\"text_pair\": \"a\"}", "$.text_pair: it goes with \"text\", which is missing"},
        {"{\"text\": \"a\", \"text_pair\": 3}", "$.text_pair: expected a string, found "},
        {"{\"text\": \"\", \"text_pair\": \"a\"}", "$.text: empty"},
        {"{\"inputs\": [{\"text\": \"a\"}], \"text_pair\": \"b\"}", "$: \"inputs\" stands alone"},
    };
    start();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct reply reply = contract_ask(server.port, "POST", "/predict", "", wrong[i].body);
        reply_expect_problem(&reply, 422, "unusable", wrong[i].detail);
        reply_free(&reply);
    }
    struct reply one = contract_ask(server.port, "POST", "/predict", "", "{\"text\": \"a b\"}");
    struct reply none = contract_ask(server.port, "POST", "/predict", "",
                                     "{\"text\": \"a b\", \"text_pair\": \"\"}");
    ck_assert_double_eq(reply_number(&one, "score"), reply_number(&none, "score"));
    reply_free(&one);
    reply_free(&none);
    stop();
}
END_TEST

START_TEST(an_explanation_tells_the_words_of_either_text)
{
    start();
    struct reply reply =
        contract_ask(server.port, "POST", "/predict", "",
                     "{\"text\": \"scan failed\", \"text_pair\": \"die\", \"explain\": true}");
    reply_expect_status(&reply, 200);
    const size_t count = reply_count(&reply, "explanation.words");
    ck_assert_uint_ge(count, 2);
    const json_t *words = contract_at(reply.json, "explanation.words");
    ck_assert_ptr_null(json_object_get(json_array_get(words, 0), "of"));
    const json_t *last = json_array_get(words, count - 1);
    ck_assert_str_eq(json_string_value(json_object_get(last, "of")), "text_pair");
    ck_assert_int_eq(json_integer_value(json_object_get(last, "end")), 3);
    reply_free(&reply);
    stop();
}
END_TEST

SUITE("contract_pair", pairs_have_the_scores_of_transformers,
      pair_errors_name_the_field_and_an_empty_second_text_is_ignored,
      an_explanation_tells_the_words_of_either_text)
