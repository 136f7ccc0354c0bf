/* Past inputs that are near to a new one, in the program: POST /similar, "similar" of a prediction,
 * who may search an index, and its reload. */
#include "engine/base/sha256.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS "tests/data/embedding/st-bert-0"
#define CLASSES "tests/data/golden/bert-5"
#define IMAGES "tests/data/golden/vit-0"
#define PICTURE "tests/data/eval/wafer/Donut/defects_11536.png"

struct bench {
    struct server_process server;
    struct tempdir dir;
    char config[128], data[128], vectors[128], classes[128], images[128];
};

static void place(const struct bench *bench, const char *name, char out[128])
{
    snprintf(out, 128, "%s/%s", bench->dir.path, name);
}

static void index_of(const char *model, const char *data, const char *out)
{
    outcome_expect(outcome_of("attnd-index", (const char *[]){"build", "--model", model, "--data",
                                                              data, "--out", out, NULL}),
                   0, " vectors of ", "");
}

static void write_cases(const struct bench *bench, const char *last)
{
    char *text = contract_format("{\"text\": \"vdd_io 3.97 V FAIL\", \"label\": \"supply\"}\n"
                                 "{\"text\": \"scan chain 3 FAIL\", \"label\": \"scan\", \"id\": "
                                 "\"%s\"}\n",
                                 last);
    tempdir_write(&bench->dir, "cases.jsonl", text, strlen(text));
    free(text);
}

static void write_config(const struct bench *bench, const char *of_vectors, const char *options)
{
    char *json = contract_format(
        "{\"models\": [{\"name\": \"plain\", \"dir\": \"" CLASSES "\"},"
        " {\"name\": \"vectors\", \"dir\": \"" VECTORS "\", \"index\": \"%s\", \"public\": true},"
        " {\"name\": \"classes\", \"dir\": \"tests/data/golden/bert-3\", \"index\": \"%s\"},"
        " {\"name\": \"images\", \"dir\": \"" IMAGES "\", \"index\": \"%s\", \"public\": true}],"
        " \"uncalibrated\": \"auto\"%s}",
        of_vectors, bench->classes, bench->images, options);
    tempdir_write(&bench->dir, "attnd.json", json, strlen(json));
    free(json);
}

static void bench_open(struct bench *bench, const char *options)
{
    tempdir_open(&bench->dir);
    place(bench, "attnd.json", bench->config);
    place(bench, "cases.jsonl", bench->data);
    place(bench, "vectors.index", bench->vectors);
    place(bench, "classes.index", bench->classes);
    place(bench, "images.index", bench->images);
    write_cases(bench, "die-7");
    index_of(VECTORS, bench->data, bench->vectors);
    index_of("tests/data/golden/bert-3", bench->data, bench->classes);
    index_of(IMAGES, "tests/data/eval/wafer", bench->images);
    write_config(bench, bench->vectors, options);
    server_process_start(&bench->server, (const char *[]){"--config", bench->config, NULL});
}

static void bench_close(struct bench *bench)
{
    ck_assert_int_eq(server_process_stop(&bench->server), 0);
    tempdir_close(&bench->dir);
}

static struct reply ask(const struct bench *bench, const char *path, const char *body)
{
    return contract_ask(bench->server.port, "POST", path, "Content-Type: application/json\r\n",
                        body);
}

static void expect_nearest(const struct bench *bench, const char *body, const char *id)
{
    struct reply reply = ask(bench, "/similar", body);
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "neighbours.0.id", id);
    ck_assert_double_eq_tol(reply_number(&reply, "neighbours.0.score"), 1, 1e-4);
    reply_free(&reply);
}

START_TEST(similar_tells_the_nearest_inputs)
{
    struct bench bench;
    bench_open(&bench, "");
    struct reply reply = ask(&bench, "/similar", "{\"text\": \"scan chain 3 FAIL\"}");
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "neighbours"), 2);
    reply_expect_text(&reply, "neighbours.0.id", "die-7");
    reply_expect_text(&reply, "neighbours.0.label", "scan");
    ck_assert_ptr_nonnull(strstr(reply_text(&reply, "neighbours.0.source"), "/cases.jsonl:2"));
    reply_expect_text(&reply, "neighbours.1.id", "cases.jsonl:1");
    ck_assert_double_ge(reply_number(&reply, "timing_ms.similar"), 0);
    ck_assert(reply_number(&reply, "neighbours.1.score") <
              reply_number(&reply, "neighbours.0.score"));
    ck_assert_ptr_null(contract_at(reply.json, "truncated"));
    reply_free(&reply);
    expect_nearest(&bench, "{\"text\": \"scan chain 3 FAIL\", \"k\": 1, \"model\": \"classes\"}",
                   "die-7");
    char words[4000];
    for (unsigned i = 0; i < sizeof words; i++)
        words[i] = "die "[i % 4];
    char *long_one = contract_format("{\"text\": \"%.*s\"}", (int)sizeof words, words);
    reply = ask(&bench, "/similar", long_one);
    reply_expect_status(&reply, 200);
    ck_assert(json_is_true(contract_at(reply.json, "truncated")));
    reply_free(&reply);
    free(long_one);
    char *picture = contract_file_base64(PICTURE);
    char *body = contract_format("{\"image\": \"%s\", \"k\": 1}", picture);
    expect_nearest(&bench, body, "defects_11536.png");
    free(body);
    free(picture);
    bench_close(&bench);
}
END_TEST

START_TEST(similar_answers_several_inputs_each_by_itself)
{
    struct bench bench;
    bench_open(&bench, "");
    struct reply reply =
        ask(&bench, "/similar?k=1",
            "{\"inputs\": [{\"text\": \"vdd_io 3.97 V FAIL\", \"id\": \"a\"},"
            " {\"text\": \"\"}, {\"text\": \"scan chain 3 FAIL\"}], \"id\": \"b\"}");
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "id", "b");
    reply_expect_text(&reply, "results.0.id", "a");
    reply_expect_text(&reply, "results.0.neighbours.0.label", "supply");
    reply_expect_problem_at(&reply, "results.1", 422, "unusable", "$.inputs[1].text: empty");
    reply_expect_text(&reply, "results.2.neighbours.0.label", "scan");
    ck_assert_uint_eq(reply_count(&reply, "results.2.neighbours"), 1);
    reply_free(&reply);
    bench_close(&bench);
}
END_TEST

START_TEST(similar_stands_beside_a_prediction)
{
    struct bench bench;
    bench_open(&bench, "");
    struct reply reply = ask(&bench, "/predict",
                             "{\"text\": \"scan chain 3 FAIL\", \"model\": \"classes\", "
                             "\"similar\": 2, \"explain\": true}");
    reply_expect_status(&reply, 200);
    ck_assert_ptr_nonnull(contract_at(reply.json, "label"));
    ck_assert_ptr_nonnull(contract_at(reply.json, "explanation"));
    reply_expect_text(&reply, "neighbours.0.id", "die-7");
    ck_assert_uint_eq(reply_count(&reply, "neighbours"), 2);
    reply_free(&reply);
    reply = ask(&bench, "/predict", "{\"text\": \"scan\", \"model\": \"vectors\", \"similar\": 1}");
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "embedding"), 48);
    ck_assert_uint_eq(reply_count(&reply, "neighbours"), 1);
    reply_free(&reply);
    bench_close(&bench);
}
END_TEST

START_TEST(similar_refuses_by_name)
{
    static const struct {
        const char *path, *body, *detail;
    } rows[] = {
        {"/similar", "{\"text\": \"a\", \"k\": 0}", "$.k: must be from 1 to 100"},
        {"/similar", "{\"text\": \"a\", \"k\": 101}", "$.k: must be from 1 to 100"},
        {"/similar", "{\"text\": \"a\", \"top_k\": 2}",
         "$.top_k: unknown member; did you mean \"k\"?"},
        {"/similar", "{\"k\": 2}", "$: expected one of \"text\", \"image\" and \"inputs\""},
        {"/similar?explain=true", "{\"text\": \"a\"}", "?explain: unknown option"},
        {"/similar?k=3", "{\"text\": \"a\", \"k\": 2}", "?k: the body has another value"},
        {"/predict?similar=0", "{\"text\": \"a\"}", "?similar: must be"},
        {"/predict", "{\"text\": \"a\", \"k\": 2}",
         "$.k: unknown member; did you mean \"similar\"?"},
        {"/predict", "{\"text\": \"a\", \"similar\": 101}", "$.similar: must be from 1 to 100"},
        {"/predict", "{\"text\": \"a\", \"similar\": 5}",
         "$.text: similar: version 1 of the model plain has no index of past inputs"},
        {"/similar", "{\"text\": \"a\", \"model\": \"plain\"}",
         "$.text: version 1 of the model plain has no index of past inputs"},
    };
    struct bench bench;
    bench_open(&bench, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply = ask(&bench, rows[i].path, rows[i].body);
        reply_expect_problem(&reply, 422, "unusable", rows[i].detail);
        reply_free(&reply);
    }
    bench_close(&bench);
}
END_TEST

static void expect_status_with(const struct bench *bench, const char *key, const char *path,
                               const char *model, int status)
{
    char *headers = contract_format("Content-Type: application/json\r\n"
                                    "Authorization: Bearer %s\r\n",
                                    key);
    char *body = contract_format("{\"text\": \"a\", \"model\": \"%s\"}", model);
    struct reply reply = contract_ask(bench->server.port, "POST", path, headers, body);
    reply_expect_status(&reply, status);
    reply_free(&reply);
    free(body);
    free(headers);
}

START_TEST(similar_of_an_index_that_is_not_public_needs_the_scope_feedback)
{
    struct bench bench;
    char line[SHA256_HEX_BYTES], judge[SHA256_HEX_BYTES], path[128];
    tempdir_open(&bench.dir);
    sha256_hex("for-lines-for-lines", 19, line);
    sha256_hex("for-judge-for-judge", 19, judge);
    char *keys =
        contract_format("sha256:%s line predict\nsha256:%s judge predict,feedback\n", line, judge);
    tempdir_write(&bench.dir, "keys", keys, strlen(keys));
    free(keys);
    struct tempdir own = bench.dir;
    snprintf(path, sizeof path, ", \"keys_file\": \"%s/keys\"", own.path);
    bench_open(&bench, path);
    expect_status_with(&bench, "for-lines-for-lines", "/similar", "vectors", 200);
    expect_status_with(&bench, "for-lines-for-lines", "/similar", "classes", 403);
    expect_status_with(&bench, "for-lines-for-lines", "/predict?similar=1", "classes", 403);
    expect_status_with(&bench, "for-lines-for-lines", "/predict", "classes", 200);
    expect_status_with(&bench, "for-judge-for-judge", "/similar", "classes", 200);
    expect_status_with(&bench, "for-judge-for-judge", "/predict?similar=1", "classes", 200);
    bench_close(&bench);
    tempdir_close(&own);
}
END_TEST

static void expect_reload(const struct bench *bench, int status, const char *text)
{
    struct reply reply = ask(bench, "/admin/reload", "");
    reply_expect_status(&reply, status);
    ck_assert_msg(strstr(reply.answer.body, text) != NULL, "no '%s' in: %s", text,
                  reply.answer.body);
    reply_free(&reply);
}

START_TEST(similar_follows_a_reload)
{
    static const char body[] = "{\"text\": \"scan chain 3 FAIL\", \"k\": 1}";
    struct bench bench;
    bench_open(&bench, "");
    expect_nearest(&bench, body, "die-7");
    expect_reload(&bench, 200, "\"changed\":[]");
    write_cases(&bench, "die-8");
    index_of(VECTORS, bench.data, bench.vectors);
    expect_nearest(&bench, body, "die-7");
    expect_reload(&bench, 200, "\"changed\":[\"models.vectors\"]");
    expect_nearest(&bench, body, "die-8");
    /* the index of another model is refused, and the old one stays */
    write_config(&bench, bench.classes, "");
    expect_reload(&bench, 422, "the index was made with another model: bert-3 (sha256:");
    expect_nearest(&bench, body, "die-8");
    write_config(&bench, "no/where", "");
    expect_reload(&bench, 422, "model vectors: index no/where: cannot be opened");
    expect_nearest(&bench, body, "die-8");
    bench_close(&bench);
}
END_TEST

START_TEST(similar_is_no_prediction)
{
    struct bench bench;
    bench_open(&bench, "");
    expect_nearest(&bench, "{\"text\": \"scan chain 3 FAIL\", \"id\": \"x\"}", "die-7");
    struct reply reply = ask(&bench, "/feedback", "{\"id\": \"x\", \"label\": \"scan\"}");
    reply_expect_problem(&reply, 404, "not_found", "");
    reply_free(&reply);
    bench_close(&bench);
}
END_TEST

/* A server that keeps the inputs of predictions, and no index. */
START_TEST(similar_finds_inputs_that_are_kept_for_a_review)
{
    struct bench bench;
    struct tempdir state;
    tempdir_open(&state);
    server_process_start(&bench.server,
                         (const char *[]){"--model", "plain=" CLASSES, "--state-dir", state.path,
                                          "--keep-inputs-bytes", "10000000", NULL});
    struct reply reply =
        ask(&bench, "/predict", "{\"text\": \"scan chain 3 FAIL\", \"id\": \"die-3\"}");
    reply_expect_status(&reply, 200);
    char *given =
        contract_format("{\"id\": \"die-3\", \"label\": \"%s\"}", reply_text(&reply, "label"));
    char *label = strdup(reply_text(&reply, "label"));
    reply_free(&reply);
    reply = ask(&bench, "/feedback", given);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    for (bool is_kept = false; !is_kept; reply_free(&reply)) { /* it is written by and by */
        reply = ask(&bench, "/similar", "{\"text\": \"scan chain 3 FAIL\", \"k\": 1}");
        reply_expect_status(&reply, 200);
        is_kept = reply_count(&reply, "neighbours") == 1;
        if (is_kept) {
            reply_expect_text(&reply, "neighbours.0.id", "die-3");
            reply_expect_text(&reply, "neighbours.0.label", label);
            reply_expect_text(&reply, "neighbours.0.source", "review");
            ck_assert_double_eq_tol(reply_number(&reply, "neighbours.0.score"), 1, 1e-6);
        }
    }
    reply = ask(&bench, "/predict",
                "{\"inputs\": [{\"text\": \"scan\"}, {\"text\": \"a\"}], \"similar\": 1, "
                "\"keep\": false}");
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "results.1.neighbours.0.id", "die-3");
    reply_free(&reply);
    free(given);
    free(label);
    ck_assert_int_eq(server_process_stop(&bench.server), 0);
    char inputs[192];
    snprintf(inputs, sizeof inputs, "%s/inputs", state.path);
    tempdir_remove(inputs);
    tempdir_close(&state);
}
END_TEST

SUITE("contract_similar", similar_tells_the_nearest_inputs,
      similar_answers_several_inputs_each_by_itself, similar_stands_beside_a_prediction,
      similar_refuses_by_name, similar_of_an_index_that_is_not_public_needs_the_scope_feedback,
      similar_follows_a_reload, similar_is_no_prediction,
      similar_finds_inputs_that_are_kept_for_a_review)
