/* Inputs that are kept, in the program: which ones, what is told of them, that they are there after
 * a restart, and what the labels of the random sample say of all traffic. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One whose answers are all automatic, one whose answers to these inputs are not, and pictures. */
#define AUTO_MODEL "easy=tests/data/golden/bert-3"
#define HARD_MODEL "hard=models/kernel-bert"
#define IMAGE_MODEL "image=tests/data/golden/vit-0"
#define PICTURE "tests/data/examples/wafer_map.png"

static struct server_process server;
static struct tempdir state, audit;

static void start_with(const char *bytes, const char *share)
{
    server_process_start(&server, (const char *[]){"--model",
                                                   AUTO_MODEL,
                                                   "--model",
                                                   HARD_MODEL,
                                                   "--model",
                                                   IMAGE_MODEL,
                                                   "--state-dir",
                                                   state.path,
                                                   "--keep-inputs-bytes",
                                                   bytes,
                                                   "--keep-inputs-share",
                                                   share,
                                                   "--audit-dir",
                                                   audit.path,
                                                   "--workers",
                                                   "1",
                                                   "--threads-per-worker",
                                                   "1",
                                                   "--uncalibrated",
                                                   "auto",
                                                   NULL});
    struct reply reply = contract_ask_ready(server.port, "GET", "/review/nobody", NULL);
    reply_expect_status(&reply, 404);
    reply_free(&reply);
}

static void open_all(const char *bytes, const char *share)
{
    tempdir_open(&state);
    tempdir_open(&audit);
    start_with(bytes, share);
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static void inputs_dir(char out[128])
{
    snprintf(out, 128, "%s/inputs", state.path);
}

/* Removes the files of the inner folder, which tempdir_close does not know. */
static unsigned remove_inputs(void)
{
    char path[512], dir[128];
    unsigned removed = 0;
    inputs_dir(dir);
    DIR *entries = opendir(dir);
    ck_assert_ptr_nonnull(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        removed += unlink(path) == 0;
    }
    closedir(entries);
    ck_assert_int_eq(rmdir(dir), 0);
    return removed;
}

static unsigned close_all(void)
{
    stop();
    unsigned removed = remove_inputs();
    tempdir_close(&state);
    tempdir_close(&audit);
    return removed;
}

static struct reply get(const char *path)
{
    return contract_ask(server.port, "GET", path, "", NULL);
}

static struct reply post(const char *path, const char *body)
{
    return contract_ask(server.port, "POST", path, "", body);
}

static void predict(const char *model, const char *id, const char *text)
{
    char *body = contract_format("{\"model\": \"%s\", \"id\": \"%s\", \"text\": \"%s\", "
                                 "\"context\": {\"lot\": \"A\\\"1\", \"die_x\": 3}}",
                                 model, id, text);
    struct reply reply = post("/predict", body);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    free(body);
}

static bool lists(const char *path, size_t count)
{
    struct reply reply = get(path);
    const bool is_read = reply.answer.status != 503;
    if (is_read)
        reply_expect_status(&reply, 200);
    const bool lists_all = is_read && reply_count(&reply, "inputs") >= count;
    reply_free(&reply);
    return lists_all;
}

/* The list, once so many are in it: they are written after their replies. */
static struct reply await_list(const char *query, size_t count)
{
    char path[128];
    snprintf(path, sizeof path, "/review%s", query);
    suite_await(lists(path, count));
    return get(path);
}

static int status_of(const char *path)
{
    struct reply reply = get(path);
    const int status = reply.answer.status;
    reply_free(&reply);
    return status;
}

/* Predicts, and waits until the input is kept: connections end, and with them requests, in an order
 * of their own. */
static void keep(const char *model, const char *id, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/review/%s", id);
    predict(model, id, text);
    suite_await(status_of(path) == 200);
}

/* ---- what is kept ---- */

START_TEST(review_keeps_inputs_that_were_not_automatic_and_returns_them)
{
    open_all("1000000", "0");
    predict("easy", "easy-1", "vdd_io 3.97 V FAIL");
    predict("hard", "hard-1", "h\\u00e4ngt \\ud83d\\ude00");
    reply_free(&(struct reply[]){post("/predict", "{\"model\": \"hard\", \"text\": \"x\", "
                                                  "\"keep\": false}")}[0]);
    struct reply list = await_list("", 1);
    ck_assert_uint_eq(reply_count(&list, "inputs"), 1);
    reply_expect_text(&list, "inputs.0.id", "hard-1");
    ck_assert_double_eq(reply_number(&list, "inputs.0.index"), 0);
    reply_expect_text(&list, "inputs.0.model.name", "hard");
    ck_assert_str_ne(reply_text(&list, "inputs.0.decision"), "auto");
    reply_expect_text(&list, "inputs.0.context.lot", "A\"1");
    ck_assert_double_eq(reply_number(&list, "inputs.0.context.die_x"), 3);
    reply_expect_text(&list, "inputs.0.media_type", "text/plain; charset=utf-8");
    ck_assert_double_eq(reply_number(&list, "inputs.0.bytes"), 11);
    ck_assert_uint_eq(strlen(reply_text(&list, "inputs.0.digest")), 71);
    ck_assert_ptr_null(contract_at(list.json, "next"));
    reply_free(&list);
    struct reply input = get("/review/hard-1?index=0");
    reply_expect_status(&input, 200);
    ck_assert_str_eq(input.answer.body, "h\xc3\xa4ngt \xf0\x9f\x98\x80");
    ck_assert_str_eq(reply_header(&input, "Content-Type"), "text/plain; charset=utf-8");
    ck_assert_str_eq(reply_header(&input, "X-Content-Type-Options"), "nosniff");
    ck_assert_str_eq(reply_header(&input, "Content-Disposition"),
                     "attachment; filename=\"input.txt\"");
    reply_free(&input);
    ck_assert_uint_eq(close_all(), 1);
}
END_TEST

/* A pair of texts comes back as JSON that /predict answers alike, and is in a group. */
START_TEST(a_pair_is_given_back_as_the_call_that_asked_for_it)
{
    open_all("1000000", "1");
    struct reply first =
        post("/predict", "{\"model\": \"hard\", \"id\": \"pair\", \"text\": \"h\\u00e4ngt\\n\", "
                         "\"text_pair\": \"\\\"x\\u0000\"}");
    reply_expect_status(&first, 200);
    struct reply list = await_list("", 1);
    reply_expect_text(&list, "inputs.0.media_type", "application/json");
    reply_free(&list);
    struct reply input = get("/review/pair");
    reply_expect_status(&input, 200);
    ck_assert_str_eq(input.answer.body,
                     "{\"text\":\"h\xc3\xa4ngt\\u000a\",\"text_pair\":\"\\\"x\\u0000\"}");
    ck_assert_str_eq(reply_header(&input, "Content-Disposition"),
                     "attachment; filename=\"input.json\"");
    struct reply again = post("/predict?model=hard&keep=false", input.answer.body);
    reply_expect_status(&again, 200);
    ck_assert_double_eq(reply_number(&again, "score"), reply_number(&first, "score"));
    reply_free(&again);
    reply_free(&input);
    reply_free(&first);
    struct reply groups = get("/review/groups?model=hard&decision=any");
    reply_expect_status(&groups, 200);
    ck_assert_double_eq(reply_number(&groups, "ungrouped_total"), 0);
    reply_expect_text(&groups, "groups.0.items.0.id", "pair");
    reply_free(&groups);
    close_all();
}
END_TEST

/* A path cannot hold the first two, and has another meaning with the others. */
START_TEST(an_input_of_any_id_is_given_back_by_the_query)
{
    static const char *const ids[][2] = {
        {"lot 7/die+3", "lot+7%2Fdie%2B3"}, {"..", ".."}, {"groups", "groups"}, {"input", "input"}};
    const size_t count = sizeof ids / sizeof *ids;
    char path[64];
    open_all("1000000", "1");
    for (size_t i = 0; i < count; i++)
        predict("hard", ids[i][0], ids[i][0]);
    struct reply list = await_list("", count);
    reply_free(&list);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "/review/input?id=%s&index=0", ids[i][1]);
        struct reply input = get(path);
        reply_expect_status(&input, 200);
        ck_assert_str_eq(input.answer.body, ids[i][0]);
        reply_free(&input);
    }
    close_all();
}
END_TEST

START_TEST(a_picture_is_given_back_byte_for_byte)
{
    size_t len;
    char *bytes = contract_file(PICTURE, &len);
    open_all("10000000", "1");
    struct http_answer answer = http_request(server.port, "POST", "/predict?model=image&id=map",
                                             "Content-Type: image/png\r\n", bytes, len);
    ck_assert_int_eq(answer.status, 200);
    http_answer_free(&answer);
    struct reply list = await_list("?decision=auto", 1);
    ck_assert(contract_at(list.json, "inputs.0.sampled") != NULL);
    reply_expect_text(&list, "inputs.0.media_type", "image/png");
    reply_free(&list);
    struct reply input = get("/review/map");
    reply_expect_status(&input, 200);
    ck_assert_str_eq(reply_header(&input, "Content-Type"), "image/png");
    ck_assert_uint_eq(input.answer.body_len, len);
    ck_assert_mem_eq(input.answer.body, bytes, len);
    reply_free(&input);
    free(bytes);
    ck_assert_uint_eq(close_all(), 1);
}
END_TEST

START_TEST(a_list_goes_on_where_the_one_before_ended)
{
    char id[16], query[64];
    open_all("1000000", "1");
    for (int i = 0; i < 5; i++) {
        snprintf(id, sizeof id, "die-%d", i);
        keep("easy", id, "vdd_io 3.97 V FAIL");
    }
    struct reply page = await_list("?limit=2", 2);
    ck_assert_uint_eq(reply_count(&page, "inputs"), 2);
    reply_expect_text(&page, "inputs.0.id", "die-4");
    reply_expect_text(&page, "inputs.1.id", "die-3");
    snprintf(query, sizeof query, "?limit=3&before=%.0f", reply_number(&page, "next"));
    reply_free(&page);
    page = await_list(query, 3);
    reply_expect_text(&page, "inputs.0.id", "die-2");
    reply_expect_text(&page, "inputs.2.id", "die-0");
    ck_assert_ptr_null(contract_at(page.json, "next"));
    reply_free(&page);
    page = await_list("?decision=review", 0);
    ck_assert_uint_eq(reply_count(&page, "inputs"), 0);
    reply_free(&page);
    ck_assert_uint_eq(close_all(), 5);
}
END_TEST

START_TEST(review_refuses_bad_requests)
{
    static const struct {
        const char *path, *detail;
        int status;
        const char *type;
    } cases[] = {
        {"/review?limit=101", "?limit: expected an integer from 1 to 100", 422, "unusable"},
        {"/review?limit=", "?limit: expected", 422, "unusable"},
        {"/review?before=0", "?before: expected", 422, "unusable"},
        {"/review?decision=maybe", "?decision: expected auto, review or unknown", 422, "unusable"},
        {"/review?limt=3", "?limt: unknown option; did you mean \"limit\"?", 422, "unusable"},
        {"/review?kind=3", "?kind: unknown option", 422, "unusable"},
        {"/review/nobody", "id: no input with this id and index is kept", 404, "not_found"},
        {"/review/nobody?index=x", "?index: expected", 422, "unusable"},
        {"/review/nobody?inputs=x", "?inputs: unknown option; known: index", 422, "unusable"},
        {"/review/nobody?at=1", "?at: unknown option; known: index", 422, "unusable"},
        {"/review/nobody?id=x", "?id: unknown option; known: index", 422, "unusable"},
        {"/review/input", "?id: expected the id of an input, found none", 422, "unusable"},
        {"/review/input?id=nobody", "id: no input with this id and index is kept", 404,
         "not_found"},
        {"/review/groups", "?model: expected the name of a model, found none", 422, "unusable"},
        {"/review/groups?model=nobody", "?model: no model of this name is served", 404,
         "not_found"},
        {"/review/groups?model=easy&decision=maybe",
         "?decision: expected auto, review, unknown or any", 422, "unusable"},
        {"/review/groups?model=easy&limit=51", "?limit: expected an integer from 1 to 50", 422,
         "unusable"},
        {"/review/groups?limt=51", "?limt: unknown option; did you mean \"limit\"?", 422,
         "unusable"},
    };
    open_all("1000000", "0");
    reply_free(&(struct reply[]){await_list("", 0)}[0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reply reply = get(cases[i].path);
        reply_expect_problem(&reply, cases[i].status, cases[i].type, cases[i].detail);
        reply_free(&reply);
    }
    int fd = http_connect(server.port); /* a page whose name resolves to this machine */
    http_send_text(fd, "GET /review HTTP/1.1\r\nHost: example.com\r\n\r\n");
    struct reply reply = reply_of(http_read(fd, false));
    reply_expect_problem(&reply, 403, "forbidden", "");
    reply_free(&reply);
    close(fd);
    close_all();
}
END_TEST

START_TEST(nothing_is_kept_unless_it_is_asked_for)
{
    char out[256], errors[4096];
    const char *const alone[] = {"--model", AUTO_MODEL, "--check-config", "--keep-inputs-bytes",
                                 "7",       NULL};
    server_process_start(&server, (const char *[]){"--model", AUTO_MODEL, "--workers", "1", NULL});
    struct reply reply = get("/review");
    reply_expect_problem(&reply, 404, "not_found", "this server keeps no inputs: set state_dir");
    reply_free(&reply);
    reply = get("/review/die-1");
    reply_expect_problem(&reply, 404, "not_found", "this server keeps no inputs");
    reply_free(&reply);
    reply = get("/review/groups?model=easy");
    reply_expect_problem(&reply, 404, "not_found", "this server keeps no inputs");
    reply_free(&reply);
    stop();
    ck_assert_int_eq(run_program("attnd", alone, out, sizeof out, errors, sizeof errors), 2);
    ck_assert_ptr_nonnull(strstr(errors, "keep_inputs_bytes needs state_dir"));
}
END_TEST

/* ---- groups ---- */

static void give_label(const char *id, const char *label)
{
    char *body = contract_format("{\"id\": \"%s\", \"label\": \"%s\", \"new\": true}", id, label);
    struct reply reply = post("/feedback", body);
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    free(body);
}

static struct reply groups_of(const char *query)
{
    char path[128];
    snprintf(path, sizeof path, "/review/groups?model=%s", query);
    struct reply reply = get(path);
    reply_expect_status(&reply, 200);
    return reply;
}

/* Equal texts are alike whatever the model, and a model's windows of one text are the text. */
START_TEST(alike_inputs_are_one_group_and_a_labelled_one_is_its_nearest)
{
    open_all("1000000", "1");
    keep("easy", "a", "vdd_io 3.97 V FAIL");
    keep("easy", "b", "vdd_io 3.97 V FAIL");
    keep("easy", "c", "vdd_io 3.97 V FAIL");
    keep("hard", "other", "vdd_io 3.97 V FAIL");
    struct reply reply = groups_of("easy&decision=any");
    reply_expect_text(&reply, "model", "easy");
    ck_assert_uint_eq(reply_count(&reply, "groups"), 1);
    ck_assert_double_eq(reply_number(&reply, "groups.0.size"), 3);
    ck_assert_double_eq(reply_number(&reply, "groups.0.decisions.auto"), 3);
    ck_assert_uint_eq(reply_count(&reply, "groups.0.items"), 3);
    ck_assert_uint_eq(reply_count(&reply, "groups.0.nearest"), 0);
    reply_expect_text(&reply, "groups.0.label", reply_text(&reply, "groups.0.items.0.label"));
    reply_free(&reply);
    reply = groups_of("easy"); /* without it, those that are not automatic */
    ck_assert_double_eq(reply_number(&reply, "inputs"), 0);
    reply_free(&reply);
    give_label("b", "Brown-out");
    reply = groups_of("easy&decision=auto&limit=1");
    ck_assert_double_eq(reply_number(&reply, "inputs"), 2);
    ck_assert_double_eq(reply_number(&reply, "groups.0.size"), 2);
    reply_expect_text(&reply, "labels.0.label", "Brown-out");
    ck_assert_double_eq(reply_number(&reply, "labels.0.count"), 1);
    reply_expect_text(&reply, "groups.0.nearest.0.label", "Brown-out");
    reply_expect_text(&reply, "groups.0.nearest.0.id", "b");
    ck_assert_double_eq(reply_number(&reply, "groups.0.nearest.0.index"), 0);
    ck_assert_double_gt(reply_number(&reply, "groups.0.nearest.0.similarity"), 0.999);
    reply_free(&reply);
    stop();
    start_with("1000000", "1"); /* the audit log and the files say the same */
    reply_free(&(struct reply[]){await_list("", 4)}[0]);
    suite_await(status_of("/review/groups?model=easy&decision=any") != 503);
    struct reply again = get("/review/groups?model=easy&decision=any");
    ck_assert_double_eq(reply_number(&again, "groups.0.size"), 2);
    reply_expect_text(&again, "groups.0.nearest.0.label", "Brown-out");
    reply_free(&again);
    ck_assert_uint_eq(close_all(), 4);
}
END_TEST

/* A text in windows is like another by what is pooled of them all. */
START_TEST(long_texts_in_windows_are_alike_as_a_whole)
{
    enum { WORDS = 800 }; /* the model reads 510 at once */
    char *text = calloc(WORDS, 8);
    open_all("1000000", "1");
    for (int i = 0; i < WORDS; i++)
        strcat(text, i % 2 ? "panic " : "fault ");
    for (int i = 0; i < 2; i++) {
        char *body = contract_format("{\"model\": \"easy\", \"id\": \"long-%d\", \"text\": "
                                     "\"%s\", \"long_text\": \"windows\"}",
                                     i, text);
        struct reply reply = post("/predict", body);
        reply_expect_status(&reply, 200);
        ck_assert_double_gt(reply_number(&reply, "windows"), 1);
        reply_free(&reply);
        free(body);
    }
    reply_free(&(struct reply[]){await_list("", 2)}[0]);
    struct reply reply = groups_of("easy&decision=any");
    ck_assert_double_eq(reply_number(&reply, "groups.0.size"), 2);
    ck_assert_double_eq(reply_number(&reply, "ungrouped_total"), 0);
    reply_free(&reply);
    ck_assert_uint_eq(close_all(), 2);
    free(text);
}
END_TEST

/* ---- room, and restarts ---- */

START_TEST(the_oldest_make_room_and_the_rest_survive_a_kill)
{
    char id[16], path[256], dir[128];
    open_all("20480", "1"); /* a file takes a block of 4096 bytes */
    for (int i = 0; i < 9; i++) {
        snprintf(id, sizeof id, "die-%d", i);
        keep("easy", id, "vdd_io 3.97 V FAIL");
    }
    struct reply list = await_list("", 1);
    size_t count = reply_count(&list, "inputs");
    ck_assert_uint_ge(count, 3);
    ck_assert_uint_le(count, 5);
    reply_free(&list);
    struct reply gone = get("/review/die-0");
    reply_expect_problem(&gone, 404, "not_found", "id: no input");
    reply_free(&gone);
    kill(server.pid, SIGKILL);
    server_process_wait(&server);
    inputs_dir(dir);
    struct tempdir inside;
    snprintf(inside.path, sizeof inside.path, "%.63s", dir);
    tempdir_write(&inside, "kept-00000000000000ff.input.partial", "half", 4);
    tempdir_write(&inside, "kept-0000000000000001.input", "not ours\n", 9);
    tempdir_write(&inside, "README", "foreign", 7);
    start_with("20480", "1");
    list = await_list("", count);
    ck_assert_uint_eq(reply_count(&list, "inputs"), count);
    reply_expect_text(&list, "inputs.0.id", "die-8");
    reply_free(&list);
    struct reply input = get("/review/die-8");
    reply_expect_status(&input, 200);
    ck_assert_str_eq(input.answer.body, "vdd_io 3.97 V FAIL");
    reply_free(&input);
    snprintf(path, sizeof path, "%s/kept-00000000000000ff.input.partial", dir);
    ck_assert_int_ne(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/README", dir);
    ck_assert_int_eq(access(path, F_OK), 0);
    keep("easy", "die-9", "vdd_io 3.97 V FAIL");
    struct reply metrics = get("/metrics");
    ck_assert_ptr_nonnull(
        strstr(metrics.answer.body, "\nattnd_kept_inputs_total{result=\"kept\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(metrics.answer.body, "\nattnd_kept_inputs_total{result=\"dropped\"} 0\n"));
    snprintf(path, sizeof path, "\nattnd_kept_inputs_bytes %zu\n", 4096 * count);
    ck_assert_ptr_nonnull(strstr(metrics.answer.body, path));
    reply_free(&metrics);
    close_all();
}
END_TEST

static bool metrics_have(const char *line)
{
    struct reply metrics = get("/metrics");
    const bool have = strstr(metrics.answer.body, line) != NULL;
    reply_free(&metrics);
    return have;
}

START_TEST(an_input_larger_than_all_is_dropped_and_counted)
{
    open_all("100", "1");
    predict("easy", "die-1", "vdd_io 3.97 V FAIL");
    suite_await(metrics_have("attnd_kept_inputs_total{result=\"dropped\"} 1\n"));
    ck_assert_uint_eq(close_all(), 0);
}
END_TEST

/* ---- accuracy of all traffic ---- */

static bool knows_accuracy(const char *name)
{
    struct reply reply = get(name);
    reply_expect_status(&reply, 200);
    const bool knows = contract_at(reply.json, "accuracy.weighted") != NULL;
    reply_free(&reply);
    return knows;
}

static struct reply accuracy_when_known(const char *name)
{
    suite_await(knows_accuracy(name));
    return get(name);
}

/* The sample of one half has only die-8 of die-0 to die-11: share_point is the same on every machine. */
enum { SAMPLED = 1 };

START_TEST(only_the_sample_tells_of_automatic_answers_also_after_a_restart)
{
    char sampled[16] = "", other[16] = "", id[16];
    open_all("1000000", "0.5");
    for (int i = 0; i < 12; i++) {
        snprintf(id, sizeof id, "die-%d", i);
        predict("easy", id, "vdd_io 3.97 V FAIL");
    }
    keep("hard", "last", "x");
    struct reply list = await_list("", SAMPLED + 1);
    ck_assert_uint_eq(reply_count(&list, "inputs"), SAMPLED + 1);
    const bool is_first = strcmp(reply_text(&list, "inputs.0.id"), "last") == 0;
    snprintf(sampled, sizeof sampled, "%s",
             reply_text(&list, is_first ? "inputs.1.id" : "inputs.0.id"));
    for (int i = 0; i < 12; i++) {
        bool is_listed = false;
        snprintf(id, sizeof id, "die-%d", i);
        for (size_t k = 0; k < reply_count(&list, "inputs"); k++) {
            char place[32];
            snprintf(place, sizeof place, "inputs.%zu.id", k);
            is_listed = is_listed || strcmp(reply_text(&list, place), id) == 0;
        }
        if (!is_listed)
            snprintf(other, sizeof other, "%s", id);
    }
    ck_assert_str_ne(other, "");
    reply_free(&list);
    give_label(other, "unheard of");
    struct reply model = get("/models/easy");
    ck_assert_double_eq(reply_number(&model, "accuracy.value"), 0);
    ck_assert_ptr_null(contract_at(model.json, "accuracy.weighted"));
    reply_free(&model);
    model = get("/models/easy");
    char *right = strdup(reply_text(&model, "labels.0"));
    reply_free(&model);
    struct reply again = post("/predict", "{\"model\": \"easy\", \"id\": \"probe\", \"text\": "
                                          "\"vdd_io 3.97 V FAIL\"}");
    free(right);
    right = strdup(reply_text(&again, "label"));
    reply_free(&again);
    give_label(sampled, right);
    free(right);
    model = accuracy_when_known("/models/easy");
    ck_assert_double_eq(reply_number(&model, "accuracy.value"), 0.5);
    ck_assert_double_eq(reply_number(&model, "accuracy.weighted.value"), 1);
    ck_assert_double_eq(reply_number(&model, "accuracy.weighted.n"), 1);
    double low = reply_number(&model, "accuracy.weighted.low");
    reply_free(&model);
    struct reply metrics = get("/metrics");
    ck_assert_ptr_nonnull(strstr(metrics.answer.body, "\nattnd_accuracy_weighted_ratio{model="
                                                      "\"easy\",version=\"1\"} 1\n"));
    reply_free(&metrics);
    stop();
    start_with("1000000", "0.5");
    model = accuracy_when_known("/models/easy");
    ck_assert_double_eq(reply_number(&model, "accuracy.weighted.value"), 1);
    ck_assert_double_eq_tol(reply_number(&model, "accuracy.weighted.low"), low, 1e-9);
    reply_free(&model);
    close_all();
}
END_TEST

SUITE("server/contract/review", a_pair_is_given_back_as_the_call_that_asked_for_it,
      review_keeps_inputs_that_were_not_automatic_and_returns_them,
      an_input_of_any_id_is_given_back_by_the_query, a_picture_is_given_back_byte_for_byte,
      a_list_goes_on_where_the_one_before_ended, review_refuses_bad_requests,
      nothing_is_kept_unless_it_is_asked_for,
      alike_inputs_are_one_group_and_a_labelled_one_is_its_nearest,
      long_texts_in_windows_are_alike_as_a_whole, the_oldest_make_room_and_the_rest_survive_a_kill,
      an_input_larger_than_all_is_dropped_and_counted,
      only_the_sample_tells_of_automatic_answers_also_after_a_restart)
