/* The routes beside /predict, over a real socket: GET, and HEAD wherever there is GET. */
#include "tests/support/contract.h"

#include "engine/base/doc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const options[] = {NULL};

/* HEAD has the head of GET and no body: the next bytes on the connection are the next answer. */
static void expect_get_and_head(const char *path, const char *type)
{
    struct reply get = contract_get(path);
    reply_expect_status(&get, 200);
    ck_assert_str_eq(reply_header(&get, "Content-Type"), type);
    ck_assert_uint_gt(strlen(reply_header(&get, "X-Request-Id")), 0);
    char request[256];
    int fd = http_connect(contract_port());
    snprintf(request, sizeof request,
             "HEAD %s HTTP/1.1\r\nHost: h\r\n\r\nGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", path);
    http_send_text(fd, request);
    struct reply head = reply_of(http_read(fd, true)), next = reply_of(http_read(fd, false));
    reply_expect_status(&head, 200);
    ck_assert_str_eq(reply_header(&head, "Content-Type"), type);
    ck_assert_uint_gt(strtoul(reply_header(&head, "Content-Length"), NULL, 10), 0);
    reply_expect_status(&next, 200);
    reply_free(&next);
    reply_free(&head);
    reply_free(&get);
    close(fd);
}

START_TEST(get_and_head_are_answered)
{
    static const char *const paths[] = {
        "/healthz",     "/readyz", "/models", "/models/wafer-vit", "/models/kernel-bert",
        "/openapi.json"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        expect_get_and_head(paths[i], "application/json");
    expect_get_and_head("/metrics", "text/plain; version=0.0.4; charset=utf-8");
}
END_TEST

/* A character that needs no percent-encoding must be sent without it (framing.c says why). All
 * others are decoded. */
START_TEST(a_path_is_decoded_and_has_one_spelling)
{
    struct reply reply = contract_get("/models/wafer%2Dvit");
    reply_expect_problem(&reply, 400, "malformed",
                         "request target: %2D, at byte 13, must be sent as -");
    reply_free(&reply);
    reply = contract_get("/models/wafer%20vit");
    reply_expect_problem(&reply, 404, "not_found", "no model of this name is served");
    reply_free(&reply);
}
END_TEST

START_TEST(models_lists_them_in_the_order_given)
{
    struct reply reply = contract_get("/models");
    ck_assert_uint_eq(reply_count(&reply, "models"), 2);
    reply_expect_text(&reply, "models.0.name", "wafer-vit");
    reply_expect_text(&reply, "models.1.name", "kernel-bert");
    reply_free(&reply);
}
END_TEST

START_TEST(a_model_tells_its_labels_sizes_dtype_and_limits)
{
    struct reply reply = contract_get("/models/wafer-vit");
    reply_expect_text(&reply, "version", "1");
    reply_expect_text(&reply, "kind", "image");
    reply_expect_text(&reply, "dtype", "f32");
    reply_expect_text(&reply, "dtype_asked", "f32");
    ck_assert(contract_at(reply.json, "dtype_reason") == NULL);
    ck_assert_uint_gt(strlen(reply_text(&reply, "kernels")), 0);
    ck_assert_double_eq(reply_number(&reply, "inputs_max"), 64);
    ck_assert_double_eq(reply_number(&reply, "body_bytes_max"), 33554432);
    ck_assert_double_eq(reply_number(&reply, "image_pixels_max"), 33554432);
    ck_assert_double_eq(reply_number(&reply, "request_pixels_max"), 134217728);
    ck_assert_uint_eq(reply_count(&reply, "labels"), 9);
    ck_assert_double_eq(reply_number(&reply, "image_height"), 48);
    ck_assert_double_eq(reply_number(&reply, "patch_size"), 4);
    reply_free(&reply);
    reply = contract_get("/models/kernel-bert");
    reply_expect_text(&reply, "kind", "text");
    ck_assert_uint_eq(reply_count(&reply, "labels"), 10);
    ck_assert_double_gt(reply_number(&reply, "tokens_max"), 0);
    ck_assert_double_gt(reply_number(&reply, "parameters"), 0);
    ck_assert_double_eq(reply_number(&reply, "inputs_max"), 64);
    ck_assert_ptr_null(contract_at(reply.json, "image_pixels_max"));
    ck_assert_ptr_null(contract_at(reply.json, "request_pixels_max"));
    reply_free(&reply);
}
END_TEST

static bool has_digest(const char *path)
{
    struct reply reply = contract_get(path);
    const bool has = contract_at(reply.json, "digest") != NULL;
    ck_assert(has || strstr(reply.answer.body, "\"digest\":null") != NULL);
    reply_free(&reply);
    return has;
}

/* The digest is computed after readiness, so it is null for a moment. */
START_TEST(a_digest_is_null_or_sha256_and_comes_by_itself)
{
    suite_await(has_digest("/models/kernel-bert"));
    struct reply reply = contract_get("/models/kernel-bert");
    const char *digest = reply_text(&reply, "digest");
    ck_assert_int_eq(strncmp(digest, "sha256:", 7), 0);
    ck_assert_uint_eq(strspn(digest + 7, "0123456789abcdef"), 64);
    ck_assert_uint_eq(strlen(digest), 7 + 64);
    reply_free(&reply);
}
END_TEST

static const char *const families[] = {
    "attnd_requests_total",
    "attnd_request_duration_seconds",
    "attnd_stage_duration_seconds",
    "attnd_predictions_total",
    "attnd_prediction_score",
    "attnd_ood_score",
    "attnd_batch_rows",
    "attnd_batch_tokens",
    "attnd_queue_depth",
    "attnd_queue_limit",
    "attnd_memory_max_bytes",
    "attnd_memory_fixed_bytes",
    "attnd_memory_reserved_bytes",
    "attnd_requests_in_flight",
    "attnd_rejected_total",
    "attnd_clients_gone_total",
    "attnd_model_info",
    "attnd_model_load_duration_seconds",
    "attnd_build_info",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
    "process_max_fds",
};

START_TEST(metrics_have_every_family_of_the_contract)
{
    char *type;
    struct reply reply = contract_post("{\"text\":\"a\"}");
    reply_free(&reply);
    reply = contract_get("/metrics");
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        type = contract_format("# TYPE %s ", families[i]);
        ck_assert_msg(strstr(reply.answer.body, type) != NULL, "no %s", families[i]);
        free(type);
    }
    reply_free(&reply);
}
END_TEST

static bool metrics_have(const char *text)
{
    struct reply reply = contract_get("/metrics");
    const bool have = strstr(reply.answer.body, text) != NULL;
    reply_free(&reply);
    return have;
}

/* A request is counted after its reply. */
START_TEST(metrics_count_what_was_answered_and_refused)
{
    struct reply reply = contract_post("{\"text\":\"a\"}");
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = contract_post("{\"text\":\"\"}");
    reply_expect_status(&reply, 422);
    reply_free(&reply);
    suite_await(metrics_have(
        "attnd_requests_total{route=\"/predict\",model=\"kernel-bert\",code=\"200\"} "));
    suite_await(metrics_have("attnd_rejected_total{reason=\"unusable\"} "));
    suite_await(metrics_have("model=\"kernel-bert\",label=\""));
}
END_TEST

CONTRACT_SUITE("contract_routes", options, get_and_head_are_answered,
               a_path_is_decoded_and_has_one_spelling, models_lists_them_in_the_order_given,
               a_model_tells_its_labels_sizes_dtype_and_limits,
               a_digest_is_null_or_sha256_and_comes_by_itself,
               metrics_have_every_family_of_the_contract,
               metrics_count_what_was_answered_and_refused)
