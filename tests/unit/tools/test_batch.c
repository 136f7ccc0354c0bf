/* attnd-batch as a program: its answers, their order, and the result of a failed input. */
#include "engine/base/doc.h"
#include "tests/support/batch_fixture.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/stdf_writer.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define RUN(...) outcome_of("attnd-batch", (const char *[]){__VA_ARGS__, NULL})
#define PREDICT(...) outcome_of("attnd-predict", (const char *[]){__VA_ARGS__, NULL})

static struct batch_fixture fixture;

static const char *file(const char *name, const char *text)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    tempdir_write(&fixture.dir, name, text, strlen(text));
    snprintf(path, 128, "%s/%s", fixture.dir.path, name);
    return path;
}

/* The next line of a text as JSON; yours to free. */
static struct json_t *next_line(const char **at)
{
    struct json_t *root;
    struct err err = {0};
    size_t len = strcspn(*at, "\n");
    ck_assert_uint_gt(len, 0);
    ck_assert_msg(doc_parse(&root, *at, len, &doc_limits_file, &err) == ERR_OK, "%s", err.text);
    *at += len + 1;
    return root;
}

static void expect_same_answer(const struct json_t *a, const struct json_t *b)
{
    ck_assert_str_eq(doc_as_string(contract_at(a, "label")),
                     doc_as_string(contract_at(b, "label")));
    ck_assert_str_eq(doc_as_string(contract_at(a, "decision")),
                     doc_as_string(contract_at(b, "decision")));
    ck_assert_double_le(fabs(outcome_number(a, "score") - outcome_number(b, "score")), 1e-5);
    ck_assert_double_le(fabs(outcome_number(a, "input.line") - outcome_number(b, "input.line")), 0);
    ck_assert_str_eq(doc_as_string(contract_at(a, "model.digest")),
                     doc_as_string(contract_at(b, "model.digest")));
}

static void expect_same_lines(struct outcome *batch, struct outcome *predict, unsigned lines)
{
    const char *a = batch->out, *b = predict->out;
    ck_assert_msg(batch->code == predict->code, "%s", batch->errors);
    for (unsigned i = 0; i < lines; i++) {
        struct json_t *left = next_line(&a), *right = next_line(&b);
        expect_same_answer(left, right);
        doc_free(left);
        doc_free(right);
    }
    ck_assert_str_eq(a, "");
    free(batch);
    free(predict);
}

START_TEST(batch_answers_as_predict_does)
{
    batch_fixture_open(&fixture, 70);
    expect_same_lines(RUN("--model", fixture.model.dir, "--lines", fixture.log),
                      PREDICT("--model", fixture.model.dir, "--lines", fixture.log, "--json"), 70);
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_answers_real_logs_as_predict_does_with_explanations)
{
    static const char log[] = "kernel BUG at mm/slub.c:305!\n"
                              "BUG: unable to handle page fault for address: ffffc90000a4f000\n"
                              "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [kworker/1:2]\n";
    static const char model[] = "models/kernel-bert";
    batch_fixture_open(&fixture, 0);
    const char *path = file("real.log", log);
    struct outcome *batch = RUN("--model", model, "--lines", path, "--explain", "default");
    struct outcome *predict =
        PREDICT("--model", model, "--lines", path, "--explain", "default", "--json");
    const char *a = batch->out, *b = predict->out;
    for (unsigned i = 0; i < 3; i++) {
        static const char at[] = "explanation.words.0.relevance";
        struct json_t *left = next_line(&a), *right = next_line(&b);
        ck_assert_double_le(fabs(outcome_number(left, at) - outcome_number(right, at)), 1e-5);
        doc_free(left);
        doc_free(right);
    }
    expect_same_lines(batch, predict, 3);
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_keeps_the_order_whatever_the_threads)
{
    batch_fixture_open(&fixture, 1500);
    char *want = NULL;
    static const char *const threads[] = {"1", "2", "7"};
    for (size_t i = 0; i < 3; i++) {
        size_t len;
        const char *more[] = {"--threads", threads[i], NULL};
        ck_assert_int_eq(batch_wait(batch_start(&fixture, more), NULL), 0);
        char *found = contract_file(fixture.out, &len);
        ck_assert(want == NULL || strcmp(found, want) == 0);
        free(want);
        want = found;
        ck_assert_int_eq(remove(fixture.out), 0);
    }
    const char *at = want;
    for (unsigned line = 1; line <= 1500; line++) {
        struct json_t *object = next_line(&at);
        ck_assert_double_eq(outcome_number(object, "input.line"), line);
        doc_free(object);
    }
    free(want);
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_puts_a_problem_in_the_place_of_a_failed_input)
{
    batch_fixture_open(&fixture, 0);
    const char *path = file("mixed.jsonl", "{\"id\": \"a\", \"text\": \"w7\"}\n"
                                           "{\"id\": \"b\", \"text\": \"\"}\n"
                                           "no JSON\n"
                                           "{\"id\": 4, \"image\": \"none.png\"}\n"
                                           "{\"id\": 5, \"text\": \"w8 w9\"}\n");
    struct outcome *found = RUN("--model", fixture.model.dir, "--data", path);
    static const double statuses[] = {0, 422, 400, 422, 0};
    const char *at = found->out;
    for (unsigned i = 0; i < 5; i++) {
        struct json_t *object = next_line(&at);
        ck_assert_double_eq(outcome_number(object, "input.line"), i + 1);
        if (statuses[i] > 0)
            outcome_expect_number(object, "status", statuses[i]);
        else
            ck_assert_ptr_nonnull(doc_member(object, "label"));
        doc_free(object);
    }
    ck_assert_str_eq(at, "");
    outcome_holds(found, 1, "\"id\":\"b\"", "attnd-batch: 5 inputs, 3 failed, ");
    outcome_expect(found, 1, "\"id\":5", " inputs a second\nattnd-batch: the first that failed: ");
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_writes_a_flat_table)
{
    static const char header[] = "file,line,id,label,score,decision,reason,ood_score,ood_rank,"
                                 "truncated,windows,label_2,score_2,model,version,digest,status,"
                                 "error\r\n";
    batch_fixture_open(&fixture, 0);
    const char *path = file("a.csv", "id,text\n=cmd|x,w7\n\"a,b\",\"w8\nw9\"\n2\n");
    struct outcome *found =
        RUN("--model", fixture.model.dir, "--data", path, "--format", "csv", "--top-k", "2");
    ck_assert_int_eq(strncmp(found->out, header, strlen(header)), 0);
    outcome_holds(found, 1, "a.csv,2,\"'=cmd|x\",", "3 inputs, 1 failed");
    outcome_holds(found, 1, "a.csv,3,\"a,b\",", "");
    outcome_expect(found, 1, "line 5: 1 fields, but the header has 2", "");
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_reads_standard_input)
{
    char program[600], command[1200], out[65536] = "";
    batch_fixture_open(&fixture, 0);
    snprintf(command, sizeof command, "printf 'w7\\n\\nw8 w9' | %s --model %s --lines - 2>&1",
             built_program("attnd-batch", program, sizeof program), fixture.model.dir);
    FILE *pipe = popen(command, "re");
    ck_assert_ptr_nonnull(pipe);
    ck_assert_uint_gt(fread(out, 1, sizeof out - 1, pipe), 0);
    ck_assert_int_eq(pclose(pipe), 0);
    ck_assert_ptr_nonnull(strstr(out, "\"input\":{\"file\":\"-\",\"line\":3}"));
    ck_assert_ptr_nonnull(strstr(out, "attnd-batch: 2 inputs, 0 failed"));
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_reads_folders_and_pictures)
{
    struct outcome *found = RUN("--model", "models/wafer-vit", "tests/data/examples");
    struct outcome *predict =
        PREDICT("--model", "models/wafer-vit", "tests/data/examples", "--json");
    const char *a = found->out, *b = predict->out;
    ck_assert_int_eq(found->code, predict->code);
    while (*b != '\0') {
        struct json_t *left = next_line(&a), *right = next_line(&b);
        ck_assert_str_eq(doc_as_string(contract_at(left, "input.file")),
                         doc_as_string(contract_at(right, "input.file")));
        if (doc_member(right, "score") != NULL)
            ck_assert_double_le(
                fabs(outcome_number(left, "score") - outcome_number(right, "score")), 1e-5);
        else
            ck_assert_str_eq(doc_as_string(contract_at(left, "detail")),
                             doc_as_string(contract_at(right, "detail")));
        doc_free(left);
        doc_free(right);
    }
    ck_assert_str_eq(a, "");
    free(found);
    free(predict);
}
END_TEST

/* A list that lies elsewhere than the program runs; a lot whose wafers are inputs each. */
START_TEST(batch_reads_pictures_of_a_list_and_wafers_of_a_lot)
{
    struct stdf_writer lot;
    size_t len;
    char path[128];
    batch_fixture_open(&fixture, 0);
    char *png = contract_file("tests/data/examples/wafer_map.png", &len);
    tempdir_write(&fixture.dir, "map.png", png, len);
    free(png);
    stdf_writer_open(&lot, false);
    for (unsigned w = 0; w < 2; w++) {
        const char *id = w == 0 ? "W1" : "W2";
        stdf_writer_wafer(&lot, 1, id);
        for (int die = 0; die < 16; die++)
            stdf_writer_die(&lot, 1, die % 4, die / 4, STDF_WRITER_PASS, 1);
        stdf_writer_wafer_end(&lot, 1, id);
    }
    stdf_writer_close(&lot);
    tempdir_write(&fixture.dir, "lot.stdf", lot.bytes, lot.len);
    snprintf(path, sizeof path, "%s/lot.stdf", fixture.dir.path);
    const char *list = file("maps.jsonl", "{\"image\": \"map.png\", \"text\": \"not for it\"}\n"
                                          "{\"image\": \"lot.stdf#W2\"}\n"
                                          "{\"image\": \"no.png\"}\n"
                                          "{\"text\": \"w7\"}\n");
    struct outcome *found = RUN("--model", "models/wafer-vit", "--data", list, path);
    outcome_holds(found, 1, "maps.jsonl\",\"line\":2}}", "6 inputs, 2 failed");
    outcome_holds(found, 1, "no.png: cannot be opened", "");
    outcome_holds(found, 1, "maps.jsonl: line 4: the model takes images\"", "");
    outcome_expect(found, 1, "lot.stdf#W2\"}}", "");
    batch_fixture_close(&fixture);
}
END_TEST

/* A sanitizer keeps what is given back for a while. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MORE_KB_MAX = 1024 * 1024 };
#else
enum { MORE_KB_MAX = 4096 };
#endif

/* Both runs differ only in length: memory that grows with the inputs would show. */
START_TEST(batch_takes_no_more_memory_for_more_inputs)
{
    enum { SHORT = 2000, LONG = 60000 };
    long kilobytes[2];
    batch_fixture_open(&fixture, SHORT);
    ck_assert_int_eq(batch_wait(batch_start(&fixture, (const char *[]){NULL}), &kilobytes[0]), 0);
    ck_assert_int_eq(remove(fixture.out), 0);
    batch_fixture_write_log(&fixture, LONG);
    ck_assert_int_eq(batch_wait(batch_start(&fixture, (const char *[]){NULL}), &kilobytes[1]), 0);
    ck_assert_uint_eq(batch_done(&fixture), LONG);
    ck_assert_msg(kilobytes[1] < kilobytes[0] + MORE_KB_MAX, "%ld and %ld kB", kilobytes[0],
                  kilobytes[1]);
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_shows_a_bar_on_a_terminal)
{
    static char said[OUTCOME_BYTES];
    batch_fixture_open(&fixture, 640);
    const char *arguments[] = {
        "--model", fixture.model.dir, "--lines", fixture.log, "--rate", "800", NULL};
    ck_assert_int_eq(outcome_on_terminal("attnd-batch", arguments, said), 0);
    ck_assert_msg(strstr(said, "\r\033[K[####") != NULL, "%s", said);
    ck_assert_msg(strstr(said, "a second, 0:0") != NULL, "%s", said);
    ck_assert_msg(strstr(said, "\r\033[Kattnd-batch: 640 inputs, 0 failed") != NULL, "%s", said);
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_says_what_is_wrong_with_the_command)
{
    static const char model[] = "models/kernel-bert";
    outcome_expect(RUN("--lines", "a"), 2, "", "--model DIR is missing; --help shows the usage");
    outcome_expect(RUN("--model", model), 2, "", "no input: give a file, a folder");
    outcome_expect(RUN("--model", model, "--lines", "/nowhere/a"), 2, "", "/nowhere/a: cannot be");
    outcome_expect(RUN("--model", "/nowhere", "--lines", "README.md"), 2, "", "/nowhere");
    outcome_expect(RUN("--model", model, "--lines", "a", "--format", "xml"), 2, "", "jsonl");
    outcome_expect(RUN("--model", model, "--lines", "a", "--format", "csv", "--explain", "rollout"),
                   2, "", "--explain needs --format jsonl");
    outcome_expect(RUN("--model", model, "--lines", "a", "--format", "csv", "--top-k", "all"), 2,
                   "", "--top-k: with --format csv a number from 1 to 100");
    outcome_expect(
        RUN("--model", "tests/data/embedding/st-bert-0", "--lines", "README.md", "--format", "csv"),
        2, "", "--format csv: the model answers vectors");
    outcome_expect(RUN("--model", model, "--lines", "a", "--explain", "magic"), 2, "",
                   "no method 'magic'");
    outcome_expect(RUN("--model", model, "--lines", "a", "--key-file", "k"), 2, "",
                   "--key-file and --ca-file belong to --url");
    outcome_expect(RUN("--url", "http://127.0.0.1:1", "--lines", "a", "--dtype", "int8"), 2, "",
                   "are the server's with --url");
}
END_TEST

SUITE("batch", batch_answers_as_predict_does,
      batch_answers_real_logs_as_predict_does_with_explanations,
      batch_keeps_the_order_whatever_the_threads,
      batch_puts_a_problem_in_the_place_of_a_failed_input, batch_writes_a_flat_table,
      batch_reads_standard_input, batch_reads_folders_and_pictures,
      batch_reads_pictures_of_a_list_and_wafers_of_a_lot,
      batch_takes_no_more_memory_for_more_inputs, batch_shows_a_bar_on_a_terminal,
      batch_says_what_is_wrong_with_the_command)
