/* attnd-train and attnd-eval as programs, on numbers: what a person reads of a regression. */
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <string.h>

#define RUN(program, ...) outcome_of(program, (const char *[]){__VA_ARGS__, NULL})

static struct train_fixture f;
static char judged[160];

/* The number of a text is its count of the word "red"; 40 texts. */
static void open_numbers(void)
{
    char text[4096] = "text,reds\n";
    train_fixture_texts(&f);
    for (unsigned i = 0; i < 40; i++)
        snprintf(text + strlen(text), 40, "grey%s%s blue,%u\n", i % 2 == 0 ? " red" : "",
                 i % 3 == 0 ? " red" : "", (i % 2 == 0) + (i % 3 == 0));
    tempdir_write(&f.data, "list.csv", text, strlen(text));
    snprintf(f.list, sizeof f.list, "%s/list.csv", f.data.path);
    snprintf(judged, sizeof judged, "%s/split.jsonl", f.first.path);
}

START_TEST(train_of_numbers_tells_the_error_beside_the_means)
{
    open_numbers();
    struct outcome *outcome =
        RUN("attnd-train", "--task", "regression", "--label-field", "reds", "--model", f.model.path,
            "--data", f.list, "--out", f.first.path, "--epochs", "3", "--batch", "8", "--rate",
            "5e-3", "--threads", "1");
    outcome_holds(outcome, 0, "", "36 inputs to learn, 4 to judge by, 1 number, 3 epochs\n");
    outcome_holds(outcome, 0, "", "  RMSE ");
    outcome_holds(outcome, 0, "", " (the mean as answer: ");
    outcome_holds(outcome, 0, "", "\nRMSE ");
    outcome_holds(outcome, 0, "", " (answering the validation part's mean: ");
    outcome_expect(outcome, 0, "", "/report.json\n");
    ck_assert(train_fixture_has(&f.first, "report.json"));
    outcome_expect(RUN("attnd-predict", "--model", f.first.path, "--text", "grey red", "--json"), 0,
                   "\"value\":", "");
    outcome_expect(RUN("attnd-eval", "--model", f.first.path, "--data", judged), 0,
                   "root mean square error ", "");
    train_fixture_close(&f);
}
END_TEST

START_TEST(train_of_numbers_refuses_options_of_labels)
{
    open_numbers();
    outcome_expect(RUN("attnd-train", "--task", "regression", "--model", f.model.path, "--data",
                       f.list, "--out", f.first.path, "--label-field", "reds", "--balance", "1"),
                   2, "", "--balance is for labels; --task regress learns numbers");
    train_fixture_close(&f);
}
END_TEST

SUITE("train_numbers", train_of_numbers_tells_the_error_beside_the_means,
      train_of_numbers_refuses_options_of_labels)
