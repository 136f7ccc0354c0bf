/* attnd-index as a program. */
#include "engine/base/doc.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

#define RUN(...) outcome_of("attnd-index", (const char *[]){__VA_ARGS__, NULL})
#define EMBEDDING "tests/data/embedding/st-bert-0"
#define CLASSIFIER "tests/data/golden/bert-5"
#define PICTURES "tests/data/golden/vit-0"

static const char cases[] = "{\"text\": \"the wafer has a ring\", \"label\": \"Ring\", \"id\": 7}\n"
                            "{\"text\": \"a scratch across the dies\", \"label\": \"Scratch\"}\n"
                            "{\"text\": \"nothing to see\", \"id\": \"die-3\"}\n";

struct fixture {
    struct tempdir dir;
    char data[128], index[128];
};

static void open_fixture(struct fixture *f)
{
    tempdir_open(&f->dir);
    tempdir_write(&f->dir, "cases.jsonl", cases, sizeof cases - 1);
    snprintf(f->data, sizeof f->data, "%s/cases.jsonl", f->dir.path);
    snprintf(f->index, sizeof f->index, "%s/a.index", f->dir.path);
}

static const char *text_at(const struct json_t *root, unsigned at, const char *key)
{
    size_t len;
    return doc_text(doc_member(doc_array_item(doc_member(root, "neighbours"), at), key), &len);
}

START_TEST(index_finds_a_text_again)
{
    struct fixture f;
    open_fixture(&f);
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", f.index), 0,
                   "3 vectors of 48 numbers (embedding, cosine, int16)", "");
    struct json_t *found = outcome_json(RUN("search", "--index", f.index, "--model", EMBEDDING,
                                            "--text", "a scratch across the dies", "--json"));
    ck_assert_str_eq(text_at(found, 0, "id"), "cases.jsonl:2");
    ck_assert_str_eq(text_at(found, 0, "label"), "Scratch");
    ck_assert(strstr(text_at(found, 0, "source"), "/cases.jsonl:2") != NULL);
    outcome_expect_number(found, "neighbours.0.score", 1);
    ck_assert_uint_eq(doc_array_count(doc_member(found, "neighbours")), 3);
    doc_free(found);
    found = outcome_json(RUN("search", "--index", f.index, "--model", EMBEDDING, "--text",
                             "nothing to see", "--k", "1", "--json"));
    ck_assert_str_eq(text_at(found, 0, "id"), "die-3");
    ck_assert_ptr_null(text_at(found, 0, "label"));
    doc_free(found);
    outcome_expect(RUN("search", "--index", f.index, "--model", EMBEDDING, "--text",
                       "the wafer has a ring", "--k", "1"),
                   0, "Ring                      7  ", "");
    outcome_expect(RUN("info", f.index), 0, "rows        3\ndimensions  48\n", "");
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_says_that_texts_are_longer_than_the_model_reads)
{
    struct fixture f;
    char text[4096] = "{\"text\": \"", query[3001];
    open_fixture(&f);
    for (unsigned i = 0; i + 1 < sizeof query; i++)
        query[i] = "die "[i % 4];
    query[sizeof query - 1] = '\0';
    strcat(strcat(text, query), "\"}\n{\"text\": \"a ring\"}\n");
    tempdir_write(&f.dir, "cases.jsonl", text, strlen(text));
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", f.index), 0,
                   "2 vectors of 48", "note: 1 of 2 texts are longer than the ");
    struct json_t *found = outcome_json(
        RUN("search", "--index", f.index, "--model", EMBEDDING, "--text", query, "--json"));
    ck_assert_str_eq(doc_type_name(doc_member(found, "truncated")), "a boolean");
    doc_free(found);
    found = outcome_json(
        RUN("search", "--index", f.index, "--model", EMBEDDING, "--text", "a ring", "--json"));
    ck_assert_ptr_null(doc_member(found, "truncated"));
    doc_free(found);
    outcome_expect(RUN("search", "--index", f.index, "--model", EMBEDDING, "--text", query), 0,
                   "text  (longer than the model reads: searched for by its beginning)\n", "");
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_takes_the_labels_of_several)
{
    static const char list[] = "{\"text\": \"a ring and a scratch\", \"labels\": [\"Ring\", "
                               "\"Scratch\"]}\n{\"text\": \"nothing to see\", \"labels\": []}\n";
    struct fixture f;
    open_fixture(&f);
    tempdir_write(&f.dir, "cases.jsonl", list, strlen(list));
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", f.index), 0,
                   "2 vectors", "");
    struct json_t *found = outcome_json(RUN("search", "--index", f.index, "--model", EMBEDDING,
                                            "--text", "a ring and a scratch", "--json"));
    ck_assert_str_eq(text_at(found, 0, "label"), "Ring|Scratch");
    ck_assert_ptr_null(text_at(found, 1, "label"));
    doc_free(found);
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_is_of_one_model)
{
    struct fixture f;
    open_fixture(&f);
    outcome_expect(RUN("build", "--model", CLASSIFIER, "--data", f.data, "--out", f.index), 0,
                   "(features, cosine, int16)", "");
    outcome_expect(RUN("search", "--index", f.index, "--model", EMBEDDING, "--text", "a scratch"),
                   2, "", "a.index: the index was made with another model: bert-5 (sha256:");
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_keeps_the_beginning_of_vectors)
{
    struct fixture f;
    open_fixture(&f);
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", f.index,
                       "--dimensions", "16", "--element", "int8", "--similarity", "euclidean"),
                   0, "3 vectors of 16 numbers (embedding, euclidean, int8)", "");
    struct json_t *found = outcome_json(RUN("search", "--index", f.index, "--model", EMBEDDING,
                                            "--text", "nothing to see", "--json"));
    ck_assert_str_eq(text_at(found, 0, "id"), "die-3");
    doc_free(found);
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", f.index,
                       "--dimensions", "49"),
                   2, "", "--dimensions: the model's vectors have 48 numbers");
    outcome_expect(RUN("build", "--model", CLASSIFIER, "--data", f.data, "--out", f.index,
                       "--dimensions", "2"),
                   2, "", "and are not cut");
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_names_inputs_that_cannot_be_used)
{
    static const char mixed[] = "{\"text\": \"a scratch\", \"label\": \"Scratch\"}\n"
                                "{\"text\": \"\", \"label\": \"Ring\"}\n";
    struct fixture f;
    open_fixture(&f);
    tempdir_write(&f.dir, "cases.jsonl", mixed, sizeof mixed - 1);
    struct outcome *outcome =
        RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", f.index);
    outcome_holds(outcome, 0, "1 vectors of 48", "line 2: ");
    outcome_expect(outcome, 0, "; 1 inputs left out", "it is left out");
    outcome = RUN("search", "--index", f.index, "--model", EMBEDDING, "--text", "", "--text",
                  "scratch", "--json");
    outcome_holds(outcome, 1, "{\"type\":", "attnd-index: input 1: ");
    outcome_expect(outcome, 1, "{\"neighbours\":[", "");
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_names_the_length_of_an_id_that_is_too_long)
{
    char line[640], message[64];
    struct fixture f;
    open_fixture(&f);
    snprintf(line, sizeof line, "{\"text\": \"a\", \"id\": \"%0500d\"}\n", 0);
    tempdir_write(&f.dir, "cases.jsonl", line, strlen(line));
    snprintf(message, sizeof message, "line 1: the id has %d bytes; 128 are possible", 500);
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", f.index), 1, "",
                   message);
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_keeps_its_data)
{
    char other[160];
    struct fixture f;
    open_fixture(&f);
    snprintf(other, sizeof other, "%s/../%s", f.dir.path, strrchr(f.dir.path, '/') + 1);
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", other), 2, "",
                   ": is a folder; name a file in it");
    snprintf(other + strlen(other), sizeof other - strlen(other), "/cases.jsonl");
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", other), 2, "",
                   ": is the input ");
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", f.data, "--out", f.index), 0,
                   "3 vectors of 48", "");
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_holds_pictures)
{
    struct fixture f;
    open_fixture(&f);
    outcome_expect(
        RUN("build", "--model", PICTURES, "--data", "tests/data/eval/wafer", "--out", f.index), 0,
        "6 vectors of ", "");
    struct json_t *found =
        outcome_json(RUN("search", "--index", f.index, "--model", PICTURES, "--k", "1", "--json",
                         "tests/data/eval/wafer/Donut/defects_11536.png"));
    ck_assert_str_eq(text_at(found, 0, "id"), "defects_11536.png");
    ck_assert_str_eq(text_at(found, 0, "label"), "Donut");
    doc_free(found);
    tempdir_close(&f.dir);
}
END_TEST

START_TEST(index_refuses_wrong_use)
{
    outcome_expect(RUN("build", "--model", EMBEDDING, "--out", "x"), 2, "",
                   "--data PATH is missing");
    outcome_expect(
        RUN("build", "--model", "tests/data/tags/ner-xlmr-0", "--data", "README.md", "--out", "x"),
        2, "", "the model answers each token, and has no vector of a whole input");
    outcome_expect(
        RUN("build", "--model", PICTURES, "--texts", "--data", "README.md", "--out", "x"), 2, "",
        "--texts: the model reads no texts");
    outcome_expect(RUN("build", "--model", EMBEDDING, "--data", "no/where", "--out", "x"), 2, "",
                   "no/where: cannot be read");
    outcome_expect(RUN("search", "--index", "README.md", "--model", EMBEDDING, "--text", "a"), 2,
                   "", "README.md: is no index");
    outcome_expect(RUN("search", "--index", "README.md", "--model", EMBEDDING), 2, "", "no input");
    outcome_expect(RUN("info"), 2, "", "FILE is missing");
    outcome_expect(RUN("info", "no/where"), 1, "", "no/where: ");
}
END_TEST

SUITE("index", index_finds_a_text_again, index_says_that_texts_are_longer_than_the_model_reads,
      index_takes_the_labels_of_several, index_is_of_one_model,
      index_keeps_the_beginning_of_vectors, index_names_inputs_that_cannot_be_used,
      index_names_the_length_of_an_id_that_is_too_long, index_keeps_its_data, index_holds_pictures,
      index_refuses_wrong_use)
