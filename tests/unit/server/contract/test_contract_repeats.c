/* Answers that are given again, over real sockets: of an input that comes again (answers_bytes), and
 * of a request with the Idempotency-Key of an earlier one. */
#include "tests/support/contract.h"
#include "tests/support/exposition.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "text=tests/data/golden/bert-3"
#define VECTORS "vectors=tests/data/embedding/st-weighted-0"

static struct server_process server;
static struct tempdir dir;

/* keys: the text of a file of keys; NULL: there are none. */
static void start(const char *keys)
{
    char path[128];
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/keys", dir.path);
    if (keys != NULL)
        tempdir_write(&dir, "keys", keys, strlen(keys));
    server_process_start(&server,
                         (const char *[]){"--model", MODEL, "--model", VECTORS, "--workers", "1",
                                          "--threads-per-worker", "1", "--answers-bytes", "1000000",
                                          "--idempotency-bytes", "1000000",
                                          keys != NULL ? "--keys-file" : NULL, path, NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}

static struct reply ask(const char *headers, const char *body)
{
    return contract_ask(server.port, "POST", "/predict", headers, body);
}

static void expect_status(const char *headers, const char *body, const char *cache)
{
    struct reply reply = ask(headers, body);
    reply_expect_status(&reply, 200);
    ck_assert_str_eq(reply_header(&reply, "Cache-Status"), cache);
    reply_free(&reply);
}

START_TEST(an_input_that_comes_again_is_answered_without_being_computed)
{
    start(NULL);
    struct reply one = ask("", "{\"text\":\"scan\",\"id\":\"one\",\"top_k\":\"all\"}");
    struct reply two = ask("", "{\"text\":\"scan\",\"id\":\"two\",\"top_k\":\"all\"}");
    ck_assert_str_eq(reply_header(&one, "Cache-Status"), "attnd; fwd=miss");
    ck_assert_str_eq(reply_header(&two, "Cache-Status"), "attnd; hit");
    ck_assert_ptr_null(contract_at(one.json, "cached"));
    ck_assert(json_is_true(contract_at(two.json, "cached")));
    reply_expect_text(&two, "id", "two");
    reply_expect_text(&two, "label", reply_text(&one, "label"));
    ck_assert(
        json_equal(contract_at(one.json, "predictions"), contract_at(two.json, "predictions")));
    reply_free(&one);
    reply_free(&two);
    expect_status("", "{\"text\":\"scan\",\"top_k\":2,\"context\":{\"lot\":\"B\"}}", "attnd; hit");
    expect_status("", "{\"inputs\":[{\"text\":\"scan\"},{\"text\":\"new\"}]}",
                  "attnd; fwd=partial; detail=\"1 of 2\"");
    expect_status("", "{\"text\":\"scan\",\"text_pair\":\"chain\"}", "attnd; fwd=miss");
    expect_status("", "{\"text\":\"scan\",\"long_text\":\"windows\"}", "attnd; fwd=miss");
    expect_status("", "{\"text\":\"scan\",\"explain\":true}", "attnd; fwd=miss");
    /* a repeated one is labelled like any other */
    struct reply told =
        contract_ask(server.port, "POST", "/feedback", "", "{\"id\":\"two\",\"label\":\"SCAN\"}");
    reply_expect_status(&told, 200);
    reply_free(&told);
    stop();
}
END_TEST

/* The answer that is kept must not hide that the model cannot obey. */
START_TEST(what_a_model_refuses_is_refused_of_a_known_input_too)
{
    static const char *const options[] = {"\"question\":\"which?\"",
                                          "\"aggregation\":\"first\"",
                                          "\"aggregation\":\"simple\"",
                                          "\"doc_stride\":2",
                                          "\"max_seq_len\":64",
                                          "\"max_answer_len\":3",
                                          "\"handle_impossible_answer\":true",
                                          "\"align_to_words\":false"};
    start(NULL);
    expect_status("", "{\"text\":\"scan\"}", "attnd; fwd=miss");
    expect_status("", "{\"text\":\"scan\"}", "attnd; hit");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char *body = contract_format("{\"text\":\"scan\",%s}", options[i]);
        struct reply reply = ask("", body);
        ck_assert_msg(reply.answer.status == 422, "%s: %ld", body, (long)reply.answer.status);
        reply_free(&reply);
        free(body);
    }
    struct reply reply =
        contract_ask(server.port, "POST", "/models/text", "Content-Type: application/json\r\n",
                     "{\"inputs\":\"scan\",\"parameters\":{\"targets\":[\"a\"]}}");
    reply_expect_status(&reply, 422);
    reply_free(&reply);
    stop();
}
END_TEST

/* A client that wants vectors of length 1 does not change what another one gets. */
START_TEST(a_known_vector_has_the_form_that_each_call_asks_for)
{
    static const struct {
        const char *path, *body;
        bool is_scaled;
    } calls[] = {
        {"/embed", "{\"model\":\"vectors\",\"inputs\":\"scan\"}", true},
        {"/embed", "{\"model\":\"vectors\",\"inputs\":\"scan\",\"normalize\":false}", false},
        {"/models/vectors", "{\"inputs\":[\"scan\"],\"normalize\":true}", true},
        {"/models/vectors", "{\"inputs\":[\"scan\"]}", false},
    };
    start(NULL);
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            struct reply reply = contract_ask(server.port, "POST", calls[i].path,
                                              "Content-Type: application/json\r\n", calls[i].body);
            reply_expect_status(&reply, 200);
            double square = 0;
            const json_t *number, *vector = json_array_get(reply.json, 0);
            size_t at;
            json_array_foreach(vector, at, number) square +=
                json_number_value(number) * json_number_value(number);
            ck_assert_msg((square > 0.999 && square < 1.001) == calls[i].is_scaled, "%s %s: %g",
                          calls[i].path, calls[i].body, square);
            reply_free(&reply);
        }
    stop();
}
END_TEST

/* Every route that ranks labels has room for them, although nothing is computed. */
START_TEST(all_labels_of_a_known_input_are_ranked_by_each_route)
{
    static const char *const calls[][2] = {
        {"/v2/models/text/infer",
         "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"scan\"]}"
         "],"
         "\"outputs\":[{\"name\":\"scores\",\"parameters\":{\"classification\":100}}]}"},
        {"/models/text", "{\"inputs\":\"scan\"}"},
        {"/predict", "{\"inputs\":\"scan\",\"model\":\"text\"}"},
    };
    start(NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        json_t *bodies[2];
        for (int turn = 0; turn < 2; turn++) {
            struct reply reply = contract_ask(server.port, "POST", calls[i][0],
                                              "Content-Type: application/json\r\n", calls[i][1]);
            reply_expect_status(&reply, 200);
            bodies[turn] = json_deep_copy(reply.json);
            if (json_is_object(bodies[turn]))
                json_object_del(bodies[turn], "id");
            if (turn == 1)
                ck_assert_str_eq(reply_header(&reply, "Cache-Status"), "attnd; hit");
            reply_free(&reply);
        }
        ck_assert_msg(json_equal(bodies[0], bodies[1]), "%s", calls[i][0]);
        json_decref(bodies[0]);
        json_decref(bodies[1]);
    }
    stop();
}
END_TEST

START_TEST(a_reload_ends_the_answers_of_before)
{
    start(NULL);
    expect_status("", "{\"text\":\"scan\"}", "attnd; fwd=miss");
    expect_status("", "{\"text\":\"scan\"}", "attnd; hit");
    struct reply reload = contract_ask(server.port, "POST", "/admin/reload", "", NULL);
    reply_expect_status(&reload, 200);
    reply_free(&reload);
    expect_status("", "{\"text\":\"scan\"}", "attnd; fwd=miss");
    expect_status("", "{\"text\":\"scan\"}", "attnd; hit");
    stop();
}
END_TEST

START_TEST(a_repeated_request_gets_the_reply_of_the_first)
{
    const char *key = "Idempotency-Key: \"8e03978e-40d5-43dd-bc93-6894a57f9324\"\r\n";
    start(NULL);
    struct reply one = ask(key, "{\"text\":\"scan\"}"), two = ask(key, "{\"text\":\"scan\"}");
    reply_expect_status(&one, 200);
    reply_expect_status(&two, 200);
    ck_assert_str_eq(one.answer.body, two.answer.body);
    ck_assert_str_eq(reply_header(&two, "Idempotent-Replayed"), "true");
    ck_assert_str_eq(reply_header(&two, "X-Request-Id"), reply_text(&one, "id"));
    ck_assert_ptr_null(strstr(one.answer.head, "Idempotent-Replayed"));
    reply_free(&one);
    reply_free(&two);
    const char *const others[][2] = {{"/predict", "{\"text\":\"chain\"}"},
                                     {"/predict?top_k=2", "{\"text\":\"scan\"}"}};
    for (int i = 0; i < 2; i++) {
        two = contract_ask(server.port, "POST", others[i][0], key, others[i][1]);
        reply_expect_problem(&two, 422, "unusable",
                             "Idempotency-Key: it was used for another request");
        reply_free(&two);
    }
    /* a reload does not matter to them, another route does */
    struct reply reload = contract_ask(server.port, "POST", "/admin/reload", "", NULL);
    reply_free(&reload);
    two = ask(key, "{\"text\":\"scan\"}");
    ck_assert_str_eq(reply_header(&two, "Idempotent-Replayed"), "true");
    reply_free(&two);
    stop();
}
END_TEST

START_TEST(a_refusal_is_not_kept_and_a_bad_key_is_refused)
{
    start(NULL);
    struct reply reply = ask("Idempotency-Key: k\r\n", "{\"text\":\"\"}");
    reply_expect_problem(&reply, 422, "unusable", "$.text: empty");
    reply_free(&reply);
    reply = ask("Idempotency-Key: k\r\n", "{\"text\":\"scan\"}");
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = ask("Idempotency-Key: a b\r\n", "{\"text\":\"scan\"}");
    reply_expect_problem(&reply, 422, "unusable", "Idempotency-Key: expected 1 to 128");
    reply_free(&reply);
    reply = ask("Idempotency-Key: k\r\nContent-Type: application/x-ndjson\r\n", "{\"text\":\"a\"}");
    reply_expect_problem(&reply, 422, "unusable",
                         "Idempotency-Key: the answers of a body of lines");
    reply_free(&reply);
    stop();
}
END_TEST

/* The keys "one" and "two". */
static const char keys[] =
    "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed one predict\n"
    "sha256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3 two predict\n";

START_TEST(what_is_kept_for_one_key_is_not_given_to_another)
{
    const char *one = "Authorization: Bearer one\r\nIdempotency-Key: k\r\n";
    const char *two = "Authorization: Bearer two\r\nIdempotency-Key: k\r\n";
    start(keys);
    expect_status(one, "{\"text\":\"scan\"}", "attnd; fwd=miss");
    expect_status(two, "{\"text\":\"chain\"}", "attnd; fwd=miss");
    expect_status("Authorization: Bearer one\r\n", "{\"text\":\"scan\"}", "attnd; hit");
    expect_status("Authorization: Bearer two\r\n", "{\"text\":\"scan\"}", "attnd; fwd=miss");
    stop();
}
END_TEST

/* Each asks with the same key until it has an answer. */
static void *ask_until_answered(void *argument)
{
    struct reply *out = argument;
    for (;;) {
        struct reply reply = ask("Idempotency-Key: same\r\n", "{\"text\":\"scan chain\"}");
        if (reply.answer.status != 409) {
            *out = reply;
            return NULL;
        }
        ck_assert_ptr_nonnull(strstr(reply.answer.head, "\r\nRetry-After: 1\r\n"));
        ck_assert_ptr_nonnull(strstr(reply.answer.body, "\"error_type\":\"conflict\""));
        reply_free(&reply);
    }
}

START_TEST(of_many_requests_with_one_key_at_once_one_is_computed)
{
    enum { CLIENTS = 12 };
    pthread_t threads[CLIENTS];
    struct reply replies[CLIENTS];
    unsigned firsts = 0;
    start(NULL);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_until_answered, &replies[i]), 0);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CLIENTS; i++) {
        reply_expect_status(&replies[i], 200);
        firsts += strstr(replies[i].answer.head, "Idempotent-Replayed") == NULL;
        ck_assert_str_eq(replies[i].answer.body, replies[0].answer.body);
    }
    ck_assert_uint_eq(firsts, 1);
    for (int i = 0; i < CLIENTS; i++)
        reply_free(&replies[i]);
    stop();
}
END_TEST

/* The client of the first request leaves before its reply; the second asks with the same key until it
 * is not in use. The text has some windows, few enough for a build that watches every access. */
START_TEST(a_request_whose_client_has_gone_gives_its_key_free)
{
    start(NULL);
    char words[3000];
    for (size_t i = 0; i < sizeof words; i++)
        words[i] = i % 2 == 0 ? 'a' : ' ';
    words[sizeof words - 1] = '\0';
    char *body = contract_format("{\"text\":\"%s\",\"long_text\":\"windows\"}", words);
    int fd = http_connect(server.port);
    char *head = contract_format("POST /predict HTTP/1.1\r\nHost: h\r\nIdempotency-Key: gone\r\n"
                                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                                 strlen(body));
    ck_assert(http_send_text(fd, head) && http_send_text(fd, body));
    close(fd);
    struct reply reply;
    do { /* 409 as long as the first is not dropped */
        reply = ask("Idempotency-Key: gone\r\nContent-Type: application/json\r\n", body);
        if (reply.answer.status == 409)
            reply_free(&reply);
    } while (reply.answer.status == 409);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    free(head);
    free(body);
    stop();
}
END_TEST

SUITE("contract_repeats", an_input_that_comes_again_is_answered_without_being_computed,
      what_a_model_refuses_is_refused_of_a_known_input_too,
      a_known_vector_has_the_form_that_each_call_asks_for,
      all_labels_of_a_known_input_are_ranked_by_each_route, a_reload_ends_the_answers_of_before,
      a_repeated_request_gets_the_reply_of_the_first,
      a_refusal_is_not_kept_and_a_bad_key_is_refused,
      what_is_kept_for_one_key_is_not_given_to_another,
      of_many_requests_with_one_key_at_once_one_is_computed,
      a_request_whose_client_has_gone_gives_its_key_free)
