/* attnd-eval knows what a model was trained on: training writes what it held back, and figures on
 * what it learnt are warned of. */
#include "engine/base/file.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/train_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct train_fixture f;

#define RUN(program, ...) outcome_of(program, (const char *[]){__VA_ARGS__, NULL})

/* Forty texts that are all different; four are held back. */
static void train_on_different_texts(void)
{
    char text[TRAIN_FIXTURE_TEXTS * 80] = "";
    train_fixture_texts(&f);
    for (unsigned i = 0; i < 40; i++)
        snprintf(text + strlen(text), 80, "{\"text\":\"%s %u\",\"label\":\"%s\"}\n",
                 i % 2 == 0 ? "red" : "blue", i, i % 2 == 0 ? "hot" : "cold");
    tempdir_write(&f.data, "list.jsonl", text, strlen(text));
    f.options.epochs = 2;
    train_fixture_learn(&f);
}

START_TEST(eval_gives_no_warning_for_held_back_inputs)
{
    char split[160];
    train_on_different_texts();
    snprintf(split, sizeof split, "%s/split.jsonl", f.first.path);
    struct outcome *outcome =
        RUN("attnd-eval", "--model", f.first.path, "--data", split, "--calibrate");
    outcome_holds(outcome, 0, "inputs         4, of which 0 failed\n", "");
    ck_assert_msg(strstr(outcome->errors, "warning") == NULL, "%s", outcome->errors);
    outcome_expect(outcome, 0, "", "");
    train_fixture_close(&f);
}
END_TEST

START_TEST(eval_warns_of_learnt_inputs_in_any_file)
{
    char other[160];
    train_on_different_texts();
    struct outcome *outcome = RUN("attnd-eval", "--model", f.first.path, "--data", f.list);
    outcome_holds(outcome, 0, "",
                  "attnd-eval: warning: 36 of 40 inputs are among those that this model learnt ("
                  "line 1, line 2, line 3, line 4 and 32 more): the figures are better than on new "
                  "inputs; take them out, or take inputs that it has not seen, such as those that "
                  "training held back, --data ");
    outcome_expect(outcome, 0, "", "/split.jsonl\n");
    tempdir_write(&f.second, "copy.csv", "text,label\nred 9,hot\nblue 3,cold\nred 8,hot\n", 43);
    snprintf(other, sizeof other, "%s/copy.csv", f.second.path);
    outcome = RUN("attnd-eval", "--model", f.first.path, "--data", other);
    outcome_expect(outcome, 0, "", "of 3 inputs are among those");
    tempdir_write(&f.first, "training-run.safetensors", "none", 4);
    outcome = RUN("attnd-eval", "--model", f.first.path, "--data", f.list);
    ck_assert_msg(strstr(outcome->errors, "warning") == NULL, "%s", outcome->errors);
    outcome_expect(outcome, 0, "", "");
    train_fixture_close(&f);
}
END_TEST

/* Refused before anything is written, the report too. */
START_TEST(a_model_is_not_calibrated_on_what_it_learnt)
{
    char *before, *after;
    size_t len, len_after;
    struct err err = {0};
    char path[160];
    train_on_different_texts();
    snprintf(path, sizeof path, "%s/attnd.json", f.first.path);
    ck_assert(!file_read(&before, &len, path, 1 << 20, &err));
    struct outcome *outcome = RUN("attnd-eval", "--model", f.first.path, "--data", f.list,
                                  "--calibrate", "--out", f.second.path);
    outcome_expect(outcome, 1, "",
                   "32 more): a temperature and thresholds fitted on them promise too much for "
                   "new inputs; take them out, or take inputs that it has not seen, such as those "
                   "that training held back, --data ");
    ck_assert(!file_read(&after, &len_after, path, 1 << 20, &err));
    ck_assert_uint_eq(len, len_after);
    ck_assert_mem_eq(before, after, len);
    ck_assert(!train_fixture_has(&f.second, "report.json"));
    outcome =
        RUN("attnd-eval", "--model", f.first.path, "--data", f.list, "--calibrate", "--force");
    outcome_expect(outcome, 0, "", "fitted on them promise too much for new inputs; ");
    outcome = RUN("attnd-eval", "--model", f.first.path, "--data", f.list, "--force");
    outcome_expect(outcome, 2, "", "--force works only with --calibrate and --write-agreement");
    outcome = RUN("attnd-eval", "--model", f.first.path, "--data", f.list, "--dtype", "int8",
                  "--against", "f32", "--write-agreement");
    outcome_expect(outcome, 1, "", "/split.jsonl, or give --force\n");
    outcome = RUN("attnd-eval", "--model", f.first.path, "--data", f.list, "--dtype", "int8",
                  "--against", "f32", "--write-agreement", "--force");
    outcome_expect(outcome, 0, "", "the figures are better than on new inputs; ");
    free(before);
    free(after);
    train_fixture_close(&f);
}
END_TEST

/* A copy under another name is the same picture. */
START_TEST(pictures_are_known_by_their_bytes)
{
    train_fixture_images(&f, "right");
    f.options.epochs = 1;
    train_fixture_learn(&f);
    struct outcome *outcome = RUN("attnd-eval", "--model", f.first.path, "--data", f.list);
    outcome_expect(outcome, 0, "", "warning: 44 of 48 inputs are among those");
    char split[160];
    snprintf(split, sizeof split, "%s/split.jsonl", f.first.path);
    outcome = RUN("attnd-eval", "--model", f.first.path, "--data", split);
    ck_assert_msg(strstr(outcome->errors, "warning") == NULL, "%s", outcome->errors);
    outcome_expect(outcome, 0, "inputs         4, of which 0 failed\n", "");
    f.options.validation = f.list; /* a list of its own to judge by: there is no split */
    f.options.restart = true;
    train_fixture_learn(&f);
    ck_assert(!train_fixture_has(&f.first, "split.jsonl"));
    train_fixture_close(&f);
}
END_TEST

SUITE("eval_known", eval_gives_no_warning_for_held_back_inputs,
      eval_warns_of_learnt_inputs_in_any_file, a_model_is_not_calibrated_on_what_it_learnt,
      pictures_are_known_by_their_bytes)
