/* TensorFlow Serving's POST /v1/models/{model}:predict in the program, beside native answers. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server_process server;

static void start(void)
{
    server_process_start(&server,
                         (const char *[]){"--model", "classes=tests/data/golden/bert-5", "--model",
                                          "wafers=tests/data/golden/vit-0", "--model",
                                          "vectors=tests/data/embedding/st-bert-0", NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static struct reply ask(const char *path, const char *body)
{
    return contract_ask(server.port, "POST", path, "Content-Type: application/json\r\n", body);
}

START_TEST(tf_answers_each_instance_as_the_native_route_does)
{
    start();
    struct reply native = ask("/predict", "{\"inputs\":[{\"text\":\"scan\"},{\"text\":\"scan\","
                                          "\"text_pair\":\"pin 7\"}]}");
    struct reply reply = ask("/v1/models/classes:predict",
                             "{\"signature_name\":\"serving_default\",\"instances\":[\"scan\","
                             "{\"text\":\"scan\",\"text_pair\":\"pin 7\"}]}");
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "predictions"), 2);
    for (int i = 0; i < 2; i++) {
        char found[64], right[64];
        snprintf(found, sizeof found, "predictions.%d.label", i);
        snprintf(right, sizeof right, "results.%d.label", i);
        reply_expect_text(&reply, found, reply_text(&native, right));
        snprintf(found, sizeof found, "predictions.%d.score", i);
        snprintf(right, sizeof right, "results.%d.score", i);
        ck_assert_double_eq_tol(reply_number(&reply, found), reply_number(&native, right), 1e-6);
    }
    ck_assert_uint_eq(reply_count(&reply, "predictions.0.logits"), 3);
    reply_free(&native);
    reply_free(&reply);
    native = ask("/predict", "{\"model\":\"vectors\",\"text\":\"scan\"}");
    reply = ask("/v1/models/vectors/versions/1:predict", "{\"instances\":[\"scan\"]}");
    ck_assert_uint_eq(reply_count(&reply, "predictions.0"), reply_count(&native, "embedding"));
    ck_assert_double_eq_tol(reply_number(&reply, "predictions.0.7"),
                            reply_number(&native, "embedding.7"), 1e-6);
    reply_free(&native);
    reply_free(&reply);
    stop();
}
END_TEST

START_TEST(tf_reads_pictures_as_objects_of_base64)
{
    start();
    char *image = contract_file_base64("tests/data/examples/wafer_map.png");
    char *body = contract_format("{\"instances\":[{\"b64\":\"%s\"},{\"image\":{\"b64\":\"%s\"}}]}",
                                 image, image);
    char *question = contract_format("{\"image\":\"%s\"}", image);
    struct reply native = ask("/predict", question);
    struct reply reply = ask("/v1/models/wafers:predict", body);
    reply_expect_text(&reply, "predictions.0.label", reply_text(&native, "label"));
    reply_expect_text(&reply, "predictions.1.label", reply_text(&native, "label"));
    reply_free(&native);
    reply_free(&reply);
    free(image);
    free(body);
    free(question);
    stop();
}
END_TEST

START_TEST(tf_refuses_what_it_cannot_obey)
{
    static const struct {
        const char *path, *body;
        int status;
        const char *message;
    } cases[] = {
        {"/v1/models/none:predict", "{\"instances\":[\"a\"]}", 404, "model: no model of this name"},
        {"/v1/models/classes/versions/2:predict", "{\"instances\":[\"a\"]}", 404,
         "version: the model has no such version"},
        {"/v1/models/classes:predict", "{\"inputs\":[\"a\"]}", 422, "$.inputs is not supported"},
        {"/v1/models/classes:predict", "{\"instances\":\"a\"}", 422, "instances: expected a list"},
        {"/v1/models/classes:predict", "{\"instances\":[]}", 422, "instances: the array is empty"},
        {"/v1/models/classes:predict", "{\"instances\":[\"a\",[\"b\"]]}", 422,
         "instances[1]: expected a text"},
        {"/v1/models/classes:predict", "{\"instances\":[{\"txt\":\"a\"}]}", 422,
         "instances[0].txt"},
        {"/v1/models/classes:predict", "{\"instances\":[{\"b64\":\"?\"}]}", 422, "instances[0]: "},
        {"/v1/models/classes:predict",
         "{\"instances\":[{\"image\":{\"b64\":\"AAAA\",\"crop\":1}}]}", 422, "instances[0].image"},
        {"/v1/models/classes:predict", "{\"instances\":[{\"image\":\"AAAA\"}]}", 422,
         "instances[0].image: expected {\"b64\": "},
        {"/v1/models/classes:predict", "{\"instances\":[\"a\"],\"signature_name\":\"b\"}", 422,
         "signature_name: expected serving_default"},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = ask(cases[i].path, cases[i].body);
        reply_expect_status(&reply, cases[i].status);
        const char *message = reply_text(&reply, "error");
        ck_assert_msg(strncmp(message, cases[i].message, strlen(cases[i].message)) == 0, "%s: %s",
                      cases[i].body, message);
        reply_free(&reply);
    }
    stop();
}
END_TEST

SUITE("contract_tf", tf_answers_each_instance_as_the_native_route_does,
      tf_reads_pictures_as_objects_of_base64, tf_refuses_what_it_cannot_obey)
