/* attnd-eval as a program, on a model that writes texts. */
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/writing_fixture.h"
#include "tests/support/writing_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVAL(f, data, ...)                                                                         \
    outcome_of("attnd-eval", (const char *[]){"--model", (f)->model, "--data", data, "--threads",  \
                                              "1", __VA_ARGS__, NULL})

/* The checkpoint writes "timeoutup The" with one beam. */
#define TEXT "The die failed the scan test at 3.97 V."

struct texts_fixture {
    struct writing_fixture writing;
    char model[WRITING_PATH_BYTES], list[WRITING_PATH_BYTES], table[WRITING_PATH_BYTES],
        out[WRITING_PATH_BYTES];
};

static void open_fixture(struct texts_fixture *f)
{
    static const char list[] = "{\"text\":\"" TEXT "\",\"target\":\"timeoutup The\"}\n"
                               "{\"text\":\"" TEXT "\",\"target\":\"timeoutup <Thx\"}\n";
    static const char table[] = "id,text,target\n1," TEXT ",pass\n2," TEXT ",\n";
    const struct tempdir *dir = &f->writing.dir;
    *f = (struct texts_fixture){0};
    writing_fixture_gather(&f->writing, "marian-0", f->model);
    tempdir_write(dir, "list.jsonl", list, sizeof list - 1);
    tempdir_write(dir, "table.csv", table, sizeof table - 1);
    snprintf(f->list, sizeof f->list, "%s/list.jsonl", dir->path);
    snprintf(f->table, sizeof f->table, "%s/table.csv", dir->path);
    snprintf(f->out, sizeof f->out, "%s/report", dir->path);
}

START_TEST(eval_measures_texts)
{
    struct texts_fixture f;
    open_fixture(&f);
    struct json_t *report = outcome_json(EVAL(&f, f.list, "--num-beams", "1", "--json"));
    ck_assert_str_eq(doc_as_string(contract_at(report, "task")), "seq2seq");
    outcome_expect_number(report, "inputs", 2);
    outcome_expect_number(report, "failed", 0);
    outcome_expect_number(report, "unwritten", 0);
    outcome_expect_number(report, "exact", 0.5);
    outcome_expect_number(report, "edit_distance", 1);
    outcome_expect_number(report, "error_rate", 2.0 / 27);
    ck_assert_uint_eq(doc_array_count(contract_at(report, "chrf_interval")), 2);
    ck_assert_str_eq(doc_as_string(contract_at(report, "bleu_signature")),
                     "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
    const struct json_t *mistake = doc_array_item(contract_at(report, "mistakes"), 0);
    ck_assert_str_eq(doc_as_string(doc_member(mistake, "output")), "timeoutup The");
    ck_assert_str_eq(doc_as_string(doc_member(mistake, "target")), "timeoutup <Thx");
    doc_free(report);
    outcome_expect(EVAL(&f, f.list, "--num-beams", "1"), 0, "exact       50.00  (", "");
    tempdir_close(&f.writing.dir);
}
END_TEST

START_TEST(eval_writes_a_page_of_texts)
{
    struct texts_fixture f;
    char path[WRITING_PATH_BYTES + 16], *page;
    struct err err = {0};
    size_t len;
    open_fixture(&f);
    outcome_expect(EVAL(&f, f.list, "--num-beams", "1", "--out", f.out), 0,
                   "mistakes, the first\nline 2: 2 edits\n  written  timeoutup The\n", "");
    snprintf(path, sizeof path, "%s/report.html", f.out);
    ck_assert(!file_read(&page, &len, path, 1 << 20, &err));
    ck_assert_ptr_nonnull(strstr(page, "<li>right timeoutup &lt;Thx</li>"));
    free(page);
    snprintf(path, sizeof path, "%s/report.json", f.out);
    struct json_t *report;
    ck_assert(!doc_parse_file(&report, path, 1 << 20, &err));
    outcome_expect_number(report, "exact", 0.5);
    doc_free(report);
    tempdir_close(&f.writing.dir);
}
END_TEST

/* With one text allowed that is what is written; with none, the empty text counts. */
START_TEST(eval_measures_texts_by_rules)
{
    struct texts_fixture f;
    open_fixture(&f);
    struct json_t *report = outcome_json(EVAL(&f, f.table, "--allow", "pass", "--json"));
    outcome_expect_number(report, "exact", 0.5);
    outcome_expect_number(report, "edit_distance", 2);
    doc_free(report);
    report = outcome_json(EVAL(&f, f.table, "--allow", "pass", "--checksum", "semi-m13", "--json"));
    outcome_expect_number(report, "unwritten", 2);
    outcome_expect_number(report, "exact", 0.5); /* the second target is empty */
    doc_free(report);
    tempdir_close(&f.writing.dir);
}
END_TEST

START_TEST(eval_refuses_what_is_not_of_texts)
{
    struct texts_fixture f;
    open_fixture(&f);
    outcome_expect(EVAL(&f, f.list, "--explain"), 2, "",
                   "--explain is for models that answer a label of each input; ");
    outcome_expect(EVAL(&f, f.list, "--calibrate", "--num-beams", "1"), 2, "",
                   "--calibrate and --num-beams exclude each other: ");
    outcome_expect(EVAL(&f, f.list, "--calibrate", "--checksum", "none", "--allow", "pass"), 2, "",
                   "--calibrate and --allow exclude each other: ");
    outcome_expect(EVAL(&f, f.list, "--label-field", "right"), 2, "", "right");
    outcome_expect(EVAL(&f, "tests/data/examples", "--json"), 2, "",
                   "texts to write are read of a list");
    outcome_expect(
        outcome_of("attnd-eval", (const char *[]){"--model", "models/kernel-bert", "--data", f.list,
                                                  "--num-beams", "2", NULL}),
        2, "", "options of writing: models/kernel-bert writes no text");
    outcome_expect(EVAL(&f, f.list, "--pattern", "a)"), 1, "", "line 1: pattern: byte 1");
    tempdir_close(&f.writing.dir);
}
END_TEST

/* The checkpoint writes "ref sim" with confidence 0.09 for one text, "95" with 0.02 for the other:
 * the first is right nine times of ten, the second one time of five. */
static void write_chances(const struct tempdir *dir)
{
    char list[32768];
    size_t len = 0;
    for (int i = 0; i < 100; i++)
        len += (size_t)snprintf(list + len, sizeof list - len,
                                "{\"text\":\"The die passed.\",\"target\":\"%s\"}\n"
                                "{\"text\":\"wafer 7\",\"target\":\"%s\"}\n",
                                i % 10 > 0 ? "ref sim" : "no", i % 5 > 0 ? "no" : "95");
    tempdir_write(dir, "chances.jsonl", list, len);
}

START_TEST(eval_calibrates_texts)
{
    static const char settings[] = "{\"version\": \"lot-7\", \"checksum\": \"none\", "
                                   "\"thresholds\": {\"text\": 0.5}}";
    const double yes = 111.0 / 112, no = 1.0 / 92; /* Platt's targets of 110 right, 90 wrong */
    const double likely = (90 * yes + 10 * no) / 100, other = (20 * yes + 80 * no) / 100;
    char list[WRITING_PATH_BYTES + 16], path[WRITING_PATH_BYTES + 16];
    struct texts_fixture f = {0};
    struct err err = {0};
    struct json_t *written;
    char *text;
    size_t len;
    writing_model_open(&f.writing.dir, "marian-0");
    snprintf(f.model, sizeof f.model, "%s", f.writing.dir.path);
    snprintf(list, sizeof list, "%s/chances.jsonl", f.model);
    snprintf(path, sizeof path, "%s/attnd.json", f.model);
    tempdir_write(&f.writing.dir, "attnd.json", settings, sizeof settings - 1);
    write_chances(&f.writing.dir);
    struct json_t *report =
        outcome_json(EVAL(&f, list, "--calibrate", "--target-precision", "0.8", "--json"));
    outcome_expect_number(report, "confidence.fitted.auto", 100);
    outcome_expect_number(report, "confidence.fitted.auto_right", 90);
    outcome_expect_number(report, "confidence.fitted.inputs", 200);
    outcome_expect_number(report, "confidence.cross_fitted.auto", 100);
    outcome_expect_number(report, "confidence.served.auto", 0);
    ck_assert_double_eq_tol(outcome_number(report, "confidence.fitted.ece"),
                            (fabs(likely - 0.9) + fabs(other - 0.2)) / 2, 1e-6);
    ck_assert_double_eq_tol(outcome_number(report, "confidence.threshold"), likely, 1e-6);
    ck_assert(!doc_parse_file(&written, path, 1 << 16, &err));
    ck_assert_str_eq(doc_as_string(doc_member(written, "version")), "lot-7");
    ck_assert_str_eq(doc_as_string(doc_member(written, "checksum")), "none");
    outcome_expect_number(written, "target_precision", 0.8);
    outcome_expect_number(written, "thresholds.text",
                          outcome_number(report, "confidence.threshold"));
    outcome_expect_number(written, "confidence.scale",
                          outcome_number(report, "confidence.scaling.scale"));
    doc_free(written);
    doc_free(report);
    /* The scores are as served now, and texts are judged by the threshold. */
    report = outcome_json(EVAL(&f, list, "--target-precision", "0.8", "--json"));
    outcome_expect_number(report, "confidence.served.auto", 100);
    outcome_expect_number(report, "confidence.served.auto_right", 90);
    ck_assert_double_eq_tol(outcome_number(report, "confidence.served.ece"),
                            outcome_number(report, "confidence.fitted.ece"), 1e-8);
    doc_free(report);
    outcome_expect(
        EVAL(&f, list, "--calibrate", "--target-precision", "0.95", "--checksum", "none"), 0,
        "threshold   none: no text is automatic. A precision of 0.95 takes ",
        "no threshold, since none reaches --target-precision; with them 0 of 200 ");
    ck_assert(!file_read(&text, &len, path, 1 << 16, &err));
    ck_assert_ptr_nonnull(strstr(text, "\"text\": null"));
    free(text);
    tempdir_close(&f.writing.dir);
}
END_TEST

SUITE("eval_texts", eval_measures_texts, eval_writes_a_page_of_texts, eval_measures_texts_by_rules,
      eval_refuses_what_is_not_of_texts, eval_calibrates_texts)
