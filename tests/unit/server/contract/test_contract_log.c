/* No client writes the log. Its text may stand at several places, but a line of the log and of the
 * audit log is one event of attnd's own, and the client's words stand only inside of its
 * strings. */
#include "tests/support/checkpoint_writer.h"
#include "tests/support/contract.h"
#include "tests/support/server_log.h"
#include "tests/support/tempdir.h"

#include <jansson.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Texts that end a line for some reader, that a terminal obeys, that are no text, that close a
 * string of JSON, and one that is an event itself. */
static const char *const hostile[] = {
    "x\n{\"time\":\"2026-01-01T00:00:00.000Z\",\"level\":\"error\",\"event\":\"forged\"}\n",
    "x\r{\"event\":\"forged\"}",
    "\",\"event\":\"forged\",\"x\":\"",
    "\\\",\"event\":\"forged\",\"x\":\"\\",
    "\x1b[2J\x1b[1;1H\x1b]0;owned\x07",
    "\xc2\x9b"
    "31mred",
    "a\xc2\x85"
    "b",
    "a\xe2\x80\xa8{\"event\":\"forged\"}\xe2\x80\xa9",
    "\xe2\x80\xaetxt.exe\xe2\x81\xa6",
    "\x7f\x08\x08\x0b\x0c",
    "\xff\xfe\xc0\xaf\xed\xa0\x80\xf5",
    "\xf0\x9f\x98\x80 \xef\xbb\xbf",
    "cut in a character: \xe2\x80",
    "%s%n%1000000d",
    "<script>&amp;</script>",
};
enum { HOSTILE = sizeof hostile / sizeof hostile[0], LONG = 5000 };

/* All events that there are. */
static const char *const events[] = {
    "audit_closed",
    "audit_opened",
    "digest_failed",
    "drain_timed_out",
    "draining",
    "dtype_chosen",
    "feedback_not_restored",
    "feedback_restored",
    "few_descriptors",
    "fit_ended",
    "fit_requested",
    "fit_started",
    "fits_left_over",
    "layers_unused",
    "log_lines_lost",
    "memory_plan",
    "model_digest",
    "model_loaded",
    "model_uncalibrated",
    "otlp_failing",
    "otlp_recovered",
    "oversubscribed",
    "placement",
    "prediction",
    "ready",
    "reload_changed",
    "reload_failed",
    "reload_waits_for_restart",
    "reloaded",
    "request",
    "review_files_ignored",
    "review_keeps_inputs",
    "review_kept_again",
    "review_not_kept",
    "review_not_removed",
    "review_restored",
    "review_unreadable",
    "rollout",
    "rollout_overruled",
    "rollout_refused",
    "rollout_restored",
    "selftest_passed",
    "stop_requested",
    "stopped",
    "tls_certificate",
    "tls_certificate_expired",
    "tls_certificate_expires_soon",
    "unauthenticated",
};

static struct server_log run;
static struct tempdir dir;
static unsigned answered, predictions; /* requests with an answer, and those of them with a 200 */
static unsigned counted;               /* requests, by the metrics */

/* A text in a string of JSON: as it is, which may not be JSON at all, or escaped byte by byte as far
 * as that means the same. Yours to free. */
static char *in_json(const char *text, bool is_escaped)
{
    size_t len = strlen(text);
    char *out = malloc(6 * len + 1), *at = out;
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < len; i++)
        if (is_escaped && (unsigned char)text[i] < 0x80)
            at += sprintf(at, "\\u%04x", (unsigned)(unsigned char)text[i]);
        else
            *at++ = text[i];
    *at = '\0';
    return out;
}

static char *in_query(const char *text)
{
    size_t len = strlen(text);
    char *out = malloc(3 * len + 1);
    ck_assert_ptr_nonnull(out);
    out[0] = '\0';
    for (size_t i = 0; i < len; i++)
        sprintf(out + 3 * i, "%%%02X", (unsigned)(unsigned char)text[i]);
    return out;
}

/* Each on a connection of its own, since some are answered with its end, and some not at all. */
static void say(const char *head, const char *body)
{
    char *bytes = contract_format("%sContent-Length: %zu\r\nConnection: close\r\n\r\n%s", head,
                                  strlen(body), body);
    int fd = http_connect(run.server.port);
    http_send_text(fd, bytes);
    struct http_answer answer = http_read(fd, false);
    answered += answer.status != 0;
    predictions += answer.status == 200 && strstr(head, "POST /predict") == head;
    http_answer_free(&answer);
    close(fd);
    free(bytes);
}

/* format has one %s. */
static void say_with(const char *head, const char *format, const char *text)
{
    const char *percent = strstr(format, "%s");
    char *body = contract_format("%.*s%s%s", (int)(percent - format), format, text, percent + 2);
    say(head, body);
    free(body);
}

static void say_in_head(const char *format, const char *text)
{
    const char *percent = strstr(format, "%s");
    char *head = contract_format("%.*s%s%s", (int)(percent - format), format, text, percent + 2);
    say(head, "{\"text\": \"a\"}");
    free(head);
}

#define PREDICT "POST /predict HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
#define FEEDBACK "POST /feedback HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"

static void attack_bodies(const char *text)
{
    static const char *const bodies[] = {
        "{\"text\": \"a\", \"id\": \"%s\"}",
        "{\"text\": \"%s\"}",
        "{\"text\": \"a\", \"model\": \"%s\"}",
        "{\"text\": \"a\", \"context\": {\"lot\": \"%s\"}}",
        "{\"text\": \"a\", \"context\": {\"lot\": \"a\", \"step\": \"%s\"}, \"id\": \"b\"}",
        "{\"text\": \"a\", \"context\": {\"%s\": 1}}",
        "{\"text\": \"a\", \"%s\": 1}",
        "{\"text\": \"a\", \"explain\": \"%s\"}",
        "{\"inputs\": [{\"text\": \"a\", \"id\": \"%s\"}, {\"text\": \"b\"}]}",
        "{\"inputs\": [{\"text\": \"a\", \"context\": {\"tool\": \"%s\"}}, {\"image\": \"x\"}]}",
        "%s",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        for (unsigned escaped = 0; escaped < 2; escaped++) {
            char *inside = in_json(text, escaped);
            say_with(PREDICT, bodies[i], inside);
            free(inside);
        }
    char *inside = in_json(text, true);
    say_with(FEEDBACK, "{\"id\": \"%s\", \"label\": \"a\"}", inside);
    say_with(FEEDBACK, "{\"id\": \"known\", \"label\": \"%s\", \"new\": true}", inside);
    say_with(FEEDBACK, "{\"id\": \"known\", \"label\": \"a\", \"new\": true, \"source\": \"%s\"}",
             inside);
    free(inside);
}

static void attack_heads(const char *text)
{
    static const char *const heads[] = {
        PREDICT "X-Request-Id: %s\r\n",
        PREDICT "traceparent: %s\r\n",
        PREDICT "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"
                "tracestate: %s\r\n",
        PREDICT "Authorization: Bearer %s\r\n",
        PREDICT "User-Agent: %s\r\n",
        PREDICT "X-Forwarded-For: %s\r\n",
        PREDICT "%s: 1\r\n",
        "POST /predict HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n",
        "POST /predict HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\n",
        "POST /%s HTTP/1.1\r\nHost: h\r\n",
        "%s /predict HTTP/1.1\r\nHost: h\r\n",
        "POST /predict %s\r\nHost: h\r\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        say_in_head(heads[i], text);
}

static void attack_targets(const char *text)
{
    static const char *const heads[] = {
        "POST /%s HTTP/1.1\r\nHost: h\r\n",
        "GET /models/%s HTTP/1.1\r\nHost: h\r\n",
        "DELETE /feedback/%s HTTP/1.1\r\nHost: h\r\n",
        "POST /predict?id=%s HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n",
        "POST /predict?context.lot=%s HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n",
        "POST /predict?model=%s HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n",
        "POST /predict?%s=1 HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n",
    };
    char *encoded = in_query(text);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        say_in_head(heads[i], encoded);
    free(encoded);
}

/* Requests that are over, but for this one; -1: not all are. */
static int requests_over(void)
{
    static const char series[] = "\nattnd_requests_total{";
    struct http_answer answer = http_get(run.server.port, "/metrics");
    int sum = strstr(answer.body, "\nattnd_requests_in_flight 1\n") != NULL ? 0 : -1;
    for (const char *at = answer.body; sum >= 0 && (at = strstr(at, series)) != NULL; at++)
        sum += atoi(strstr(at, "} ") + 2);
    http_answer_free(&answer);
    return sum;
}

static unsigned await_requests_over(void)
{
    int sum;
    suite_await((sum = requests_over()) >= 0);
    return (unsigned)sum;
}

static void attack(void)
{
    char longest[LONG + 1];
    answered = predictions = 0;
    say(PREDICT, "{\"text\": \"a\", \"id\": \"known\"}");
    for (unsigned i = 0; i <= HOSTILE; i++) {
        const char *text = i < HOSTILE ? hostile[i] : longest;
        memset(longest, '\\', LONG);
        longest[LONG] = '\0';
        attack_bodies(text);
        attack_heads(text);
        attack_targets(text);
    }
    counted = await_requests_over();
}

static void expect_known_events(const char *level)
{
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    for (unsigned i = 0; i < run.count; i++) {
        const char *name = json_string_value(json_object_get(run.lines[i].json, "level"));
        bool is_known = false, is_wanted = false;
        for (size_t k = 0; k < sizeof events / sizeof events[0]; k++)
            is_known = is_known || strcmp(run.lines[i].event, events[k]) == 0;
        for (unsigned k = 0, over = 0; k < 4 && !over; k++) {
            is_wanted = is_wanted || strcmp(levels[k], name) == 0;
            over = strcmp(levels[k], level) == 0;
        }
        ck_assert_msg(is_known && is_wanted, "at level %s: %s", level, run.lines[i].text);
    }
}

/* Each line is one event of the fixed set; a request that was answered is one line, and no other. */
START_TEST(no_client_writes_a_line_of_the_log_at_any_level)
{
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    for (unsigned i = 0; i < 4; i++) {
        server_log_start(&run, (const char *[]){"--model", "text=tests/data/golden/bert-3",
                                                "--log-level", levels[i], NULL});
        attack();
        server_log_stop(&run);
        expect_known_events(levels[i]);
        ck_assert_uint_gt(answered, 400);
        ck_assert_uint_gt(predictions, 100);
        ck_assert_uint_eq(server_log_count(&run, "request") > 0, i == 3);
        if (i == 3)
            ck_assert_uint_eq(server_log_count(&run, "request"), counted + 1); /* the scrape */
        if (i < 2) /* of the start: the model has no thresholds */
            ck_assert_uint_eq(run.count, i == 1 ? server_log_count(&run, "model_uncalibrated") : 0);
        server_log_free(&run);
    }
}
END_TEST

/* The whole of the audit log's only file. */
static char *audit_text(size_t *len)
{
    char *path = contract_format("%s/attnd-audit-000000000001.jsonl", dir.path);
    char *text = contract_file(path, len);
    free(path);
    return text;
}

START_TEST(no_client_writes_a_line_of_the_audit_log)
{
    char out[256], errors[256];
    size_t len;
    struct server_log_line *lines;
    unsigned kept = 0;
    tempdir_open(&dir);
    server_log_start(&run, (const char *[]){"--model", "text=tests/data/golden/bert-3",
                                            "--audit-dir", dir.path, NULL});
    attack();
    server_log_stop(&run);
    expect_known_events("info");
    server_log_free(&run);
    char *text = audit_text(&len);
    unsigned count = server_log_read(&lines, text, len, "{\"seq\":");
    for (unsigned i = 0; i < count; i++) {
        static const char *const types[] = {"begin", "start", "prediction", "feedback", "stop"};
        const char *type = json_string_value(json_object_get(lines[i].json, "type"));
        bool is_known = false;
        for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
            is_known = is_known || strcmp(type, types[k]) == 0;
        ck_assert_msg(is_known && lines[i].event == NULL, "%s", lines[i].text);
        ck_assert_uint_eq((uint64_t)json_integer_value(json_object_get(lines[i].json, "seq")),
                          i + 1);
        kept += strcmp(type, "prediction") == 0;
        json_decref(lines[i].json);
    }
    ck_assert_uint_ge(kept, predictions); /* an envelope has several, or none */
    free(lines);
    free(text);
    ck_assert_int_eq(run_program("attnd-audit", (const char *[]){"verify", dir.path, NULL}, out,
                                 sizeof out, errors, sizeof errors),
                     0);
    tempdir_close(&dir);
}
END_TEST

/* A model of this name and with these labels; its lines stand in the log. */
START_TEST(labels_of_a_model_stay_inside_of_their_strings)
{
    static struct checkpoint_writer writer;
    char *config = contract_format(
        "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
        "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
        "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"%s\", \"1\": \"%s\"}}",
        "a\\n{\\\"event\\\":\\\"forged\\\"}\\u2028\\u001b[2J\\u009b",
        "b\\\",\\\"event\\\":\\\"forged\\\",\\\"x\\\":\\\"\xe2\x80\xa8\xc2\x85");
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 16, 1, 24, 40, 32, 2);
    checkpoint_writer_finish(&writer);
    free(config);
    char *model = contract_format("text=%s", writer.dir);
    server_log_start(&run, (const char *[]){"--model", model, "--log-level", "debug", NULL});
    attack();
    server_log_stop(&run);
    expect_known_events("debug");
    ck_assert_uint_gt(server_log_count(&run, "prediction"), 100);
    server_log_free(&run);
    free(model);
    checkpoint_writer_close(&writer);
}
END_TEST

/* An operator's mistake is told at the start in one line, whatever it contains. */
START_TEST(names_of_models_and_keys_that_are_refused_stay_inside_of_their_strings)
{
    for (unsigned i = 0; i < HOSTILE; i++) {
        char out[64], errors[8192];
        struct server_log_line *lines;
        tempdir_open(&dir);
        char *keys = contract_format("sha256:%064d %s predict\n", 0, hostile[i]);
        tempdir_write(&dir, "keys", keys, strlen(keys));
        char *file = contract_format("%s/keys", dir.path);
        int code = run_program("attnd",
                               (const char *[]){"--listen", "127.0.0.1:0", "--model",
                                                "text=tests/data/golden/bert-3", "--keys-file",
                                                file, NULL},
                               out, sizeof out, errors, sizeof errors);
        ck_assert_msg(code == 2, "%d: %s", code, keys);
        char *last = strstr(errors, "attnd: "); /* behind the log: the line for people */
        ck_assert_ptr_nonnull(last);
        ck_assert_ptr_eq(strchr(last, '\n'), last + strlen(last) - 1);
        unsigned count = server_log_read(&lines, errors, (size_t)(last - errors), "{\"time\":\"20");
        ck_assert_str_eq(lines[count - 1].event, "stopped");
        for (unsigned k = 0; k < count; k++)
            json_decref(lines[k].json);
        free(lines);
        free(file);
        free(keys);
        tempdir_close(&dir);
    }
}
END_TEST

SUITE("contract_log", no_client_writes_a_line_of_the_log_at_any_level,
      no_client_writes_a_line_of_the_audit_log, labels_of_a_model_stay_inside_of_their_strings,
      names_of_models_and_keys_that_are_refused_stay_inside_of_their_strings)
