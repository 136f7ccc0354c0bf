/* Versions of one model in the program: loaded, weighed, promoted, rolled back and unloaded while it
 * serves, by whom, and what of it survives a restart. Versions are copies of one small model whose
 * attnd.json says another version, so they agree on everything. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <dirent.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "tests/data/golden/bert-3"
#define TEXT "vdd_io 3.97 V FAIL"

static struct server_process server;
static struct tempdir dir; /* root/v2, root/v3, state, audit, attnd.json */

static void copy_model(const char *version)
{
    char to[400];
    snprintf(to, sizeof to, "mkdir -p '%s/root/v%s' && cp '%s'/* '%s/root/v%s/'", dir.path, version,
             MODEL, dir.path, version);
    ck_assert_int_eq(system(to), 0);
    snprintf(to, sizeof to, "echo '{\"version\": \"%s\"}' > '%s/root/v%s/attnd.json'", version,
             dir.path, version);
    ck_assert_int_eq(system(to), 0);
}

/* The first version and what else the configuration says of models. */
static void configure(const char *models)
{
    char *json = contract_format(
        "{\"models\": [{\"name\": \"text\", \"dir\": \"%s\"}%s], \"models_root\": \"%s/root\", "
        "\"state_dir\": \"%s/state\", \"audit_dir\": \"%s/audit\", \"workers\": 1, "
        "\"threads_per_worker\": 1, \"promote_min_feedback\": 2}",
        MODEL, models, dir.path, dir.path, dir.path);
    tempdir_write(&dir, "attnd.json", json, strlen(json));
    free(json);
}

static void start(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/attnd.json", dir.path);
    server_process_start(&server, (const char *[]){"--config", path, NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static void bench_open(void)
{
    tempdir_open(&dir);
    copy_model("2");
    copy_model("3");
    configure("");
    start();
}

static void bench_close(void)
{
    char command[128];
    stop();
    snprintf(command, sizeof command, "rm -r '%s'/*", dir.path);
    ck_assert_int_eq(system(command), 0);
    tempdir_close(&dir);
}

static struct reply ask(const char *method, const char *path, const char *body)
{
    return contract_ask(server.port, method, path, "", body);
}

static void expect(const char *method, const char *path, const char *body, int status)
{
    struct reply reply = ask(method, path, body);
    reply_expect_status(&reply, status);
    reply_free(&reply);
}

static void refused(const char *method, const char *path, const char *body, int status,
                    const char *type, const char *detail)
{
    struct reply reply = ask(method, path, body);
    reply_expect_problem(&reply, status, type, detail);
    reply_free(&reply);
}

/* The version that answers; yours to free. */
static char *answering(const char *lot, const char *id)
{
    char *body = contract_format("{\"text\":\"%s\",\"id\":\"%s\",\"context\":{\"lot\":\"%s\"}}",
                                 TEXT, id, lot);
    struct reply reply = ask("POST", "/predict", body);
    reply_expect_status(&reply, 200);
    char *version = strdup(reply_text(&reply, "model.version"));
    reply_free(&reply);
    free(body);
    return version;
}

/* "1 primary 0.5, 2 split 0.5" */
static void expect_versions(const char *expected)
{
    struct reply reply = ask("GET", "/models/text", NULL);
    char found[256] = "", path[64];
    reply_expect_status(&reply, 200);
    for (size_t i = 0; i < reply_count(&reply, "versions"); i++) {
        size_t len = strlen(found);
        snprintf(path, sizeof path, "versions.%zu.version", i);
        const char *version = reply_text(&reply, path);
        snprintf(path, sizeof path, "versions.%zu.role", i);
        const char *role = reply_text(&reply, path);
        snprintf(path, sizeof path, "versions.%zu.share", i);
        snprintf(found + len, sizeof found - len, "%s%s %s %g", i > 0 ? ", " : "", version, role,
                 reply_number(&reply, path));
    }
    ck_assert_str_eq(found, expected);
    reply_free(&reply);
}

/* ---- shares ---- */

START_TEST(a_split_answers_its_share_of_the_lots_and_keeps_them)
{
    bench_open();
    expect("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v2\",\"split\":0.5}", 201);
    expect_versions("1 primary 0.5, 2 split 0.5");
    unsigned second = 0;
    char first[40];
    for (int i = 0; i < 40; i++) {
        char lot[16];
        snprintf(lot, sizeof lot, "lot-%d", i);
        char *version = answering(lot, "x"), *again = answering(lot, "y");
        ck_assert_str_eq(version, again); /* whatever the id */
        second += version[0] == '2';
        first[i] = version[0];
        free(version);
        free(again);
    }
    ck_assert(second >= 8 && second <= 32);
    expect("PATCH", "/admin/models/text/2", "{\"split\":0.9}", 200);
    for (int i = 0; i < 40; i++) { /* a share that grows keeps what it had */
        char lot[16];
        snprintf(lot, sizeof lot, "lot-%d", i);
        char *version = answering(lot, "x");
        ck_assert(first[i] == '1' || version[0] == '2');
        free(version);
    }
    expect_versions("1 primary 0.1, 2 split 0.9");
    bench_close();
}
END_TEST

/* Waits until so many copies were judged, or the test's time is over. */
static void await_agreement(const char *path, unsigned count)
{
    for (;;) {
        struct reply reply = ask("GET", "/models/text", NULL);
        const struct json_t *n = contract_at(reply.json, path);
        bool is_there = n != NULL && json_integer_value(n) == (json_int_t)count;
        reply_free(&reply);
        if (is_there)
            return;
        usleep(5000);
    }
}

START_TEST(a_shadow_judges_copies_and_is_never_heard)
{
    bench_open();
    expect("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v2\",\"shadow\":1}", 201);
    expect_versions("1 primary 1, 2 shadow 0");
    char id[16];
    for (int i = 0; i < 4; i++) {
        snprintf(id, sizeof id, "s%d", i);
        char *version = answering("a", id);
        ck_assert_str_eq(version, "1");
        free(version);
        await_agreement("versions.1.agreement.n", (unsigned)i + 1);
    }
    struct reply reply = ask("POST", "/predict", "{\"text\":\"" TEXT "\",\"id\":\"s4\"}");
    char *right = contract_format("{\"id\":\"s0\",\"label\":\"%s\"}", reply_text(&reply, "label"));
    reply_free(&reply);
    expect("POST", "/feedback", right, 200);
    reply = ask("GET", "/models/text", NULL);
    ck_assert_double_eq(reply_number(&reply, "versions.1.agreement.value"), 1);
    ck_assert_double_eq(reply_number(&reply, "versions.1.predictions"), 0);
    ck_assert_double_eq(reply_number(&reply, "versions.1.accuracy.n"), 1);
    ck_assert_double_eq(reply_number(&reply, "versions.1.compared.both_right"), 1);
    ck_assert_double_eq(reply_number(&reply, "versions.1.compared.mcnemar_p"), 1);
    reply_free(&reply);
    struct reply page = ask("GET", "/metrics", NULL);
    ck_assert_ptr_nonnull(strstr(
        page.answer.body, "attnd_shadow_total{model=\"text\",version=\"2\",result=\"agree\"}"));
    ck_assert_ptr_nonnull(strstr(
        page.answer.body, "attnd_model_share{model=\"text\",version=\"2\",role=\"shadow\"} 0\n"));
    reply_free(&page);
    free(right);
    bench_close();
}
END_TEST

/* ---- promotion ---- */

START_TEST(a_promotion_needs_labels_or_a_reason)
{
    bench_open();
    expect("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v2\",\"split\":1}", 201);
    refused("POST", "/admin/models/text/2/promote", NULL, 409, "conflict",
            "this version has 0 right labels");
    refused("POST", "/admin/models/text/2/promote", "{\"force\":true}", 422, "unusable",
            "$: expected a \"reason\"");
    for (int i = 0; i < 2; i++) {
        char id[16], label[128];
        snprintf(id, sizeof id, "p%d", i);
        char *version = answering("a", id);
        ck_assert_str_eq(version, "2");
        free(version);
        struct reply models = ask("GET", "/models/text", NULL);
        snprintf(label, sizeof label, "{\"id\":\"%s\",\"label\":\"%s\"}", id,
                 reply_text(&models, "labels.0"));
        reply_free(&models);
        expect("POST", "/feedback", label, 200);
    }
    struct reply second = ask("GET", "/models/text?version=2&confusion=true", NULL);
    ck_assert_str_eq(reply_text(&second, "version"), "2");
    ck_assert_double_eq(reply_number(&second, "accuracy.n"), 2);
    ck_assert_double_eq(reply_number(&second, "accuracy.confusion.0.count"), 2);
    reply_free(&second);
    second = ask("GET", "/models/text", NULL);
    ck_assert_str_eq(reply_text(&second, "version"), "1");
    ck_assert_double_eq(reply_number(&second, "accuracy.n"), 0);
    reply_free(&second);
    refused("GET", "/models/text?confusoin=true", NULL, 422, "unusable",
            "?confusoin: unknown option; did you mean \"confusion\"?");
    refused("GET", "/models/text?confusion=yes", NULL, 422, "unusable",
            "?confusion: expected true or false");
    refused("GET", "/models/text?version=9", NULL, 404, "not_found", "?version: the model has no");
    expect("POST", "/admin/models/text/2/promote", NULL, 200);
    expect_versions("2 primary 1, 1 retiring 0");
    expect("POST", "/admin/models/text/rollback", NULL, 200);
    expect_versions("1 primary 1, 2 split 0");
    refused("POST", "/admin/models/text/rollback", NULL, 409, "conflict", "there is nothing");
    expect("POST", "/admin/models/text/2/promote", "{\"force\":true,\"reason\":\"tried\"}", 200);
    expect("DELETE", "/admin/models/text/1", NULL, 202);
    expect_versions("2 primary 1");
    bench_close();
}
END_TEST

/* ---- a precision that is chosen ---- */

static void expect_dtype(const char *path, const char *asked, const char *reason)
{
    struct reply reply = ask("GET", path, NULL);
    reply_expect_text(&reply, "dtype_asked", asked);
    if (reason == NULL)
        ck_assert(contract_at(reply.json, "dtype_reason") == NULL);
    else
        ck_assert_ptr_nonnull(strstr(reply_text(&reply, "dtype_reason"), reason));
    reply_free(&reply);
}

START_TEST(a_version_with_dtype_auto_says_what_was_chosen_and_why)
{
    bench_open();
    expect("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v2\",\"dtype\":\"auto\"}", 201);
    char *pin =
        contract_format("sed -i 's/^{/{\"dtype\": \"int8\",/' '%s/root/v3/attnd.json'", dir.path);
    ck_assert_int_eq(system(pin), 0);
    free(pin);
    expect("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v3\",\"dtype\":\"auto\"}", 201);
    for (int restart = 0; restart < 2; restart++) {
        expect_dtype("/models/text", "f32", NULL);
        expect_dtype("/models/text?version=2", "auto", ": ");
        expect_dtype("/models/text?version=3", "auto", "int8: attnd.json pins it");
        stop();
        start(); /* the state says auto, not what was chosen */
    }
    bench_close();
}
END_TEST

/* ---- what is refused ---- */

START_TEST(rollout_refusals_say_why_and_change_nothing)
{
    bench_open();
    expect("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v2\"}", 201);
    refused("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"../state\"}", 422, "unusable",
            "$.dir: must not have \"..\"");
    refused("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"/etc\"}", 422, "unusable",
            "$.dir: there is no such directory below models_root");
    refused("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v2\"}", 422, "unusable",
            "two models are named \"text\" and have the same directory");
    refused("POST", "/admin/models", "{\"name\":\"te xt\",\"dir\":\"v3\"}", 422, "unusable",
            "a model's name must be");
    refused("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v3\",\"dtype\":\"f8\"}", 422,
            "unusable", "model \"text\": dtype must be one of");
    refused("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v3\",\"split\":1.5}", 422,
            "unusable", "$.split: 1.5 is no share");
    refused("POST", "/admin/models", "{\"name\":\"text\"}", 422, "unusable", "$: expected \"dir\"");
    refused("POST", "/admin/models", "{\"nmae\":\"text\"}", 422, "unusable",
            "$.nmae: unknown member; did you mean \"name\"");
    refused("POST", "/admin/models", "[", 400, "malformed", "JSON");
    refused("POST", "/admin/models", NULL, 411, "length_required", "request head:");
    refused("PATCH", "/admin/models/text/1", "{\"split\":0.5}", 409, "conflict",
            "this version is the primary");
    refused("PATCH", "/admin/models/text/9", "{\"split\":0.5}", 404, "not_found",
            "the model has no such version; there is 1, 2");
    refused("PATCH", "/admin/models/text/2", "{}", 422, "unusable", "$: expected \"split\"");
    refused("DELETE", "/admin/models/none/1", NULL, 404, "not_found", "no model of this name");
    refused("DELETE", "/admin/models/text/1", NULL, 409, "conflict", "this version is the primary");
    refused("PUT", "/admin/models/text/1", NULL, 405, "method_not_allowed",
            "/admin/models/{name}/{version}");
    expect_versions("1 primary 1, 2 split 0");
    tempdir_write(&dir, "broken", "", 0);
    char command[400];
    snprintf(command, sizeof command, "echo '{' > '%s/root/v3/config.json'", dir.path);
    ck_assert_int_eq(system(command), 0);
    refused("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v3\"}", 422, "unusable",
            "model text: ");
    expect_versions("1 primary 1, 2 split 0");
    bench_close();
}
END_TEST

/* ---- the disk ---- */

START_TEST(a_roll_out_survives_a_restart_until_the_configuration_changes)
{
    bench_open();
    expect("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v2\"}", 201);
    expect("POST", "/admin/models/text/2/promote", "{\"force\":true,\"reason\":\"new\"}", 200);
    expect("POST", "/admin/models", "{\"name\":\"other\",\"dir\":\"v3\"}", 201);
    stop();
    start();
    expect_versions("2 primary 1, 1 retiring 0");
    expect("GET", "/models/other", NULL, 200);
    expect("POST", "/admin/reload", NULL, 200); /* the file has not changed */
    expect_versions("2 primary 1, 1 retiring 0");
    char more[256];
    snprintf(more, sizeof more, ", {\"name\": \"text\", \"dir\": \"%s/root/v3\", \"split\": 0.25}",
             dir.path);
    configure(more);
    expect("POST", "/admin/reload", NULL, 200);
    expect_versions("1 primary 0.75, 3 split 0.25");
    expect("GET", "/models/other", NULL, 200);
    configure(""); /* as it was once: the promotion does not come back */
    stop();
    start();
    expect_versions("1 primary 1");
    bench_close();
}
END_TEST

START_TEST(each_change_is_a_line_of_the_audit_log)
{
    bench_open();
    expect("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v2\"}", 201);
    expect("POST", "/admin/models/text/2/promote", "{\"force\":true,\"reason\":\"because\"}", 200);
    refused("DELETE", "/admin/models/text/2", NULL, 409, "conflict", "this version");
    stop();
    char command[256], line[4096];
    unsigned found = 0;
    static const char *const parts[] = {
        "\"type\":\"rollout\",\"action\":\"load\",\"model\":\"text\",\"version\":\"2\"",
        "\"action\":\"promote\",\"model\":\"text\",\"version\":\"2\",\"reason\":\"because\"",
        "\"action\":\"unload\",\"model\":\"text\",\"version\":\"2\",\"failed\":\"this version"};
    snprintf(command, sizeof command, "cat '%s'/audit/*", dir.path);
    FILE *log = popen(command, "r");
    while (fgets(line, sizeof line, log) != NULL)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            found |= (strstr(line, parts[i]) != NULL) << i;
    pclose(log);
    ck_assert_uint_eq(found, 7);
    start();
    bench_close();
}
END_TEST

/* ---- under load ---- */

enum { CLIENTS = 3, ROUNDS = 12 };
static atomic_bool has_ended;
static atomic_uint answered, failed;

static void *client(void *context)
{
    (void)context;
    while (!atomic_load(&has_ended)) {
        struct reply reply = ask("POST", "/predict", "{\"text\":\"" TEXT "\"}");
        atomic_fetch_add(reply.answer.status == 200 ? &answered : &failed, 1);
        reply_free(&reply);
    }
    return NULL;
}

START_TEST(no_request_fails_while_versions_come_and_go)
{
    pthread_t clients[CLIENTS];
    bench_open();
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_int_eq(pthread_create(&clients[i], NULL, client, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        expect("POST", "/admin/models", "{\"name\":\"text\",\"dir\":\"v2\",\"split\":0.5}", 201);
        expect("POST", "/admin/models/text/2/promote", "{\"force\":true,\"reason\":\"r\"}", 200);
        expect("POST", "/admin/models/text/rollback", NULL, 200);
        expect("DELETE", "/admin/models/text/2", NULL, 202);
    }
    atomic_store(&has_ended, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    ck_assert_uint_eq(failed, 0);
    ck_assert_uint_gt(answered, 0);
    expect_versions("1 primary 1");
    bench_close();
}
END_TEST

SUITE("contract_rollout", a_split_answers_its_share_of_the_lots_and_keeps_them,
      a_shadow_judges_copies_and_is_never_heard, a_promotion_needs_labels_or_a_reason,
      a_version_with_dtype_auto_says_what_was_chosen_and_why,
      rollout_refusals_say_why_and_change_nothing,
      a_roll_out_survives_a_restart_until_the_configuration_changes,
      each_change_is_a_line_of_the_audit_log, no_request_fails_while_versions_come_and_go)
