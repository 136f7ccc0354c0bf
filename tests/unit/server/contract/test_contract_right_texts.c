/* Right texts of models that write, of the program: an input that a person is to look at is kept
 * with what was written, its right text is in the metrics, the model, the audit log and the list,
 * and all of that is there again after a restart. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"
#include "tests/support/writing_model.h"

#include <jansson.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct server_process server;
static struct tempdir state, audit, writer, reader;

static void start(void)
{
    char texts[256], pictures[256];
    snprintf(texts, sizeof texts, "texts=%s", writer.path);
    snprintf(pictures, sizeof pictures, "pictures=%s", reader.path);
    const char *args[] = {"--model",
                          texts,
                          "--model",
                          pictures,
                          "--model",
                          "classes=tests/data/golden/bert-5",
                          "--state-dir",
                          state.path,
                          "--audit-dir",
                          audit.path,
                          "--keep-inputs-bytes",
                          "1000000",
                          "--workers",
                          "1",
                          "--threads-per-worker",
                          "1",
                          NULL};
    server_process_start(&server, args);
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static void open_all(void)
{
    tempdir_open(&state);
    tempdir_open(&audit);
    writing_model_open(&writer, "marian-0");
    writing_model_open(&reader, "trocr-0");
    start();
}

static void close_all(void)
{
    char path[512], dir[128];
    stop();
    snprintf(dir, sizeof dir, "%s/inputs", state.path);
    DIR *entries = opendir(dir);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        unlink(path);
    }
    closedir(entries);
    rmdir(dir);
    tempdir_close(&writer);
    tempdir_close(&reader);
    tempdir_close(&state);
    tempdir_close(&audit);
}

static struct reply get(const char *path)
{
    return contract_ask(server.port, "GET", path, "", NULL);
}

static int status_of(const char *path)
{
    struct reply reply = get(path);
    const int status = reply.answer.status;
    reply_free(&reply);
    return status;
}

/* Once it is no 503: the past is being read. */
static struct reply get_read(const char *path)
{
    suite_await(status_of(path) != 503);
    return get(path);
}

static struct reply post(const char *path, const char *body)
{
    return contract_ask(server.port, "POST", path, "", body);
}

/* Until the input is kept: connections end, and with them requests, in an order of their own. */
static void await_kept(const char *id)
{
    char path[64];
    snprintf(path, sizeof path, "/review/%s", id);
    suite_await(status_of(path) == 200);
}

/* Writes a text, whose input is then kept. Returns what was written; yours to free. */
static char *write_text(const char *id, const char *more)
{
    char *body = contract_format("{\"model\":\"texts\",\"id\":\"%s\",\"text\":\"The die failed the "
                                 "scan test at 3.97 V.\",\"num_beams\":1%s}",
                                 id, more);
    struct reply reply = post("/predict", body);
    reply_expect_status(&reply, 200);
    const json_t *output = contract_at(reply.json, "output");
    char *text = output != NULL ? strdup(json_string_value(output)) : NULL;
    reply_free(&reply);
    free(body);
    await_kept(id);
    return text;
}

static struct reply give(const char *id, const char *output)
{
    json_t *body = json_pack("{s:s,s:s,s:s}", "id", id, "output", output, "source", "test");
    char *text = json_dumps(body, 0);
    struct reply reply = post("/feedback", text);
    json_decref(body);
    free(text);
    return reply;
}

static size_t listed(const char *path)
{
    struct reply reply = get_read(path);
    reply_expect_status(&reply, 200);
    const size_t count = reply_count(&reply, "inputs");
    reply_free(&reply);
    return count;
}

/* The list, once so many are in it: they are written after their replies. */
static struct reply await_list(const char *path, size_t count)
{
    suite_await(listed(path) >= count);
    return get(path);
}

static void expect_accuracy(double value, double count, double error_rate)
{
    struct reply reply = get("/models/texts?confusion=true");
    ck_assert_double_eq(reply_number(&reply, "accuracy.value"), value);
    ck_assert_double_eq(reply_number(&reply, "accuracy.by_decision.review.n"), count);
    ck_assert_double_eq_tol(reply_number(&reply, "accuracy.error_rate"), error_rate, 1e-6);
    ck_assert_uint_eq(reply_count(&reply, "accuracy.confusion"), 0);
    reply_free(&reply);
}

START_TEST(a_right_text_is_judged_counted_listed_and_there_after_a_restart)
{
    char line[256];
    open_all();
    char *text = write_text("die-1", ""), *same = write_text("die-2", "");
    char *longer = contract_format("%s!!", text);
    struct reply right = give("die-1", text), wrong = give("die-2", longer);
    reply_expect_status(&right, 200);
    reply_expect_text(&right, "results.0.predicted_output", text);
    ck_assert(json_is_true(contract_at(right.json, "results.0.correct")));
    reply_expect_text(&wrong, "results.0.output", longer);
    ck_assert_double_eq(reply_number(&wrong, "results.0.edits"), 2);
    reply_free(&right);
    reply_free(&wrong);
    const double rate = 2 / (2.0 * (double)strlen(text) + 2);
    expect_accuracy(0.5, 2, rate);
    struct reply metrics = get("/metrics");
    ck_assert_ptr_nonnull(strstr(metrics.answer.body,
                                 "\nattnd_feedback_total{model=\"texts\",version=\"1\","
                                 "label=\"other\",predicted=\"texts\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(metrics.answer.body,
                                 "\nattnd_predictions_total{model=\"texts\",label=\"texts\","
                                 "decision=\"review\"} 2\n"));
    snprintf(line, sizeof line, "\nattnd_character_error_ratio{model=\"texts\",version=\"1\"} %.4f",
             rate);
    ck_assert_ptr_nonnull(strstr(metrics.answer.body, line));
    reply_free(&metrics);
    stop();
    start();
    struct reply list = await_list("/review?model=texts", 2);
    reply_expect_text(&list, "inputs.0.id", "die-2");
    reply_expect_text(&list, "inputs.0.output", text);
    reply_expect_text(&list, "inputs.0.right_output", longer);
    reply_expect_text(&list, "inputs.1.right_output", text);
    reply_free(&list);
    expect_accuracy(0.5, 2, rate);
    struct reply removed = contract_ask(server.port, "DELETE", "/feedback/die-2", "", NULL);
    reply_expect_status(&removed, 200);
    reply_expect_text(&removed, "removed_output", longer);
    reply_expect_text(&removed, "predicted_output", text);
    reply_free(&removed);
    expect_accuracy(1, 1, 0);
    free(longer);
    free(same);
    free(text);
    close_all();
}
END_TEST

START_TEST(an_input_is_kept_with_what_was_written_and_why_it_is_to_be_seen)
{
    open_all();
    free(write_text("die-1", ""));
    char *none = write_text("die-2", ",\"pattern\":\"[A-Z0-9]{6}\",\"checksum\":\"semi-m13\"");
    ck_assert_ptr_null(none);
    struct reply list = await_list("/review?model=texts&decision=review", 2);
    reply_expect_text(&list, "inputs.1.id", "die-1");
    ck_assert_double_gt(reply_number(&list, "inputs.1.confidence"), 0);
    reply_expect_text(&list, "inputs.1.reason", "the model is not calibrated: it has no threshold");
    ck_assert_ptr_null(contract_at(list.json, "inputs.1.label"));
    ck_assert_ptr_null(contract_at(list.json, "inputs.1.right_output"));
    ck_assert(json_object_get(contract_at(list.json, "inputs.0"), "output") == json_null());
    ck_assert_uint_eq(strlen(reply_text(&list, "inputs.0.rejected")), 6);
    ck_assert_ptr_null(contract_at(list.json, "inputs.0.confidence"));
    reply_free(&list);
    struct reply right = give("die-2", "AB12C3");
    reply_expect_status(&right, 200);
    ck_assert(json_object_get(contract_at(right.json, "results.0"), "predicted_output") ==
              json_null());
    ck_assert(json_is_false(contract_at(right.json, "results.0.correct")));
    reply_free(&right);
    struct reply input = get("/review/die-1");
    ck_assert_str_eq(input.answer.body, "The die failed the scan test at 3.97 V.");
    reply_free(&input);
    struct reply others = await_list("/review?model=classes", 0);
    ck_assert_uint_eq(reply_count(&others, "inputs"), 0);
    reply_free(&others);
    close_all();
}
END_TEST

START_TEST(a_picture_is_kept_with_what_was_read_on_it)
{
    size_t len;
    open_all();
    char *png = contract_file("tests/data/golden/images/0_center.png", &len);
    char *base64 = contract_file_base64("tests/data/golden/images/0_center.png");
    char *body =
        contract_format("{\"model\":\"pictures\",\"id\":\"mark\",\"image\":\"%s\"}", base64);
    struct reply reply = post("/predict", body);
    reply_expect_status(&reply, 200);
    struct reply list = await_list("/review?model=pictures", 1);
    reply_expect_text(&list, "inputs.0.media_type", "image/png");
    reply_expect_text(&list, "inputs.0.output", reply_text(&reply, "output"));
    reply_free(&list);
    struct reply input = get("/review/mark");
    ck_assert_uint_eq(input.answer.body_len, len);
    ck_assert_int_eq(memcmp(input.answer.body, png, len), 0);
    reply_free(&input);
    reply_free(&reply);
    free(body);
    free(base64);
    free(png);
    close_all();
}
END_TEST

START_TEST(what_is_of_another_kind_is_refused_by_name)
{
    open_all();
    free(write_text("text", ""));
    struct reply reply =
        post("/predict", "{\"model\":\"classes\",\"id\":\"label\",\"text\":\"vdd_io FAIL\"}");
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    reply = post("/feedback", "{\"id\":\"text\",\"label\":\"SCAN\"}");
    reply_expect_problem(&reply, 422, "unusable",
                         "$.label: the answer is a text: send the right one as \"output\"");
    reply_free(&reply);
    reply = give("label", "SCAN");
    reply_expect_problem(&reply, 422, "unusable",
                         "$.output: the answer is no text: send \"label\"");
    reply_free(&reply);
    reply = get("/review/groups?model=texts");
    reply_expect_problem(&reply, 422, "unusable",
                         "?model: this model writes texts, which make no ");
    reply_free(&reply);
    reply = get("/review?model=");
    reply_expect_problem(&reply, 422, "unusable", "?model: expected the name of a model");
    reply_free(&reply);
    reply = post("/admin/fits", "{\"name\":\"texts\"}");
    reply_expect_problem(&reply, 422, "unusable", "$.name: this model writes texts");
    reply_free(&reply);
    close_all();
}
END_TEST

SUITE("contract_right_texts", a_right_text_is_judged_counted_listed_and_there_after_a_restart,
      an_input_is_kept_with_what_was_written_and_why_it_is_to_be_seen,
      a_picture_is_kept_with_what_was_read_on_it, what_is_of_another_kind_is_refused_by_name)
