/* attnd-prune as a program: its table, its exit codes, and what it says of wrong use. The run
 * itself is test_prune.c's of learn/prune. */
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define RUN(...) outcome_of("attnd-prune", (const char *[]){__VA_ARGS__, NULL})

static void remove_cuts(const char *path)
{
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct tempdir cut;
        if (strncmp(entry->d_name, "cut-", 4) != 0)
            continue;
        ck_assert_int_lt(snprintf(cut.path, sizeof cut.path, "%s/%s", path, entry->d_name),
                         (int)sizeof cut.path);
        tempdir_close(&cut);
    }
    closedir(dir);
}

START_TEST(prune_table_shows_the_cuts_and_their_cost)
{
    struct train_fixture f;
    train_fixture_texts(&f);
    train_fixture_learn(&f);
    struct outcome *outcome =
        RUN("--model", f.first.path, "--data", f.list, "--out", f.second.path, "--heads", "0.5",
            "--mlp", "0.25", "--epochs", "2", "--batch", "8", "--threads", "1");
    outcome_holds(outcome, 0, "2 of 4 heads and 8 of 32 MLP columns a layer cut, by their ", "");
    outcome_holds(outcome, 0, "for 108 inputs\non 12 validation inputs, with 95 % intervals:\n",
                  "");
    outcome_holds(outcome, 0, "accuracy                  macro-F1                     weights", "");
    outcome_holds(outcome, 0, "\nas it was    1.0000 [", "");
    outcome_holds(outcome, 0, "\ncut          ", "");
    outcome_holds(outcome, 0, "\nfine-tuned   ", "epoch   2  loss ");
    outcome_expect(outcome, 0, "", "/attnd --model attnd-test-");
    remove_cuts(f.second.path);
    train_fixture_close(&f);
}
END_TEST

START_TEST(wrong_use_ends_with_2_and_names_the_option)
{
    static const char model[] = "tests/data/golden/bert-0";
    outcome_expect(RUN("--model", model, "--data", "x.jsonl"), 2, "", "--out DIR is missing");
    outcome_expect(RUN("--model", model, "--data", "x.jsonl", "--out", "y"), 2, "",
                   "nothing is to go: --heads SHARE, --mlp SHARE or both must be above 0");
    outcome_expect(RUN("--heads", "1"), 2, "", "--heads: must be a number from 0 to 0.99");
    outcome_expect(RUN("--mlp", "-0.1"), 2, "", "--mlp: must be a number from 0 to 0.99");
    outcome_expect(RUN("--mlp", "nan"), 2, "", "--mlp: must be a number from 0 to 0.99");
    outcome_expect(RUN("--importance-inputs", "0"), 2, "", "--importance-inputs: ");
    outcome_expect(RUN("--task", "mlm"), 2, "", "unknown option '--task'");
    outcome_expect(RUN("--model", "no-such-model", "--data", "x", "--out", "y", "--mlp", "0.5"), 2,
                   "", "no-such-model");
}
END_TEST

START_TEST(help_has_the_options_of_the_fine_tuning_with_other_defaults)
{
    outcome_expect(RUN("--help"), 0, "--heads SHARE ", "");
    outcome_expect(RUN("--help"), 0,
                   "Distils from this checkpoint, which knows the labels (default", "");
    outcome_expect(RUN("--help"), 0, "(default 0.00005)", "");
    outcome_expect(RUN("--version"), 0, "attnd-prune ", "");
}
END_TEST

SUITE("tools_prune", prune_table_shows_the_cuts_and_their_cost,
      wrong_use_ends_with_2_and_names_the_option,
      help_has_the_options_of_the_fine_tuning_with_other_defaults)
