/* attnd-batch --url through a real attnd on this machine, against attnd-batch with the model. */
#include "engine/base/doc.h"
#include "tests/support/batch_fixture.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN(...) outcome_of("attnd-batch", (const char *[]){__VA_ARGS__, NULL})

static struct batch_fixture fixture;
static struct server_process server;
static char url[64];

static void begin(unsigned lines, const char *option, const char *value)
{
    char model[96];
    batch_fixture_open(&fixture, lines);
    snprintf(model, sizeof model, "tiny=%s", fixture.model.dir);
    server_process_start(&server, (const char *[]){"--model", model, option, value, NULL});
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
}

static void end(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
    batch_fixture_close(&fixture);
}

static struct json_t *next_line(const char **at)
{
    struct json_t *root;
    struct err err = {0};
    size_t len = strcspn(*at, "\n");
    ck_assert_msg(doc_parse(&root, *at, len, &doc_limits_file, &err) == ERR_OK, "%s", err.text);
    *at += len + 1;
    return root;
}

/* Members that both have; the model's name is the directory's here, and "tiny" there. */
static void expect_same(const struct json_t *there, const struct json_t *here)
{
    static const char *const numbers[] = {"score", "ood_score", "input.line"};
    if (doc_member(here, "status") != NULL) {
        outcome_expect_number(there, "status", outcome_number(here, "status"));
        return;
    }
    for (size_t i = 0; i < 3; i++)
        ck_assert_double_le(
            fabs(outcome_number(there, numbers[i]) - outcome_number(here, numbers[i])), 1e-5);
    ck_assert_str_eq(doc_as_string(contract_at(there, "label")),
                     doc_as_string(contract_at(here, "label")));
    ck_assert_ptr_null(doc_member(there, "timing_ms"));
}

static void expect_same_lines(const char *there, const char *here, unsigned lines)
{
    for (unsigned i = 0; i < lines; i++) {
        struct json_t *a = next_line(&there), *b = next_line(&here);
        expect_same(a, b);
        doc_free(a);
        doc_free(b);
    }
    ck_assert_str_eq(there, "");
    ck_assert_str_eq(here, "");
}

START_TEST(batch_through_a_server_answers_as_without)
{
    begin(90, "--inputs-max", "7");
    struct outcome *there = RUN("--url", url, "--lines", fixture.log, "--threads", "3");
    struct outcome *here = RUN("--model", fixture.model.dir, "--lines", fixture.log);
    ck_assert_msg(there->code == 0, "%s", there->errors);
    expect_same_lines(there->out, here->out, 90);
    free(there);
    free(here);
    end();
}
END_TEST

START_TEST(batch_through_a_server_keeps_failed_inputs_in_their_places)
{
    static const char mixed[] = "{\"id\": 1, \"text\": \"w7\"}\n"
                                "{\"id\": 2, \"text\": \"\"}\n"
                                "none\n"
                                "{\"id\": 4, \"image\": \"README.md\"}\n"
                                "{\"id\": 5, \"text\": \"w8\"}\n";
    char path[128];
    begin(0, "--inputs-max", "64");
    tempdir_write(&fixture.dir, "mixed.jsonl", mixed, sizeof mixed - 1);
    snprintf(path, sizeof path, "%s/mixed.jsonl", fixture.dir.path);
    struct outcome *there = RUN("--url", url, "--model", "tiny", "--data", path);
    struct outcome *here = RUN("--model", fixture.model.dir, "--data", path);
    ck_assert_msg(there->code == 1, "%s", there->errors);
    ck_assert_ptr_nonnull(strstr(there->errors, "5 inputs, 3 failed"));
    expect_same_lines(there->out, here->out, 5);
    free(there);
    free(here);
    end();
}
END_TEST

START_TEST(batch_names_what_the_server_lacks)
{
    begin(3, "--inputs-max", "64");
    outcome_expect(RUN("--url", url, "--model", "other", "--lines", fixture.log), 2, "",
                   "it serves no model named 'other'");
    end();
}
END_TEST

/* More inputs at once than its queue takes: what it refuses is asked again. */
START_TEST(batch_asks_again_when_the_queue_is_full)
{
    begin(300, "--queue-limit", "64");
    struct outcome *there =
        RUN("--url", url, "--lines", fixture.log, "--threads", "6", "--out", fixture.out);
    outcome_expect(there, 0, "", "300 inputs, 0 failed");
    end();
}
END_TEST

SUITE("batch_url", batch_through_a_server_answers_as_without,
      batch_through_a_server_keeps_failed_inputs_in_their_places, batch_names_what_the_server_lacks,
      batch_asks_again_when_the_queue_is_full)
