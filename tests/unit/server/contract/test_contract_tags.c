/* POST /predict to a model of tags, in the program, beside the spans of transformers. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/data/tags/ner-bert-0"

static struct server_process server;

static void start(void)
{
    server_process_start(&server,
                         (const char *[]){"--model", "classes=tests/data/golden/bert-5", "--model",
                                          "tags=" MODEL, "--uncalibrated", "auto", NULL});
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

static void expect_spans(const json_t *spans, const json_t *right, const char *name)
{
    ck_assert_uint_eq(json_array_size(spans), json_array_size(right));
    for (size_t i = 0; i < json_array_size(right); i++) {
        const json_t *span = json_array_get(spans, i), *want = json_array_get(right, i);
        ck_assert_str_eq(json_string_value(json_object_get(span, "label")),
                         json_string_value(json_object_get(want, name)));
        ck_assert_double_eq_tol(json_number_value(json_object_get(span, "score")),
                                json_number_value(json_object_get(want, "score")), 1e-5);
        ck_assert_double_eq(json_number_value(json_object_get(span, "start")),
                            json_number_value(json_object_get(want, "start")));
        ck_assert_double_eq(json_number_value(json_object_get(span, "end")),
                            json_number_value(json_object_get(want, "end")));
    }
}

/* Each text alone, with an option of the body and of the query, and all in one envelope. */
START_TEST(predict_answers_the_spans_of_transformers)
{
    struct err err = {0};
    struct json_t *cases;
    start();
    ck_assert(!doc_parse_file(&cases, MODEL "/cases.json", 1 << 20, &err));
    const json_t *list = json_object_get(cases, "cases");
    json_t *inputs = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        json_t *text = json_object_get(one, "text");
        struct reply body = ask("/predict", json_pack("{s:O,s:s,s:s}", "text", text, "model",
                                                      "tags", "aggregation", "first"));
        struct reply query =
            ask("/predict?model=tags&aggregation=none", json_pack("{s:O}", "text", text));
        reply_expect_status(&body, 200);
        reply_expect_status(&query, 200);
        reply_expect_text(&body, "decision", "auto");
        expect_spans(contract_at(body.json, "spans"), json_object_get(one, "first"),
                     "entity_group");
        expect_spans(contract_at(query.json, "spans"), json_object_get(one, "none"), "entity");
        reply_free(&body);
        reply_free(&query);
        json_array_append_new(inputs, json_pack("{s:O}", "text", text));
    }
    struct reply all = ask("/predict", json_pack("{s:o,s:s}", "inputs", inputs, "model", "tags"));
    reply_expect_status(&all, 200);
    for (size_t i = 0; i < json_array_size(list); i++) {
        char path[64];
        snprintf(path, sizeof path, "results.%zu.spans", i);
        expect_spans(contract_at(all.json, path),
                     json_object_get(json_array_get(list, i), "simple"), "entity_group");
    }
    reply_free(&all);
    doc_free(cases);
    stop();
}
END_TEST

/* 200 words: the reply says how many windows there were, and the last word is in a span or not, but
 * its place is counted from the beginning of the text. */
START_TEST(predict_reads_a_long_text_whole)
{
    char *text = calloc(1, 4096);
    start();
    for (unsigned i = 0; i < 200; i++)
        memcpy(text + 5 * i, "0048 ", 5);
    struct reply reply = ask("/predict", json_pack("{s:s,s:s,s:s}", "text", text, "model", "tags",
                                                   "aggregation", "none"));
    reply_expect_status(&reply, 200);
    ck_assert_double_gt(reply_number(&reply, "windows"), 1);
    const json_t *spans = contract_at(reply.json, "spans");
    ck_assert_uint_gt(json_array_size(spans), 150);
    const json_t *last = json_array_get(spans, json_array_size(spans) - 1);
    ck_assert_str_eq(json_string_value(json_object_get(last, "text")), "0048");
    ck_assert_int_gt(json_integer_value(json_object_get(last, "start")), 900);
    reply_free(&reply);
    free(text);
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

START_TEST(predict_refuses_of_tags_what_is_of_other_tasks)
{
    start();
    expect_problem("/predict", "{\"model\":\"classes\",\"text\":\"a\",\"aggregation\":\"max\"}",
                   "$.text: aggregation: the model does not answer spans (its task is another)");
    expect_problem("/predict", "{\"model\":\"tags\",\"text\":\"a\",\"aggregation\":\"maximum\"}",
                   "$.aggregation: expected none, simple, path, first, max or average");
    expect_problem("/predict?aggregation=all", "{\"model\":\"tags\",\"text\":\"a\"}",
                   "?aggregation: expected none, simple, path, first, max or average");
    expect_problem("/predict?aggregation=max",
                   "{\"model\":\"tags\",\"text\":\"a\",\"aggregation\":\"none\"}",
                   "?aggregation: the body has another value; send one of them");
    expect_problem("/predict", "{\"model\":\"tags\",\"text\":\"a\",\"aggregation\":3}",
                   "$.aggregation: expected a string, found a number");
    expect_problem("/predict", "{\"model\":\"tags\",\"text\":\"a\",\"text_pair\":\"b\"}",
                   "$.text: the model reads one text, not a pair");
    expect_problem(
        "/predict", "{\"model\":\"tags\",\"text\":\"a\",\"explain\":true}",
        "$.text: explain: the model answers parts of the text, which no method explains");
    stop();
}
END_TEST

START_TEST(models_and_metrics_tell_of_tags)
{
    start();
    struct reply reply =
        ask("/predict", json_pack("{s:s,s:s}", "text", "a 3.97 V", "model", "tags"));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = contract_ask(server.port, "GET", "/models/tags", "", NULL);
    reply_expect_text(&reply, "task", "tag");
    reply_expect_text(&reply, "long_text", "windows");
    ck_assert_uint_eq(reply_count(&reply, "labels"), 10);
    reply_free(&reply);
    reply = contract_ask(server.port, "GET", "/metrics", "", NULL);
    ck_assert_ptr_nonnull(
        strstr(reply.answer.body,
               "attnd_predictions_total{model=\"tags\",label=\"spans\",decision=\"auto\"} 1\n"));
    ck_assert_ptr_null(strstr(reply.answer.body, "model=\"tags\",label=\"B-PIN\""));
    reply_free(&reply);
    stop();
}
END_TEST

SUITE("contract_tags", predict_answers_the_spans_of_transformers, predict_reads_a_long_text_whole,
      predict_refuses_of_tags_what_is_of_other_tasks, models_and_metrics_tell_of_tags)
