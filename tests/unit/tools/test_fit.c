/* attnd-fit as a program, on a shipped model and a few real inputs, given several times over: an
 * error is told before anything is computed, and a fit leaves a model or nothing. */
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RUN(...) outcome_of("attnd-fit", (const char *[]){__VA_ARGS__, NULL})
#define TINY "tests/data/golden/bert-5"

enum { OF_EACH = 6, LABELS_MAX = 4 };

static struct tempdir dir;
static char list[96], out[96];

/* OF_EACH texts of each label, that begin with a word of its own. */
static void write_list(const char *const *labels)
{
    static const char *const words[LABELS_MAX] = {"voltage", "late", "chain", "hot"};
    char lines[8192] = "";
    size_t len = 0;
    for (unsigned c = 0; labels[c] != NULL; c++)
        for (unsigned i = 0; i < OF_EACH; i++)
            len += (size_t)snprintf(lines + len, sizeof lines - len,
                                    "{\"text\": \"%s %s at %u\", \"label\": \"%s\"}\n", words[c],
                                    words[c], i, labels[c]);
    tempdir_open(&dir);
    tempdir_write(&dir, "list.jsonl", lines, len);
    snprintf(list, sizeof list, "%s/list.jsonl", dir.path);
    snprintf(out, sizeof out, "%s/new", dir.path);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect_nothing_written(void)
{
    struct stat status;
    ck_assert_int_ne(stat(out, &status), 0);
    tempdir_close(&dir);
}

START_TEST(fit_tells_what_it_takes)
{
    outcome_expect(RUN("--help"), 0, "--loss-max POINTS", "");
    outcome_expect(RUN("--model", TINY), 2, "", "--data");
}
END_TEST

START_TEST(a_label_without_inputs_is_named_before_anything_is_computed)
{
    write_list(NAMES("unheard", "of"));
    outcome_expect(RUN("--model", "tests/data/golden/bert-5", "--data", list, "--out", out), 2, "",
                   "the model's label 'POWER' has 0 inputs, and the model carries no examples of "
                   "its own; it needs 5, or the new head would forget it");
    expect_nothing_written();
}
END_TEST

START_TEST(fit_of_a_zero_shot_model_names_what_to_change)
{
    write_list(NAMES("a", "b"));
    outcome_expect(RUN("--model", "tests/data/golden/clip-0", "--data", list, "--out", out), 2, "",
                   "change candidate_labels instead");
    expect_nothing_written();
}
END_TEST

static void remove_model(void)
{
    static const char *const files[] = {"attnd.json",
                                        "attnd_head.safetensors",
                                        "config.json",
                                        "model.safetensors",
                                        "report.html",
                                        "report.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "vocab.txt",
                                        "training-run.safetensors"};
    char path[160];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", out, files[i]);
        remove(path);
    }
    ck_assert_int_eq(remove(out), 0); /* nothing else was in it */
    tempdir_close(&dir);
}

START_TEST(a_label_is_added_and_the_model_opens)
{
    write_list(NAMES("POWER", "TIMING", "SCAN", "LEAK"));
    struct outcome *fit = RUN("--model", TINY, "--data", list, "--out", out, "--loss-max", "100");
    outcome_holds(fit, 0, "before         " TINY, "new label 'LEAK', 6 inputs\n");
    outcome_holds(fit, 0, "    LEAK        0.0000  1.0000\n", "/attnd --model new=");
    outcome_holds(fit, 0, "    automatic ", "attnd-fit: the model decides as before, and a new ");
    free(fit);
    outcome_expect(outcome_of("attnd-inspect", (const char *[]){out, NULL}), 0,
                   "  3            LEAK\n", "");
    outcome_expect(RUN("--model", TINY, "--data", list, "--out", out), 2, "", "is there already");
    remove_model();
}
END_TEST

/* Texts of three labels, a third of them called something else. */
START_TEST(fit_warns_of_a_new_label_that_it_does_not_find_again)
{
    static const char *const names[] = {"POWER", "TIMING", "SCAN", "MIXED"};
    static const char *const words[] = {"voltage", "late", "chain"};
    char lines[8192] = "";
    size_t len = 0;
    for (unsigned i = 0; i < 27; i++)
        len += (size_t)snprintf(lines + len, sizeof lines - len,
                                "{\"text\": \"%s %s at %u\", \"label\": \"%s\"}\n", words[i % 3],
                                words[i % 3], i, names[i % 9 < 3 ? 3 : i % 3]);
    tempdir_open(&dir);
    tempdir_write(&dir, "list.jsonl", lines, len);
    snprintf(list, sizeof list, "%s/list.jsonl", dir.path);
    snprintf(out, sizeof out, "%s/new", dir.path);
    outcome_expect(RUN("--model", TINY, "--data", list, "--out", out, "--loss-max", "100"), 0, "",
                   "warning: new label 'MIXED' was found in ");
    remove_model();
}
END_TEST

START_TEST(fit_prints_progress_lines_in_place_of_the_report)
{
    write_list(NAMES("POWER", "TIMING", "SCAN", "LEAK"));
    struct outcome *fit = RUN("--model", TINY, "--data", list, "--out", out, "--loss-max", "100",
                              "--progress-lines", "--background");
    outcome_holds(fit, 0, "{\"step\":\"features\",\"done\":0,\"total\":24}\n",
                  "attnd --model new=");
    outcome_holds(fit, 0, "{\"step\":\"fits\",\"done\":0,", "");
    outcome_holds(fit, 0, "{\"step\":\"writing\",\"done\":0,\"total\":1}\n", "");
    ck_assert_ptr_null(strstr(fit->out, "refused"));
    ck_assert_ptr_null(strstr(fit->out, "before  "));
    free(fit);
    remove_model();
}
END_TEST

/* Half of the voltages are called chains from here on. */
static void write_half_wrong(void)
{
    static const char *const words[] = {"chain", "late", "chain", "voltage", "late", "chain"};
    static const char *const labels[] = {"POWER", "TIMING", "SCAN"};
    char lines[8192] = "";
    size_t len = 0;
    for (unsigned i = 0; i < 24; i++)
        len += (size_t)snprintf(lines + len, sizeof lines - len,
                                "{\"text\": \"%s %s at %u\", \"label\": \"%s\"}\n", words[i % 6],
                                words[i % 6], 100 + i, labels[i % 3]);
    tempdir_write(&dir, "wrong.jsonl", lines, len);
}

START_TEST(fit_program_tells_a_refused_head)
{
    char wrong[96], third[96];
    struct stat status;
    write_list(NAMES("POWER", "TIMING", "SCAN"));
    write_half_wrong();
    snprintf(wrong, sizeof wrong, "%s/wrong.jsonl", dir.path);
    snprintf(third, sizeof third, "%s/third", dir.path);
    outcome_expect(RUN("--model", TINY, "--data", list, "--out", out, "--loss-max", "100"), 0, "",
                   "next: ");
    outcome_expect(
        RUN("--model", out, "--data", wrong, "--out", third, "--loss-max", "0", "--progress-lines"),
        1, "{\"step\":\"refused\",\"done\":0,\"total\":0}\n",
        "by more than 0 points; give more inputs of it, or raise --loss-max");
    ck_assert_int_ne(stat(third, &status), 0);
    remove_model();
}
END_TEST

SUITE("fit_program", fit_tells_what_it_takes,
      a_label_without_inputs_is_named_before_anything_is_computed,
      fit_of_a_zero_shot_model_names_what_to_change, a_label_is_added_and_the_model_opens,
      fit_warns_of_a_new_label_that_it_does_not_find_again,
      fit_prints_progress_lines_in_place_of_the_report, fit_program_tells_a_refused_head)
