/* attnd as a program: its ready line, its end, its exit codes; and attnd-predict, which must say
 * what the server says. */
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"

#include "engine/base/doc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAFER "wafer-vit=models/wafer-vit"
#define KERNEL "kernel-bert=models/kernel-bert"
#define WAFER_MAP "tests/data/examples/wafer_map.png"
#define REPORT "tests/data/examples/kernel_report.txt"

START_TEST(the_ready_line_names_the_models_in_their_order)
{
    char line[256];
    struct server_process server;
    server_process_start(&server, (const char *[]){"--model", KERNEL, "--model", WAFER, NULL});
    snprintf(line, sizeof line,
             "attnd: listening on http://127.0.0.1:%u (kernel-bert, wafer-vit)\n", server.port);
    ck_assert_str_eq(server.ready_line, line);
    struct reply reply = reply_of(http_get(server.port, "/readyz"));
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

START_TEST(sigint_and_sigterm_end_with_0)
{
    static const int signals[] = {SIGTERM, SIGINT};
    for (int i = 0; i < 2; i++) {
        struct server_process server;
        server_process_start(&server, (const char *[]){"--model", KERNEL, NULL});
        kill(server.pid, signals[i]);
        ck_assert_int_eq(server_process_wait(&server), 0);
    }
}
END_TEST

START_TEST(the_first_model_of_a_kind_is_its_default)
{
    struct server_process server;
    server_process_start(&server, (const char *[]){"--model", "first=models/kernel-bert", "--model",
                                                   "second=models/kernel-bert", NULL});
    struct reply reply = reply_of(http_post_json(server.port, "/predict", "{\"text\":\"a\"}"));
    reply_expect_text(&reply, "model.name", "first");
    reply_free(&reply);
    reply =
        reply_of(http_post_json(server.port, "/predict", "{\"text\":\"a\",\"model\":\"second\"}"));
    reply_expect_text(&reply, "model.name", "second");
    reply_free(&reply);
    reply = reply_of(http_post_json(server.port, "/predict", "{\"image\":\"aGVsbG8=\"}"));
    reply_expect_problem(&reply, 422, "unusable", "$.image: no model that reads images is served");
    reply_free(&reply);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

/* Expects nothing on stdout; "attnd: " and these words on stderr, as its last line. */
static void expect_failure(const char *const *arguments, int code, const char *words)
{
    char out[1024], errors[8192];
    ck_assert_int_eq(run_program("attnd", arguments, out, sizeof out, errors, sizeof errors), code);
    ck_assert_str_eq(out, "");
    size_t len = strlen(errors);
    ck_assert_uint_gt(len, 0);
    ck_assert_int_eq(errors[len - 1], '\n');
    errors[len - 1] = '\0';
    const char *newline = strrchr(errors, '\n'), *last = newline != NULL ? newline + 1 : errors;
    ck_assert_msg(strncmp(last, "attnd: ", 7) == 0 && strstr(last, words) != NULL, "%s", last);
}

#define FAILS(code, words, ...) expect_failure((const char *[]){__VA_ARGS__, NULL}, code, words)

START_TEST(an_unusable_model_ends_with_2_and_says_why)
{
    FAILS(2,
          "model a: there is no directory models/none; models lie beside it in "
          "models/kernel-bert, models/testlog-bert, ",
          "--model", "a=models/none");
    FAILS(2,
          "model a: there is no directory nope; shipped models are kernel-bert, testlog-bert, "
          "wafer-id, wafer-vit",
          "--model", "a=nope");
    FAILS(2, "model a: ", "--model", "a=tests/data/examples");
    FAILS(2, "model a: the linear backend 'openblas' cannot multiply in int8", "--model",
          "a=models/kernel-bert,dtype=int8", "--linear-backend", "openblas");
    FAILS(2, "no model to serve", "--listen", "127.0.0.1:0");
}
END_TEST

START_TEST(a_bad_option_ends_with_2_and_says_why)
{
    FAILS(2, "unknown option '--queue-limits'; did you mean '--queue-limit'?", "--queue-limits",
          "5");
    FAILS(2, "--queue-limit: ", "--queue-limit", "0");
    FAILS(2, "--queue-limit: ", "--queue-limit", "many");
    FAILS(2, "--queue-limit: needs a value: N", "--queue-limit");
    FAILS(2, "--listen: ", "--listen", "nowhere");
    FAILS(2, "--log-level: must be one of", "--log-level", "loud");
    FAILS(2, "inputs_max", "--model", KERNEL, "--queue-limit", "5", "--inputs-max", "6");
    FAILS(2, "two models are named", "--model", KERNEL, "--model", KERNEL);
    FAILS(2, "unexpected argument", "serve");
}
END_TEST

/* The value in the second column of the row that begins with the name. */
static size_t row_bytes(const char *table, const char *name)
{
    char begin[32];
    snprintf(begin, sizeof begin, "\n%s ", name);
    const char *row = strstr(table, begin);
    ck_assert_msg(row != NULL, "%s: no such row in\n%s", name, table);
    return strtoull(row + strlen(begin), NULL, 10);
}

START_TEST(check_config_sums_up_the_memory_of_the_shipped_models)
{
    static const char *const items[] = {"process", "models",  "sessions", "connections",
                                        "queue",   "metrics", "feedback", "requests"};
    char out[4096], errors[1024];
    size_t sum = 0;
    const char *const arguments[] = {"--check-config",
                                     "--memory-max",
                                     "1073741824",
                                     "--model",
                                     WAFER,
                                     "--model",
                                     KERNEL,
                                     "--model",
                                     "t=models/testlog-bert",
                                     NULL};
    ck_assert_int_eq(run_program("attnd", arguments, out, sizeof out, errors, sizeof errors), 0);
    ck_assert_str_eq(errors, "");
    ck_assert_int_eq(strncmp(out, "attnd: the configuration is valid\n", 34), 0);
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
        sum += row_bytes(out, items[i]);
    ck_assert_uint_eq(sum, row_bytes(out, "sum"));
    ck_assert_uint_eq(sum, 1073741824);
    /* The largest image of all, a progressive CMYK JPEG of image_pixels_max, fits. */
    ck_assert_uint_ge(row_bytes(out, "requests"), (size_t)420 * 1024 * 1024);
}
END_TEST

START_TEST(program_ends_with_2_and_the_sum_if_memory_max_is_too_small)
{
    FAILS(2, "memory: 50000000 bytes (memory_max) are too few for process ", "--model", KERNEL,
          "--memory-max", "50000000");
    FAILS(2, "connections_max", "--model", KERNEL, "--memory-max", "50000000", "--check-config");
    FAILS(2, "model a: there is no directory models/none", "--model", "a=models/none",
          "--check-config");
}
END_TEST

START_TEST(a_port_in_use_ends_with_1)
{
    char address[64];
    struct server_process server;
    server_process_start(&server, (const char *[]){"--model", KERNEL, NULL});
    snprintf(address, sizeof address, "127.0.0.1:%u", server.port);
    FAILS(1, "in use", "--model", KERNEL, "--listen", address);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

static const char *const programs[] = {"attnd",         "attnd-audit", "attnd-batch",
                                       "attnd-eval",    "attnd-fit",   "attnd-healthcheck",
                                       "attnd-inspect", "attnd-keys",  "attnd-load",
                                       "attnd-predict", "attnd-prune", "attnd-train",
                                       "attnd-vocab",   "attnd-index"};

START_TEST(help_and_version_end_with_0)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        outcome_expect(outcome_of(programs[i], (const char *[]){"--version", NULL}), 0, programs[i],
                       "");
        outcome_expect(outcome_of(programs[i], (const char *[]){"--help", NULL}), 0, "--", "");
    }
}
END_TEST

/* A line of its own with the program's name after two blanks, and a line end after the last word. */
START_TEST(help_shows_an_example_and_ends_its_last_line)
{
    char example[64];
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct outcome *result = outcome_of(programs[i], (const char *[]){"--help", NULL});
        snprintf(example, sizeof example, "\n  %s ", programs[i]);
        outcome_holds(result, 0, example, "");
        ck_assert_msg(result->out[strlen(result->out) - 1] == '\n', "%s --help", programs[i]);
        free(result);
    }
}
END_TEST

/* ---- attnd-predict ---- */

static double number_at(const struct json_t *root, const char *path)
{
    double number = 0;
    ck_assert(doc_as_number(contract_at(root, path), &number));
    return number;
}

/* The score of a label among the predictions. */
static double score_of(const struct json_t *reply, const char *label)
{
    const struct json_t *predictions = doc_member(reply, "predictions");
    for (size_t i = 0; i < doc_array_count(predictions); i++) {
        const struct json_t *one = doc_array_item(predictions, i);
        if (strcmp(doc_as_string(doc_member(one, "label")), label) == 0)
            return number_at(one, "score");
    }
    ck_abort_msg("no label %s", label);
    return 0;
}

static void expect_same(const struct json_t *served, const struct json_t *printed)
{
    static const char *const texts[] = {"label", "decision", "model.name", "model.version"};
    const struct json_t *predictions = doc_member(printed, "predictions");
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(doc_as_string(contract_at(served, texts[i])),
                         doc_as_string(contract_at(printed, texts[i])));
    ck_assert_uint_gt(doc_array_count(predictions), 1);
    ck_assert_uint_eq(doc_array_count(doc_member(served, "predictions")),
                      doc_array_count(predictions));
    for (size_t i = 0; i < doc_array_count(predictions); i++) {
        const struct json_t *one = doc_array_item(predictions, i);
        double score = score_of(served, doc_as_string(doc_member(one, "label")));
        ck_assert_double_eq_tol(score, number_at(one, "score"), 1e-5);
    }
    ck_assert(!doc_member(served, "truncated") == !doc_member(printed, "truncated"));
    ck_assert_ptr_null(doc_member(printed, "id"));
    ck_assert_ptr_null(doc_member(printed, "timing_ms"));
    ck_assert_ptr_nonnull(doc_as_string(contract_at(printed, "model.digest")));
}

static void expect_predict_agrees(const char *model, const char *flag, const char *path,
                                  const char *type)
{
    char out[16384], errors[4096];
    size_t len;
    struct server_process server;
    struct err err = {0};
    struct json_t *printed = NULL;
    char *input = contract_file(path, &len);
    server_process_start(&server, (const char *[]){"--model", WAFER, "--model", KERNEL, NULL});
    struct reply served =
        reply_of(http_request(server.port, "POST", "/predict?top_k=all", type, input, len));
    reply_expect_status(&served, 200);
    ck_assert_int_eq(run_program("attnd-predict",
                                 (const char *[]){"--json", "--top-k", "all", "--model", model,
                                                  flag, path, NULL},
                                 out, sizeof out, errors, sizeof errors),
                     0);
    ck_assert_int_eq(doc_parse(&printed, out, strlen(out), &doc_limits_request, &err), ERR_OK);
    expect_same(served.json, printed);
    doc_free(printed);
    reply_free(&served);
    free(input);
    ck_assert_int_eq(server_process_stop(&server), 0);
}

START_TEST(attnd_predict_says_of_an_image_what_the_server_says)
{
    expect_predict_agrees("models/wafer-vit", "--image", WAFER_MAP, "Content-Type: image/png\r\n");
}
END_TEST

START_TEST(attnd_predict_says_of_a_text_what_the_server_says)
{
    expect_predict_agrees("models/kernel-bert", "--text-file", REPORT,
                          "Content-Type: text/plain\r\n");
}
END_TEST

START_TEST(attnd_predict_prints_a_problem_in_the_place_of_a_failed_input)
{
    char out[8192], errors[4096];
    struct err err = {0};
    struct reply lines = {0};
    ck_assert_int_eq(
        run_program("attnd-predict",
                    (const char *[]){"--json", "--model", "models/kernel-bert", "--text", "",
                                     "--text", "possible deadlock", NULL},
                    out, sizeof out, errors, sizeof errors),
        1);
    char *second = strchr(out, '\n');
    ck_assert_ptr_nonnull(second);
    ck_assert_int_eq(doc_parse(&lines.json, out, (size_t)(second - out), &doc_limits_request, &err),
                     ERR_OK);
    reply_expect_problem_at(&lines, "", 422, "unusable", "");
    reply_free(&lines);
    second++;
    ck_assert_int_eq(doc_parse(&lines.json, second, strlen(second), &doc_limits_request, &err),
                     ERR_OK);
    reply_expect_text(&lines, "model.name", "kernel-bert");
    reply_free(&lines);
}
END_TEST

SUITE("contract_program", the_ready_line_names_the_models_in_their_order,
      sigint_and_sigterm_end_with_0, the_first_model_of_a_kind_is_its_default,
      an_unusable_model_ends_with_2_and_says_why, a_bad_option_ends_with_2_and_says_why,
      check_config_sums_up_the_memory_of_the_shipped_models,
      program_ends_with_2_and_the_sum_if_memory_max_is_too_small, a_port_in_use_ends_with_1,
      help_and_version_end_with_0, help_shows_an_example_and_ends_its_last_line,
      attnd_predict_says_of_an_image_what_the_server_says,
      attnd_predict_says_of_a_text_what_the_server_says,
      attnd_predict_prints_a_problem_in_the_place_of_a_failed_input)
