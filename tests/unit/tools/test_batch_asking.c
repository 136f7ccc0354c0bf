/* attnd-batch with questions, tags, vectors and masked tokens: the answers of attnd-predict, also
 * through a server. */
#include "engine/base/doc.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAGS "tests/data/tags/ner-bert-0"
#define ANSWERS "tests/data/answers/qa-bert-0"
#define VECTORS "tests/data/embedding/st-bert-0"
#define FILLS "tests/data/vocabulary/mlm-bert-0"
#define LOG "leakage at vdd_io: 3.97 V [MASK] lot A1\n"

enum { ARGUMENTS = 12 };

static struct tempdir dir;
static char path[128];

static const char *file(const char *name, const char *text)
{
    tempdir_write(&dir, name, text, strlen(text));
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    return path;
}

/* The one line that the program prints. */
static struct json_t *line_of(const char *program, const char *const *first,
                              const char *const *options)
{
    const char *arguments[ARGUMENTS + 1];
    unsigned count = 0;
    for (; *first != NULL; first++)
        arguments[count++] = *first;
    for (; *options != NULL; options++)
        arguments[count++] = *options;
    arguments[count] = NULL;
    ck_assert_uint_le(count, ARGUMENTS);
    return outcome_json(outcome_of(program, arguments));
}

static void expect_same(const struct json_t *a, const struct json_t *b, const char *where);

static enum err_code visit(void *context, const char *key, const struct json_t *value,
                           struct err *err)
{
    (void)err;
    if (strcmp(doc_type_name(value), "null") == 0)
        ck_assert_msg(doc_has_null(context, key), "%s is not null", key);
    else
        expect_same(value, doc_member(context, key), key);
    return ERR_OK;
}

static void expect_same(const struct json_t *a, const struct json_t *b, const char *where)
{
    struct err err = {0};
    double one, other;
    ck_assert_msg(b != NULL, "%s is missing", where);
    ck_assert_str_eq(doc_type_name(a), doc_type_name(b));
    if (doc_as_string(a) != NULL)
        ck_assert_msg(strcmp(doc_as_string(a), doc_as_string(b)) == 0, "%s: %s, %s", where,
                      doc_as_string(a), doc_as_string(b));
    if (doc_as_number(a, &one) && doc_as_number(b, &other))
        ck_assert_msg(fabs(one - other) < 1e-5, "%s: %g, %g", where, one, other);
    ck_assert_uint_eq(doc_array_count(a), doc_array_count(b));
    for (size_t i = 0; i < doc_array_count(a); i++)
        expect_same(doc_array_item(a, i), doc_array_item(b, i), where);
    doc_each_member(a, visit, (void *)(uintptr_t)b, &err);
}

static const struct {
    const char *name, *model, *member;
    const char *options[7];
} cases[] = {
    {"tags", TAGS, "spans", {"--aggregation", "first"}},
    {"tags", TAGS, "spans", {"--aggregation", "none"}},
    {"answers",
     ANSWERS,
     "answers",
     {"--question", "Which \"pin\"?", "--top-k", "3", "--max-answer-len", "2"}},
    {"answers",
     ANSWERS,
     "answer",
     {"--question", "a", "--doc-stride", "4", "--handle-impossible-answer"}},
    {"vectors", VECTORS, "embedding", {"--dimensions", "6", "--normalize"}},
    {"vectors", VECTORS, "embedding", {"--dimensions", "9", "--encoding", "binary"}},
    {"vectors", VECTORS, "chunks", {"--chunks", "lines", "--normalize", "--dimensions", "5"}},
    {"vectors", VECTORS, "chunks", {"--chunks", "tokens", "--prompt-name", "query"}},
    {"fills", FILLS, "predictions", {"--top-k", "4"}},
};
enum { CASES = sizeof cases / sizeof *cases };

START_TEST(batch_asks_as_predict_does)
{
    tempdir_open(&dir);
    const char *log = file("a.log", LOG);
    for (size_t i = 0; i < CASES; i++) {
        struct json_t *predicted =
            line_of("attnd-predict",
                    (const char *[]){"--json", "--model", cases[i].model, "--lines", log, NULL},
                    cases[i].options);
        struct json_t *answered = line_of(
            "attnd-batch", (const char *[]){"--model", cases[i].model, "--lines", log, NULL},
            cases[i].options);
        expect_same(doc_member(predicted, cases[i].member), doc_member(answered, cases[i].member),
                    cases[i].member);
        doc_free(predicted);
        doc_free(answered);
    }
    tempdir_close(&dir);
}
END_TEST

START_TEST(batch_asks_a_server_the_same)
{
    struct server_process server;
    char url[64];
    tempdir_open(&dir);
    const char *log = file("a.log", LOG);
    server_process_start(
        &server, (const char *[]){"--model", "tags=" TAGS, "--model", "answers=" ANSWERS, "--model",
                                  "vectors=" VECTORS, "--model", "fills=" FILLS, NULL});
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
    for (size_t i = 0; i < CASES; i++) {
        struct json_t *there =
            line_of("attnd-batch",
                    (const char *[]){"--url", url, "--model", cases[i].name, "--lines", log, NULL},
                    cases[i].options);
        struct json_t *here = line_of(
            "attnd-batch", (const char *[]){"--model", cases[i].model, "--lines", log, NULL},
            cases[i].options);
        expect_same(doc_member(here, cases[i].member), doc_member(there, cases[i].member),
                    cases[i].member);
        doc_free(there);
        doc_free(here);
    }
    outcome_expect(
        outcome_of("attnd-batch", (const char *[]){"--url", url, "--model", "vectors", "--lines",
                                                   log, "--aggregation", "max", NULL}),
        2, "", "aggregation: the model does not tag tokens");
    ck_assert_int_eq(server_process_stop(&server), 0);
    tempdir_close(&dir);
}
END_TEST

/* A record's own question comes before the one for all; a model of another task reads over it. */
START_TEST(batch_takes_the_question_of_a_record)
{
    tempdir_open(&dir);
    const char *list = file("a.jsonl", "{\"text\": \"lot A1\", \"question\": \"Which lot?\"}\n"
                                       "{\"text\": \"lot A1\"}\n"
                                       "{\"text\": \"lot A1\", \"question\": 7}\n");
    struct outcome *run =
        outcome_of("attnd-batch", (const char *[]){"--model", ANSWERS, "--data", list, NULL});
    outcome_holds(run, 1, "\"answer\":{\"text\":", "3 inputs, 2 failed");
    outcome_holds(run, 1, "line 2: question: it is missing", "");
    outcome_expect(run, 1, "member 'question': expected a string, found a number", "");
    outcome_expect(outcome_of("attnd-batch", (const char *[]){"--model", ANSWERS, "--data", list,
                                                              "--question", "Where?", NULL}),
                   1, "", "3 inputs, 1 failed");
    outcome_expect(
        outcome_of("attnd-batch", (const char *[]){"--model", TAGS, "--data", list, NULL}), 0,
        "\"spans\":", "3 inputs, 0 failed");
    const char *table = file("a.csv", "text,question\nlot A1,Which lot?\nlot B2,\n");
    outcome_expect(
        outcome_of("attnd-batch", (const char *[]){"--model", ANSWERS, "--data", table, NULL}), 1,
        "\"answer\":{\"text\":", "2 inputs, 1 failed");
    tempdir_close(&dir);
}
END_TEST

START_TEST(batch_refuses_what_the_model_does_not_take)
{
    static const struct {
        const char *model, *option, *value, *said;
    } rows[] = {{TAGS, "--question", "a", "the model answers no questions"},
                {ANSWERS, "--aggregation", "max", "aggregation: the model does not tag tokens"},
                {FILLS, "--dimensions", "3", "the model answers no vectors"},
                {TAGS, "--chunks", "lines", "chunks: the model answers no vectors"},
                {VECTORS, "--chunks", "words", "expected lines or tokens"},
                {VECTORS, "--dimensions", "3000", "dimensions: the model's vectors have"},
                {VECTORS, "--encoding", "int8", "encoding: int8 needs a range"},
                {ANSWERS, "--top-k", "all", "top_k: for answers it must be from 1 to 100"},
                {ANSWERS, "--top-k", "101", "top_k: for answers it must be from 1 to 100"}};
    tempdir_open(&dir);
    const char *log = file("a.log", LOG);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        outcome_expect(
            outcome_of("attnd-batch", (const char *[]){"--model", rows[i].model, "--lines", log,
                                                       rows[i].option, rows[i].value, NULL}),
            2, "", rows[i].said);
    tempdir_close(&dir);
}
END_TEST

START_TEST(batch_goes_on_only_with_the_same_question)
{
    char out[160];
    tempdir_open(&dir);
    const char *log = file("a.log", LOG);
    snprintf(out, sizeof out, "%s/out.jsonl", dir.path);
    static const char *const questions[] = {"Which pin?", "Which pin?", "Which lot?"};
    for (int i = 0; i < 3; i++)
        outcome_expect(
            outcome_of("attnd-batch", (const char *[]){"--model", ANSWERS, "--lines", log, "--out",
                                                       out, "--question", questions[i], NULL}),
            i < 2 ? 0 : 2, "",
            i < 2 ? "1 inputs" : "what is asked beside the inputs was 'question ");
    tempdir_close(&dir);
}
END_TEST

SUITE("batch_asking", batch_asks_as_predict_does, batch_asks_a_server_the_same,
      batch_takes_the_question_of_a_record, batch_refuses_what_the_model_does_not_take,
      batch_goes_on_only_with_the_same_question)
