/* attnd-train, attnd-eval and a server on inputs with several labels or none at all: texts and
 * pictures, in each form of a list. */
#include "engine/base/doc.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN(program, ...) outcome_of(program, (const char *[]){__VA_ARGS__, NULL})

enum { TEXTS = 120, LIST_BYTES = 16384 };

static struct train_fixture f;

/* How a list writes an empty set. */
static const char *const forms[] = {"[]", "\"\"", "null"};

/* A text of "red" is hot, one of "blue" is cold and hot; a third of them has no label. */
static void write_texts(const char *none)
{
    static const char *const sets[] = {NULL, "[\"hot\"]", "[\"cold\", \"hot\"]"};
    static const char *const words[] = {"grey green", "red red", "blue blue"};
    static char list[LIST_BYTES];
    int len = 0;
    for (unsigned i = 0; i < TEXTS; i++)
        len += snprintf(list + len, sizeof list - (size_t)len,
                        "{\"text\": \"%s %s\", \"labels\": %s}\n", words[i % 3],
                        i % 2 == 0 ? "grey" : "green", i % 3 == 0 ? none : sets[i % 3]);
    tempdir_write(&f.data, "list.jsonl", list, (size_t)len);
}

/* A picture whose right half is bright has two labels, the others none. */
static void write_pictures(void)
{
    static char list[LIST_BYTES];
    int len = snprintf(list, sizeof list, "image,labels\n");
    for (unsigned i = 0; i < TRAIN_FIXTURE_IMAGES; i++)
        len += snprintf(list + len, sizeof list - (size_t)len, "%02u.png,%s\n", i,
                        i % 2 == 1 ? "right|half" : "");
    tempdir_write(&f.data, "list.csv", list, (size_t)len);
    snprintf(f.list, sizeof f.list, "%s/list.csv", f.data.path);
}

static void learn(const char *said)
{
    outcome_expect(RUN("attnd-train", "--task", "multi-label", "--model", f.model.path, "--data",
                       f.list, "--out", f.first.path, "--epochs", "16", "--batch", "8", "--rate",
                       "5e-3", "--keep", "last", "--threads", "1", "--seed", "3"),
                   0, "", said);
}

/* All labels of all inputs are found, and those without a label are given none. */
static void expect_all_right(unsigned inputs)
{
    struct json_t *report = outcome_json(
        RUN("attnd-eval", "--model", f.first.path, "--data", f.list, "--multi-label", "--json"));
    outcome_expect_number(report, "inputs", inputs);
    outcome_expect_number(report, "failed", 0);
    outcome_expect_number(report, "exact_match", 1);
    outcome_expect_number(report, "macro.f1", 1);
    doc_free(report);
}

START_TEST(texts_without_a_label_are_learnt_and_measured)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        train_fixture_texts(&f);
        write_texts(forms[i]);
        learn("108 inputs to learn, 12 to judge by, 2 labels, 16 epochs\n");
        expect_all_right(TEXTS);
        train_fixture_close(&f);
    }
}
END_TEST

/* The scores of a line of attnd-batch that are at least 0.5, and all. */
static void count_given(const char *line, unsigned *given, unsigned *all)
{
    struct json_t *answer;
    struct err err = {0};
    const size_t len = strcspn(line, "\n");
    ck_assert_msg(doc_parse(&answer, line, len, &doc_limits_file, &err) == ERR_OK, "%s", err.text);
    const struct json_t *predictions = doc_member(answer, "predictions");
    *all = (unsigned)doc_array_count(predictions);
    *given = 0;
    for (unsigned i = 0; i < *all; i++) {
        double score = 0;
        ck_assert(doc_as_number(doc_member(doc_array_item(predictions, i), "score"), &score));
        *given += score >= 0.5;
    }
    doc_free(answer);
}

START_TEST(pictures_without_a_label_are_learnt_measured_and_served)
{
    struct server_process server;
    char model[160], url[64];
    unsigned given, all;
    train_fixture_images(&f, "right");
    write_pictures();
    learn(" inputs to learn, ");
    expect_all_right(TRAIN_FIXTURE_IMAGES);
    snprintf(model, sizeof model, "sets=%s", f.first.path);
    server_process_start(&server, (const char *[]){"--model", model, NULL});
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
    struct outcome *answers = RUN("attnd-batch", "--url", url, "--data", f.list, "--top-k", "all");
    outcome_holds(answers, 0, "", "48 inputs, 0 failed");
    const char *line = answers->out;
    for (unsigned i = 0; i < TRAIN_FIXTURE_IMAGES; i++, line += strcspn(line, "\n") + 1) {
        count_given(line, &given, &all);
        ck_assert_uint_eq(all, 2);
        ck_assert_uint_eq(given, i % 2 == 1 ? 2 : 0);
    }
    free(answers);
    ck_assert_int_eq(server_process_stop(&server), 0);
    train_fixture_close(&f);
}
END_TEST

START_TEST(sets_of_labels_say_how_they_are_measured)
{
    static const char none[] = "{\"text\": \"grey\", \"labels\": []}\n";
    train_fixture_texts(&f);
    write_texts("[]");
    learn(" 2 labels, ");
    outcome_expect(RUN("attnd-eval", "--model", f.first.path, "--data", f.list), 2, "",
                   "the model gives several labels an input, or none: --multi-label measures them");
    tempdir_write(&f.data, "list.jsonl", none, strlen(none));
    outcome_expect(RUN("attnd-train", "--task", "multi-label", "--model", f.model.path, "--data",
                       f.list, "--out", f.second.path),
                   2, "", "no input has a label");
    train_fixture_close(&f);
}
END_TEST

SUITE("train_sets", texts_without_a_label_are_learnt_and_measured,
      pictures_without_a_label_are_learnt_measured_and_served,
      sets_of_labels_say_how_they_are_measured)
