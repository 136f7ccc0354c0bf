/* New versions from labels, in the program: the inputs of a fit, its progress, and the version that
 * is served then. A fit that ends in the middle leaves nothing. The model is a tiny one that
 * attnd-fit itself has made before, so it carries examples of its labels. A script stands in for
 * attnd-fit if a fit must last. */
#include "engine/base/sha256.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TINY "tests/data/golden/bert-5"
#define IMAGE_MODEL "tests/data/golden/vit-0"
#define PICTURE "tests/data/examples/wafer_map.png"

enum { OPTIONS_MAX = 24, OF_EACH = 8 };

static struct server_process server;
static struct tempdir dir; /* base, root, state, audit */
static const char *header = "";

/* ---- a server ---- */

static char *path_of(const char *name)
{
    static char paths[8][160];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", dir.path, name);
    return path;
}

static bool exists(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void make_base(void)
{
    static const char *const kinds[][2] = {
        {"voltage", "POWER"}, {"late", "TIMING"}, {"chain", "SCAN"}};
    char lines[8192] = "", out[16], errors[8192];
    size_t len = 0;
    for (unsigned i = 0; i < 3 * OF_EACH; i++)
        len += (size_t)snprintf(lines + len, sizeof lines - len,
                                "{\"text\": \"%s %s at %u\", \"label\": \"%s\"}\n", kinds[i % 3][0],
                                kinds[i % 3][0], i, kinds[i % 3][1]);
    tempdir_write(&dir, "base.jsonl", lines, len);
    const int code =
        run_program("attnd-fit",
                    (const char *[]){"--model", TINY, "--data", path_of("base.jsonl"), "--out",
                                     path_of("base"), "--loss-max", "100", "--quiet", NULL},
                    out, sizeof out, errors, sizeof errors);
    ck_assert_msg(code == 0, "%s", errors);
}

/* Starts a server that keeps everything, with more options; NULL at the end. */
static void start(const char *const *more)
{
    char model[192];
    const char *options[OPTIONS_MAX] = {"--model",
                                        model,
                                        "--state-dir",
                                        path_of("state"),
                                        "--audit-dir",
                                        path_of("audit"),
                                        "--keep-inputs-bytes",
                                        "10000000",
                                        "--keep-inputs-share",
                                        "1",
                                        "--workers",
                                        "1",
                                        "--threads-per-worker",
                                        "1"};
    unsigned count = 14;
    snprintf(model, sizeof model, "text=%s", path_of("base"));
    while (*more != NULL)
        options[count++] = *more++;
    ck_assert_uint_lt(count, OPTIONS_MAX);
    server_process_start(&server, options);
}

static void bench_open(const char *const *more)
{
    const char *options[OPTIONS_MAX] = {"--models-root", path_of("root")};
    tempdir_open(&dir);
    options[1] = path_of("root");
    make_base();
    ck_assert_int_eq(mkdir(path_of("root"), 0755), 0);
    for (unsigned i = 0; more[i] != NULL; i++)
        options[2 + i] = more[i];
    start(options);
}

static void bench_clear(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'/*", dir.path);
    ck_assert_int_eq(system(command), 0);
    tempdir_close(&dir);
    header = "";
}

static void bench_close(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
    bench_clear();
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_OPTIONS ((const char *const[]){NULL})

static struct reply ask(const char *method, const char *path, const char *body)
{
    return contract_ask(server.port, method, path, header, body);
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

/* ---- inputs, labels, fits ---- */

static int status_of(const char *method, const char *path, const char *body)
{
    struct reply reply = ask(method, path, body);
    const int status = reply.answer.status;
    reply_free(&reply);
    return status;
}

static void await_kept(const char *id)
{
    char path[64];
    snprintf(path, sizeof path, "/review/%s", id);
    suite_await(status_of("GET", path, NULL) == 200);
}

static void label(const char *id, const char *text)
{
    char *body = contract_format("{\"id\":\"%s\",\"label\":\"%s\",\"new\":true}", id, text);
    expect("POST", "/feedback", body, 200);
    free(body);
}

/* Keeps a text and labels it. */
static void teach(const char *id, const char *text, const char *right)
{
    char *body = contract_format("{\"model\":\"text\",\"id\":\"%s\",\"text\":\"%s\"}", id, text);
    expect("POST", "/predict", body, 200);
    free(body);
    await_kept(id);
    label(id, right);
}

/* Ten of a label that the model lacks. */
static void teach_leaks(void)
{
    for (unsigned i = 0; i < 10; i++) {
        char id[16], text[32];
        snprintf(id, sizeof id, "leak-%u", i);
        snprintf(text, sizeof text, "hot hot at %u", i);
        teach(id, text, "LEAK");
    }
}

/* Waits until the fit has this state, or the test's time is over. */
static struct reply await_state(unsigned fit, const char *state)
{
    char path[32];
    snprintf(path, sizeof path, "/admin/fits/%u", fit);
    for (;;) {
        struct reply reply = ask("GET", path, NULL);
        reply_expect_status(&reply, 200);
        const char *found = reply_text(&reply, "state");
        if (strcmp(found, state) == 0)
            return reply;
        ck_assert_msg(strcmp(found, "queued") == 0 || strcmp(found, "running") == 0, "%s: %s",
                      found, reply.answer.body);
        reply_free(&reply);
        usleep(5000);
    }
}

static void expect_state(unsigned fit, const char *state)
{
    struct reply reply = await_state(fit, state);
    reply_free(&reply);
}

static void expect_audit(const char *text)
{
    char command[512];
    snprintf(command, sizeof command, "grep -q '%s' '%s'/audit/*", text, dir.path);
    ck_assert_msg(system(command) == 0, "the audit log has no line with %s", text);
}

/* ---- from labels to a version ---- */

START_TEST(ten_labels_of_a_new_kind_become_a_shadow_that_is_promoted)
{
    bench_open(NO_OPTIONS);
    teach_leaks();
    teach("again", "hot hot at 11", "SCAN");
    label("again", "LEAK"); /* the later one holds */
    struct reply asked = ask("POST", "/admin/fits", "{\"name\":\"text\",\"reason\":\"leaks\"}");
    reply_expect_status(&asked, 202);
    ck_assert_str_eq(reply_header(&asked, "Location"), "/admin/fits/1");
    ck_assert_double_eq(reply_number(&asked, "fit"), 1);
    reply_expect_text(&asked, "from_version", "2");
    reply_expect_text(&asked, "version", "3");
    reply_expect_text(&asked, "dir", "text-3");
    reply_free(&asked);
    struct reply fit = await_state(1, "succeeded");
    ck_assert_double_eq(reply_number(&fit, "labels.LEAK"), 11);
    ck_assert_double_eq(reply_number(&fit, "report.before.f1.LEAK.f1"), 0);
    ck_assert_double_gt(reply_number(&fit, "report.after.f1.LEAK.f1"), 0.8);
    ck_assert_double_gt(reply_number(&fit, "report.after.accuracy"),
                        reply_number(&fit, "report.before.accuracy"));
    ck_assert_double_ge(reply_number(&fit, "report.after.accuracy_interval.1"),
                        reply_number(&fit, "report.after.accuracy"));
    ck_assert_ptr_null(contract_at(fit.json, "detail"));
    ck_assert_ptr_nonnull(contract_at(fit.json, "finished"));
    reply_free(&fit);
    struct reply model = ask("GET", "/models/text", NULL);
    reply_expect_text(&model, "versions.1.version", "3");
    reply_expect_text(&model, "versions.1.role", "shadow");
    reply_free(&model);
    expect("POST", "/admin/models/text/3/promote", "{\"force\":true,\"reason\":\"seen\"}", 200);
    struct reply answer = ask("POST", "/predict", "{\"text\":\"hot hot at 99\"}");
    reply_expect_text(&answer, "label", "LEAK");
    reply_free(&answer);
    ck_assert(!exists("state/fits/1"));
    expect_audit("\"type\":\"fit\",\"action\":\"requested\",\"fit\":1,\"model\":\"text\","
                 "\"from_version\":\"2\",\"version\":\"3\",\"reason\":\"leaks\"");
    expect_audit(
        "\"action\":\"succeeded\",\"fit\":1,.*\"labels\":{\"LEAK\":11},\"digest\":\"sha256:");
    expect_audit("\"type\":\"rollout\",\"action\":\"load\",\"model\":\"text\",\"version\":\"3\"");
    struct reply page = ask("GET", "/metrics", NULL);
    ck_assert_ptr_nonnull(strstr(page.answer.body, "\nattnd_fits_total{result=\"succeeded\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(page.answer.body, "\nattnd_fits_running 0\n"));
    reply_free(&page);
    bench_close();
}
END_TEST

START_TEST(a_report_is_a_page_that_may_load_nothing)
{
    bench_open(NO_OPTIONS);
    teach_leaks();
    expect("POST", "/admin/fits", "{\"name\":\"text\",\"shadow\":0,\"prior\":\"equal\"}", 202);
    expect_state(1, "succeeded");
    struct reply page = ask("GET", "/admin/fits/1/report", NULL);
    reply_expect_status(&page, 200);
    ck_assert_str_eq(reply_header(&page, "Content-Type"), "text/html; charset=utf-8");
    ck_assert_str_eq(reply_header(&page, "X-Content-Type-Options"), "nosniff");
    ck_assert_ptr_nonnull(strstr(reply_header(&page, "Content-Security-Policy"),
                                 "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"));
    ck_assert_ptr_nonnull(strstr(page.answer.body, "LEAK"));
    ck_assert_ptr_null(strstr(page.answer.body, "<script"));
    reply_free(&page);
    bench_close();
}
END_TEST

START_TEST(fits_removes_a_forgotten_version_unless_it_is_served)
{
    bench_open(NO_OPTIONS);
    teach_leaks();
    expect("POST", "/admin/fits", "{\"name\":\"text\",\"shadow\":0}", 202);
    expect("POST", "/admin/fits", "{\"name\":\"text\",\"version\":\"new-1\"}", 202);
    expect_state(1, "succeeded");
    expect_state(2, "succeeded");
    struct reply list = ask("GET", "/admin/fits", NULL);
    ck_assert_uint_eq(reply_count(&list, "fits"), 2);
    reply_expect_text(&list, "fits.0.version", "new-1");
    reply_expect_text(&list, "fits.1.version", "3");
    reply_free(&list);
    ck_assert(exists("root/text-3/attnd.json") && exists("root/text-new-1/attnd.json"));
    refused("POST", "/admin/fits", "{\"name\":\"text\",\"version\":\"3\"}", 409, "conflict",
            "$.version: it is served");
    expect("DELETE", "/admin/fits/1", NULL, 200);
    expect("DELETE", "/admin/fits/2", NULL, 200);
    ck_assert(!exists("root/text-3") && exists("root/text-new-1/attnd.json"));
    refused("GET", "/admin/fits/1", NULL, 404, "not_found", "there is no fit of this number");
    refused("DELETE", "/admin/fits/2", NULL, 404, "not_found", "there is no fit of this number");
    bench_close();
}
END_TEST

/* Half of the voltages are called chains from here on. */
START_TEST(a_version_that_would_lose_too_much_is_refused_and_leaves_nothing)
{
    static const char *const words[] = {"chain", "late", "chain", "voltage", "late", "chain"};
    static const char *const labels[] = {"POWER", "TIMING", "SCAN"};
    bench_open(NO_OPTIONS);
    for (unsigned i = 0; i < 24; i++) {
        char id[16], text[48];
        snprintf(id, sizeof id, "die-%u", i);
        snprintf(text, sizeof text, "%s %s at %u", words[i % 6], words[i % 6], 100 + i);
        teach(id, text, labels[i % 3]);
    }
    expect("POST", "/admin/fits", "{\"name\":\"text\",\"loss_max\":0}", 202);
    struct reply fit = await_state(1, "refused");
    ck_assert_ptr_nonnull(strstr(reply_text(&fit, "detail"), "by more than 0 points"));
    ck_assert_double_eq(reply_number(&fit, "labels.POWER"), 8);
    reply_free(&fit);
    refused("GET", "/admin/fits/1/report", NULL, 404, "not_found",
            "this fit has left no report: it is refused");
    ck_assert(!exists("root/text-3") && !exists("state/fits/1"));
    expect_audit("\"action\":\"refused\",\"fit\":1,.*\"failed\":\"label");
    bench_close();
}
END_TEST

/* ---- what is refused at once ---- */

START_TEST(fits_refuses_bad_requests)
{
    static const struct {
        const char *body, *detail;
        int status;
        const char *type;
    } cases[] = {
        {"{}", "$: expected \"name\", found none", 422, "unusable"},
        {"[]", "$: expected an object, found an array", 422, "unusable"},
        {"{\"name\":\"text\",\"lossmax\":3}", "$.lossmax: unknown member; did you mean", 422,
         "unusable"},
        {"{\"name\":\"text\",\"loss_max\":101}", "$.loss_max: 101 is not from 0 to 100", 422,
         "unusable"},
        {"{\"name\":\"text\",\"prior\":\"/etc/passwd\"}", "$.prior: expected", 422, "unusable"},
        {"{\"name\":\"text\",\"shadow\":2}", "$.shadow: 2 is not from 0 to 1", 422, "unusable"},
        {"{\"name\":\"text\",\"target_precision\":0}", "$.target_precision: expected", 422,
         "unusable"},
        {"{\"name\":\"text\",\"version\":\"../../x\"}", "$.version: expected 1 to 64 of", 422,
         "unusable"},
        {"{\"name\":\"text\",\"version\":\"-x\"}", "$.version: expected 1 to 64 of", 422,
         "unusable"},
        {"{\"name\":\"text\",\"version\":\"2\"}", "$.version: it is served", 409, "conflict"},
        {"{\"name\":\"nobody\"}", "$.name: no model has this name", 404, "not_found"},
        {"{\"name\":\"text\"}", "no kept input of this model has a right label: look at", 409,
         "conflict"},
    };
    bench_open(NO_OPTIONS);
    expect("POST", "/predict", "{\"text\":\"hot\",\"id\":\"unlabelled\"}", 200);
    await_kept("unlabelled");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused("POST", "/admin/fits", cases[i].body, cases[i].status, cases[i].type,
                cases[i].detail);
    refused("GET", "/admin/fits/7", NULL, 404, "not_found", "there is no fit of this number");
    refused("GET", "/admin/fits/x", NULL, 404, "not_found", "there is no fit of this number");
    struct reply list = ask("GET", "/admin/fits", NULL);
    ck_assert_uint_eq(reply_count(&list, "fits"), 0);
    reply_free(&list);
    bench_close();
}
END_TEST

static void expect_conflict(const char *detail)
{
    refused("POST", "/admin/fits", "{\"name\":\"text\"}", 409, "conflict", detail);
    ck_assert_int_eq(server_process_stop(&server), 0);
}

START_TEST(an_option_that_is_missing_is_named)
{
    char model[192];
    tempdir_open(&dir);
    make_base();
    snprintf(model, sizeof model, "text=%s", path_of("base"));
    server_process_start(&server, OPTIONS("--model", model, "--workers", "1"));
    expect("GET", "/admin/fits", NULL, 200);
    refused("GET", "/admin/fits/1", NULL, 404, "not_found", "learning from labels is off");
    expect_conflict("learning from labels is off: set state_dir, keep_inputs_bytes");
    server_process_start(&server, OPTIONS("--model", model, "--workers", "1", "--state-dir",
                                          path_of("state"), "--models-root", dir.path));
    expect_conflict("this server keeps no inputs to learn from: set keep_inputs_bytes");
    start(NO_OPTIONS);
    expect_conflict("there is no place for a new version; the option models_root");
    start(OPTIONS("--models-root", dir.path, "--fit-program", "/nonexistent/attnd-fit"));
    expect_conflict("/nonexistent/attnd-fit cannot be run; the option fit_program");
    bench_clear();
}
END_TEST

START_TEST(fits_need_the_admin_scope)
{
    static const char *const keys[][2] = {{"anna-anna-anna-anna", "anna predict,feedback"},
                                          {"bert-bert-bert-bert", "bert predict,feedback,admin"}};
    char text[512] = "", digits[SHA256_HEX_BYTES], file[160];
    tempdir_open(&dir);
    for (int i = 0; i < 2; i++) {
        size_t len = strlen(text);
        sha256_hex(keys[i][0], strlen(keys[i][0]), digits);
        snprintf(text + len, sizeof text - len, "sha256:%s %s\n", digits, keys[i][1]);
    }
    tempdir_write(&dir, "keys", text, strlen(text));
    make_base();
    ck_assert_int_eq(mkdir(path_of("root"), 0755), 0);
    snprintf(file, sizeof file, "%s", path_of("keys"));
    start(OPTIONS("--models-root", path_of("root"), "--keys-file", file));
    refused("POST", "/admin/fits", "{\"name\":\"text\"}", 401, "unauthorized", "");
    refused("GET", "/admin/fits", NULL, 401, "unauthorized", "");
    header = "Authorization: Bearer anna-anna-anna-anna\r\n";
    refused("POST", "/admin/fits", "{\"name\":\"text\"}", 403, "forbidden", "");
    refused("GET", "/admin/fits/1/report", NULL, 403, "forbidden", "");
    refused("DELETE", "/admin/fits/1", NULL, 403, "forbidden", "");
    teach_leaks();
    header = "Authorization: Bearer bert-bert-bert-bert\r\n";
    expect("POST", "/admin/fits", "{\"name\":\"text\"}", 202);
    expect_state(1, "succeeded");
    expect_audit("\"action\":\"requested\",\"fit\":1,.*\"key\":\"bert\"");
    expect_audit("\"action\":\"load\",.*\"key\":\"bert\"");
    bench_close();
}
END_TEST

/* ---- a fit that lasts ---- */

/* A script in the place of attnd-fit; $6 is its list, $8 the directory that it is to make. */
static const char *script(const char *lines)
{
    char text[1024], path[160];
    const int len = snprintf(text, sizeof text, "#!/bin/sh\n%s\n", lines);
    tempdir_write(&dir, "fit.sh", text, (size_t)len);
    snprintf(path, sizeof path, "%s", path_of("fit.sh"));
    ck_assert_int_eq(chmod(path, 0755), 0);
    return path_of("fit.sh");
}

/* Begins to write, tells that and stays. */
#define LASTS                                                                                      \
    "mkdir \"$8.aaaaaa\" && echo half >\"$8.aaaaaa/model.safetensors\"\n"                          \
    "echo $$ >\"$8.pid\"\n"                                                                        \
    "echo '{\"step\":\"features\",\"done\":3,\"total\":9}'\n"                                      \
    "while :; do sleep 0.05; done"

static void bench_with(const char *lines)
{
    tempdir_open(&dir);
    make_base();
    ck_assert_int_eq(mkdir(path_of("root"), 0755), 0);
    const char *program = script(lines);
    start(OPTIONS("--models-root", path_of("root"), "--fit-program", program));
    teach_leaks();
}

static void await_step(const char *step)
{
    for (;;) {
        struct reply reply = ask("GET", "/admin/fits/1", NULL);
        const bool is_there = json_is_string(contract_at(reply.json, "step")) &&
                              strcmp(reply_text(&reply, "step"), step) == 0 &&
                              reply_number(&reply, "total") == 9;
        if (is_there)
            ck_assert_double_eq(reply_number(&reply, "done"), 3);
        reply_free(&reply);
        if (is_there)
            return;
        usleep(5000);
    }
}

static pid_t pid_of(const char *name)
{
    char text[32] = "";
    FILE *file = fopen(path_of(name), "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    return (pid_t)strtol(text, NULL, 10);
}

START_TEST(one_that_runs_is_cancelled_and_those_that_wait_too)
{
    bench_with(LASTS);
    expect("POST", "/admin/fits", "{\"name\":\"text\"}", 202);
    expect("POST", "/admin/fits", "{\"name\":\"text\"}", 202);
    await_step("features");
    refused("POST", "/admin/fits", "{\"name\":\"text\",\"version\":\"3\"}", 409, "conflict",
            "$.version: it is served, being made");
    ck_assert(exists("state/fits/1/data.jsonl") && exists("root/text-3.aaaaaa"));
    struct reply second = ask("DELETE", "/admin/fits/2", NULL);
    reply_expect_status(&second, 200);
    reply_expect_text(&second, "state", "cancelled");
    reply_expect_text(&second, "version", "4");
    reply_free(&second);
    const pid_t pid = pid_of("root/text-3.pid");
    expect("DELETE", "/admin/fits/1", NULL, 200);
    expect_state(1, "cancelled");
    ck_assert(kill(pid, 0) != 0 && errno == ESRCH);
    ck_assert(!exists("root/text-3.aaaaaa") && !exists("state/fits/1"));
    struct reply page = ask("GET", "/metrics", NULL);
    ck_assert_ptr_nonnull(strstr(page.answer.body, "\nattnd_fits_total{result=\"cancelled\"} 2\n"));
    reply_free(&page);
    bench_close();
}
END_TEST

START_TEST(fits_beyond_the_queue_are_refused)
{
    bench_with(LASTS);
    expect("POST", "/admin/fits", "{\"name\":\"text\"}", 202);
    await_step("features");
    for (int i = 0; i < 16; i++)
        expect("POST", "/admin/fits", "{\"name\":\"text\"}", 202);
    refused("POST", "/admin/fits", "{\"name\":\"text\"}", 429, "queue_full",
            "16 fits wait already; one runs at a time");
    bench_close();
}
END_TEST

START_TEST(a_stop_ends_a_fit_also_one_that_does_not_listen)
{
    bench_with("trap '' TERM\n" LASTS);
    expect("POST", "/admin/fits", "{\"name\":\"text\"}", 202);
    await_step("features");
    const pid_t pid = pid_of("root/text-3.pid");
    ck_assert_int_eq(server_process_stop(&server), 0);
    ck_assert(kill(pid, 0) != 0 && errno == ESRCH);
    ck_assert(!exists("root/text-3.aaaaaa") && !exists("root/text-3") && !exists("state/fits/1"));
    expect_audit("\"action\":\"cancelled\",\"fit\":1,");
    bench_clear();
}
END_TEST

START_TEST(fits_removes_the_leavings_of_a_kill_at_the_next_start)
{
    bench_with(LASTS);
    expect("POST", "/admin/fits", "{\"name\":\"text\"}", 202);
    await_step("features");
    const pid_t pid = pid_of("root/text-3.pid");
    kill(server.pid, SIGKILL);
    server_process_wait(&server);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert(exists("state/fits/1/data.jsonl") && exists("root/text-3.aaaaaa"));
    start(OPTIONS("--models-root", path_of("root")));
    ck_assert(!exists("state/fits/1") && !exists("root/text-3.aaaaaa"));
    expect_audit("\"action\":\"failed\",\"fit\":1,\"model\":\"text\",\"from_version\":\"2\","
                 "\"version\":\"3\","
                 "\"failed\":\"the server was ended before this fit was over\"");
    for (;;) { /* the labels are those of the audit log */
        struct reply reply = ask("POST", "/admin/fits", "{\"name\":\"text\"}");
        const int status = reply.answer.status;
        reply_free(&reply);
        if (status == 202)
            break;
        ck_assert_int_eq(status, 503);
        usleep(5000);
    }
    struct reply fit = await_state(2, "succeeded"); /* no number is given twice */
    ck_assert_double_eq(reply_number(&fit, "labels.LEAK"), 10);
    reply_free(&fit);
    bench_close();
}
END_TEST

START_TEST(a_fit_dies_with_the_server_that_began_it)
{
    char line[512], program[512];
    tempdir_open(&dir);
    make_base();
    ck_assert_int_eq(mkdir(path_of("root"), 0755), 0);
    /* exec: the parent of attnd-fit is the server; its list is so long that it is not soon done.
       mv: the file with the process id is there only when it is complete. */
    snprintf(line, sizeof line,
             "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do cat \"$6\" \"$6\" >\"$6.x\"; "
             "mv \"$6.x\" \"$6\"; done; echo $$ >\"$8.x\" && mv \"$8.x\" \"$8.pid\" && "
             "exec '%s' \"$@\"",
             built_program("attnd-fit", program, sizeof program));
    const char *path = script(line);
    start(OPTIONS("--models-root", path_of("root"), "--fit-program", path));
    teach_leaks();
    expect("POST", "/admin/fits", "{\"name\":\"text\"}", 202);
    while (!exists("root/text-3.pid"))
        usleep(5000);
    const pid_t pid = pid_of("root/text-3.pid");
    kill(server.pid, SIGKILL);
    server_process_wait(&server);
    while (kill(pid, 0) == 0)
        usleep(5000);
    bench_clear();
}
END_TEST

/* ---- what it gets ---- */

START_TEST(fits_gives_the_program_pictures_as_sent_and_no_secrets_of_the_server)
{
    size_t len, copied;
    char *bytes = contract_file(PICTURE, &len);
    tempdir_open(&dir);
    make_base();
    ck_assert_int_eq(mkdir(path_of("root"), 0755), 0);
    const char *program = script("cp -r \"$(dirname \"$6\")\" \"$8.seen\"\n"
                                 "stat -c %a \"$(dirname \"$6\")\" \"$6\" >\"$8.modes\"\n"
                                 "ls -l /proc/self/fd >\"$8.fds\"\n"
                                 "env | cut -d= -f1 | sort >\"$8.env\"\n"
                                 "echo 'attnd-fit: these are too few'; exit 2");
    start(OPTIONS("--models-root", path_of("root"), "--fit-program", program, "--model",
                  "image=" IMAGE_MODEL));
    struct http_answer answer = http_request(server.port, "POST", "/predict?model=image&id=map",
                                             "Content-Type: image/png\r\n", bytes, len);
    ck_assert_int_eq(answer.status, 200);
    http_answer_free(&answer);
    await_kept("map");
    label("map", "a \\\"new\\\" one");
    expect("POST", "/admin/fits", "{\"name\":\"image\"}", 202);
    struct reply fit = await_state(1, "refused");
    reply_expect_text(&fit, "detail", "these are too few");
    reply_free(&fit);
    char *list = contract_file(path_of("root/image-2.seen/data.jsonl"), &copied);
    ck_assert_str_eq(list, "{\"image\":\"1.png\",\"label\":\"a \\\"new\\\" one\"}\n");
    free(list);
    char *picture = contract_file(path_of("root/image-2.seen/1.png"), &copied);
    ck_assert_uint_eq(copied, len);
    ck_assert_mem_eq(picture, bytes, len);
    free(picture);
    char *modes = contract_file(path_of("root/image-2.modes"), &copied);
    ck_assert_str_eq(modes, "700\n600\n");
    free(modes);
    char *fds = contract_file(path_of("root/image-2.fds"), &copied);
    ck_assert_msg(strstr(fds, "socket:") == NULL && strstr(fds, "eventpoll") == NULL &&
                      strstr(fds, "audit") == NULL && strstr(fds, "/dev/null") != NULL,
                  "%s", fds);
    free(fds);
    char *names = contract_file(path_of("root/image-2.env"), &copied);
    ck_assert_msg(strncmp(names, "LC_ALL\nPATH\nPWD\n", 16) == 0 ||
                      strncmp(names, "LC_ALL\nLD_LIBRARY_PATH\nPATH\nPWD\n", 32) == 0,
                  "%s", names);
    free(names);
    free(bytes);
    bench_close();
}
END_TEST

START_TEST(one_that_fails_says_how)
{
    bench_with(
        "case \"$8\" in *-4) kill -9 $$;; *-5) exit 1;; *) echo nonsense; echo '{\"step\":'\n"
        "echo 'attnd-fit: no disk'; exit 1;; esac");
    for (int i = 3; i < 6; i++) {
        char *body = contract_format("{\"name\":\"text\",\"version\":\"%d\"}", i);
        expect("POST", "/admin/fits", body, 202);
        free(body);
    }
    static const char *const details[] = {"no disk", "attnd-fit was ended by signal 9",
                                          "attnd-fit failed without a word"};
    for (unsigned i = 0; i < 3; i++) {
        struct reply fit = await_state(i + 1, "failed");
        ck_assert_ptr_nonnull(strstr(reply_text(&fit, "detail"), details[i]));
        reply_free(&fit);
    }
    bench_close();
}
END_TEST

/* The fit leaves a directory that is no model. */
START_TEST(fits_report_and_keep_a_version_that_cannot_be_loaded)
{
    bench_with("mkdir \"$8\" && echo '{}' >\"$8/config.json\"");
    expect("POST", "/admin/fits", "{\"name\":\"text\"}", 202);
    struct reply fit = await_state(1, "succeeded");
    ck_assert_ptr_nonnull(strstr(reply_text(&fit, "detail"), "not loaded: "));
    reply_free(&fit);
    ck_assert(exists("root/text-3/config.json"));
    bench_close();
}
END_TEST

SUITE("server/contract/fits", ten_labels_of_a_new_kind_become_a_shadow_that_is_promoted,
      a_report_is_a_page_that_may_load_nothing,
      fits_removes_a_forgotten_version_unless_it_is_served,
      a_version_that_would_lose_too_much_is_refused_and_leaves_nothing, fits_refuses_bad_requests,
      an_option_that_is_missing_is_named, fits_need_the_admin_scope,
      one_that_runs_is_cancelled_and_those_that_wait_too, fits_beyond_the_queue_are_refused,
      a_stop_ends_a_fit_also_one_that_does_not_listen,
      fits_removes_the_leavings_of_a_kill_at_the_next_start,
      a_fit_dies_with_the_server_that_began_it,
      fits_gives_the_program_pictures_as_sent_and_no_secrets_of_the_server, one_that_fails_says_how,
      fits_report_and_keep_a_version_that_cannot_be_loaded)
