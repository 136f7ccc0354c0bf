/* POST /predict with questions, in the program, beside the answers of transformers. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/data/answers/qa-bert-0"

static struct server_process server;

static void start(void)
{
    server_process_start(&server,
                         (const char *[]){"--model", "classes=tests/data/golden/bert-5", "--model",
                                          "answers=" MODEL, "--uncalibrated", "auto", NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static struct reply ask(const char *path, json_t *call)
{
    char *body = json_dumps(call, 0);
    struct reply reply =
        contract_ask(server.port, "POST", path, "Content-Type: application/json\r\n", body);
    free(body);
    json_decref(call);
    return reply;
}

/* An answer of no probability is any of many. */
static void expect_answer(const json_t *found, const json_t *right)
{
    const double score = json_number_value(json_object_get(right, "score"));
    ck_assert_double_eq_tol(json_number_value(json_object_get(found, "score")), score, 1e-5);
    if (score == 0)
        return;
    ck_assert_str_eq(json_string_value(json_object_get(found, "text")),
                     json_string_value(json_object_get(right, "answer")));
    ck_assert_double_eq(json_number_value(json_object_get(found, "start")),
                        json_number_value(json_object_get(right, "start")));
    ck_assert_double_eq(json_number_value(json_object_get(found, "end")),
                        json_number_value(json_object_get(right, "end")));
}

/* The options are members of the body under their own names. */
START_TEST(predict_answers_questions_as_transformers_does)
{
    struct err err = {0};
    struct json_t *cases;
    start();
    ck_assert(!doc_parse_file(&cases, MODEL "/cases.json", 1 << 20, &err));
    const json_t *list = json_object_get(cases, "cases");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *answers = json_object_get(one, "answers");
        json_t *call = json_deep_copy(json_object_get(one, "parameters"));
        /* the reader of files has all numbers as reals */
        static const char *const counts[] = {"top_k", "doc_stride", "max_seq_len",
                                             "max_answer_len"};
        for (int k = 0; k < 4; k++)
            json_object_set_new(
                call, counts[k],
                json_integer((json_int_t)json_number_value(json_object_get(call, counts[k]))));
        json_object_set(call, "question", json_object_get(one, "question"));
        json_object_set(call, "text", json_object_get(one, "context"));
        json_object_set_new(call, "model", json_string("answers"));
        struct reply reply = ask("/predict", call);
        reply_expect_status(&reply, 200);
        reply_expect_text(&reply, "decision", "auto");
        expect_answer(contract_at(reply.json, "answer"), json_array_get(answers, 0));
        ck_assert_uint_ge(reply_count(&reply, "answers"), json_array_size(answers));
        for (size_t k = 0; k < json_array_size(answers); k++) {
            char path[64];
            snprintf(path, sizeof path, "answers.%zu", k);
            expect_answer(contract_at(reply.json, path), json_array_get(answers, k));
        }
        reply_free(&reply);
    }
    doc_free(cases);
    stop();
}
END_TEST

START_TEST(each_input_has_its_own_question_and_all_the_same_options)
{
    start();
    struct reply reply =
        ask("/predict?model=answers&max_answer_len=1&align_to_words=false",
            json_pack("{s:[{s:s,s:s},{s:s,s:s},{s:s}]}", "inputs", "question", "Which pin?", "text",
                      "pin vdd_io leaks", "question", "What leaks?", "text", "pin vdd_io leaks",
                      "text", "pin vdd_io leaks"));
    reply_expect_status(&reply, 200);
    for (unsigned i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "results.%u.answer.end", i);
        const double end = reply_number(&reply, path);
        snprintf(path, sizeof path, "results.%u.answer.start", i);
        ck_assert_double_gt(end, reply_number(&reply, path));
        snprintf(path, sizeof path, "results.%u.answers", i);
        ck_assert_ptr_null(contract_at(reply.json, path)); /* one is asked for */
    }
    reply_expect_text(&reply, "results.2.detail",
                      "$.inputs[2].text: question: it is missing: the model answers a question "
                      "from a text");
    reply_free(&reply);
    stop();
}
END_TEST

static void expect_problem(const char *path, const char *body, const char *detail)
{
    struct reply reply =
        contract_ask(server.port, "POST", path, "Content-Type: application/json\r\n", body);
    reply_expect_status(&reply, 422);
    reply_expect_text(&reply, "detail", detail);
    reply_free(&reply);
}

START_TEST(predict_refuses_of_questions_what_it_cannot_obey)
{
    start();
    expect_problem("/predict", "{\"question\":\"a\"}",
                   "$.question: it goes with \"text\", which is missing");
    expect_problem("/predict", "{\"text\":\"a\",\"question\":3}",
                   "$.question: expected a string, found a number");
    expect_problem("/predict", "{\"inputs\":[{\"text\":\"a\"}],\"question\":\"b\"}",
                   "$: \"inputs\" stands alone; put \"text\" and \"image\" into its elements");
    expect_problem("/predict", "{\"model\":\"classes\",\"text\":\"a\",\"question\":\"b\"}",
                   "$.text: question and its options: the model does not answer questions (its "
                   "task is another)");
    expect_problem("/predict",
                   "{\"model\":\"answers\",\"text\":\"a\",\"question\":\"b\","
                   "\"top_k\":\"all\"}",
                   "$.text: top_k: for answers it must be from 1 to 100");
    expect_problem("/predict?doc_stride=1",
                   "{\"model\":\"answers\",\"text\":\"a\",\"question\":\"b\",\"doc_stride\":0}",
                   "?doc_stride: the body has another value; send one of them");
    expect_problem("/predict?max_seq_len=0", "{\"text\":\"a\"}",
                   "?max_seq_len: must be at least 1");
    expect_problem("/predict?align_to_words=no", "{\"text\":\"a\"}",
                   "?align_to_words: expected true or false");
    expect_problem(
        "/predict",
        "{\"model\":\"answers\",\"text\":\"a\",\"question\":\"b\","
        "\"explain\":true}",
        "$.text: explain: the model answers parts of the text, which no method explains");
    stop();
}
END_TEST

START_TEST(models_and_metrics_tell_of_answers)
{
    start();
    struct reply reply = ask("/predict", json_pack("{s:s,s:s,s:s}", "text", "pin 3 leaks",
                                                   "question", "Which?", "model", "answers"));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = contract_ask(server.port, "GET", "/models/answers", "", NULL);
    reply_expect_text(&reply, "task", "answer");
    reply_free(&reply);
    reply = contract_ask(server.port, "GET", "/metrics", "", NULL);
    ck_assert_ptr_nonnull(strstr(reply.answer.body,
                                 "attnd_predictions_total{model=\"answers\",label=\"answers\","
                                 "decision=\"auto\"} 1\n"));
    reply_free(&reply);
    stop();
}
END_TEST

SUITE("contract_answers", predict_answers_questions_as_transformers_does,
      each_input_has_its_own_question_and_all_the_same_options,
      predict_refuses_of_questions_what_it_cannot_obey, models_and_metrics_tell_of_answers)
