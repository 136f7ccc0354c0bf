/* POST /feedback of the program: from a prediction to its label in the metrics, the model and the
 * audit log, and over a restart, also one that nobody asked for. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL "text=tests/data/golden/bert-3"

static struct server_process server;
static struct tempdir dir;

static struct reply ask(const char *method, const char *path, const char *headers, const char *body)
{
    return contract_ask(server.port, method, path, headers, body);
}

static struct reply label(const char *body)
{
    return ask("POST", "/feedback", "", body);
}

/* Starts the server, and waits until it has read the past: before, an id may be one of those. */
static void start(const char *window)
{
    server_process_start(&server, (const char *[]){"--model", MODEL, "--audit-dir", dir.path,
                                                   "--feedback-window", window, "--workers", "1",
                                                   "--threads-per-worker", "1", NULL});
    struct reply reply = contract_ask_ready(server.port, "POST", "/feedback",
                                            "{\"id\":\"no such id\",\"label\":\"x\"}");
    reply_expect_status(&reply, 404);
    reply_free(&reply);
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

/* The label of the answer, which the test does not choose: yours to free. */
static char *predict(const char *id)
{
    char *body = contract_format("{\"text\":\"vdd_io 3.97 V FAIL\",\"id\":\"%s\"}", id);
    struct reply reply = ask("POST", "/predict", "", body);
    reply_expect_status(&reply, 200);
    char *text = strdup(reply_text(&reply, "label"));
    reply_free(&reply);
    free(body);
    return text;
}

static void expect_status(struct reply reply, int status)
{
    reply_expect_status(&reply, status);
    reply_free(&reply);
}

static void give(const char *id, const char *text, int status)
{
    char *body = contract_format("{\"id\":\"%s\",\"label\":\"%s\",\"source\":\"test\"}", id, text);
    expect_status(label(body), status);
    free(body);
}

static void expect_accuracy(double value, double count)
{
    struct reply reply = ask("GET", "/models/text?confusion=true", "", NULL);
    reply_expect_status(&reply, 200);
    ck_assert_double_eq(reply_number(&reply, "accuracy.value"), value);
    ck_assert_double_eq(reply_number(&reply, "accuracy.n"), count);
    reply_free(&reply);
}

/* ---- one server ---- */

START_TEST(a_label_is_found_in_the_metrics_and_in_the_model)
{
    char line[256];
    tempdir_open(&dir);
    start("100");
    struct reply before = ask("GET", "/metrics", "", NULL);
    ck_assert_ptr_null(strstr(before.answer.body, "attnd_accuracy_ratio{"));
    reply_free(&before);
    char *text = predict("die-7"), *same = predict("die-8");
    ck_assert_str_eq(text, same);
    give("die-7", text, 200);
    struct reply other =
        label("{\"feedback\":[{\"id\":\"die-8\",\"label\":\"unheard of\",\"new\":true},"
              "{\"id\":\"die-9\",\"label\":\"x\"},{\"id\":\"die-8\",\"lable\":\"x\"}]}");
    reply_expect_status(&other, 200);
    ck_assert_double_eq(reply_number(&other, "accepted"), 1);
    reply_expect_text(&other, "results.0.predicted", text);
    reply_expect_problem_at(&other, "results.1", 404, "not_found", "$.feedback[1].id: ");
    reply_expect_problem_at(&other, "results.2", 422, "unusable",
                            "$.feedback[2].lable: unknown member; did you mean \"label\"?");
    reply_free(&other);
    expect_accuracy(0.5, 2);
    struct reply metrics = ask("GET", "/metrics", "", NULL);
    snprintf(
        line, sizeof line,
        "\nattnd_feedback_total{model=\"text\",version=\"1\",label=\"%s\",predicted=\"%s\"} 1\n",
        text, text);
    ck_assert_ptr_nonnull(strstr(metrics.answer.body, line));
    snprintf(line, sizeof line,
             "\nattnd_feedback_total{model=\"text\",version=\"1\",label=\"other\","
             "predicted=\"%s\"} 1\n",
             text);
    ck_assert_ptr_nonnull(strstr(metrics.answer.body, line));
    ck_assert_ptr_nonnull(
        strstr(metrics.answer.body, "\nattnd_accuracy_ratio{model=\"text\",version=\"1\"} 0.5\n"));
    reply_free(&metrics);
    free(same);
    free(text);
    stop();
    tempdir_close(&dir);
}
END_TEST

START_TEST(a_label_alone_fails_with_a_status_of_its_own)
{
    tempdir_open(&dir);
    start("100");
    free(predict("die-7"));
    struct reply reply = label("{\"id\":\"die-9\",\"label\":\"x\"}");
    reply_expect_problem(&reply, 404, "not_found", "$.id: no prediction with this id");
    reply_free(&reply);
    reply = label("{\"id\":\"die-7\",\"label\":\"unheard of\"}");
    reply_expect_problem(&reply, 422, "unusable", "$.label: the model has no such label");
    reply_free(&reply);
    reply = label("{\"id\":\"die-7\"");
    reply_expect_problem(&reply, 400, "malformed", "");
    reply_free(&reply);
    expect_status(ask("GET", "/feedback", "", NULL), 405);
    expect_status(ask("POST", "/feedback", "", NULL), 411);
    expect_status(ask("POST", "/feedback", "Content-Type: image/png\r\n", "x"), 415);
    stop();
    tempdir_close(&dir);
}
END_TEST

START_TEST(pages_of_others_and_other_hosts_give_no_labels)
{
    tempdir_open(&dir);
    start("100");
    char *text = predict("die-7");
    char *body = contract_format("{\"id\":\"die-7\",\"label\":\"%s\"}", text);
    expect_status(ask("POST", "/feedback", "Origin: http://elsewhere\r\n", body), 403);
    expect_status(ask("DELETE", "/feedback/die-7", "Origin: http://elsewhere\r\n", NULL), 403);
    expect_status(ask("POST", "/feedback", "Content-Type: text/plain\r\n", body), 415);
    struct reply reply = reply_of(http_request(server.port, "POST", "/feedback", "", body,
                                               strlen(body))); /* its Host is another */
    reply_expect_status(&reply, 403);
    reply_free(&reply);
    expect_status(label(body), 200);
    free(body);
    free(text);
    stop();
    tempdir_close(&dir);
}
END_TEST

START_TEST(delete_takes_a_label_back_and_has_no_body)
{
    tempdir_open(&dir);
    start("100");
    char *text = predict("die 7");
    expect_status(ask("DELETE", "/feedback/die%207", "", NULL), 404);
    give("die 7", text, 200);
    expect_status(ask("DELETE", "/feedback/die%207?index=1", "", NULL), 404);
    expect_status(ask("DELETE", "/feedback/die%207?index=-1", "", NULL), 422);
    expect_status(ask("DELETE", "/feedback/die%207?indx=1", "", NULL), 422);
    expect_status(ask("DELETE", "/feedback/die%207", "", "{}"), 400);
    expect_status(ask("PUT", "/feedback/die%207", "", NULL), 405);
    struct reply reply = ask("DELETE", "/feedback/die%207?index=0", "", NULL);
    reply_expect_status(&reply, 200);
    reply_expect_text(&reply, "id", "die 7");
    reply_expect_text(&reply, "removed", text);
    reply_free(&reply);
    expect_status(ask("DELETE", "/feedback/die%207", "", NULL), 404);
    free(text);
    stop();
    tempdir_close(&dir);
}
END_TEST

START_TEST(an_id_that_no_path_can_hold_is_named_in_the_query)
{
    static const char *const wrong[] = {"",           "?index=0",       "?id=",
                                        "?id",        "?id=x&indx=0",   "?id=x&index=",
                                        "?id=x&id=",  "?id=x&index=-1", "?id=x&index=65536",
                                        "/x?id=die-7"};
    static const char *const ids[][2] = {
        {"lot 7/die+3", "lot+7%2Fdie%2B3"}, {"..", ".."}, {"groups", "groups"}, {"die-7", "die-7"}};
    char path[64];
    tempdir_open(&dir);
    start("100");
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char *text = predict(ids[i][0]);
        give(ids[i][0], text, 200);
        free(text);
        snprintf(path, sizeof path, "/feedback?id=%s&index=1", ids[i][1]);
        expect_status(ask("DELETE", path, "", NULL), 404);
        snprintf(path, sizeof path, "/feedback?index=0&id=%s", ids[i][1]);
        struct reply reply = ask("DELETE", path, "", NULL);
        reply_expect_status(&reply, 200);
        reply_expect_text(&reply, "id", ids[i][0]);
        reply_free(&reply);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(path, sizeof path, "/feedback%s", wrong[i]);
        expect_status(ask("DELETE", path, "", NULL), 422);
    }
    stop();
    tempdir_close(&dir);
}
END_TEST

START_TEST(an_item_of_an_envelope_is_meant_by_its_index_and_an_id_may_be_no_ascii)
{
    tempdir_open(&dir);
    start("100");
    struct reply reply = ask("POST", "/predict", "",
                             "{\"id\":\"Los-ä\",\"inputs\":[{\"text\":\"a fail\"},"
                             "{\"text\":\"\"},{\"text\":\"b pass\"}]}");
    reply_expect_status(&reply, 200);
    char *text = strdup(reply_text(&reply, "results.2.label"));
    reply_free(&reply);
    char *body = contract_format("{\"id\":\"Los-ä\",\"index\":2,\"label\":\"%s\"}", text);
    expect_status(label(body), 200);
    expect_status(label("{\"id\":\"Los-ä\",\"index\":1,\"label\":\"x\"}"), 404);
    free(body);
    free(text);
    stop();
    tempdir_close(&dir);
}
END_TEST

/* ---- restarts ---- */

START_TEST(after_a_restart_and_after_a_kill_labels_and_predictions_are_known)
{
    tempdir_open(&dir);
    start("100");
    char *text = predict("die-7");
    free(predict("die-8"));
    free(predict("die-9"));
    give("die-7", text, 200);
    expect_status(label("{\"id\":\"die-8\",\"label\":\"unheard of\",\"new\":true}"), 200);
    for (int kills = 0; kills < 2; kills++) {
        if (kills == 0) {
            stop();
        } else {
            kill(server.pid, SIGKILL);
            waitpid(server.pid, NULL, 0);
        }
        start("100");
        expect_accuracy(0.5, 2);
        give("die-9", text, 200);
        expect_status(ask("DELETE", "/feedback/die-9", "", NULL), 200);
    }
    give("die-8", text, 200);
    expect_accuracy(1, 2);
    stop();
    start("1"); /* only the last is remembered: no label is its */
    struct reply reply = ask("GET", "/models/text", "", NULL);
    ck_assert_double_eq(reply_number(&reply, "accuracy.n"), 0);
    reply_free(&reply);
    give("die-9", text, 200);
    give("die-8", text, 404);
    free(text);
    stop();
    tempdir_close(&dir);
}
END_TEST

START_TEST(without_a_window_every_id_is_unknown)
{
    tempdir_open(&dir);
    start("0");
    char *text = predict("die-7");
    give("die-7", text, 404);
    free(text);
    stop();
    tempdir_close(&dir);
}
END_TEST

/* The labels of an answer that score at least 0.5, as members of an array: yours to free. */
static char *predict_set(const char *id)
{
    char *body =
        contract_format("{\"text\":\"vdd_io 3.97 V FAIL\",\"id\":\"%s\",\"top_k\":\"all\"}", id);
    struct reply reply = ask("POST", "/predict", "", body);
    reply_expect_status(&reply, 200);
    char list[512] = "";
    for (size_t i = 0; i < reply_count(&reply, "predictions"); i++) {
        char path[64];
        snprintf(path, sizeof path, "predictions.%zu.score", i);
        if (reply_number(&reply, path) < 0.5)
            continue;
        snprintf(path, sizeof path, "predictions.%zu.label", i);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s\"%s\"",
                 list[0] != '\0' ? "," : "", reply_text(&reply, path));
    }
    reply_free(&reply);
    free(body);
    return strdup(list);
}

static struct reply give_set(const char *id, const char *list)
{
    char *body = contract_format("{\"id\":\"%s\",\"labels\":[%s]}", id, list);
    struct reply reply = label(body);
    free(body);
    return reply;
}

/* bert-3 is a multi-label model. */
START_TEST(a_set_of_labels_is_judged_whole_and_survives_a_restart)
{
    tempdir_open(&dir);
    start("100");
    char *set = predict_set("die-1"), *same = predict_set("die-2");
    ck_assert_str_eq(set, same);
    struct reply reply = give_set("die-1", set);
    reply_expect_status(&reply, 200);
    ck_assert_ptr_nonnull(strstr(reply.answer.body, "\"correct\":true"));
    reply_free(&reply);
    reply = give_set("die-2", "\"MBIST\",\"SCAN\",\"IO\",\"POWER\",\"TIMING\",\"THERMAL\"");
    reply_expect_status(&reply, 200);
    ck_assert_ptr_nonnull(strstr(reply.answer.body, "\"correct\":false"));
    ck_assert_uint_eq(reply_count(&reply, "results.0.labels"), 6);
    reply_free(&reply);
    expect_accuracy(0.5, 2);
    reply = give_set("die-1", "\"unheard of\"");
    reply_expect_problem(&reply, 422, "unusable",
                         "$.labels: the model has no label \"unheard of\"");
    reply_free(&reply);
    reply = ask("GET", "/metrics", "", NULL);
    ck_assert_ptr_nonnull(
        strstr(reply.answer.body, "label=\"POWER|TIMING|SCAN|MBIST|IO|THERMAL\",predicted="));
    reply_free(&reply);
    stop();
    start("100");
    do { /* the past is being read */
        reply_free(&reply);
        reply = give_set("die-2", set);
    } while (reply.answer.status == 503);
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(reply_count(&reply, "results.0.replaced_labels"), 6);
    reply_free(&reply);
    expect_accuracy(1, 2);
    reply = ask("DELETE", "/feedback/die-2", "", NULL);
    reply_expect_status(&reply, 200);
    ck_assert_ptr_nonnull(strstr(reply.answer.body, "\"removed_labels\":["));
    reply_free(&reply);
    expect_accuracy(1, 1);
    free(set);
    free(same);
    stop();
    tempdir_close(&dir);
}
END_TEST

SUITE("contract_feedback", a_label_is_found_in_the_metrics_and_in_the_model,
      a_set_of_labels_is_judged_whole_and_survives_a_restart,
      a_label_alone_fails_with_a_status_of_its_own, pages_of_others_and_other_hosts_give_no_labels,
      delete_takes_a_label_back_and_has_no_body, an_id_that_no_path_can_hold_is_named_in_the_query,
      an_item_of_an_envelope_is_meant_by_its_index_and_an_id_may_be_no_ascii,
      after_a_restart_and_after_a_kill_labels_and_predictions_are_known,
      without_a_window_every_id_is_unknown)
