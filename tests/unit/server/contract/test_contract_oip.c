/* The Open Inference Protocol in the program, beside the native answers: tensors in JSON and in
 * binary, what is refused, and the routes beside inference. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INFER "/v2/models/classes/infer"
#define TEXT(shape, more)                                                                          \
    "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":" shape "," more "}]}"

static struct server_process server;

static void start(void)
{
    server_process_start(&server,
                         (const char *[]){"--model", "classes=tests/data/golden/bert-5", "--model",
                                          "wafers=tests/data/golden/vit-0", "--model",
                                          "vectors=tests/data/embedding/st-bert-0", "--model",
                                          "tags=tests/data/tags/ner-bert-0", "--models-root",
                                          "tests/data", NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static struct reply ask(const char *path, const char *body)
{
    return contract_ask(server.port, "POST", path, "Content-Type: application/json\r\n", body);
}

static struct reply get(const char *path)
{
    return contract_ask(server.port, "GET", path, "", NULL);
}

static void expect_number(const struct reply *reply, const char *path, double right)
{
    ck_assert_double_eq_tol(reply_number(reply, path), right, 1e-6);
}

START_TEST(oip_answers_tensors_in_json)
{
    start();
    struct reply native = ask("/predict", "{\"top_k\":\"all\",\"inputs\":[{\"text\":\"scan\"},"
                                          "{\"text\":\"pin 7\"}]}");
    struct reply reply = ask(INFER, TEXT("[2]", "\"data\":[\"scan\",[\"pin 7\"]]"));
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "model_name", "classes");
    reply_expect_text(&reply, "model_version", "1");
    ck_assert_uint_eq(reply_count(&reply, "outputs"), 4);
    for (int i = 0; i < 2; i++) {
        char found[64], right[64];
        snprintf(found, sizeof found, "outputs.0.data.%d", i);
        snprintf(right, sizeof right, "results.%d.label", i);
        reply_expect_text(&reply, found, reply_text(&native, right));
        snprintf(found, sizeof found, "outputs.1.data.%d", i);
        snprintf(right, sizeof right, "results.%d.score", i);
        expect_number(&reply, found, reply_number(&native, right));
    }
    reply_expect_text(&reply, "outputs.2.name", "scores");
    ck_assert_uint_eq(reply_count(&reply, "outputs.2.data"), 6);
    ck_assert_double_eq(reply_number(&reply, "outputs.2.shape.1"), 3);
    reply_free(&reply);
    reply =
        ask("/v2/models/classes/versions/1/infer",
            "{\"id\":\"x7\",\"model_name\":\"classes\",\"inputs\":[{\"name\":\"text\",\"shape\":"
            "[1,1],\"datatype\":\"BYTES\",\"data\":[\"scan\"]}],\"outputs\":[{\"name\":"
            "\"scores\",\"parameters\":{\"classification\":2}}]}");
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "id", "x7");
    reply_expect_text(&reply, "outputs.0.datatype", "BYTES");
    ck_assert_uint_eq(reply_count(&reply, "outputs.0.data"), 2);
    const char *class = reply_text(&reply, "outputs.0.data.0");
    ck_assert_double_eq_tol(strtod(class, NULL), reply_number(&native, "results.0.score"), 1e-6);
    ck_assert_str_eq(strrchr(class, ':') + 1, reply_text(&native, "results.0.label"));
    reply_free(&reply);
    reply_free(&native);
    stop();
}
END_TEST

/* The body of two texts behind their JSON, and its length in *len. */
static char *binary_body(const char *json, const char *tail, size_t tail_len, size_t *len)
{
    const size_t json_len = strlen(json);
    char *body = malloc(json_len + tail_len);
    ck_assert_ptr_nonnull(body);
    memcpy(body, json, json_len);
    memcpy(body + json_len, tail, tail_len);
    *len = json_len + tail_len;
    return body;
}

static struct reply ask_binary(const char *json, const char *tail, size_t tail_len, size_t told)
{
    char headers[128];
    size_t len;
    char *body = binary_body(json, tail, tail_len, &len);
    snprintf(headers, sizeof headers,
             "Content-Type: application/octet-stream\r\n"
             "Inference-Header-Content-Length: %zu\r\n",
             told);
    struct reply reply = reply_of(http_request(server.port, "POST", INFER, headers, body, len));
    free(body);
    return reply;
}

#define BINARY(size) TEXT("[2]", "\"parameters\":{\"binary_data_size\":" size "}")

START_TEST(oip_reads_and_answers_binary_data)
{
    static const char tail[] = "\x04\0\0\0scan\x05\0\0\0pin 7";
    static const char json[] =
        "{\"parameters\":{\"binary_data_output\":true},\"inputs\":[{\"name\":\"text\",\"shape\":[2]"
        ","
        "\"datatype\":\"BYTES\",\"parameters\":{\"binary_data_size\":17}}],\"outputs\":[{\"name\":"
        "\"label\"},{\"name\":\"score\",\"parameters\":{\"binary_data\":false}},{\"name\":"
        "\"logits\"}]}";
    start();
    struct reply right = ask(INFER, TEXT("[2]", "\"data\":[\"scan\",\"pin 7\"]"));
    struct reply reply = ask_binary(json, tail, sizeof tail - 1, strlen(json));
    reply_expect_status(&reply, 200);
    ck_assert_str_eq(reply_header(&reply, "Content-Type"), "application/octet-stream");
    const size_t json_len =
        strtoul(reply_header(&reply, "Inference-Header-Content-Length"), NULL, 10);
    json_t *head = json_loadb(reply.answer.body, json_len, 0, NULL);
    ck_assert_ptr_nonnull(head);
    const char *at = reply.answer.body + json_len;
    for (int i = 0; i < 2; i++) {
        char path[64];
        unsigned len;
        memcpy(&len, at, sizeof len);
        snprintf(path, sizeof path, "outputs.0.data.%d", i);
        const char *label = reply_text(&right, path);
        ck_assert_uint_eq(len, strlen(label));
        ck_assert_mem_eq(at + 4, label, len);
        at += 4 + len;
    }
    for (int i = 0; i < 6; i++, at += sizeof(float)) {
        char path[64];
        float number;
        memcpy(&number, at, sizeof number);
        snprintf(path, sizeof path, "outputs.3.data.%d", i);
        ck_assert_double_eq_tol((double)number, reply_number(&right, path), 1e-6);
    }
    ck_assert_ptr_eq(at, reply.answer.body + reply.answer.body_len);
    ck_assert_double_eq(
        json_number_value(contract_at(head, "outputs.2.parameters.binary_data_size")), 24);
    ck_assert_uint_eq(json_array_size(contract_at(head, "outputs.1.data")), 2);
    json_decref(head);
    reply_free(&reply);
    reply_free(&right);
    stop();
}
END_TEST

START_TEST(oip_reads_pictures_and_answers_vectors)
{
    start();
    char *image = contract_file_base64("tests/data/examples/wafer_map.png");
    char *body =
        contract_format("{\"inputs\":[{\"name\":\"image\",\"datatype\":\"BYTES\",\"shape\":"
                        "[1],\"data\":[\"%s\"]}]}",
                        image);
    char *question = contract_format("{\"image\":\"%s\",\"model\":\"wafers\"}", image);
    struct reply reply = ask("/v2/models/wafers/infer", body), native = ask("/predict", question);
    reply_expect_text(&reply, "outputs.0.data.0", reply_text(&native, "label"));
    expect_number(&reply, "outputs.1.data.0", reply_number(&native, "score"));
    reply_free(&reply);
    reply_free(&native);
    reply = ask("/v2/models/vectors/infer", TEXT("[1]", "\"data\":[\"scan\"]"));
    native = ask("/predict", "{\"model\":\"vectors\",\"text\":\"scan\"}");
    ck_assert_uint_eq(reply_count(&reply, "outputs.0.data"), reply_count(&native, "embedding"));
    expect_number(&reply, "outputs.0.data.7", reply_number(&native, "embedding.7"));
    reply_free(&reply);
    reply_free(&native);
    free(image);
    free(body);
    free(question);
    stop();
}
END_TEST

START_TEST(oip_refuses_tensors_that_do_not_fit)
{
    static const struct {
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {"{}", 422, "inputs: expected one tensor, or two"},
        {"{\"inputs\":[{\"name\":\"input\"}]}", 422, "inputs[0].name: expected text or image"},
        {TEXT("[2]", "\"data\":[\"a\"]"), 422, "text.data: expected 2 elements, found 1"},
        {TEXT("[0]", "\"data\":[]"), 422, "text: the array is empty"},
        {TEXT("[1]", "\"data\":[[\"a\",\"b\"]]"), 422,
         "text[0]: expected one element, found a list of 2"},
        {TEXT("[1,1]", "\"data\":[[]]"), 422, "text[0]: expected one element, found a list of 0"},
        {TEXT("[-1]", "\"data\":[\"a\"]"), 422, "text.shape: expected [rows]"},
        {TEXT("[1,2]", "\"data\":[\"a\"]"), 422, "text.shape: expected [rows]"},
        {TEXT("[1,1,1]", "\"data\":[\"a\"]"), 422, "text.shape: expected [rows]"},
        {TEXT("[65]", "\"parameters\":{\"binary_data_size\":0}"), 413, "text: at most 64 texts"},
        {TEXT("[9007199254740993]", "\"data\":[\"a\"]"), 422, "text.data: expected 4294967295"},
        {TEXT("[1]", "\"data\":[1]"), 422, "text[0]: expected a text"},
        {TEXT("[1]", "\"data\":[\"\"]"), 422, "text[0]: empty"},
        {TEXT("[1]", "\"parameters\":{\"binary_data_size\":9}"), 422,
         "text: binary_data_size is 9, of the binary data 0 bytes are left"},
        {"{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]}]}", 422,
         "text.datatype: expected BYTES"},
        {"{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}],"
         "\"outputs\":[{\"name\":\"embedding\"}]}",
         422, "text[0]: the model classes answers no vectors"},
        {"{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}],"
         "\"outputs\":[{\"name\":\"label\"},{\"name\":\"embedding\"}]}",
         422, "embedding: vectors and their options do not go with scores"},
        {"{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}],"
         "\"outputs\":[{\"name\":\"label\",\"parameters\":{\"classification\":1}}]}",
         422, "label: classification is of scores or logits alone"},
        {"{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}],"
         "\"parameters\":{\"sequence_id\":1}}",
         422, "$.parameters.sequence_id is not supported"},
        {"{\"model_name\":\"b\",\"inputs\":[]}", 422, "$.model_name: the path names another model"},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = ask(INFER, cases[i].body);
        reply_expect_status(&reply, cases[i].status);
        const char *message = reply_text(&reply, "error");
        ck_assert_msg(strncmp(message, cases[i].message, strlen(cases[i].message)) == 0, "%s: %s",
                      cases[i].body, message);
        reply_free(&reply);
    }
    static const struct {
        const char *json, *tail;
        size_t tail_len, told;
        const char *message;
    } binary[] = {
        {BINARY("4"), "\x01\0\0\0", 4, 0,
         "text[0]: the element has 1 bytes, of binary_data_size 0"},
        {BINARY("3"), "\x01\0\0", 3, 0, "text[0]: binary_data_size ends before"},
        {BINARY("8"), "\xFF\xFF\xFF\xFFghij", 8, 0, "text[0]: the element has 4294967295 bytes"},
        {BINARY("10"), "\x01\0\0\0a\x01\0\0\0\xFF", 10, 0, "text[1]: invalid UTF-8 at byte 0"},
        {BINARY("10"), "\x01\0\0\0a\x01\0\0\0bc", 11, 0, "1 bytes of binary data are no tensor's"},
        {BINARY("11"), "\x01\0\0\0a\x01\0\0\0bc", 11, 0, "text: 1 bytes of binary_data_size are"},
        {BINARY("4"), "", 0, 1000, "Inference-Header-Content-Length: the body has only"},
    };
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        const size_t told = binary[i].told != 0 ? binary[i].told : strlen(binary[i].json);
        struct reply reply = ask_binary(binary[i].json, binary[i].tail, binary[i].tail_len, told);
        reply_expect_status(&reply, 422);
        const char *message = reply_text(&reply, "error");
        ck_assert_msg(strncmp(message, binary[i].message, strlen(binary[i].message)) == 0, "%s",
                      message);
        reply_free(&reply);
    }
    stop();
}
END_TEST

START_TEST(oip_tells_models_and_loads_them)
{
    static const char *const paths[] = {"/v2",
                                        "/v2/health/live",
                                        "/v2/health/ready",
                                        "/v2/models/classes/ready",
                                        "/v2/models/classes/versions/1",
                                        "/v2/models/classes/versions/1/ready",
                                        "/v2/models/classes/versions/1/stats",
                                        "/v2/models/stats"};
    start();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct reply reply = get(paths[i]);
        reply_expect_status(&reply, 200);
        reply_free(&reply);
    }
    struct reply reply = get("/v2/models/tags"); /* which infer cannot answer */
    ck_assert_uint_eq(json_array_size(contract_at(reply.json, "outputs")), 0);
    reply_free(&reply);
    reply = get("/v2/models/classes");
    reply_expect_text(&reply, "inputs.0.name", "text");
    reply_expect_text(&reply, "outputs.3.name", "logits");
    reply_free(&reply);
    reply = get("/v2/models/none/ready");
    reply_expect_problem(&reply, 404, "not_found", "no such model is served");
    reply_free(&reply);
    reply = ask(INFER, TEXT("[1]", "\"data\":[\"a\"]"));
    reply_free(&reply);
    reply = get("/v2/models/classes/stats");
    ck_assert_double_eq(reply_number(&reply, "model_stats.0.inference_count"), 1);
    reply_free(&reply);
    reply = ask("/v2/repository/models/more/load", "{\"parameters\":{\"dir\":\"golden/bert-3\"}}");
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = ask("/v2/repository/index", "");
    ck_assert_uint_eq(json_array_size(reply.json), 5);
    reply_free(&reply);
    reply =
        ask("/v2/repository/models/more/unload", "{\"parameters\":{\"unload_dependents\":false}}");
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = ask("/v2/repository/models/more/unload", "");
    reply_expect_problem(&reply, 404, "not_found", "no model of this name is served");
    reply_free(&reply);
    reply = ask("/v2/repository/models/more/load", "{\"parameters\":{\"dir\":\"../x\"}}");
    reply_expect_status(&reply, 422);
    reply_free(&reply);
    stop();
}
END_TEST

START_TEST(oip_repository_takes_objects_with_known_members_alone)
{
    static const char *const paths[] = {"/v2/repository/index",
                                        "/v2/repository/models/classes/load",
                                        "/v2/repository/models/classes/unload"};
    static const char *const bodies[] = {"[]", "5", "{\"other\":1}", "{\"parameters\":5}",
                                         "{\"parameters\":[]}"};
    start();
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 5; k++) {
            struct reply reply = ask(paths[i], bodies[k]);
            reply_expect_problem(&reply, 422, "unusable", "$");
            reply_free(&reply);
        }
    struct reply reply = ask("/v2/repository/index", "{\"ready\":1}");
    reply_expect_problem(&reply, 422, "unusable", "$.ready: expected true or false");
    reply_free(&reply);
    reply = ask("/v2/repository/index", "{");
    reply_expect_status(&reply, 400);
    reply_free(&reply);
    reply = ask("/v2/repository/index", "{\"ready\":true}");
    ck_assert_uint_eq(json_array_size(reply.json), 4);
    reply_free(&reply);
    stop();
}
END_TEST

SUITE("contract_oip", oip_answers_tensors_in_json, oip_reads_and_answers_binary_data,
      oip_reads_pictures_and_answers_vectors, oip_refuses_tensors_that_do_not_fit,
      oip_tells_models_and_loads_them, oip_repository_takes_objects_with_known_members_alone)
