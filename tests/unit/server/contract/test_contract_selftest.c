/* A checkpoint with a self-test, in the program: it is served if it passes, at the start and by a
 * reload under requests, and never if it does not. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include "engine/selftest.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "tests/data/golden/bert-3"
#define TEXT "\"vdd_io 3.97 V FAIL\""

static struct tempdir dir;
static char model_argument[128];
static struct server_process server;

static void copy_model(void)
{
    char path[512];
    tempdir_open(&dir);
    DIR *entries = opendir(MODEL);
    ck_assert_ptr_nonnull(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        size_t len;
        snprintf(path, sizeof path, "%s/%s", MODEL, entry->d_name);
        char *bytes = contract_file(path, &len);
        tempdir_write(&dir, entry->d_name, bytes, len);
        free(bytes);
    }
    closedir(entries);
    snprintf(model_argument, sizeof model_argument, "text=%s", dir.path);
}

/* Another file in its place, as whoever rolls a model out does it. */
static void exchange_file(const char *text)
{
    char from[128], to[128];
    tempdir_write(&dir, "next", text, strlen(text));
    snprintf(from, sizeof from, "%s/next", dir.path);
    snprintf(to, sizeof to, "%s/" SELFTEST_FILE, dir.path);
    ck_assert_int_eq(rename(from, to), 0);
}

static void write_selftest(const char *label, double score)
{
    char *json = contract_format("{\"format\": 1, \"cases\": [{\"text\": " TEXT
                                 ", \"scores\": {\"%s\": %.9g}, \"label\": \"%s\"}]}",
                                 label, score, label);
    exchange_file(json);
    free(json);
}

static struct reply post(const char *path, const char *body)
{
    return contract_ask(server.port, "POST", path, "", body);
}

static struct reply reload(void)
{
    return post("/admin/reload", "");
}

static struct reply predict(void)
{
    return reply_of(http_post_json(server.port, "/predict", "{\"text\": " TEXT "}"));
}

static void start(void)
{
    server_process_start(&server, (const char *[]){"--model", model_argument, "--workers", "2",
                                                   "--threads-per-worker", "1", NULL});
}

/* Learns the model's answer: the label and its score. */
static double learn(char label[128])
{
    struct reply reply = predict();
    reply_expect_status(&reply, 200);
    snprintf(label, 128, "%s", reply_text(&reply, "label"));
    double score = reply_number(&reply, "score");
    reply_free(&reply);
    return score;
}

static void expect_start_to_fail(const char *told)
{
    char out[1024], errors[8192];
    int code = run_program("attnd",
                           (const char *[]){"--listen", "127.0.0.1:0", "--model", model_argument,
                                            "--log-level", "error", NULL},
                           out, sizeof out, errors, sizeof errors);
    ck_assert_int_eq(code, 2);
    ck_assert_str_eq(out, "");
    ck_assert_msg(strstr(errors, told) != NULL, "'%s' lacks '%s'", errors, told);
}

START_TEST(a_model_that_fails_its_selftest_is_not_served)
{
    char label[128], told[512], errors[4096], out[4096];
    copy_model();
    start();
    double score = learn(label);
    ck_assert_int_eq(server_process_stop(&server), 0);
    write_selftest(label, score);
    start();
    ck_assert_double_eq_tol(learn(label), score, 1e-5);
    ck_assert_int_eq(server_process_stop(&server), 0);
    write_selftest(label, score + 0.01);
    snprintf(told, sizeof told,
             "model text: " SELFTEST_FILE ": case 1 of 1: label \"%s\": expected a score of %.9g "
             "within 0.001 in f32, found ",
             label, score + 0.01); /* the last digits depend on the number of threads */
    expect_start_to_fail(told);
    exchange_file("{\"format\": 1, \"case\": []}");
    expect_start_to_fail("$: a member is unknown; did you mean \\\"cases\\\"?");
    ck_assert_int_eq(
        run_program("attnd", (const char *[]){"--check-config", "--model", model_argument, NULL},
                    out, sizeof out, errors, sizeof errors),
        2);
    ck_assert_ptr_nonnull(strstr(errors, SELFTEST_FILE ": $: a member is unknown"));
    tempdir_close(&dir);
}
END_TEST

/* ---- under requests ---- */

struct clients {
    atomic_bool stop;
    atomic_uint answers, failures;
};

static void *client_main(void *context)
{
    struct clients *clients = context;
    while (!atomic_load(&clients->stop)) {
        struct http_answer answer = http_post_json(server.port, "/predict", "{\"text\": " TEXT "}");
        atomic_fetch_add(answer.status == 200 ? &clients->answers : &clients->failures, 1);
        http_answer_free(&answer);
    }
    return NULL;
}

static void await_answers(struct clients *clients, unsigned more)
{
    unsigned wanted = atomic_load(&clients->answers) + more;
    while (atomic_load(&clients->answers) < wanted && atomic_load(&clients->failures) == 0)
        usleep(1000);
}

START_TEST(a_reload_into_a_model_that_fails_changes_nothing)
{
    char label[128];
    pthread_t thread;
    struct clients clients = {0};
    copy_model();
    start();
    double score = learn(label);
    ck_assert_int_eq(pthread_create(&thread, NULL, client_main, &clients), 0);
    await_answers(&clients, 5);
    write_selftest(label, score - 0.5);
    struct reply reply = reload();
    reply_expect_problem(&reply, 422, "unusable", "model text: " SELFTEST_FILE ": case 1 of 1: ");
    reply_free(&reply);
    await_answers(&clients, 5);
    write_selftest(label, score);
    reply = reload();
    reply_expect_status(&reply, 200);
    ck_assert_double_eq(reply_number(&reply, "generation"), 2);
    reply_expect_text(&reply, "changed.0", "models.text");
    reply_free(&reply);
    await_answers(&clients, 5);
    atomic_store(&clients.stop, true);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(atomic_load(&clients.failures), 0);
    ck_assert_double_eq_tol(learn(label), score, 1e-5);
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}
END_TEST

START_TEST(another_version_that_fails_is_not_loaded)
{
    static const char version[] = "{\"version\": \"2\"}";
    char label[128];
    copy_model();
    tempdir_write(&dir, "attnd.json", version, sizeof version - 1);
    server_process_start(&server, (const char *[]){"--model", "text=" MODEL, "--models-root",
                                                   "/tmp", "--workers", "1", NULL});
    double score = learn(label);
    char *body = contract_format("{\"name\": \"text\", \"dir\": \"%s\", \"split\": 0.5}", dir.path);
    write_selftest(label, score - 0.5);
    struct reply reply = post("/admin/models", body);
    reply_expect_problem(&reply, 422, "unusable", "model text: " SELFTEST_FILE ": case 1 of 1: ");
    reply_free(&reply);
    reply = reply_of(http_get(server.port, "/models/text"));
    ck_assert_uint_eq(reply_count(&reply, "versions"), 1);
    reply_free(&reply);
    write_selftest(label, score);
    reply = post("/admin/models", body);
    reply_expect_status(&reply, 201);
    reply_free(&reply);
    free(body);
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("server/contract/selftest", a_model_that_fails_its_selftest_is_not_served,
      a_reload_into_a_model_that_fails_changes_nothing, another_version_that_fails_is_not_loaded)
