/* attnd-batch --url through a real attnd on this machine, against attnd-batch with the model. */
#include "engine/base/doc.h"
#include "tests/support/batch_fixture.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    ck_assert_ptr_nonnull(strstr(there->errors, ": line 2: "));
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

/* The run asks for more inputs at once than the server's queue takes: refused inputs are asked
 * again. */
START_TEST(batch_asks_again_when_the_queue_is_full)
{
    begin(300, "--queue-limit", "64");
    struct outcome *there =
        RUN("--url", url, "--lines", fixture.log, "--threads", "6", "--out", fixture.out);
    outcome_expect(there, 0, "", "300 inputs, 0 failed");
    end();
}
END_TEST

/* ---- the mark of an editor ---- */

static double first_score(struct outcome *outcome)
{
    const char *at = outcome->out;
    ck_assert_msg(outcome->code == 0, "%s", outcome->errors);
    struct json_t *line = next_line(&at);
    double score = outcome_number(line, "score");
    doc_free(line);
    free(outcome);
    return score;
}

static struct outcome *from_standard_input(const char *path, bool is_pipe)
{
    int ends[2] = {open(path, O_RDONLY), -1}, before = dup(STDIN_FILENO);
    char bytes[64];
    if (is_pipe) {
        ssize_t len = read(ends[0], bytes, sizeof bytes);
        close(ends[0]);
        ck_assert_int_eq(pipe(ends), 0);
        ck_assert_int_eq(write(ends[1], bytes, (size_t)len), len);
        close(ends[1]);
    }
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    struct outcome *outcome = RUN("--model", fixture.model.dir, "--lines", "-");
    dup2(before, STDIN_FILENO);
    close(before);
    return outcome;
}

/* A text, the same with a byte order mark, and in UTF-16: each way of giving it to a program has
 * one score of the three. */
START_TEST(each_way_to_a_model_reads_a_text_without_its_mark)
{
    static const char wide[] = "\xFF\xFE"
                               "w\0"
                               "7\0 \0w\0"
                               "9\0\n";
    enum { WAYS = 7 };
    double plain[WAYS] = {0};
    char path[128];
    begin(0, "--inputs-max", "64");
    const char *model = fixture.model.dir;
    tempdir_write(&fixture.dir, "0.log", "w7 w9\n", 6);
    tempdir_write(&fixture.dir, "1.log", "\xEF\xBB\xBFw7 w9\n", 9);
    tempdir_write(&fixture.dir, "2.log", wide, sizeof wide);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%u.log", fixture.dir.path, i);
        struct outcome *const ways[WAYS] = {
            RUN("--model", model, path),
            RUN("--model", model, "--lines", path),
            RUN("--url", url, path),
            RUN("--url", url, "--lines", path),
            from_standard_input(path, false),
            outcome_of("attnd-predict",
                       (const char *[]){"--model", model, "--text-file", path, "--json", NULL}),
            outcome_of("attnd-predict",
                       (const char *[]){"--model", model, "--lines", path, "--json", NULL})};
        for (unsigned way = 0; way < WAYS; way++) {
            double score = first_score(ways[way]);
            plain[way] = i == 0 ? score : plain[way];
            ck_assert_msg(score == plain[way], "file %u, way %u: %.9f, without a mark %.9f", i, way,
                          score, plain[way]);
        }
        if (i == 1)
            ck_assert_double_eq(first_score(from_standard_input(path, true)), plain[4]);
    }
    outcome_expect(from_standard_input(path, true), 2, "",
                   "is UTF-16, which is read of a file, not of a stream; send UTF-8");
    end();
}
END_TEST

#define VECTORS "tests/data/embedding/st-bert-0"

/* The first number of the vector of the first line. */
static double first_number(struct outcome *outcome)
{
    const char *at = outcome->out;
    outcome_holds(outcome, 0, "", "");
    struct json_t *object = next_line(&at);
    const double number = outcome_number(object, "embedding.0");
    doc_free(object);
    free(outcome);
    return number;
}

START_TEST(batch_puts_the_named_prompt_before_each_text)
{
    struct tempdir dir;
    char path[128];
    tempdir_open(&dir);
    tempdir_write(&dir, "a.log", "leakage at pin 3\n", 17);
    snprintf(path, sizeof path, "%s/a.log", dir.path);
    server_process_start(&server, (const char *[]){"--model", "vectors=" VECTORS, NULL});
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
    const double plain = first_number(RUN("--model", VECTORS, "--lines", path));
    const double query =
        first_number(RUN("--model", VECTORS, "--lines", path, "--prompt-name", "query"));
    ck_assert_double_gt(fabs(query - plain), 1e-3);
    ck_assert_double_eq_tol(
        first_number(RUN("--url", url, "--lines", path, "--prompt-name", "query")), query, 1e-5);
    outcome_expect(RUN("--model", VECTORS, "--lines", path, "--prompt-name", "none"), 2, "",
                   "the model has no prompt 'none'");
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("batch_url", batch_puts_the_named_prompt_before_each_text,
      each_way_to_a_model_reads_a_text_without_its_mark, batch_through_a_server_answers_as_without,
      batch_through_a_server_keeps_failed_inputs_in_their_places, batch_names_what_the_server_lacks,
      batch_asks_again_when_the_queue_is_full)
