/* Drift of a regression: attnd-eval writes the reference of its numbers, and attnd compares with it
 * what it answers, in GET /models and the metrics. */
#include "tests/support/checkpoint_writer.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 120, OF_ENVELOPE = 20 };

#define ALERT 0.25 /* deploy/prometheus/alerts.yml: AttndDrift */

static struct checkpoint_writer writer;
static struct server_process server;

static void open_model(void)
{
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json",
                           "{\"model_type\": \"bert\", \"hidden_size\": 16, "
                           "\"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
                           "\"intermediate_size\": 24, \"vocab_size\": 40, "
                           "\"max_position_embeddings\": 32, \"problem_type\": \"regression\", "
                           "\"num_labels\": 1}");
    checkpoint_writer_bert(&writer, 16, 2, 24, 40, 32, 1);
    checkpoint_writer_finish(&writer);
}

/* Five of the vocabulary's words; each number gives others. */
static void text_of(char out[32], unsigned i)
{
    snprintf(out, 32, "w%u w%u w%u w%u w%u", 5 + i % 35, 5 + i / 3 % 35, 5 + 7 * i % 35,
             5 + 11 * i % 35, 5 + 13 * i % 35);
}

static void refer(void)
{
    char path[160], list[TEXTS * 64] = "", text[32], out[4096], errors[1024];
    for (unsigned i = 0; i < TEXTS; i++) {
        text_of(text, i);
        snprintf(list + strlen(list), 64, "{\"text\": \"%s\", \"label\": 0}\n", text);
    }
    checkpoint_writer_file(&writer, "data.jsonl", list);
    snprintf(path, sizeof path, "%s/data.jsonl", writer.dir);
    int status = run_program(
        "attnd-eval", (const char *[]){"--model", writer.dir, "--data", path, "--reference", NULL},
        out, sizeof out, errors, sizeof errors);
    ck_assert_msg(status == 0, "%s", errors);
}

static void ask(bool is_usual)
{
    for (unsigned first = 0; first < TEXTS; first += OF_ENVELOPE) {
        char body[2048] = "{\"model\":\"yield\",\"inputs\":[", text[32];
        for (unsigned i = 0; i < OF_ENVELOPE; i++) {
            text_of(text, is_usual ? first + i : 0);
            snprintf(body + strlen(body), 64, "%s{\"text\":\"%s\"}", i > 0 ? "," : "", text);
        }
        strcat(body, "]}");
        struct http_answer answer = http_post_json(server.port, "/predict", body);
        ck_assert_int_eq(answer.status, 200);
        http_answer_free(&answer);
    }
}

static double drift_of_numbers(void)
{
    struct reply reply = reply_of(http_get(server.port, "/models/yield"));
    reply_expect_status(&reply, 200);
    ck_assert_ptr_null(strstr(reply.answer.body, "\"drift\":{\"label\""));
    const double value = reply_number(&reply, "drift.value");
    reply_free(&reply);
    return value;
}

START_TEST(drift_of_a_regression_shows_in_the_model_and_the_metrics)
{
    char model[160];
    open_model();
    refer();
    snprintf(model, sizeof model, "yield=%s", writer.dir);
    server_process_start(&server, (const char *[]){"--model", model, "--workers", "1",
                                                   "--threads-per-worker", "1", NULL});
    ask(true);
    ck_assert_double_lt(drift_of_numbers(), 0.05);
    ask(false);
    ck_assert_double_gt(drift_of_numbers(), ALERT);
    struct http_answer page = http_get(server.port, "/metrics");
    ck_assert_ptr_nonnull(strstr(page.body, "\nattnd_drift_psi{model=\"yield\",kind=\"value\"} "));
    ck_assert_ptr_null(strstr(page.body, "kind=\"label\""));
    ck_assert_ptr_null(strstr(page.body, "kind=\"ood\""));
    http_answer_free(&page);
    ck_assert_int_eq(server_process_stop(&server), 0);
    checkpoint_writer_close(&writer);
}
END_TEST

SUITE("contract_drift_numbers", drift_of_a_regression_shows_in_the_model_and_the_metrics)
