/* attnd-eval and attnd-train as programs, on embeddings. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <string.h>

#define RUN(name, ...) outcome_of(name, (const char *[]){__VA_ARGS__, NULL})
#define GOLDEN "tests/data/embedding/st-bert-0"

static const char lines[] = "{\"text\":\"scan chain fail\",\"label\":\"a\"}\n"
                            "{\"text\":\"scan chain fail again\",\"label\":\"a\"}\n"
                            "{\"text\":\"leakage\",\"label\":\"b\"}\n"
                            "{\"text\":\"leakage high\",\"label\":\"b\"}\n";

START_TEST(eval_of_an_embedding_reports_search_beside_search_by_words)
{
    struct tempdir dir;
    char list[128];
    tempdir_open(&dir);
    snprintf(list, sizeof list, "%s/list.jsonl", dir.path);
    tempdir_write(&dir, "list.jsonl", lines, strlen(lines));
    struct json_t *report =
        outcome_json(RUN("attnd-eval", "--model", GOLDEN, "--data", list, "--json"));
    ck_assert_str_eq(doc_as_string(contract_at(report, "task")), "embed");
    ck_assert_str_eq(doc_as_string(contract_at(report, "relevant_by")), "label");
    ck_assert(outcome_number(report, "queries") == 4 && outcome_number(report, "documents") == 4);
    const struct json_t *rivals = doc_member(report, "rivals");
    ck_assert(outcome_number(doc_member(rivals, "bm25"), "ndcg_at_10") == 1);
    ck_assert(outcome_number(doc_member(rivals, "tfidf"), "mrr") == 1);
    ck_assert(outcome_number(doc_member(report, "recall_at_k"), "5") == 1);
    ck_assert(outcome_number(report, "ndcg_at_10") > 0);
    doc_free(report);
    outcome_expect(RUN("attnd-eval", "--model", GOLDEN, "--data", list), 0,
                   "queries    4 among 4 documents; relevant: all of the same label\n", "");
    outcome_expect(RUN("attnd-eval", "--model", GOLDEN, "--data", list, "--explain"), 2, "",
                   "--explain is for models that answer labels; " GOLDEN " answers vectors");
    tempdir_close(&dir);
}
END_TEST

START_TEST(train_shows_how_an_embedding_searches)
{
    struct train_fixture f;
    train_fixture_texts(&f);
    outcome_expect(RUN("attnd-train", "--task", "embed", "--model", f.model.path, "--data", f.list,
                       "--out", f.first.path, "--epochs", "1"),
                   0, "", "  nDCG@10 ");
    outcome_expect(RUN("attnd-eval", "--model", f.first.path, "--data", f.list), 0, "",
                   " inputs are among those that this model learnt");
    outcome_expect(RUN("attnd-train", "--task", "embed", "--model", f.model.path, "--data", f.list,
                       "--out", f.second.path, "--label-smoothing", "0.1"),
                   2, "", "--label-smoothing does not go with --task embed");
    outcome_expect(RUN("attnd-train", "--task", "seq2seq", "--model", f.model.path, "--data",
                       f.list, "--out", f.second.path),
                   2, "", "--task seq2seq learns an encoder with a decoder (marian, ");
    train_fixture_close(&f);
}
END_TEST

SUITE("eval_vectors", eval_of_an_embedding_reports_search_beside_search_by_words,
      train_shows_how_an_embedding_searches)
