/* Answers to a good POST /predict, over a real socket: every way to send an input, the options, ids
 * and context, several inputs at once. */
#include "server/api/route.h"
#include "tests/support/contract.h"

#include "engine/base/doc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAFER_MAP "tests/data/examples/wafer_map.png"
#define REPORT "tests/data/examples/kernel_report.txt"

enum { IMAGE_LABELS = 9, TEXT_LABELS = 10 };

static const char *const options[] = {NULL};

/* Falling scores that are probabilities; the first is the answer. */
static void expect_predictions(const struct reply *reply, size_t count)
{
    char path[64];
    double previous = 1;
    ck_assert_uint_eq(reply_count(reply, "predictions"), count);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "predictions.%zu.score", i);
        double score = reply_number(reply, path);
        ck_assert_double_ge(score, 0);
        ck_assert_double_le(score, previous);
        previous = score;
    }
    reply_expect_text(reply, "label", reply_text(reply, "predictions.0.label"));
    ck_assert_double_eq(reply_number(reply, "score"), reply_number(reply, "predictions.0.score"));
}

static void expect_digest(const struct json_t *digest)
{
    if (digest == NULL)
        return;
    const char *text = doc_as_string(digest);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_eq(strncmp(text, "sha256:", 7), 0);
    ck_assert_uint_eq(strspn(text + 7, "0123456789abcdef"), 64);
    ck_assert_uint_eq(strlen(text), 7 + 64);
}

/* Expects the decision of a checkpoint's thresholds: "auto", or "review" and "unknown" with a
 * reason. */
static void expect_decision(const struct reply *reply)
{
    const char *decision = reply_text(reply, "decision");
    if (strcmp(decision, "auto") == 0) {
        ck_assert_ptr_null(contract_at(reply->json, "reason"));
        return;
    }
    ck_assert(strcmp(decision, "review") == 0 || strcmp(decision, "unknown") == 0);
    ck_assert_ptr_nonnull(reply_text(reply, "reason"));
}

/* All members of a 200 that one input has. */
static void expect_answer(const struct reply *reply, const char *model, size_t predictions)
{
    reply_expect_status(reply, 200);
    ck_assert_str_eq(reply_header(reply, "Content-Type"), "application/json");
    reply_expect_text(reply, "model.name", model);
    reply_expect_text(reply, "model.version", "1");
    expect_decision(reply);
    ck_assert(isfinite(reply_number(reply, "ood_score")));
    expect_digest(contract_at(reply->json, "model.digest"));
    ck_assert_ptr_nonnull(strstr(reply->answer.body, "\"digest\":"));
    ck_assert_str_eq(reply_text(reply, "id"), reply_header(reply, "X-Request-Id"));
    ck_assert_double_ge(reply_number(reply, "timing_ms.queue"), 0);
    ck_assert_double_ge(reply_number(reply, "timing_ms.prepare"), 0);
    ck_assert_double_gt(reply_number(reply, "timing_ms.inference"), 0);
    ck_assert_double_ge(reply_number(reply, "timing_ms.total"),
                        reply_number(reply, "timing_ms.inference"));
    expect_predictions(reply, predictions);
}

static struct reply post_image(const char *prefix, const char *more)
{
    char *base64 = contract_file_base64(WAFER_MAP);
    char *body = contract_format("{\"image\":\"%s%s\"%s}", prefix, base64, more);
    struct reply reply = contract_post(body);
    free(body);
    free(base64);
    return reply;
}

START_TEST(an_image_is_answered)
{
    struct reply reply = post_image("", "");
    expect_answer(&reply, "wafer-vit", 1);
    reply_expect_text(&reply, "label", "Scratch");
    ck_assert_ptr_null(contract_at(reply.json, "truncated"));
    ck_assert_ptr_null(contract_at(reply.json, "context"));
    reply_free(&reply);
}
END_TEST

START_TEST(a_text_is_answered)
{
    struct reply reply = contract_post("{\"text\":\"WARNING: possible recursive locking\"}");
    expect_answer(&reply, "kernel-bert", 1);
    reply_free(&reply);
}
END_TEST

START_TEST(a_form_type_and_no_type_are_read_as_json)
{
    static const char body[] = "{\"text\":\"possible deadlock\"}";
    static const char *const types[] = {"application/json", "application/json; charset=utf-8",
                                        "application/x-www-form-urlencoded", NULL};
    double score = 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct reply reply = contract_post_as("/predict", types[i], body, strlen(body));
        expect_answer(&reply, "kernel-bert", 1);
        score = i == 0 ? reply_number(&reply, "score") : score;
        ck_assert_double_eq_tol(reply_number(&reply, "score"), score, 1e-5);
        reply_free(&reply);
    }
}
END_TEST

START_TEST(a_raw_image_is_answered_with_options_from_the_query)
{
    size_t len;
    char *png = contract_file(WAFER_MAP, &len);
    struct reply json = post_image("", "");
    struct reply reply =
        contract_post_as("/predict?model=wafer-vit&top_k=2&id=a%2Fb", "image/png", png, len);
    expect_answer(&reply, "wafer-vit", 2);
    reply_expect_text(&reply, "id", "a/b");
    ck_assert_double_eq_tol(reply_number(&reply, "score"), reply_number(&json, "score"), 1e-5);
    reply_free(&reply);
    reply_free(&json);
    free(png);
}
END_TEST

START_TEST(a_raw_text_is_answered_with_options_from_the_query)
{
    size_t len;
    char *text = contract_file(REPORT, &len);
    struct reply reply = contract_post_as("/predict?top_k=all&deadline_ms=30000&explain=false",
                                          "text/plain; charset=utf-8", text, len);
    expect_answer(&reply, "kernel-bert", TEXT_LABELS);
    reply_expect_text(&reply, "label", "kasan_memory_error");
    reply_free(&reply);
    free(text);
}
END_TEST

START_TEST(options_beside_a_json_body_are_obeyed_or_refused)
{
    static const char wafer[] = "{\"text\":\"BIN 7 FAIL\",\"top_k\":2,\"id\":42}";
    struct reply reply = contract_post_as("/predict?model=kernel-bert&top_k=2&context.lot=A1",
                                          "application/json", wafer, strlen(wafer));
    expect_answer(&reply, "kernel-bert", 2);
    reply_expect_text(&reply, "id", "42");
    reply_expect_text(&reply, "context.lot", "A1");
    reply_free(&reply);
    reply = contract_post_as("/predict?top_k=3", "application/json", wafer, strlen(wafer));
    reply_expect_problem(&reply, 422, "unusable", "?top_k: the body has another value");
    reply_free(&reply);
    reply = contract_post_as("/predict?topk=3", "application/json", wafer, strlen(wafer));
    reply_expect_problem(&reply, 422, "unusable", "?topk: unknown option; did you mean \"top_k\"?");
    reply_free(&reply);
    reply = contract_post_as("/predict?model=nosuch", "application/json", wafer, strlen(wafer));
    reply_expect_problem(&reply, 404, "not_found", "?model: no model of this name is served");
    reply_free(&reply);
}
END_TEST

/* The two may be the same, and nobody may read the option. */
START_TEST(an_option_that_is_there_twice_is_refused)
{
    static const char *const paths[][2] = {
        {"/predict?top_k=3&top_k=4", "?top_k: this option is there twice"},
        {"/predict?model=kernel-bert&top_k=1&model=kernel-bert", "?model: this option is"},
        {"/predict?context.lot=A1&context.lot=A2", "?context.lot: this option is"},
        {"/predict?%FF=1&%FF=1", "?: this option is there twice"}};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct reply reply = contract_post_as(paths[i][0], "text/plain", "vdd_io FAIL", 11);
        reply_expect_problem(&reply, 422, "unusable", paths[i][1]);
        reply_free(&reply);
    }
    struct reply reply = contract_post_as("/predict?model=kernel-bert&top_k=2&context.lot=A1"
                                          "&context.wafer=A1",
                                          "text/plain", "vdd_io FAIL", 11);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
}
END_TEST

START_TEST(a_route_without_options_refuses_a_query)
{
    static const char json[] = "Content-Type: application/json\r\n";
    struct reply reply = contract_ask(contract_port(), "POST", "/feedback?new=true", json,
                                      "{\"id\":\"a\",\"label\":\"b\"}");
    reply_expect_problem(&reply, 422, "unusable",
                         "this route takes no options in its query; put them into the JSON body: "
                         "?new: unknown option");
    reply_free(&reply);
    reply = contract_ask(contract_port(), "POST", "/admin/reload?force=true", "", "");
    reply_expect_problem(&reply, 422, "unusable", "this route takes no options in its query: ");
    reply_free(&reply);
}
END_TEST

/* The pattern with names of no meaning in it, and a query behind. */
static char *path_of(const char *pattern, const char *query)
{
    char path[256];
    size_t len = 0;
    for (const char *at = pattern; *at != '\0'; at++) {
        ck_assert_uint_lt(len, sizeof path - 1);
        path[len++] = *at == '{' ? 'x' : *at;
        if (*at == '{')
            at = strchr(at, '}');
    }
    path[len] = '\0';
    return contract_format("%s%s", path, query);
}

START_TEST(no_post_ignores_an_option_of_its_query)
{
    static const char json[] = "Content-Type: application/json\r\n";
    unsigned asked = 0;
    for (unsigned i = 0; i < route_count; i++) {
        if (route_table[i].method != HTTP_POST)
            continue;
        char *path = path_of(route_table[i].pattern, "?num_beems=1");
        struct reply reply =
            contract_ask(contract_port(), "POST", path, json, "{\"inputs\":\"a\"}");
        ck_assert_msg(reply.answer.status == 422 && strstr(reply.answer.body, "?num_beems") != NULL,
                      "%s: %u %s", path, reply.answer.status, reply.answer.body);
        reply_free(&reply);
        free(path);
        asked++;
    }
    ck_assert_uint_gt(asked, 20);
}
END_TEST

/* On POST /predict an option in the query counts, but such a call knows none there. */
START_TEST(a_call_of_another_server_refuses_options_in_the_query)
{
    struct reply reply = contract_ask(contract_port(), "POST", "/predict?model=wafer-vit",
                                      "Content-Type: application/json\r\n", "{\"inputs\":\"a\"}");
    reply_expect_problem(&reply, 422, "unusable",
                         "?model: this call has its options in the JSON body, not in the query");
    reply_free(&reply);
}
END_TEST

START_TEST(a_data_url_prefix_is_accepted)
{
    static const char *const prefixes[] = {"data:image/png;base64,", "data:image/jpeg;base64,"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        struct reply reply = post_image(prefixes[i], "");
        expect_answer(&reply, "wafer-vit", 1);
        reply_expect_text(&reply, "label", "Scratch");
        reply_free(&reply);
    }
}
END_TEST

START_TEST(top_k_counts_and_is_clamped)
{
    static const struct {
        const char *more;
        size_t count;
    } cases[] = {{",\"top_k\":1", 1},
                 {",\"top_k\":2", 2},
                 {",\"top_k\":\"all\"", IMAGE_LABELS},
                 {",\"top_k\":1000", IMAGE_LABELS},
                 {",\"top_k\":9007199254740992", IMAGE_LABELS},
                 {",\"top_k\":null", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reply reply = post_image("", cases[i].more);
        expect_answer(&reply, "wafer-vit", cases[i].count);
        reply_free(&reply);
    }
}
END_TEST

START_TEST(all_scores_of_a_softmax_sum_to_one)
{
    char path[64];
    double sum = 0;
    struct reply reply = post_image("", ",\"top_k\":\"all\"");
    for (int i = 0; i < IMAGE_LABELS; i++) {
        snprintf(path, sizeof path, "predictions.%d.score", i);
        sum += reply_number(&reply, path);
    }
    ck_assert_double_eq_tol(sum, 1, 1e-5);
    reply_free(&reply);
}
END_TEST

START_TEST(context_comes_back_as_it_was_sent)
{
    struct reply reply =
        contract_post("{\"text\":\"a\",\"context\":{\"lot\":\"A1 \xc3\xa9\",\"wafer\":7,"
                      "\"die_x\":-3,\"die_y\":0.1,\"step\":\"etch\"}}");
    expect_answer(&reply, "kernel-bert", 1);
    reply_expect_text(&reply, "context.lot", "A1 \xc3\xa9");
    reply_expect_text(&reply, "context.step", "etch");
    ck_assert_double_eq(reply_number(&reply, "context.wafer"), 7);
    ck_assert_double_eq(reply_number(&reply, "context.die_x"), -3);
    ck_assert_double_eq(reply_number(&reply, "context.die_y"), 0.1);
    reply_free(&reply);
}
END_TEST

START_TEST(a_text_longer_than_the_model_is_truncated_and_says_so)
{
    size_t len;
    bool truncated = false;
    char *text = contract_file(REPORT, &len);
    struct reply reply = contract_post_as("/predict", "text/plain", text, len);
    struct err err = {0};
    ck_assert_int_eq(doc_get_bool(reply.json, "$", "truncated", &truncated, &err), ERR_OK);
    ck_assert(truncated);
    reply_free(&reply);
    free(text);
}
END_TEST

START_TEST(a_nul_in_a_text_is_removed)
{
    struct reply plain = contract_post("{\"text\":\"possible deadlock\"}");
    struct reply json = contract_post("{\"text\":\"poss\\u0000ible dead\\u0000lock\"}");
    struct reply raw =
        contract_post_as("/predict", "text/plain", "poss\0ible deadlock", strlen("possible") + 10);
    expect_answer(&json, "kernel-bert", 1);
    expect_answer(&raw, "kernel-bert", 1);
    ck_assert_double_eq_tol(reply_number(&json, "score"), reply_number(&plain, "score"), 1e-5);
    ck_assert_double_eq_tol(reply_number(&raw, "score"), reply_number(&plain, "score"), 1e-5);
    reply_free(&raw);
    reply_free(&json);
    reply_free(&plain);
}
END_TEST

/* The id of a reply to a text with these headers and members. */
static void expect_id(const char *headers, const char *member, const char *id)
{
    char *body = contract_format("{\"text\":\"a\"%s}", member);
    struct reply reply =
        reply_of(http_request(contract_port(), "POST", "/predict", headers, body, strlen(body)));
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "id", id);
    ck_assert_str_eq(reply_header(&reply, "X-Request-Id"), id);
    reply_free(&reply);
    free(body);
}

START_TEST(an_id_is_the_members_or_the_headers_and_returned_in_both)
{
    expect_id("", ",\"id\":\"mine\"", "mine");
    expect_id("X-Request-Id: theirs\r\n", "", "theirs");
    expect_id("X-Request-Id: theirs\r\n", ",\"id\":\"mine\"", "mine");
    expect_id("X-Request-Id: theirs\r\n", ",\"id\":\"\"", "theirs");
}
END_TEST

START_TEST(without_an_id_each_reply_has_one_of_its_own)
{
    char first[128];
    struct reply reply = contract_post("{\"text\":\"a\"}");
    snprintf(first, sizeof first, "%s", reply_text(&reply, "id"));
    ck_assert_uint_gt(strlen(first), 0);
    reply_free(&reply);
    reply = contract_post("{\"text\":\"a\"}");
    ck_assert_str_ne(reply_text(&reply, "id"), first);
    reply_free(&reply);
}
END_TEST

/* A space is printable, so it may stand in the body; a header gets one that is safe there. */
START_TEST(an_id_that_no_header_can_hold_is_returned_in_the_body)
{
    struct reply reply = contract_post("{\"text\":\"a\",\"id\":\"lot 7 \xc3\xa9\"}");
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "id", "lot 7 \xc3\xa9");
    ck_assert_uint_gt(strlen(reply_header(&reply, "X-Request-Id")), 0);
    reply_free(&reply);
}
END_TEST

START_TEST(predict_answers_inputs_in_order_and_one_bad_input_alone_fails)
{
    char *base64 = contract_file_base64(WAFER_MAP);
    char *body = contract_format("{\"inputs\":[{\"text\":\"possible deadlock\"},{\"image\":\"%%\"},"
                                 "{\"image\":\"%s\"},{\"text\":\"\"},{\"text\":\"xyz\"}],"
                                 "\"top_k\":2,\"id\":\"many\",\"context\":{\"lot\":\"A1\"}}",
                                 base64);
    struct reply reply = contract_post(body);
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "results"), 5);
    reply_expect_text(&reply, "results.0.model.name", "kernel-bert");
    reply_expect_problem_at(&reply, "results.1", 422, "unusable", "$.inputs[1].image: not base64");
    reply_expect_text(&reply, "results.2.model.name", "wafer-vit");
    reply_expect_text(&reply, "results.2.label", "Scratch");
    reply_expect_problem_at(&reply, "results.3", 422, "unusable", "$.inputs[3].text: empty");
    ck_assert_ptr_nonnull(reply_text(&reply, "results.4.decision"));
    ck_assert_uint_eq(reply_count(&reply, "results.0.predictions"), 2);
    ck_assert_uint_eq(reply_count(&reply, "results.2.predictions"), 2);
    reply_expect_text(&reply, "id", "many");
    reply_expect_text(&reply, "context.lot", "A1");
    ck_assert_double_gt(reply_number(&reply, "timing_ms.total"), 0);
    ck_assert_ptr_null(contract_at(reply.json, "label"));
    ck_assert_ptr_null(contract_at(reply.json, "results.0.id"));
    ck_assert_ptr_null(contract_at(reply.json, "results.0.timing_ms"));
    ck_assert_ptr_null(contract_at(reply.json, "results.0.context"));
    reply_free(&reply);
    free(body);
    free(base64);
}
END_TEST

START_TEST(an_input_scores_the_same_alone_and_among_others)
{
    struct reply alone = contract_post("{\"text\":\"possible deadlock\"}");
    struct reply several =
        contract_post("{\"inputs\":[{\"text\":\"a\"},{\"text\":\"possible deadlock\"},"
                      "{\"text\":\"a much longer text than both of its neighbours have\"}]}");
    ck_assert_double_eq_tol(reply_number(&several, "results.1.score"),
                            reply_number(&alone, "score"), 1e-5);
    reply_free(&several);
    reply_free(&alone);
}
END_TEST

START_TEST(one_connection_carries_many_requests)
{
    static const char request[] = "POST /predict HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n"
                                  "{\"text\":\"a\"}";
    int fd = http_connect(contract_port());
    for (int i = 0; i < 20; i++) {
        ck_assert(http_send_text(fd, request));
        struct reply reply = reply_of(http_read(fd, false));
        expect_answer(&reply, "kernel-bert", 1);
        reply_free(&reply);
    }
    close(fd);
}
END_TEST

CONTRACT_SUITE(
    "contract_predict", options, an_image_is_answered, a_text_is_answered,
    a_form_type_and_no_type_are_read_as_json, a_raw_image_is_answered_with_options_from_the_query,
    a_raw_text_is_answered_with_options_from_the_query,
    options_beside_a_json_body_are_obeyed_or_refused, an_option_that_is_there_twice_is_refused,
    a_route_without_options_refuses_a_query, no_post_ignores_an_option_of_its_query,
    a_call_of_another_server_refuses_options_in_the_query, a_data_url_prefix_is_accepted,
    top_k_counts_and_is_clamped, all_scores_of_a_softmax_sum_to_one,
    context_comes_back_as_it_was_sent, a_text_longer_than_the_model_is_truncated_and_says_so,
    a_nul_in_a_text_is_removed, an_id_is_the_members_or_the_headers_and_returned_in_both,
    without_an_id_each_reply_has_one_of_its_own,
    an_id_that_no_header_can_hold_is_returned_in_the_body,
    predict_answers_inputs_in_order_and_one_bad_input_alone_fails,
    an_input_scores_the_same_alone_and_among_others, one_connection_carries_many_requests)
