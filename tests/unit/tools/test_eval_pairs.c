/* attnd-train --task pair and attnd-eval as programs. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <string.h>

#define RUN(name, ...) outcome_of(name, (const char *[]){__VA_ARGS__, NULL})

static const char lines[] = "{\"text\":\"red\",\"text_pair\":\"red grey\",\"value\":1}\n"
                            "{\"text\":\"red\",\"text_pair\":\"blue grey\",\"value\":0}\n"
                            "{\"text\":\"blue\",\"text_pair\":\"blue\",\"label\":1}\n"
                            "{\"text\":\"blue\",\"text_pair\":\"red\",\"label\":0}\n";

START_TEST(pairs_are_learnt_and_measured_by_their_order)
{
    struct train_fixture f;
    train_fixture_texts(&f);
    tempdir_write(&f.data, "list.jsonl", lines, strlen(lines));
    outcome_expect(RUN("attnd-train", "--task", "pair", "--model", f.model.path, "--data", f.list,
                       "--validation", f.list, "--out", f.first.path, "--epochs", "1"),
                   0, "", "4 inputs to learn, 4 to judge by, 1 score, 1 epochs\n");
    struct json_t *report =
        outcome_json(RUN("attnd-eval", "--model", f.first.path, "--data", f.list, "--json"));
    ck_assert_str_eq(doc_as_string(contract_at(report, "task")), "pair");
    ck_assert(outcome_number(report, "pairs") == 4 && outcome_number(report, "queries") == 2);
    ck_assert(outcome_number(report, "ndcg_at_10") > 0 && outcome_number(report, "log_loss") > 0);
    const struct json_t *rivals = doc_member(report, "rivals");
    ck_assert(outcome_number(doc_member(rivals, "bm25"), "ndcg_at_10") == 1);
    doc_free(report);
    outcome_expect(RUN("attnd-eval", "--model", f.first.path, "--data", f.list), 0, "",
                   " inputs are among those that this model learnt");
    outcome_expect(RUN("attnd-eval", "--model", f.first.path, "--data", f.list, "--calibrate"), 2,
                   "", "--calibrate is for models that choose among labels");
    train_fixture_close(&f);
}
END_TEST

SUITE("eval_pairs", pairs_are_learnt_and_measured_by_their_order)
