/* POST /v1/embeddings as clients of OpenAI send it, in the program, beside sentence-transformers'
 * vectors of the same model. */
#include "engine/base/base64.h"
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/data/embedding/st-bert-0"

#define IDS_8 "1,2,3,4,5,6,7,8,"
#define IDS_32 IDS_8 IDS_8 IDS_8 IDS_8

enum { SIZE = 48 };

static struct server_process server;

static void start(void)
{
    server_process_start(&server,
                         (const char *[]){"--model", "wafers=tests/data/golden/vit-0", "--model",
                                          "classes=tests/data/golden/bert-5", "--model",
                                          "vectors=" MODEL, "--uncalibrated", "auto", NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static struct reply ask(const char *body)
{
    return contract_ask(server.port, "POST", "/v1/embeddings", "Content-Type: application/json\r\n",
                        body);
}

/* The vector at `path`, as numbers or as base64. */
static void vector_at(const struct reply *reply, const char *path, double *out, size_t size)
{
    const json_t *value = contract_at(reply->json, path);
    if (json_is_string(value)) {
        float numbers[SIZE + 1];
        size_t len;
        struct err err = {0};
        ck_assert(!base64_decode((char *)numbers, &len, json_string_value(value),
                                 json_string_length(value), 0, &err));
        ck_assert_uint_eq(len, size * sizeof *numbers);
        for (size_t i = 0; i < size; i++)
            out[i] = (double)numbers[i];
        return;
    }
    ck_assert_uint_eq(json_array_size(value), size);
    for (size_t i = 0; i < size; i++)
        out[i] = json_number_value(json_array_get(value, i));
}

START_TEST(openai_answers_the_vectors_of_sentence_transformers)
{
    struct err err = {0};
    struct json_t *cases;
    start();
    ck_assert(!doc_parse_file(&cases, MODEL "/cases.json", 1 << 20, &err));
    const json_t *list = json_object_get(cases, "cases");
    json_t *texts = json_array();
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_append(texts, json_object_get(json_array_get(list, i), "text"));
    for (int way = 0; way < 2; way++) {
        json_t *call = json_pack("{s:s,s:O,s:s,s:b}", "model", "vectors", "input", texts,
                                 "encoding_format", way == 0 ? "float" : "base64", "truncate", 1);
        char *body = json_dumps(call, 0);
        struct reply reply = ask(body);
        reply_expect_status(&reply, 200);
        reply_expect_text(&reply, "object", "list");
        reply_expect_text(&reply, "model", "vectors");
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *one = json_array_get(list, i), *right = json_object_get(one, "embedding");
            char path[64];
            double vector[SIZE];
            if (json_is_string(json_object_get(one, "prompt_name")))
                continue;
            snprintf(path, sizeof path, "data.%zu.index", i);
            ck_assert_double_eq(reply_number(&reply, path), (double)i);
            snprintf(path, sizeof path, "data.%zu.embedding", i);
            vector_at(&reply, path, vector, SIZE);
            for (size_t k = 0; k < SIZE; k++)
                ck_assert_double_eq_tol(vector[k], json_number_value(json_array_get(right, k)),
                                        1e-5);
        }
        reply_free(&reply);
        free(body);
        json_decref(call);
    }
    json_decref(texts);
    doc_free(cases);
    stop();
}
END_TEST

START_TEST(openai_cuts_vectors_and_scales_them_to_length_1)
{
    double whole[SIZE], part[5], length = 0;
    start();
    struct reply reply = ask("{\"input\":\"leakage\",\"user\":\"me\"}"); /* the model of vectors */
    vector_at(&reply, "data.0.embedding", whole, SIZE);
    ck_assert_double_gt(reply_number(&reply, "usage.prompt_tokens"), 2);
    reply_free(&reply);
    reply = ask("{\"input\":[\"leakage\"],\"dimensions\":5}");
    vector_at(&reply, "data.0.embedding", part, 5);
    reply_free(&reply);
    for (int i = 0; i < 5; i++)
        length += whole[i] * whole[i];
    for (int i = 0; i < 5; i++)
        ck_assert_double_eq_tol(part[i], whole[i] / sqrt(length), 1e-6);
    reply = ask("{\"input\":\"leakage\",\"prompt_name\":\"query\"}");
    vector_at(&reply, "data.0.embedding", whole, SIZE);
    ck_assert_double_gt(fabs(whole[0] - part[0] * sqrt(length)), 1e-3);
    reply_free(&reply);
    stop();
}
END_TEST

/* inputs_max is 64 by default. */
START_TEST(openai_takes_as_many_texts_as_the_configuration_says)
{
    start();
    for (unsigned count = 64; count <= 65; count++) {
        json_t *texts = json_array();
        for (unsigned i = 0; i < count; i++)
            json_array_append_new(texts, json_string("scan chain"));
        json_t *call = json_pack("{s:o,s:s}", "input", texts, "encoding_format", "base64");
        char *body = json_dumps(call, 0);
        struct reply reply = ask(body);
        reply_expect_status(&reply, count == 64 ? 200 : 413);
        if (count == 64)
            ck_assert_uint_eq(reply_count(&reply, "data"), 64);
        else
            reply_expect_text(&reply, "error.message",
                              "input: at most 64 texts (inputs_max), found 65");
        reply_free(&reply);
        free(body);
        json_decref(call);
    }
    stop();
}
END_TEST

START_TEST(openai_refuses_in_its_own_form)
{
    static const struct {
        const char *body;
        int status;
        const char *code, *message;
    } cases[] = {
        {"{\"input\":\"a\",\"model\":\"none\"}", 404, "model_not_found", "model: no model"},
        {"{\"input\":\"a\",\"model\":\"classes\"}", 422, "unusable",
         "input: the model classes answers no vectors"},
        {"{\"input\":\"a\",\"model\":\"wafers\"}", 422, "unusable",
         "input: the model wafers does not read texts"},
        {"{\"input\":[1,2]}", 422, "unusable", "input: expected a text, found token ids"},
        {"{\"input\":[[1,2]]}", 422, "unusable", "input: expected a text, found token ids"},
        {"{\"input\":[\"a\",\"\"]}", 422, "unusable", "input[1]: empty"},
        {"{\"input\":[\"a\",\" \"]}", 422, "unusable", "input[1]: the text has no token"},
        {"{\"input\":[[\"a\"]]}", 422, "unusable", "input: expected a text, found an array"},
        {"{\"input\":[" IDS_32 IDS_32 "1]}", 422, "unusable",
         "input: expected a text, found token"},
        {"{\"input\":[[" IDS_32 IDS_32 IDS_32 IDS_32 IDS_32 IDS_32 IDS_32 IDS_32 IDS_32 "1]]}", 422,
         "unusable", "input: expected a text, found token ids"},
        {"{\"input\":[]}", 422, "unusable", "input: the array is empty"},
        {"{\"input\":{}}", 422, "unusable", "input: expected a text, found an object"},
        {"{}", 422, "unusable", "input: it is missing"},
        {"{\"input\":\"a\",\"dimensions\":49}", 422, "unusable",
         "input: dimensions: the model's vectors have 48 numbers, 49 are asked for"},
        {"{\"input\":\"a\",\"dimensions\":0}", 422, "unusable", "$.dimensions"},
        {"{\"input\":\"a\",\"encoding_format\":\"int4\"}", 422, "unusable", "encoding_format: "},
        {"{\"input\":\"a\",\"inputs\":\"b\"}", 422, "unusable", "$.inputs is not supported"},
        {"[\"a\"]", 422, "unusable", "expected an object, found an array"},
        {"{\"input\":\"a\"", 400, "malformed", "JSON ends too early"},
        {"{\"input\":[[[[[[[[[[[[[[[[[[[[\"a\"]]]]]]]]]]]]]]]]]]]]}", 413, "too_large",
         "expected at most 64 texts"},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = ask(cases[i].body);
        reply_expect_status(&reply, cases[i].status);
        reply_expect_text(&reply, "error.code", cases[i].code);
        reply_expect_text(&reply, "error.type", "invalid_request_error");
        const char *message = reply_text(&reply, "error.message");
        ck_assert_msg(strncmp(message, cases[i].message, strlen(cases[i].message)) == 0, "%s: %s",
                      cases[i].body, message);
        reply_free(&reply);
    }
    struct reply reply =
        contract_ask(server.port, "POST", "/v1/embeddings", "Content-Type: text/plain\r\n", "a");
    reply_expect_status(&reply, 415);
    reply_expect_text(&reply, "error.code", "unsupported_media_type");
    reply_free(&reply);
    stop();
}
END_TEST

SUITE("contract_openai", openai_answers_the_vectors_of_sentence_transformers,
      openai_cuts_vectors_and_scales_them_to_length_1,
      openai_takes_as_many_texts_as_the_configuration_says, openai_refuses_in_its_own_form)
