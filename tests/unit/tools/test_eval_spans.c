/* attnd-eval and attnd-train as programs, on models of tags. */
#include "engine/base/doc.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <string.h>

#define RUN(name, ...) outcome_of(name, (const char *[]){__VA_ARGS__, NULL})

static const char lines[] =
    "{\"text\":\"red grey\",\"spans\":[{\"label\":\"hot\",\"start\":0,\"end\":3}]}\n"
    "{\"text\":\"grey blue\",\"spans\":[{\"label\":\"cold\",\"start\":5,\"end\":9}]}\n"
    "{\"text\":\"green red\",\"spans\":[{\"label\":\"hot\",\"start\":6,\"end\":9}]}\n"
    "{\"text\":\"blue green\",\"spans\":[{\"label\":\"cold\",\"start\":0,\"end\":4}]}\n";

static void open_fixture(struct train_fixture *f)
{
    train_fixture_texts(f);
    tempdir_write(&f->data, "list.jsonl", lines, strlen(lines));
}

START_TEST(train_and_eval_tell_of_spans)
{
    struct train_fixture f;
    open_fixture(&f);
    const char *model = f.first.path;
    outcome_expect(RUN("attnd-train", "--task", "tag", "--model", f.model.path, "--data", f.list,
                       "--validation", f.list, "--out", model, "--epochs", "40", "--threads", "1",
                       "--rate", "0.01", "--batch", "2"),
                   0, "", "4 inputs to learn, 4 to judge by, 2 labels of spans, 40 epochs\n");
    struct json_t *report =
        outcome_json(RUN("attnd-eval", "--model", model, "--data", f.list, "--json"));
    ck_assert_str_eq(doc_as_string(contract_at(report, "task")), "tag");
    outcome_expect_number(report, "span_f1", 1);
    outcome_expect_number(report, "texts", 4);
    outcome_expect_number(report, "exact", 4);
    outcome_expect_number(report, "labels.hot.wanted", 2);
    outcome_expect_number(report, "macro.f1", 1);
    doc_free(report);
    outcome_expect(RUN("attnd-eval", "--model", model, "--data", f.list), 0,
                   "   1.0000    1.0000    1.0000         2         2  cold\n",
                   "4 of 4 inputs are among those that this model learnt");
    outcome_expect(RUN("attnd-eval", "--model", model, "--data", f.list, "--explain"), 2, "",
                   "--explain is for models that answer a label of each input; ");
    train_fixture_close(&f);
}
END_TEST

/* One span answered wrongly, one missed, one that no token fits. */
START_TEST(eval_lists_what_is_wrong)
{
    struct train_fixture f;
    char other[160];
    const char *list =
        "{\"text\":\"red grey\",\"spans\":[{\"label\":\"hot\",\"start\":0,\"end\":3}]}\n"
        "{\"text\":\"red blue\",\"spans\":[{\"label\":\"hot\",\"start\":4,\"end\":8}]}\n"
        "{\"text\":\"grey blue\",\"spans\":[{\"label\":\"cold\",\"start\":4,\"end\":9}]}\n";
    open_fixture(&f);
    outcome_expect(RUN("attnd-train", "--task", "tag", "--model", f.model.path, "--data", f.list,
                       "--validation", f.list, "--out", f.first.path, "--epochs", "40", "--threads",
                       "1", "--rate", "0.01", "--batch", "2"),
                   0, "", "F1 of spans 1.0000");
    tempdir_write(&f.data, "other.jsonl", list, strlen(list));
    snprintf(other, sizeof other, "%s/other.jsonl", f.data.path);
    struct json_t *report =
        outcome_json(RUN("attnd-eval", "--model", f.first.path, "--data", other, "--json"));
    outcome_expect_number(report, "micro.wanted", 3);
    outcome_expect_number(report, "micro.answered", 4);
    outcome_expect_number(report, "micro.right", 1);
    outcome_expect_number(report, "misfits", 1);
    ck_assert_str_eq(doc_as_string(contract_at(report, "mistakes.0.input")), "line 2");
    outcome_expect_number(report, "mistakes.0.wrong", 2);
    outcome_expect_number(report, "mistakes.1.missed", 1);
    doc_free(report);
    outcome_expect(RUN("attnd-eval", "--model", f.first.path, "--data", other), 0,
                   "1 spans do not begin and end where tokens do, and cannot be answered (the "
                   "first: line 3)\n",
                   "");
    outcome_expect(RUN("attnd-eval", "--model", f.first.path, "--data", other, "--calibrate",
                       "--force", "--target-precision", "0.5", "--out", f.second.path),
                   0, "", "/attnd.json: thresholds for ");
    ck_assert(train_fixture_has(&f.second, "report.html"));
    outcome_expect(RUN("attnd-eval", "--model", f.first.path, "--data", f.list, "--calibrate"), 1,
                   "", "4 of 4 inputs are among those that this model learnt");
    list = "{\"text\":\"red\",\"spans\":[{\"label\":\"warm\",\"start\":0,\"end\":3}]}\n";
    tempdir_write(&f.data, "other.jsonl", list, strlen(list));
    outcome_expect(RUN("attnd-eval", "--model", f.first.path, "--data", other), 2, "",
                   "other.jsonl: line 1: spans[0]: the label 'warm' is not known (known are: cold, "
                   "hot)");
    train_fixture_close(&f);
}
END_TEST

START_TEST(train_refuses_options_of_other_tasks_by_name)
{
    static const char *const options[][2] = {
        {"--label-smoothing", "0.1"}, {"--balance", "1"},        {"--class-weight", "1"},
        {"--logit-adjust", "1"},      {"--teacher", "x"},        {"--teacher-logits", "x"},
        {"--ngrams", "100"},          {"--class-biases", "fit"}, {"--window-pooling", "mean"},
        {"--ood-method", "energy"}};
    struct train_fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char text[96];
        snprintf(text, sizeof text, "%s does not go with --task tag", options[i][0]);
        outcome_expect(RUN("attnd-train", "--task", "tag", "--model", f.model.path, "--data",
                           f.list, "--out", f.first.path, options[i][0], options[i][1]),
                       2, "", text);
    }
    train_fixture_close(&f);
}
END_TEST

SUITE("eval_spans", train_and_eval_tell_of_spans, eval_lists_what_is_wrong,
      train_refuses_options_of_other_tasks_by_name)
