/* Calls of Hugging Face's clients to the program give the native answers. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES "tests/data/golden/bert-5"
#define PICTURE "tests/data/examples/wafer_map.png"

static struct server_process server;
static struct tempdir entails; /* CLASSES with a label entailment */

static void start(void)
{
    static const char *const files[] = {"model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json"};
    char path[128], *option = contract_format("entails=%s", (tempdir_open(&entails), entails.path));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, CLASSES "/%s", files[i]);
        tempdir_copy(&entails, files[i], path);
    }
    size_t len;
    char *config = contract_file(CLASSES "/config.json", &len);
    json_t *json = json_loads(config, 0, NULL);
    json_object_set_new(json, "id2label",
                        json_pack("{s:s,s:s,s:s}", "0", "no", "1", "neutral", "2", "Entailment"));
    json_object_set_new(json, "label2id",
                        json_pack("{s:i,s:i,s:i}", "no", 0, "neutral", 1, "Entailment", 2));
    char *text = json_dumps(json, 0);
    tempdir_write(&entails, "config.json", text, strlen(text));
    server_process_start(&server,
                         (const char *[]){"--model", "classes=" CLASSES, "--model", option,
                                          "--model", "vectors=tests/data/embedding/st-bert-0",
                                          "--model", "wafers=tests/data/golden/vit-0", "--model",
                                          "any=tests/data/golden/clip-0", NULL});
    json_decref(json);
    free(text);
    free(config);
    free(option);
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&entails);
}

static struct reply ask(const char *path, const char *body)
{
    return contract_ask(server.port, "POST", path, "Content-Type: application/json\r\n", body);
}

/* [{"label", "score"}] beside the predictions of a native answer. */
static void expect_labels(const json_t *found, const json_t *right)
{
    ck_assert_uint_gt(json_array_size(found), 0);
    ck_assert_uint_eq(json_array_size(found), json_array_size(right));
    for (size_t i = 0; i < json_array_size(found); i++) {
        const json_t *one = json_array_get(found, i), *other = json_array_get(right, i);
        ck_assert_str_eq(json_string_value(json_object_get(one, "label")),
                         json_string_value(json_object_get(other, "label")));
        ck_assert_double_eq_tol(json_number_value(json_object_get(one, "score")),
                                json_number_value(json_object_get(other, "score")), 1e-6);
    }
}

static void expect_vector(const json_t *found, const json_t *right)
{
    ck_assert_uint_eq(json_array_size(found), json_array_size(right));
    for (size_t i = 0; i < json_array_size(right); i++)
        ck_assert_double_eq_tol(json_number_value(json_array_get(found, i)),
                                json_number_value(json_array_get(right, i)), 1e-6);
}

START_TEST(hf_answers_labels_of_texts_as_a_list_of_lists)
{
    start();
    struct reply native = ask("/predict", "{\"top_k\":\"all\",\"inputs\":[{\"text\":\"scan\"},"
                                          "{\"text\":\"scan\",\"text_pair\":\"pin 7\"}]}");
    struct reply one = ask("/", "{\"inputs\":\"scan\",\"options\":{\"use_cache\":false}}");
    struct reply pair =
        ask("/models/classes", "{\"inputs\":{\"text\":\"scan\",\"text_pair\":\"pin 7\"}}");
    struct reply list = ask("/", "{\"inputs\":[\"leak\",\"scan\"],\"parameters\":{\"top_k\":1}}");
    expect_labels(json_array_get(one.json, 0), contract_at(native.json, "results.0.predictions"));
    expect_labels(json_array_get(pair.json, 0), contract_at(native.json, "results.1.predictions"));
    ck_assert_uint_eq(json_array_size(list.json), 2);
    ck_assert_uint_eq(json_array_size(json_array_get(list.json, 1)), 1);
    ck_assert_int_gt(atoi(reply_header(&one, "x-compute-tokens")), 2);
    reply_free(&native);
    reply_free(&one);
    reply_free(&pair);
    reply_free(&list);
    stop();
}
END_TEST

START_TEST(hf_reads_pictures_as_files_and_as_base64)
{
    start();
    size_t len;
    char *file = contract_file(PICTURE, &len), *image = contract_file_base64(PICTURE);
    char *bodies[] = {
        contract_format("{\"image\":\"%s\",\"model\":\"wafers\",\"top_k\":\"all\"}", image),
        contract_format("{\"inputs\":\"%s\"}", image),
        contract_format("{\"inputs\":{\"image\":\"%s\"}}", image),
        contract_format("{\"inputs\":\"%s\",\"parameters\":{\"candidate_labels\":[\"a\",\"b\"]}}",
                        image),
        contract_format("{\"image\":\"%s\",\"model\":\"any\",\"top_k\":\"all\","
                        "\"candidate_labels\":[\"a\",\"b\"]}",
                        image)};
    struct reply native = ask("/predict", bodies[0]);
    struct reply text = ask("/models/wafers", bodies[1]), object = ask("/models/wafers", bodies[2]);
    struct reply any = ask("/models/any", bodies[3]), right = ask("/predict", bodies[4]);
    struct reply raw =
        reply_of(http_request(server.port, "POST", "/", "Content-Type: image/png\r\n", file, len));
    expect_labels(text.json, contract_at(native.json, "predictions"));
    expect_labels(object.json, contract_at(native.json, "predictions"));
    expect_labels(raw.json, contract_at(native.json, "predictions"));
    expect_labels(any.json, contract_at(right.json, "predictions"));
    struct reply *replies[] = {&native, &text, &object, &any, &right, &raw};
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++)
        reply_free(replies[i]);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        free(bodies[i]);
    free(file);
    free(image);
    stop();
}
END_TEST

/* The cosine of two texts' vectors of two numbers. */
START_TEST(hf_compares_the_numbers_that_dimensions_keeps)
{
    start();
    struct reply vectors =
        ask("/models/vectors", "{\"inputs\":[\"leak\",\"scan\"],\"dimensions\":2}");
    struct reply cosine = ask("/models/vectors", "{\"inputs\":{\"source_sentence\":\"leak\","
                                                 "\"sentences\":[\"scan\"]},\"dimensions\":2}");
    double v[2][2];
    for (size_t i = 0; i < 4; i++)
        v[i / 2][i % 2] =
            json_number_value(json_array_get(json_array_get(vectors.json, i / 2), i % 2));
    const double right = (v[0][0] * v[1][0] + v[0][1] * v[1][1]) /
                         (hypot(v[0][0], v[0][1]) * hypot(v[1][0], v[1][1]));
    ck_assert_double_eq_tol(json_number_value(json_array_get(cosine.json, 0)), right, 1e-6);
    reply_free(&vectors);
    reply_free(&cosine);
    stop();
}
END_TEST

START_TEST(hf_answers_vectors_and_cosines)
{
    start();
    struct reply native = ask("/predict", "{\"model\":\"vectors\",\"text\":\"scan chain\"}");
    const json_t *right = json_object_get(native.json, "embedding");
    struct reply one = ask("/models/vectors", "{\"inputs\":\"scan chain\"}");
    struct reply unit = ask("/", "{\"inputs\":[\"leak\",\"scan chain\"],\"normalize\":true}");
    struct reply cosines = ask("/", "{\"inputs\":{\"source_sentence\":\"scan chain\",\"sentences\":"
                                    "[\"leak\",\"scan chain\"]}}");
    expect_vector(one.json, right);
    expect_vector(json_array_get(unit.json, 1), right);
    ck_assert_uint_eq(json_array_size(cosines.json), 2);
    ck_assert_double_eq_tol(json_number_value(json_array_get(cosines.json, 1)), 1, 1e-6);
    reply_free(&native);
    reply_free(&one);
    reply_free(&unit);
    reply_free(&cosines);
    stop();
}
END_TEST

/* The logits of the hypothesis "a log of LABEL." after the text. */
static void logits_of(const char *label, double out[3])
{
    static const char *const names[] = {"no", "neutral", "Entailment"};
    char *body = contract_format("{\"model\":\"entails\",\"raw_scores\":true,"
                                 "\"inputs\":[\"scan\",\"a log of %s.\"]}",
                                 label);
    struct reply reply = ask("/predict", body);
    for (size_t i = 0; i < 9; i++) {
        const json_t *row = json_array_get(reply.json, i / 3);
        if (strcmp(json_string_value(json_object_get(row, "label")), names[i % 3]) == 0)
            out[i % 3] = json_number_value(json_object_get(row, "score"));
    }
    reply_free(&reply);
    free(body);
}

START_TEST(hf_scores_labels_of_a_text_by_entailment)
{
    double chain[3], power[3], scores[2];
    start();
    logits_of("chain", chain);
    logits_of("power", power);
    for (int multi = 0; multi < 2; multi++) {
        char *body = contract_format("{\"inputs\":\"scan\",\"parameters\":{\"candidate_labels\":"
                                     "[\"chain\",\"power\"],\"multi_label\":%s,"
                                     "\"hypothesis_template\":\"a log of {}.\"}}",
                                     multi ? "true" : "false");
        struct reply reply = ask("/", body);
        reply_expect_status(&reply, 200);
        ck_assert_uint_eq(json_array_size(reply.json), 2);
        scores[0] = 1 / (1 + exp(multi ? chain[0] - chain[2] : power[2] - chain[2]));
        scores[1] = 1 / (1 + exp(multi ? power[0] - power[2] : chain[2] - power[2]));
        const int best = scores[1] > scores[0];
        for (int i = 0; i < 2; i++) {
            const json_t *row = json_array_get(reply.json, (size_t)i);
            ck_assert_str_eq(json_string_value(json_object_get(row, "label")),
                             (i == 0) == (best == 0) ? "chain" : "power");
            ck_assert_double_eq_tol(json_number_value(json_object_get(row, "score")),
                                    scores[i == 0 ? best : !best], 1e-6);
        }
        reply_free(&reply);
        free(body);
    }
    stop();
}
END_TEST

START_TEST(hf_refuses_what_it_cannot_obey)
{
    static const struct {
        const char *path, *body;
        int status;
        const char *message;
    } cases[] = {
        {"/models/none", "{\"inputs\":\"a\"}", 404, "model: no model of this name"},
        {"/", "{}", 422, "inputs: it is missing"},
        {"/", "{\"inputs\":[]}", 422, "inputs: the array is empty"},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"topk\":1}}", 422, "$.parameters.topk is not"},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"top_k\":0}}", 422, "$.parameters.top_k"},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"function_to_apply\":\"sigmoid\"}}", 422,
         "function_to_apply: the model's scores are by softmax"},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"multi_label\":true}}", 422, "multi_label: "},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[]}}", 422,
         "candidate_labels: expected a list"},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"a\",\"a\"]}}", 422, ""},
        {"/models/classes", "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"a\"]}}", 422,
         "candidate_labels[0]: the model classes has no label of entailment"},
        {"/",
         "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"a\"],"
         "\"hypothesis_template\":\"b\"}}",
         422, ""},
        {"/models/classes", "{\"inputs\":{\"question\":\"a\",\"context\":\"b\"}}", 422,
         "inputs: the model classes answers no questions"},
        {"/models/wafers", "{\"inputs\":\"a b\"}", 422, "inputs: "},
        {"/models/vectors", "{\"inputs\":\"a\",\"normalize\":false}", 422, "inputs: normalize: "},
        {"/models/vectors", "{\"inputs\":\"a\",\"parameters\":{\"top_k\":1}}", 422,
         "top_k: a vector"},
        {"/models/vectors", "{\"inputs\":\"a\",\"parameters\":{\"function_to_apply\":\"none\"}}",
         422, "function_to_apply: it is of a model's own labels"},
        {"/models/vectors",
         "{\"inputs\":\"a\",\"truncate\":true,\"parameters\":{\"truncation_direction\":\"Left\"}}",
         422, "$.truncate stands beside $.parameters.truncation_direction: "},
        {"/models/classes", "{\"inputs\":\"a\",\"parameters\":{\"hypothesis_template\":\"a {}\"}}",
         422, "hypothesis_template: it goes with candidate_labels"},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"a\"],\"top_k\":1}}", 422,
         "top_k: a vector, cosines and scores of candidate_labels"},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"truncation_direction\":\"Left\"}}", 422,
         "truncation_direction: "},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"normalize\":1}}", 422,
         "$.parameters.normalize: expected true or false"},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"dimensions\":0}}", 422,
         "$.parameters.dimensions: "},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"prompt_name\":1}}", 422,
         "$.parameters.prompt_name: "},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"truncate\":1}}", 422, "$.parameters.truncate: "},
        {"/", "{\"inputs\":\"a\",\"truncation_direction\":1}", 422, "$.truncation_direction: "},
        {"/", "{\"inputs\":\"a\",\"parameters\":{\"src_lang\":1}}", 422, "$.parameters.src_lang: "},
        {"/", "{\"inputs\":\"a\",\"options\":1}", 422, "$.options: expected an object"},
        {"/", "{\"inputs\":\"a\",\"options\":{\"wait\":true}}", 422, "$.options.wait is not"},
        {"/models/any",
         "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"a\\u0000b\",\"c\"]}}", 422,
         "candidate_labels[0]: must not contain control characters"},
        {"/models/classes/pipeline/zero-shot-classification", "{\"inputs\":\"a\"}", 422,
         "candidate_labels: the task zero-shot-classification needs them"},
        {"/models/wafers/pipeline/zero-shot-image-classification", "{\"inputs\":\"a\"}", 422,
         "candidate_labels: the task zero-shot-image-classification needs them"},
        {"/models/entails/pipeline/text-classification",
         "{\"inputs\":\"a\",\"parameters\":{\"candidate_labels\":[\"a\"]}}", 422,
         "candidate_labels: the task text-classification has none"},
        {"/models/vectors/pipeline/sentence-similarity", "{\"inputs\":\"a\"}", 422,
         "inputs.sentences: the task sentence-similarity needs them"},
        {"/models/vectors/pipeline/feature-extraction",
         "{\"inputs\":{\"source_sentence\":\"a\",\"sentences\":[\"b\"]}}", 422,
         "inputs.sentences: the task feature-extraction has none"},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = ask(cases[i].path, cases[i].body);
        reply_expect_status(&reply, cases[i].status);
        const char *message = reply_text(&reply, "error");
        ck_assert_msg(strncmp(message, cases[i].message, strlen(cases[i].message)) == 0, "%s: %s",
                      cases[i].body, message);
        reply_expect_text(&reply, "error_type", "Validation");
        reply_free(&reply);
    }
    struct reply reply =
        contract_ask(server.port, "POST", "/", "Content-Type: text/plain\r\n", "a");
    reply_expect_status(&reply, 415);
    reply_free(&reply);
    stop();
}
END_TEST

SUITE("contract_hf", hf_answers_labels_of_texts_as_a_list_of_lists,
      hf_reads_pictures_as_files_and_as_base64, hf_answers_vectors_and_cosines,
      hf_compares_the_numbers_that_dimensions_keeps, hf_scores_labels_of_a_text_by_entailment,
      hf_refuses_what_it_cannot_obey)
