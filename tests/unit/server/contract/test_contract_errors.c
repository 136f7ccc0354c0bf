/* The errors of a request's form, over a real socket: 400, 404, 405, 408, 411, 413, 415 and 501.
 * test_contract_unusable.c has well-formed requests without a meaning; test_contract_load.c has the
 * errors of load. */
#include "engine/vision/input_formats.h"
#include "tests/support/contract.h"

#include "engine/base/doc.h"

#include <microhttpd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const options[] = {
    "--body-timeout-ms", "700", "--body-bytes-max", "100000", "--inputs-max", "3", NULL};

#define HEAD "POST /predict HTTP/1.1\r\nHost: h\r\n"

START_TEST(malformed_json_is_400_with_its_byte_offset)
{
    static const struct {
        const char *body, *detail;
    } cases[] = {
        {"{\"text\":\"abc\"", "JSON ends too early at byte 13"},
        {"", "the body is empty; curl --data-binary @FILE sends none if it cannot read FILE"},
        {"{\"text\":nonsense}", "not valid JSON at byte 16 (line 1)"},
        {"{\"text\":\"a\"}\n{}", "more bytes after the JSON value at byte 14"},
        {"{\"text\":\"a\",\"text\":\"b\"}", "duplicate key in a JSON object at byte 18"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct reply reply = contract_post(cases[i].body);
        reply_expect_problem(&reply, 400, "malformed", cases[i].detail);
        reply_free(&reply);
    }
}
END_TEST

/* libmicrohttpd 1.0.x refuses the first two by itself: no problem object. */
START_TEST(bad_framing_is_400_and_closes)
{
    static const char *const heads[] = {
        HEAD "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        "GET /healthz HTTP/1.1\r\n\r\n",
        HEAD "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        struct reply reply = contract_say(heads[i]);
        if (i < 2 && strncmp(MHD_get_version(), "1.", 2) == 0)
            reply_expect_status(&reply, 400);
        else
            reply_expect_problem(&reply, 400, "malformed", "request ");
        ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
        reply_free(&reply);
    }
}
END_TEST

/* libmicrohttpd answers these itself (http.c): no problem object, but still 400 and closed. */
START_TEST(errors_of_the_http_library_are_400_and_close)
{
    static const char *const heads[] = {
        HEAD "Content-Length: 5x\r\n\r\n",
        HEAD "No colon\r\n\r\n",
        HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        struct reply reply = contract_say(heads[i]);
        reply_expect_status(&reply, 400);
        ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
        reply_free(&reply);
    }
}
END_TEST

START_TEST(a_path_that_is_not_there_is_404)
{
    static const char *const paths[] = {"/nothing", "/predict/",   "/models/", "/models/a/b",
                                        "/ui/",     "/ui/nothing", "/admin"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct reply reply = contract_get(paths[i]);
        reply_expect_problem(&reply, 404, "not_found", "there is nothing at this path");
        reply_free(&reply);
    }
}
END_TEST

START_TEST(a_model_that_nobody_serves_is_404_and_not_named)
{
    struct reply reply = contract_post("{\"text\":\"a\",\"model\":\"nobody\"}");
    reply_expect_problem(&reply, 404, "not_found", "$.model: no model of this name is served");
    ck_assert_ptr_null(strstr(reply.answer.body, "nobody"));
    reply_free(&reply);
    reply = contract_post_as("/predict?model=nobody", "text/plain", "a", 1);
    reply_expect_problem(&reply, 404, "not_found", "?model: no model of this name is served");
    reply_free(&reply);
    reply = contract_get("/models/nobody");
    reply_expect_problem(&reply, 404, "not_found", "no model of this name is served");
    ck_assert_ptr_null(strstr(reply.answer.body, "nobody\""));
    reply_free(&reply);
}
END_TEST

START_TEST(another_method_is_405_with_allow)
{
    static const struct {
        const char *method, *path, *allow;
    } cases[] = {
        {"GET", "/predict", "POST"},
        {"DELETE", "/predict", "POST"},
        {"PUT", "/metrics", "GET, HEAD"},
        {"DELETE", "/healthz", "GET, HEAD"},
        {"OPTIONS", "/readyz", "GET, HEAD"},
        {"PATCH", "/models", "GET, HEAD"},
        {"DELETE", "/models/kernel-bert", "POST, GET, HEAD"},
        {"PUT", "/", "POST, GET, HEAD"},
        {"DELETE", "/ui/app.js", "GET, HEAD"},
        {"GET", "/admin/reload", "POST"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct reply reply =
            reply_of(http_request(contract_port(), cases[i].method, cases[i].path, "", NULL, 0));
        reply_expect_problem(&reply, 405, "method_not_allowed", "/");
        ck_assert_str_eq(reply_header(&reply, "Allow"), cases[i].allow);
        reply_free(&reply);
    }
}
END_TEST

START_TEST(a_body_that_stays_away_is_408_with_what_had_come)
{
    struct reply reply = contract_say(HEAD "Content-Length: 50\r\n\r\n{\"text\":");
    reply_expect_problem(&reply, 408, "timeout",
                         "request body: not whole after 700 ms; 8 bytes had arrived");
    ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
    reply_free(&reply);
}
END_TEST

START_TEST(a_post_without_length_is_411)
{
    struct reply reply = contract_say(HEAD "\r\n");
    reply_expect_problem(&reply, 411, "length_required", "request head: this POST needs");
    ck_assert_str_eq(reply_header(&reply, "Connection"), "close");
    reply_free(&reply);
}
END_TEST

START_TEST(a_body_over_the_limit_is_413_with_the_limit)
{
    static const char *const heads[] = {
        HEAD "Content-Length: 100001\r\n\r\n",
        HEAD "Content-Length: 100001\r\nExpect: 100-continue\r\n\r\n",
        HEAD "Content-Length: 18446744073709551615\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        struct reply reply = contract_say(heads[i]);
        const bool is_beyond = i == 2 && strncmp(MHD_get_version(), "1.", 2) == 0;
        reply_expect_problem(&reply, 413, "too_large",
                             is_beyond ? "request body: larger than any limit"
                                       : "request body: larger than 100000 bytes");
        reply_free(&reply);
    }
}
END_TEST

START_TEST(a_chunked_body_over_the_limit_is_413)
{
    char *filler = calloc(1, 100001);
    int fd = http_connect(contract_port());
    ck_assert(http_send_text(fd, HEAD "Transfer-Encoding: chunked\r\n\r\n186a1\r\n"));
    ck_assert(http_send(fd, filler, 100001));
    struct reply reply = reply_of(http_read(fd, false));
    reply_expect_problem(&reply, 413, "too_large", "request body: larger than 100000 bytes");
    reply_free(&reply);
    close(fd);
    free(filler);
}
END_TEST

START_TEST(a_head_over_the_limit_is_413_with_the_limit)
{
    char *filler = calloc(1, 40001);
    memset(filler, 'a', 40000);
    char *request = contract_format("GET /healthz HTTP/1.1\r\nHost: h\r\nX-A: %s\r\n\r\n", filler);
    struct reply reply = contract_say(request);
    reply_expect_problem(&reply, 413, "too_large", "request head: larger than 16384 bytes");
    reply_free(&reply);
    free(request);
    free(filler);
}
END_TEST

START_TEST(more_inputs_than_inputs_max_are_413)
{
    struct reply reply = contract_post(
        "{\"inputs\":[{\"text\":\"a\"},{\"text\":\"b\"},{\"text\":\"c\"},{\"text\":\"d\"}]}");
    reply_expect_problem(&reply, 413, "too_large", "$.inputs: at most 3 inputs, found 4");
    reply_free(&reply);
}
END_TEST

START_TEST(json_nested_too_deep_is_413_with_the_limit)
{
    struct reply reply = contract_post("{\"text\":[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}");
    reply_expect_problem(&reply, 413, "too_large", "JSON nested deeper than 16 levels at byte ");
    reply_free(&reply);
}
END_TEST

START_TEST(another_media_type_is_415)
{
    static const char *const types[] = {"image/gif", "application/xml", "multipart/form-data",
                                        "nonsense"};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct reply reply = contract_post_as("/predict", types[i], "a", 1);
        reply_expect_problem(&reply, 415, "unsupported_media_type",
                             "Content-Type must be application/json, " INPUT_FORMATS_MEDIA_TYPES
                             ", application/x-stdf, application/x-ndjson or text/plain");
        reply_free(&reply);
    }
    struct reply reply = contract_post_as("/predict", "text/plain; charset=ebcdic", "a", 1);
    reply_expect_problem(&reply, 415, "unsupported_media_type", "the charset of text/plain");
    reply_free(&reply);
    reply = contract_post_as("/predict", "text/plain\r\nContent-Encoding: br", "a", 1);
    reply_expect_problem(&reply, 415, "unsupported_media_type", "Content-Encoding");
    reply_free(&reply);
}
END_TEST

/* A body of 70 KB is read on a thread of its own, whose memory others then use. */
START_TEST(a_refusal_carries_the_id_of_its_own_body)
{
    for (int i = 0; i < 64; i++) {
        char id[32];
        snprintf(id, sizeof id, "station-%04d", i);
        char *body = contract_format("{\"id\":\"%s\",%70000s\"text\":5}", id, "");
        struct reply reply = contract_post(body);
        reply_expect_problem(&reply, 422, "unusable", "$.text: expected a string, found a number");
        ck_assert_str_eq(reply_header(&reply, "X-Request-Id"), id);
        reply_free(&reply);
        free(body);
    }
}
END_TEST

START_TEST(a_refusal_carries_the_clients_request_id)
{
    struct reply reply = reply_of(
        http_request(contract_port(), "POST", "/predict", "X-Request-Id: mine-1\r\n", "{", 1));
    reply_expect_problem(&reply, 400, "malformed", "JSON");
    ck_assert_str_eq(reply_header(&reply, "X-Request-Id"), "mine-1");
    reply_expect_text(&reply, "instance", "urn:request:mine-1");
    reply_free(&reply);
}
END_TEST

START_TEST(a_head_request_of_an_error_has_no_body)
{
    int fd = http_connect(contract_port());
    http_send_text(fd, "HEAD /nothing HTTP/1.1\r\nHost: h\r\n\r\n"
                       "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    struct http_answer head = http_read(fd, true), next = http_read(fd, false);
    ck_assert_int_eq(head.status, 404);
    ck_assert_int_eq(next.status, 200);
    http_answer_free(&next);
    close(fd);
}
END_TEST

CONTRACT_SUITE("contract_errors", options, malformed_json_is_400_with_its_byte_offset,
               bad_framing_is_400_and_closes, errors_of_the_http_library_are_400_and_close,
               a_path_that_is_not_there_is_404, a_model_that_nobody_serves_is_404_and_not_named,
               another_method_is_405_with_allow, a_body_that_stays_away_is_408_with_what_had_come,
               a_post_without_length_is_411, a_body_over_the_limit_is_413_with_the_limit,
               a_chunked_body_over_the_limit_is_413, a_head_over_the_limit_is_413_with_the_limit,
               more_inputs_than_inputs_max_are_413, json_nested_too_deep_is_413_with_the_limit,
               another_media_type_is_415, a_refusal_carries_the_clients_request_id,
               a_refusal_carries_the_id_of_its_own_body, a_head_request_of_an_error_has_no_body)
