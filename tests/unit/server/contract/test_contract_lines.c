/* A body of lines (application/x-ndjson), over real sockets: an answer a line, in the order of the
 * lines and in portions, each fault where it is; its bounds; and its readers that stop. */
#include "tests/support/contract.h"
#include "tests/support/exposition.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MODEL "text=tests/data/golden/bert-3"
#define TYPE "Content-Type: application/x-ndjson\r\n"

static struct server_process server;

static void start(const char *option, const char *value)
{
    server_process_start(&server,
                         (const char *[]){"--model", MODEL, "--workers", "1",
                                          "--threads-per-worker", "1", option, value, NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

/* Sends a list and nothing more; the socket. HTTP/1.0, whose replies have no chunks. */
static int send_list(const char *query, const char *headers, const char *list)
{
    int fd = http_connect(server.port);
    char *head = contract_format("POST /predict%s HTTP/1.0\r\nHost: h\r\n%sContent-Length: "
                                 "%zu\r\n\r\n",
                                 query, headers, strlen(list));
    ck_assert(http_send_text(fd, head) && http_send_text(fd, list));
    free(head);
    return fd;
}

/* The lines of an answer, as JSON; the head in reply.answer.head. */
static struct reply read_lines(int fd)
{
    struct reply reply = {.answer = http_read(fd, false)};
    close(fd);
    if (reply.answer.status != 200) {
        reply.json = json_loads(reply.answer.body, 0, NULL);
        return reply;
    }
    ck_assert_str_eq(reply_header(&reply, "Content-Type"), "application/x-ndjson");
    reply.json = json_array();
    for (const char *at = reply.answer.body; at != NULL && *at != '\0'; at += strcspn(at, "\n") + 1)
        ck_assert_int_eq(
            json_array_append_new(reply.json,
                                  json_loadb(at, strcspn(at, "\n"), JSON_DISABLE_EOF_CHECK, NULL)),
            0);
    return reply;
}

static struct reply ask(const char *query, const char *list)
{
    return read_lines(send_list(query, TYPE, list));
}

/* So many texts, every second one with an id; yours to free. */
static char *texts(unsigned count)
{
    enum { LINE_BYTES = 64 };
    char *list = malloc((size_t)count * LINE_BYTES + 1), *at = list;
    *at = '\0';
    for (unsigned i = 0; i < count; i++)
        at += i % 2 == 0 ? sprintf(at, "{\"text\":\"leakage at pin %u\"}\n", i)
                         : sprintf(at, "{\"text\":\"scan\",\"id\":\"x%u\"}\r\n", i);
    return list;
}

static void expect_text(const struct reply *reply, size_t line, const char *key, const char *value)
{
    const char *found = json_string_value(contract_at(json_array_get(reply->json, line), key));
    ck_assert_msg(found != NULL && strcmp(found, value) == 0, "line %zu: %s is %s", line, key,
                  found);
}

START_TEST(lines_are_answered_in_their_order_each_with_index_and_id)
{
    char *list = texts(500), id[16];
    start("--inputs-max", "20");
    struct reply reply = ask("?top_k=2&id=mine&context.lot=A1", list);
    reply_expect_status(&reply, 200);
    ck_assert_str_eq(reply_header(&reply, "X-Request-Id"), "mine");
    ck_assert_uint_eq(json_array_size(reply.json), 500);
    struct reply alone = contract_ask(server.port, "POST", "/predict", "", "{\"text\":\"scan\"}");
    for (size_t i = 0; i < 500; i++) {
        const json_t *line = json_array_get(reply.json, i);
        snprintf(id, sizeof id, "x%zu", i);
        ck_assert_int_eq(json_integer_value(contract_at(line, "index")), (json_int_t)i);
        ck_assert_uint_eq(json_array_size(contract_at(line, "predictions")), 2);
        expect_text(&reply, i, "id", i % 2 == 0 ? "mine" : id);
        expect_text(&reply, i, "context.lot", "A1");
        if (i % 2 == 1)
            ck_assert_double_eq_tol(json_number_value(contract_at(line, "score")),
                                    reply_number(&alone, "score"), 1e-5);
    }
    reply_free(&alone);
    reply_free(&reply);
    free(list);
    stop();
}
END_TEST

START_TEST(a_line_that_fails_is_a_problem_and_does_not_stop_the_others)
{
    start("--inputs-max", "4");
    struct reply reply = ask("", "\xEF\xBB\xBF{\"text\":\"a\"}\n"
                                 "\n"
                                 "{\"text\":\"\",\"id\":\"empty\"}\n"
                                 "no JSON\n"
                                 "[1]\n"
                                 "{\"text\":\"a\",\"top_k\":2}\n"
                                 "{\"text\":\"a\"},{\"text\":\"b\"}\n"
                                 "{\"image\":\"bm8=\"}\n"
                                 " {\"text\":\"a\",\"context\":{\"lot\":\"B\"}} ");
    const char *const faults[] = {NULL,
                                  "$.text: empty",
                                  "not valid JSON",
                                  "$: expected an object",
                                  "$.top_k: options are for all lines; put it into the query",
                                  "more bytes after the JSON value",
                                  "no model that reads images is served",
                                  NULL};
    reply_expect_status(&reply, 200);
    ck_assert_uint_eq(json_array_size(reply.json), 8);
    for (size_t i = 0; i < 8; i++) {
        const json_t *line = json_array_get(reply.json, i);
        ck_assert_int_eq(json_integer_value(contract_at(line, "index")), (json_int_t)i);
        const char *detail = json_string_value(contract_at(line, "detail"));
        ck_assert_msg((detail == NULL) == (faults[i] == NULL), "line %zu", i);
        ck_assert_msg(detail == NULL || strstr(detail, faults[i]) != NULL, "%s", detail);
    }
    expect_text(&reply, 1, "id", "empty");
    expect_text(&reply, 7, "context.lot", "B");
    reply_free(&reply);
    stop();
}
END_TEST

static void expect_refusal(const char *query, const char *list, int status, const char *type,
                           const char *detail)
{
    struct reply reply = ask(query, list);
    reply_expect_problem(&reply, status, type, detail);
    reply_free(&reply);
}

START_TEST(a_list_that_is_wrong_as_a_whole_is_refused_before_any_answer)
{
    enum { TOO_MANY = 65537 };
    char *list = malloc(2 * TOO_MANY + 1);
    for (int i = 0; i < TOO_MANY; i++)
        memcpy(list + 2 * i, "x\n", 3);
    start("--body-bytes-max", "200000");
    expect_refusal("", list, 413, "too_large", "body: at most 65536 lines, found 65537");
    expect_refusal("", "", 422, "unusable", "body: it has no line");
    expect_refusal("", " \r\n\t\n", 422, "unusable", "body: it has no line");
    expect_refusal("?topk=2", "{\"text\":\"a\"}", 422, "unusable", "?topk: ");
    expect_refusal("?model=none", "{\"text\":\"a\"}", 404, "not_found", "?model: no model");
    expect_refusal("?top_k=0", "{\"text\":\"a\"}", 422, "unusable", "?top_k: ");
    free(list);
    stop();
}
END_TEST

START_TEST(inputs_of_one_call_are_answered_in_lines_to_a_client_that_accepts_them)
{
    start("--inputs-max", "4");
    const char *headers = "Content-Type: application/json\r\nAccept: application/x-ndjson\r\n";
    struct reply reply =
        read_lines(send_list("", headers, "{\"inputs\":[{\"text\":\"a\"},{\"text\":\"\"}]}"));
    ck_assert_uint_eq(json_array_size(reply.json), 2);
    expect_text(&reply, 1, "detail", "$.inputs[1].text: empty");
    reply_free(&reply);
    reply = read_lines(send_list("", headers, "{\"text\":\"a\",\"id\":\"one\"}"));
    ck_assert_uint_eq(json_array_size(reply.json), 1);
    expect_text(&reply, 0, "id", "one");
    reply_free(&reply);
    reply = read_lines(send_list("", headers, "{\"text\":\"\"}"));
    reply_expect_problem(&reply, 422, "unusable", "$.text: empty");
    reply_free(&reply);
    stop();
}
END_TEST

START_TEST(a_line_far_behind_is_given_a_label_and_is_audited_by_its_index)
{
    struct tempdir dir;
    static char out[1 << 20];
    char *list = texts(300), errors[1024];
    tempdir_open(&dir);
    start("--audit-dir", dir.path);
    struct reply reply = ask("?id=list", list);
    ck_assert_uint_eq(json_array_size(reply.json), 300);
    expect_text(&reply, 250, "id", "list");
    char *body =
        contract_format("{\"id\":\"list\",\"index\":250,\"label\":\"%s\"}",
                        json_string_value(contract_at(json_array_get(reply.json, 250), "label")));
    struct reply given = contract_ask(server.port, "POST", "/feedback", "", body);
    reply_expect_status(&given, 200);
    reply_free(&given);
    reply_free(&reply);
    stop();
    ck_assert_int_eq(run_program("attnd-audit", (const char *[]){"export", dir.path, NULL}, out,
                                 sizeof out, errors, sizeof errors),
                     0);
    const char *at = strstr(out, "\"index\":250,");
    ck_assert(at != NULL && strstr(at, "\"index\":299,") != NULL);
    free(body);
    free(list);
    tempdir_close(&dir);
}
END_TEST

/* The number of the list's inputs that were computed; -1: its request has not ended. */
static double computed_at_end(void)
{
    double inputs = -1;
    char problem[EXPOSITION_PROBLEM_BYTES];
    struct http_answer answer = http_get(server.port, "/metrics");
    struct exposition *page = exposition_parse(answer.body, answer.body_len, problem);
    ck_assert_msg(page != NULL, "%s", problem);
    /* A portion that is given up has no model. */
    static const char *const ends[] = {
        "attnd_requests_total{route=\"/predict\",model=\"text\",code=\"200\"}",
        "attnd_requests_total{route=\"/predict\",model=\"\",code=\"200\"}"};
    if (exposition_value(page, ends[0]) >= 1 || exposition_value(page, ends[1]) >= 1)
        inputs = exposition_value(page, "attnd_prediction_score_count{model=\"text\"}");
    exposition_free(page);
    http_answer_free(&answer);
    return inputs;
}

static double await_end(void)
{
    double inputs;
    suite_await((inputs = computed_at_end()) >= 0);
    return inputs;
}

enum { LONG = 60000, ID_BYTES = 128 };

/* A list of which only the first bytes of its answer are read. Inputs are short and answers long:
 * the buffers of the two sockets are full after few of them. */
static int begin_long(void)
{
    static const char line[] = "{\"text\":\"a\"}\n";
    char query[5 + ID_BYTES] = "?id=", first[16];
    char *list = malloc(LONG * (sizeof line - 1) + 1);
    memset(query + 4, 'x', ID_BYTES);
    for (size_t i = 0; i < LONG; i++)
        memcpy(list + i * (sizeof line - 1), line, sizeof line);
    int fd = send_list(query, TYPE, list);
    ck_assert_int_gt(recv(fd, first, sizeof first, 0), 0);
    free(list);
    return fd;
}

START_TEST(a_client_that_does_not_read_is_cut_off_and_its_list_is_not_computed)
{
    start("--body-timeout-ms", "500");
    int fd = begin_long();
    ck_assert_double_lt(await_end(), LONG);
    close(fd);
    stop();
}
END_TEST

START_TEST(a_client_that_goes_away_cancels_the_rest_of_its_list)
{
    start("--body-timeout-ms", "60000");
    close(begin_long());
    ck_assert_double_lt(await_end(), LONG);
    stop();
}
END_TEST

/* The list would take much longer than the drain: its connection is closed between two lines. */
START_TEST(a_stop_that_does_not_wait_ends_a_list)
{
    char *list = texts(LONG), first[16];
    start("--drain-timeout-ms", "100");
    int fd = send_list("", TYPE, list);
    ck_assert_int_gt(recv(fd, first, sizeof first, 0), 0);
    kill(server.pid, SIGTERM);
    struct http_answer answer = http_read(fd, false);
    ck_assert_int_eq(server_process_wait(&server), 0);
    http_answer_free(&answer);
    close(fd);
    free(list);
}
END_TEST

/* A list that was begun before the stop is finished within the drain. */
START_TEST(a_stop_waits_for_a_list_as_for_any_request)
{
    char *list = texts(1000);
    start("--drain-timeout-ms", "60000");
    int fd = send_list("", TYPE, list);
    char first;
    ck_assert_int_eq(recv(fd, &first, 1, MSG_PEEK), 1);
    kill(server.pid, SIGTERM);
    struct reply reply = read_lines(fd);
    ck_assert_int_eq(server_process_wait(&server), 0);
    ck_assert_uint_eq(json_array_size(reply.json), 1000);
    expect_text(&reply, 999, "id", "x999");
    reply_free(&reply);
    free(list);
}
END_TEST

SUITE("contract_lines", lines_are_answered_in_their_order_each_with_index_and_id,
      a_line_that_fails_is_a_problem_and_does_not_stop_the_others,
      a_list_that_is_wrong_as_a_whole_is_refused_before_any_answer,
      inputs_of_one_call_are_answered_in_lines_to_a_client_that_accepts_them,
      a_line_far_behind_is_given_a_label_and_is_audited_by_its_index,
      a_client_that_does_not_read_is_cut_off_and_its_list_is_not_computed,
      a_client_that_goes_away_cancels_the_rest_of_its_list, a_stop_that_does_not_wait_ends_a_list,
      a_stop_waits_for_a_list_as_for_any_request)
