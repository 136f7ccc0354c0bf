/* attnd-eval as a program, on the shipped models and a few of their real inputs: one of the six
 * wafer maps, a plain Random, is filed under Center on purpose; the eight reports are answered as
 * they are labelled. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAFER "--model", "models/wafer-vit", "--data"
#define KERNEL "--model", "models/kernel-bert", "--data"

#define RUN(...) outcome_of("attnd-eval", (const char *[]){__VA_ARGS__, NULL})

START_TEST(eval_prints_a_report_of_a_folder)
{
    struct outcome *outcome = RUN(WAFER, "tests/data/eval/wafer");
    ck_assert_ptr_nonnull(strstr(outcome->out, "inputs         6, of which 0 failed\n"));
    ck_assert_ptr_nonnull(strstr(outcome->out, "accuracy       0.8333 (95 % interval 0.4365 to "
                                               "0.9699)\n"));
    ck_assert_ptr_nonnull(
        strstr(outcome->out, "macro-F1       0.7778 over 6 classes (95 % interval "));
    outcome_expect(outcome, 0,
                   "  1 Center          0      1      0      0      0      0      0      1", "");
}
END_TEST

/* The six maps are 40 to 53 dies across. */
START_TEST(eval_tells_recall_by_the_size_of_the_maps)
{
    struct json_t *report = outcome_json(RUN(WAFER, "tests/data/eval/wafer.jsonl", "--json"));
    double inputs = 0, hits = 0;
    char path[64];
    ck_assert_str_eq(doc_as_string(contract_at(report, "sizes.unit")), "pixels");
    for (unsigned g = 0; g < doc_array_count(contract_at(report, "sizes.groups")); g++) {
        snprintf(path, sizeof path, "sizes.groups.%u.all.support", g);
        inputs += outcome_number(report, path);
        snprintf(path, sizeof path, "sizes.groups.%u.all.hits", g);
        hits += outcome_number(report, path);
    }
    ck_assert(inputs == 6 && hits == 5);
    outcome_expect_number(report, "sizes.groups.0.from", 33);
    outcome_expect_number(report, "sizes.groups.1.to", 64);
    outcome_expect_number(report, "sizes.groups.1.labels.Edge-Ring.recall", 1);
    doc_free(report);
}
END_TEST

/* The file is one that attnd-train learns from: a line an input, by its name and content. */
START_TEST(eval_writes_logits_of_every_input)
{
    struct tempdir dir;
    struct err err = {0};
    char path[128], *text;
    size_t len;
    unsigned lines = 0;
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/logits.jsonl", dir.path);
    struct outcome *outcome = RUN(WAFER, "tests/data/eval/wafer.jsonl", "--logits", path);
    ck_assert_int_eq(outcome->code, 0);
    ck_assert_ptr_nonnull(strstr(outcome->errors, "logits.jsonl: 6 of 6 inputs\n"));
    free(outcome);
    ck_assert(!file_read(&text, &len, path, 65536, &err));
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    ck_assert_uint_eq(lines, 6);
    ck_assert_ptr_eq(strstr(text, "{\"input\":\"wafer/"), text);
    ck_assert_ptr_nonnull(strstr(text, "\"logits\":{\"none\":"));
    outcome_expect(
        RUN(WAFER, "tests/data/eval/wafer.jsonl", "--out-of-fold", path), 0,
        "\nnote: the model has learnt these inputs: each was answered by a model that had "
        "not (1 fold)\n",
        "");
    free(text);
    tempdir_write(&dir, "logits.jsonl", "", 0);
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer.jsonl", "--out-of-fold", path), 1, "",
                   "attnd-eval: --out-of-fold: 'wafer/");
    tempdir_close(&dir);
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer.jsonl", "--logits",
                       "tests/data/eval/../eval/wafer.jsonl"),
                   2, "", "--logits tests/data/eval/../eval/wafer.jsonl: is the input ");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer.jsonl", "--logits", "/no/where/at/all"), 1, "",
                   "attnd-eval: --logits: ");
}
END_TEST

/* Center has F1 2/3, Random is predicted without support, four classes are right. */
START_TEST(eval_prints_the_same_report_as_json)
{
    struct json_t *report = outcome_json(RUN(WAFER, "tests/data/eval/wafer.jsonl", "--json"));
    outcome_expect_number(report, "inputs", 6);
    outcome_expect_number(report, "failed", 0);
    outcome_expect_number(report, "run.accuracy", 5.0 / 6);
    outcome_expect_number(report, "run.macro_f1", (4 + 2.0 / 3) / 6);
    outcome_expect_number(report, "run.macro_classes", 6);
    outcome_expect_number(report, "classes.1.recall", 0.5);
    outcome_expect_number(report, "classes.1.support", 2);
    outcome_expect_number(report, "confusion.1.7", 1);
    ck_assert_str_eq(doc_as_string(contract_at(report, "classes.1.label")), "Center");
    doc_free(report);
}
END_TEST

START_TEST(eval_reads_the_same_from_jsonl_and_csv)
{
    struct json_t *jsonl = outcome_json(RUN(KERNEL, "tests/data/eval/kernel.jsonl", "--json"));
    struct json_t *csv = outcome_json(RUN(KERNEL, "tests/data/eval/kernel.csv", "--json",
                                          "--text-field", "report", "--label-field", "cause"));
    char path[32];
    outcome_expect_number(jsonl, "run.accuracy", 1);
    for (unsigned cell = 0; cell < 100; cell++) {
        snprintf(path, sizeof path, "confusion.%u.%u", cell / 10, cell % 10);
        outcome_expect_number(csv, path, outcome_number(jsonl, path));
    }
    doc_free(jsonl);
    doc_free(csv);
}
END_TEST

/* The names that are promised to everyone who reads a report. */
START_TEST(eval_gives_the_summary_that_every_report_has)
{
    struct json_t *report = outcome_json(RUN(WAFER, "tests/data/eval/wafer", "--json"));
    outcome_expect_number(report, "accuracy", 5.0 / 6);
    outcome_expect_number(report, "macro_f1", (4 + 2.0 / 3) / 6);
    outcome_expect_number(report, "per_class.Center.f1", 2.0 / 3);
    outcome_expect_number(report, "per_class.Center.support", 2);
    outcome_expect_number(report, "ece", outcome_number(report, "scores.served.ece"));
    outcome_expect_number(report, "risk_coverage.target_precision", 0.95);
    outcome_expect_number(report, "scores.served.one_score.inputs", 6);
    ck_assert_str_eq(doc_as_string(contract_at(report, "mistakes.0.winner")), "Random");
    ck_assert(outcome_number(report, "scores.fitted.nll") <=
              outcome_number(report, "scores.served.nll"));
    doc_free(report);
}
END_TEST

/* Five of six are right, and the misfiled one is not the surest. */
START_TEST(eval_finds_the_coverage_of_the_precision_that_is_asked_for)
{
    struct json_t *any =
        outcome_json(RUN(WAFER, "tests/data/eval/wafer", "--json", "--target-precision", "0.8"));
    struct json_t *pure =
        outcome_json(RUN(WAFER, "tests/data/eval/wafer", "--json", "--target-precision=1"));
    outcome_expect_number(any, "risk_coverage.coverage", 1);
    ck_assert(outcome_number(pure, "risk_coverage.coverage") < 1);
    ck_assert(outcome_number(pure, "risk_coverage.coverage") > 0);
    doc_free(any);
    doc_free(pure);
}
END_TEST

/* Reads a file of at most OUTCOME_BYTES x 8 from the directory; to be freed. */
static char *read_page(const struct tempdir *dir, const char *name)
{
    char path[128];
    char *bytes = NULL;
    size_t len;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    file_read(&bytes, &len, path, OUTCOME_BYTES * 8, &err);
    return err.code == ERR_OK ? bytes : NULL;
}

START_TEST(eval_writes_a_page_that_shows_the_mistakes)
{
    struct tempdir dir;
    tempdir_open(&dir);
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--out", dir.path), 0,
                   "accuracy       0.8333", "");
    char *page = read_page(&dir, "report.html"), *json = read_page(&dir, "report.json");
    ck_assert_ptr_nonnull(page);
    ck_assert_ptr_nonnull(json);
    ck_assert_ptr_nonnull(strstr(page, "<h1>wafer-vit</h1>"));
    ck_assert_ptr_nonnull(strstr(page, "src=\"data:image/png;base64,iVBORw0KGgo"));
    ck_assert_ptr_nonnull(strstr(page, "</html>"));
    ck_assert_ptr_nonnull(strstr(json, "\"macro_f1\""));
    free(page);
    free(json);
    tempdir_close(&dir);
}
END_TEST

START_TEST(eval_leaves_no_page_behind_when_it_fails)
{
    struct tempdir dir;
    char list[128], folder[128];
    tempdir_open(&dir);
    tempdir_write(&dir, "list.csv", "image,label\nmissing.png,none\n", 29);
    snprintf(list, sizeof list, "%s/list.csv", dir.path);
    snprintf(folder, sizeof folder, "%s/no/where", dir.path);
    outcome_expect(RUN(WAFER, list, "--out", dir.path), 1, "", "none of 1 inputs can be used");
    ck_assert_ptr_null(read_page(&dir, "report.html"));
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--out", folder), 2, "",
                   "no/where: cannot be made: No such file or directory");
    tempdir_close(&dir);
}
END_TEST

START_TEST(eval_reads_images_from_the_field_that_is_named)
{
    struct tempdir dir;
    char list[128], rows[512];
    char *map = realpath("tests/data/eval/wafer/Donut/defects_11536.png", NULL);
    ck_assert_ptr_nonnull(map);
    tempdir_open(&dir);
    snprintf(rows, sizeof rows, "image,picture,label\nmissing.png,%s,Donut\n", map);
    tempdir_write(&dir, "list.csv", rows, strlen(rows));
    snprintf(list, sizeof list, "%s/list.csv", dir.path);
    outcome_expect(RUN(WAFER, list, "--image-field", "picture"), 0, "accuracy       1.0000 ", "");
    outcome_expect(RUN(WAFER, list), 1, "", "none of 1 inputs can be used");
    tempdir_close(&dir);
    free(map);
}
END_TEST

/* A directory of the model whose attnd.json may change. */
static void link_model(const struct tempdir *dir)
{
    static const char *const names[] = {"config.json", "model.safetensors",
                                        "preprocessor_config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char from[PATH_MAX], to[PATH_MAX], full[PATH_MAX];
        snprintf(from, sizeof from, "models/wafer-vit/%s", names[i]);
        snprintf(to, sizeof to, "%s/%s", dir->path, names[i]);
        ck_assert_ptr_nonnull(realpath(from, full));
        ck_assert_int_eq(symlink(full, to), 0);
    }
}

START_TEST(eval_calibrates_a_checkpoint)
{
    struct tempdir dir;
    tempdir_open(&dir);
    link_model(&dir);
    outcome_expect(
        RUN("--model", dir.path, "--data", "tests/data/eval/wafer", "--calibrate"), 0,
        "accuracy       0.8333",
        "/attnd.json: temperature 0.795 (before: 1.000), the thresholds of the class table "
        "above.\nattnd-eval: 0.0 % of the inputs reach their threshold. An input that the OOD "
        "score calls unknown is not automatic\n");
    char *json = read_page(&dir, "attnd.json");
    ck_assert_ptr_nonnull(json);
    ck_assert_ptr_nonnull(strstr(json, "\"thresholds\""));
    ck_assert_ptr_nonnull(strstr(json, "\"energy\"")); /* six inputs give no distance */
    free(json);
    outcome_expect(RUN("--model", dir.path, "--data", "tests/data/eval/wafer"), 0,
                   "as the checkpoint decides", "");
    tempdir_close(&dir);
}
END_TEST

/* The figures of a method in explanations.json. */
static double explained(const struct json_t *report, unsigned method, const char *figure)
{
    char path[96];
    snprintf(path, sizeof path, "methods.%u.%s", method, figure);
    return outcome_number(report, path);
}

/* The index of a method by name. */
static unsigned method_at(const struct json_t *report, const char *name)
{
    char path[32];
    for (unsigned i = 0; i < 10; i++) {
        snprintf(path, sizeof path, "methods.%u.method", i);
        const struct json_t *found = contract_at(report, path);
        if (found != NULL && strcmp(doc_as_string(found), name) == 0)
            return i;
    }
    ck_abort_msg("no method '%s'", name);
    return 0;
}

/* Occlusion asks the model itself, so that a ranking that it gives must beat chance by far. One
 * input: the time limit is a minute, also of a busy machine. */
START_TEST(eval_measures_how_faithful_explanations_are)
{
    struct tempdir dir;
    struct json_t *report;
    struct err err = {0};
    tempdir_open(&dir);
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--explain", "--explain-inputs", "1",
                       "--threads", "1", "--out", dir.path),
                   0, "explanations    1 inputs", "");
    char *json = read_page(&dir, "explanations.json"), *page = read_page(&dir, "explanations.html");
    ck_assert_ptr_nonnull(json);
    ck_assert_int_eq(doc_parse(&report, json, strlen(json), &doc_limits_file, &err), ERR_OK);
    unsigned random = method_at(report, "random"), occlusion = method_at(report, "occlusion");
    outcome_expect_number(report, "inputs", 1);
    ck_assert(explained(report, occlusion, "probability.difference.mean") >
              0.2 + explained(report, random, "probability.difference.mean"));
    outcome_expect_number(report, "methods.0.deletion_curve.20",
                          outcome_number(report, "methods.1.insertion_curve.0"));
    outcome_expect_number(report, "methods.0.deletion_curve.0",
                          outcome_number(report, "methods.1.insertion_curve.20"));
    ck_assert(explained(report, method_at(report, "gradient"), "probability.inputs") == 1);
    ck_assert_ptr_nonnull(strstr(page, "<h1>wafer-vit: how faithful are its explanations?</h1>"));
    ck_assert_ptr_nonnull(strstr(page, "</html>"));
    doc_free(report);
    free(json);
    free(page);
    tempdir_close(&dir);
}
END_TEST

START_TEST(eval_explains_texts_by_their_words)
{
    outcome_expect(
        RUN(KERNEL, "tests/data/eval/kernel.jsonl", "--limit", "1", "--explain", "--threads", "1"),
        0, "explanations    1 inputs, 1 of them right; removed words leave the sequence", "");
}
END_TEST

/* A wafer of the fixtures, marked by itself: the failing dies are the mask. */
START_TEST(eval_compares_explanations_with_masks)
{
    char *map = realpath("tests/data/eval/wafer/Donut/defects_11536.png", NULL),
         list[2 * PATH_MAX + 99];
    struct tempdir dir;
    char path[128];
    ck_assert_ptr_nonnull(map);
    snprintf(list, sizeof list, "{\"image\": \"%s\", \"label\": \"Donut\", \"mask\": \"%s\"}\n",
             map, map);
    free(map);
    tempdir_open(&dir);
    tempdir_write(&dir, "list.jsonl", list, strlen(list));
    snprintf(path, sizeof path, "%s/list.jsonl", dir.path);
    outcome_expect(RUN(WAFER, path, "--explain", "--threads", "1"), 0,
                   "places: 1 inputs have a mask, of which 1 got", "");
    tempdir_close(&dir);
}
END_TEST

START_TEST(eval_names_a_mask_that_is_missing)
{
    char *map = realpath("tests/data/eval/wafer/none/none_0.png", NULL), list[PATH_MAX + 99];
    struct tempdir dir;
    char path[128];
    ck_assert_ptr_nonnull(map);
    snprintf(list, sizeof list, "{\"image\": \"%s\", \"label\": \"none\", \"mask\": \"m.png\"}\n",
             map);
    free(map);
    tempdir_open(&dir);
    tempdir_write(&dir, "list.jsonl", list, strlen(list));
    snprintf(path, sizeof path, "%s/list.jsonl", dir.path);
    outcome_expect(RUN(WAFER, path, "--explain"), 1, "",
                   "m.png: cannot be opened: No such file or directory");
    outcome_expect(RUN(WAFER, path), 0, "inputs         1", "");
    tempdir_close(&dir);
}
END_TEST

START_TEST(eval_stops_at_its_limit)
{
    struct json_t *report =
        outcome_json(RUN(KERNEL, "tests/data/eval/kernel.jsonl", "--json", "--limit", "3"));
    outcome_expect_number(report, "inputs", 3);
    doc_free(report);
}
END_TEST

/* The list has more than one chunk of items, and batches that do not end where chunks do. */
START_TEST(eval_counts_every_input_of_a_long_list)
{
    enum { COUNT = 150 };
    static const char line[] = "{\"text\": \"INFO: task hung in x\", \"label\": \"hang_stall\"}\n";
    char list[COUNT * sizeof line] = "", path[128];
    struct tempdir dir;
    for (unsigned i = 0; i < COUNT; i++)
        memcpy(list + i * (sizeof line - 1), line, sizeof line);
    tempdir_open(&dir);
    tempdir_write(&dir, "long.jsonl", list, strlen(list));
    snprintf(path, sizeof path, "%s/long.jsonl", dir.path);
    struct json_t *report = outcome_json(RUN(KERNEL, path, "--json", "--threads", "3"));
    outcome_expect_number(report, "inputs", COUNT);
    outcome_expect_number(report, "classes.2.support", COUNT);
    ck_assert(outcome_number(report, "run.accuracy") == 0 ||
              outcome_number(report, "run.accuracy") == 1);
    doc_free(report);
    tempdir_close(&dir);
}
END_TEST

/* Writes a list of images beside nothing: the paths are as given. */
static struct outcome *run_list(const char *list, bool json)
{
    struct tempdir dir;
    char path[128];
    tempdir_open(&dir);
    tempdir_write(&dir, "list.csv", list, strlen(list));
    tempdir_write(&dir, "text.png", "no image", 8);
    snprintf(path, sizeof path, "%s/list.csv", dir.path);
    struct outcome *outcome = RUN(WAFER, path, "--usable-min", "0", json ? "--json" : NULL);
    tempdir_close(&dir);
    return outcome;
}

START_TEST(eval_names_inputs_that_fail_and_goes_on)
{
    char *good = realpath("tests/data/eval/wafer/none/none_0.png", NULL), list[1024];
    ck_assert_ptr_nonnull(good);
    snprintf(list, sizeof list, "image,label\nmissing.png,none\n%s,none\ntext.png,Loc\n", good);
    free(good);
    struct json_t *report = outcome_json(run_list(list, true));
    outcome_expect_number(report, "inputs", 3);
    outcome_expect_number(report, "failed", 2);
    outcome_expect_number(report, "run.accuracy", 1);
    outcome_expect_number(report, "classes.5.support", 0);
    ck_assert_str_eq(doc_as_string(contract_at(report, "failures.1.input")), "text.png");
    doc_free(report);
    outcome_expect(
        run_list(list, false), 0,
        "inputs that failed (2)\n  missing.png: cannot be opened: No such file or directory\n"
        "  text.png: ",
        "");
}
END_TEST

START_TEST(eval_fails_if_every_input_does)
{
    outcome_expect(run_list("image,label\nmissing.png,none\n", false), 1, "",
                   "/list.csv: none of 1 inputs can be used; missing.png: cannot be opened");
}
END_TEST

START_TEST(eval_refuses_a_label_that_the_model_lacks)
{
    outcome_expect(
        run_list("image,label\ntext.png,none\ntext.png,Scrath\n", false), 2, "",
        "list.csv: text.png: the model has no label 'Scrath' (it has: none, Center, Donut, "
        "Edge-Loc, Edge-Ring, Loc, Near-full, Random, Scratch)");
}
END_TEST

START_TEST(eval_refuses_wrong_use_with_2)
{
    outcome_expect(RUN("--data", "a.csv"), 2, "", "--model DIR is missing");
    outcome_expect(RUN("--model", "models/wafer-vit"), 2, "", "--data PATH is missing");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--dtype", "f8"), 2, "", "dtype 'f8'");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--against", "f8"), 2, "", "dtype 'f8'");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--agree-min", "99"), 2, "",
                   "--agree-min needs --against");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--agree-min", "nan"), 2, "",
                   "--agree-min: must be a number from 0 to 100");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--target-precision", "95"), 2, "",
                   "--target-precision: must be a number from 1e-09 to 1");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--target-precision", "nan"), 2, "",
                   "--target-precision: must be");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--explain-inputs", "9"), 2, "",
                   "--explain-inputs needs --explain");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--explain", "--explain-fill", "red"), 2, "",
                   "--explain-fill: must be median, clip or mean");
    outcome_expect(
        RUN(KERNEL, "tests/data/eval/kernel.jsonl", "--explain", "--explain-fill", "mean"), 2, "",
        "--explain-fill is of images");
    outcome_expect(RUN(WAFER, "tests/data/eval/kernel.jsonl"), 2, "",
                   "line 1: member 'image' is missing");
    outcome_expect(RUN(KERNEL, "tests/data/eval/wafer"), 2, "", "a folder holds images");
    outcome_expect(RUN(WAFER, "tests/data/eval/wafer", "--treads", "2"), 2, "",
                   "did you mean '--threads'");
}
END_TEST

START_TEST(eval_helps)
{
    outcome_expect(RUN("--help"), 0, "--agree-min PERCENT", "");
    outcome_expect(RUN("--help"), 0, "--out DIR", "");
    outcome_expect(RUN("--help"), 0, "--explain-inputs N", "");
    outcome_expect(RUN("--help"), 0, "--target-precision SHARE", "");
}
END_TEST

SUITE("eval", eval_prints_a_report_of_a_folder, eval_prints_the_same_report_as_json,
      eval_tells_recall_by_the_size_of_the_maps, eval_writes_logits_of_every_input,
      eval_reads_the_same_from_jsonl_and_csv, eval_gives_the_summary_that_every_report_has,
      eval_finds_the_coverage_of_the_precision_that_is_asked_for,
      eval_writes_a_page_that_shows_the_mistakes, eval_reads_images_from_the_field_that_is_named,
      eval_leaves_no_page_behind_when_it_fails, eval_calibrates_a_checkpoint,
      eval_measures_how_faithful_explanations_are, eval_explains_texts_by_their_words,
      eval_compares_explanations_with_masks, eval_names_a_mask_that_is_missing,
      eval_stops_at_its_limit, eval_counts_every_input_of_a_long_list,
      eval_names_inputs_that_fail_and_goes_on, eval_fails_if_every_input_does,
      eval_refuses_a_label_that_the_model_lacks, eval_refuses_wrong_use_with_2, eval_helps)
