/* Labels that come with a request, in the program, beside a CLIP that transformers answered. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/data/golden/clip-0"
#define IMAGES "tests/data/golden/images/"

static struct server_process server;

static void start(void)
{
    server_process_start(&server, (const char *[]){"--model", "any=" MODEL, "--model",
                                                   "fixed=tests/data/golden/vit-0",
                                                   "--uncalibrated", "auto", NULL});
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

/* A call with a picture, to which members are added. */
static json_t *call_of(const char *picture, const char *model)
{
    char path[256];
    snprintf(path, sizeof path, IMAGES "%s", picture);
    char *image = contract_file_base64(path);
    json_t *call = json_pack("{s:s,s:s}", "image", image, "model", model);
    free(image);
    return call;
}

static double score_of(const struct reply *reply, const char *label)
{
    const json_t *predictions = contract_at(reply->json, "predictions");
    const json_t *one;
    size_t i;
    json_array_foreach(predictions, i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "label")), label) == 0)
            return json_number_value(json_object_get(one, "score"));
    }
    ck_abort_msg("no label %s", label);
}

static void check(const json_t *one)
{
    const json_t *labels = json_object_get(one, "candidate_labels"), *label;
    const json_t *shares = json_object_get(one, "probs");
    json_t *call = call_of(json_string_value(json_object_get(one, "image")), "any");
    size_t i;
    json_object_set(call, "candidate_labels", (json_t *)(uintptr_t)labels);
    json_object_set(call, "hypothesis_template", json_object_get(one, "hypothesis_template"));
    json_object_set_new(call, "top_k", json_string("all"));
    struct reply reply = ask(call);
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "predictions"), json_array_size(labels));
    json_array_foreach(labels, i, label)
    {
        const double expected = json_number_value(json_array_get(shares, i));
        ck_assert_double_eq_tol(score_of(&reply, json_string_value(label)), expected, 1e-4);
    }
    reply_free(&reply);
    json_decref(call);
}

/* Twice: the second time the labels are known. */
START_TEST(images_have_the_scores_of_transformers_in_given_labels)
{
    json_t *cases = json_load_file(MODEL "/cases.json", 0, NULL);
    const json_t *one;
    size_t i;
    start();
    for (int round = 0; round < 2; round++)
        json_array_foreach(cases, i, one)
        {
            check(one);
        }
    json_decref(cases);
    stop();
}
END_TEST

static void expect(const char *model, const char *members, int status, const char *detail)
{
    json_t *call = call_of("0_center.png", model),
           *more = json_loads(members, JSON_ALLOW_NUL, NULL);
    json_object_update(call, more);
    struct reply reply = ask(call);
    reply_expect_problem(&reply, status, "unusable", detail);
    reply_free(&reply);
    json_decref(more);
    json_decref(call);
}

START_TEST(zero_shot_refuses_bad_labels_by_their_place)
{
    static const struct {
        const char *model, *members, *detail;
    } wrong[] = {
        {"any", "{}", "$.image: the model any is zero-shot and has no labels of its own"},
        {"fixed", "{\"candidate_labels\": [\"a\"]}",
         "$.image: candidate_labels: the labels of the model fixed are fixed"},
        {"any", "{\"candidate_labels\": []}", "$.candidate_labels: empty"},
        {"any", "{\"candidate_labels\": \"a\"}", "$.candidate_labels: expected an array"},
        {"any", "{\"candidate_labels\": [\"a\", true]}",
         "$.candidate_labels[1]: expected a string"},
        {"any", "{\"candidate_labels\": [\"a\", \"\"]}", "$.candidate_labels[1]: empty"},
        {"any", "{\"candidate_labels\": [\"a\", \"a\"]}", "$.candidate_labels[1]: the same as"},
        {"any", "{\"candidate_labels\": [\"a\\u0000\"]}",
         "$.candidate_labels[0]: must not contain control characters"},
        {"any", "{\"candidate_labels\": [\"a\"], \"hypothesis_template\": \"{} {}\"}",
         "$.hypothesis_template: must have \"{}\""},
        {"any", "{\"candidate_labels\": [\"a\"], \"hypothesis_template\": 3}",
         "$.hypothesis_template: expected a string"},
        {"any", "{\"hypothesis_template\": \"a {}\"}",
         "$.hypothesis_template: it goes with candidate_labels"},
        {"any", "{\"candidate_label\": [\"a\"]}",
         "$.candidate_label: unknown member; did you mean \"candidate_labels\"?"},
    };
    start();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect(wrong[i].model, wrong[i].members, 422, wrong[i].detail);
    stop();
}
END_TEST

/* A raw body with its labels in the query, one by one or as JSON. */
START_TEST(a_raw_picture_has_its_labels_in_the_query)
{
    static const char *const queries[] = {
        "candidate_labels=center&candidate_labels=edge%20ring&hypothesis_template=a+%7B%7D",
        "candidate_labels=%5B%22center%22,%22edge+ring%22%5D&hypothesis_template=a%20%7B%7D",
    };
    double scores[2];
    size_t len;
    char *bytes = contract_file(IMAGES "0_center.png", &len);
    start();
    for (int i = 0; i < 2; i++) {
        char *path = contract_format("/predict?model=any&%s", queries[i]);
        struct reply reply = reply_of(
            http_request(server.port, "POST", path, "Content-Type: image/png\r\n", bytes, len));
        reply_expect_status(&reply, 200);
        scores[i] = reply_number(&reply, "score");
        reply_free(&reply);
        free(path);
    }
    ck_assert_double_eq(scores[0], scores[1]);
    free(bytes);
    stop();
}
END_TEST

/* Clients choose the texts of labels: they become no series. */
START_TEST(labels_of_requests_are_one_series_of_the_metrics)
{
    start();
    for (int i = 0; i < 3; i++) {
        json_t *call = call_of("0_center.png", "any");
        json_object_set_new(call, "candidate_labels", json_pack("[o]", json_sprintf("mine %d", i)));
        struct reply reply = ask(call);
        reply_expect_status(&reply, 200);
        reply_free(&reply);
        json_decref(call);
    }
    struct reply metrics = contract_ask(server.port, "GET", "/metrics", "", NULL);
    ck_assert_ptr_null(strstr(metrics.answer.body, "mine"));
    ck_assert_ptr_nonnull(
        strstr(metrics.answer.body,
               "attnd_predictions_total{model=\"any\",label=\"other\",decision=\"auto\"} 3"));
    reply_free(&metrics);
    stop();
}
END_TEST

/* A thousand labels are encoded while others are answered, and once. */
START_TEST(many_labels_are_encoded_once_and_explained)
{
    json_t *call = call_of("0_center.png", "any"), *labels = json_array();
    start();
    for (int i = 0; i < 1000; i++)
        json_array_append_new(labels, json_sprintf("defect %d", i));
    json_object_set_new(call, "candidate_labels", labels);
    json_object_set_new(call, "explain", json_string("gradient"));
    for (int i = 0; i < 2; i++) {
        struct reply reply = ask(call);
        reply_expect_status(&reply, 200);
        ck_assert_uint_eq(reply_count(&reply, "explanation.relevance"), 16);
        reply_free(&reply);
    }
    json_array_append_new(labels, json_string("one more"));
    struct reply reply = ask(call);
    reply_expect_problem(&reply, 422, "unusable",
                         "$.candidate_labels: at most 1000 labels, found 1001");
    reply_free(&reply);
    json_decref(call);
    stop();
}
END_TEST

/* The record of such an answer says its label. It does not count towards the model's accuracy. */
START_TEST(the_audit_log_has_the_label_and_feedback_is_refused)
{
    struct tempdir dir;
    char path[128];
    size_t len;
    tempdir_open(&dir);
    server_process_start(&server,
                         (const char *[]){"--model", "any=" MODEL, "--audit-dir", dir.path, NULL});
    json_t *call = call_of("0_center.png", "any");
    json_object_update_new(
        call, json_pack("{s:[s],s:s}", "candidate_labels", "caf\u00e9 \"x\"", "id", "die-1"));
    struct reply reply = ask(call);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply =
        contract_ask(server.port, "POST", "/feedback", "", "{\"id\": \"die-1\", \"label\": \"a\"}");
    reply_expect_problem(&reply, 404, "not_found", "$.id: no prediction with this id and index");
    reply_free(&reply);
    json_decref(call);
    stop();
    snprintf(path, sizeof path, "%s/attnd-audit-000000000001.jsonl", dir.path);
    char *log = contract_file(path, &len);
    ck_assert_ptr_nonnull(strstr(log, "\"label\":\"caf\u00e9 \\\"x\\\"\""));
    ck_assert_ptr_nonnull(strstr(log, "\"candidate_labels\":1,\"hypothesis_template\":"));
    free(log);
    tempdir_close(&dir);
}
END_TEST

START_TEST(models_say_that_they_take_labels)
{
    start();
    struct reply any = contract_ask(server.port, "GET", "/models/any", "", NULL);
    struct reply fixed = contract_ask(server.port, "GET", "/models/fixed", "", NULL);
    ck_assert(json_is_true(contract_at(any.json, "zero_shot")));
    ck_assert_uint_eq(reply_count(&any, "labels"), 0);
    reply_expect_text(&any, "hypothesis_template", "This is a photo of {}.");
    ck_assert(json_is_false(contract_at(fixed.json, "zero_shot")));
    ck_assert_ptr_null(contract_at(fixed.json, "hypothesis_template"));
    reply_free(&any);
    reply_free(&fixed);
    stop();
}
END_TEST

SUITE("contract_zero_shot", images_have_the_scores_of_transformers_in_given_labels,
      zero_shot_refuses_bad_labels_by_their_place, a_raw_picture_has_its_labels_in_the_query,
      labels_of_requests_are_one_series_of_the_metrics, many_labels_are_encoded_once_and_explained,
      the_audit_log_has_the_label_and_feedback_is_refused, models_say_that_they_take_labels)
