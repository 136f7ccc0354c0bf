/* POST /v1/rerank and POST /rerank as their clients send them, in the program, beside the scores and
 * orders of sentence-transformers' CrossEncoder. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/data/rerank/rerank-bert-0"

static struct server_process server;

static void start(void)
{
    server_process_start(&server,
                         (const char *[]){"--model", "classes=tests/data/golden/bert-5", "--model",
                                          "ranks=" MODEL, "--uncalibrated", "auto", NULL});
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

static double number_in(const json_t *object, const char *list, size_t index)
{
    return json_number_value(json_array_get(json_object_get(object, list), index));
}

/* The ranks of one case by both routes. */
static void expect_order(const json_t *one)
{
    json_t *documents = json_object_get(one, "documents"), *query = json_object_get(one, "query");
    const size_t count = json_array_size(documents);
    struct reply reply =
        ask("/v1/rerank", json_pack("{s:s,s:O,s:O,s:b}", "model", "ranks", "query", query,
                                    "documents", documents, "return_documents", 1));
    struct reply tei =
        ask("/rerank", json_pack("{s:O,s:O,s:b,s:b,s:b}", "query", query, "texts", documents,
                                 "raw_scores", 1, "return_text", 1, "truncate", 1));
    reply_expect_status(&reply, 200);
    reply_expect_status(&tei, 200);
    reply_expect_text(&reply, "model", "ranks");
    ck_assert_double_gt(reply_number(&reply, "usage.total_tokens"), (double)count);
    ck_assert_uint_eq(reply_count(&reply, "results"), count);
    ck_assert_uint_eq(json_array_size(tei.json), count);
    for (size_t i = 0; i < count; i++) {
        const size_t right = (size_t)number_in(one, "order", i);
        const char *text = json_string_value(json_array_get(documents, right));
        const json_t *row = json_array_get(tei.json, i);
        char path[64];
        snprintf(path, sizeof path, "results.%zu.index", i);
        ck_assert_double_eq(reply_number(&reply, path), (double)right);
        snprintf(path, sizeof path, "results.%zu.relevance_score", i);
        ck_assert_double_eq_tol(reply_number(&reply, path), number_in(one, "sigmoid", right), 1e-5);
        snprintf(path, sizeof path, "results.%zu.document.text", i);
        reply_expect_text(&reply, path, text);
        ck_assert_int_eq(json_integer_value(json_object_get(row, "index")), (json_int_t)right);
        ck_assert_double_eq_tol(json_number_value(json_object_get(row, "score")),
                                number_in(one, "logits", right), 1e-4);
        ck_assert_str_eq(json_string_value(json_object_get(row, "text")), text);
    }
    reply_free(&reply);
    reply_free(&tei);
}

START_TEST(rerank_gives_the_order_of_cross_encoders)
{
    struct err err = {0};
    struct json_t *cases;
    start();
    ck_assert(!doc_parse_file(&cases, MODEL "/cases.json", 1 << 20, &err));
    const json_t *list = json_object_get(cases, "cases");
    ck_assert_uint_gt(json_array_size(list), 0);
    for (size_t i = 0; i < json_array_size(list); i++)
        expect_order(json_array_get(list, i));
    doc_free(cases);
    stop();
}
END_TEST

START_TEST(rerank_returns_a_document_with_a_nul_whole)
{
    start();
    struct reply reply =
        ask("/v1/rerank", json_pack("{s:s,s:[s%],s:b}", "query", "scan", "documents", "a\0b",
                                    (size_t)3, "return_documents", 1));
    struct reply tei = ask("/rerank", json_pack("{s:s,s:[s%],s:b}", "query", "scan", "texts",
                                                "a\0b", (size_t)3, "return_text", 1));
    ck_assert_uint_eq(json_string_length(contract_at(reply.json, "results.0.document.text")), 3);
    ck_assert_uint_eq(json_string_length(json_object_get(json_array_get(tei.json, 0), "text")), 3);
    reply_free(&reply);
    reply_free(&tei);
    stop();
}
END_TEST

START_TEST(rerank_answers_the_best_ones_and_keeps_the_order_of_equal_ones)
{
    start();
    struct reply reply =
        ask("/v1/rerank", json_pack("{s:s,s:[s,s,s],s:i}", "query", "scan", "documents", "chain",
                                    "chain", "leakage at pin", "top_n", 2));
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "results"), 2);
    ck_assert_ptr_null(contract_at(reply.json, "results.0.document"));
    reply_free(&reply);
    reply = ask("/v2/rerank", json_pack("{s:s,s:s,s:[s,s],s:i}", "model", "ranks", "query", "scan",
                                        "documents", "chain", "chain", "top_n", 1));
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "results"), 1);
    reply_free(&reply);
    reply = ask("/rerank",
                json_pack("{s:s,s:[s,s,s]}", "query", "scan", "texts", "chain", "chain", "chain"));
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(reply.json, i);
        ck_assert_int_eq(json_integer_value(json_object_get(row, "index")), (json_int_t)i);
    }
    reply_free(&reply);
    stop();
}
END_TEST

static void expect_problem(const char *path, const char *body, int status, const char *message)
{
    struct reply reply =
        contract_ask(server.port, "POST", path, "Content-Type: application/json\r\n", body);
    reply_expect_status(&reply, status);
    const char *text = reply_text(&reply, strcmp(path, "/rerank") == 0 ? "error" : "error.message");
    ck_assert_msg(strncmp(text, message, strlen(message)) == 0, "%s: %s", body, text);
    if (strcmp(path, "/rerank") == 0)
        reply_expect_text(&reply, "error_type", "Validation");
    reply_free(&reply);
}

START_TEST(rerank_refuses_in_the_form_of_its_clients)
{
    char *words = malloc(4096), *body;
    start();
    expect_problem("/v1/rerank", "{\"documents\":[\"a\"]}", 422, "query: it is missing");
    expect_problem("/v1/rerank", "{\"query\":\"a\"}", 422, "documents: it is missing");
    expect_problem("/v1/rerank", "{\"query\":\"a\",\"documents\":[]}", 422,
                   "documents: the array is empty");
    expect_problem("/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\",3]}", 422,
                   "documents[1]: expected a text");
    expect_problem("/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\"],\"model\":\"classes\"}",
                   422, "documents[0]: the model classes does not score pairs");
    expect_problem("/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\"],\"top_n\":0}", 422,
                   "$.top_n");
    expect_problem("/rerank", "{\"query\":\"a\",\"texts\":[\"b\",\"\"]}", 422, "texts[1]: empty");
    expect_problem("/rerank", "{\"query\":\"a\",\"documents\":[\"b\"]}", 422,
                   "$.documents is not supported");
    expect_problem("/rerank",
                   "{\"query\":\"a\",\"texts\":[\"b\"],\"truncation_direction\":\"Left\"}", 422,
                   "truncation_direction: ");
    memset(words, 0, 4096);
    for (int i = 0; i < 1000; i++)
        strcat(words, "a ");
    body = contract_format("{\"query\":\"a\",\"texts\":[\"b\",\"%s\"]}", words);
    expect_problem("/rerank", body, 413, "texts[1]: the text is longer than the");
    free(body);
    free(words);
    stop();
}
END_TEST

START_TEST(rerank_tells_a_client_that_names_no_model_that_none_can)
{
    server_process_start(&server, (const char *[]){"--model", "classes=tests/data/golden/bert-5",
                                                   "--uncalibrated", "auto", NULL});
    expect_problem("/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\"]}", 422,
                   "documents[0]: no model is named, and none here can do it: the model classes "
                   "does not score pairs");
    expect_problem("/v1/rerank", "{\"query\":\"a\",\"documents\":[\"b\"],\"model\":\"classes\"}",
                   422, "documents[0]: the model classes does not score pairs");
    stop();
}
END_TEST

SUITE("contract_rerank", rerank_gives_the_order_of_cross_encoders,
      rerank_returns_a_document_with_a_nul_whole,
      rerank_answers_the_best_ones_and_keeps_the_order_of_equal_ones,
      rerank_refuses_in_the_form_of_its_clients,
      rerank_tells_a_client_that_names_no_model_that_none_can)
