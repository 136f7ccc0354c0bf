/* attnd-eval's options, each at its limits, with a tiny model of texts: a run takes milliseconds.
 */
#include "engine/base/cpu.h"
#include "engine/base/doc.h"
#include "engine/base/file.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/golden_file.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define RUN(...)                                                                                   \
    outcome_of("attnd-eval",                                                                       \
               (const char *[]){"--model", writer.dir, "--data", list, __VA_ARGS__, NULL})
#define BARE(...) outcome_of("attnd-eval", (const char *[]){__VA_ARGS__, NULL})

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"a\", \"1\": \"b\"}}";

static struct checkpoint_writer writer;
static struct tempdir dir;
static char list[96];

/* The winner of each of five texts is "b", which one is not. */
static void setup(void)
{
    static const char rows[] =
        "{\"text\": \"w7 w8\", \"label\": \"b\", \"t\": \"w9\", \"l\": \"a\"}\n"
        "{\"text\": \"w9\", \"label\": \"b\", \"t\": \"w9\", \"l\": \"a\"}\n"
        "{\"text\": \"w10 w11\", \"label\": \"a\", \"t\": \"w9\", \"l\": \"a\"}\n"
        "{\"text\": \"w12\", \"label\": \"b\", \"t\": \"w9\", \"l\": \"b\"}\n"
        "{\"text\": \"w13\", \"label\": \"b\", \"t\": \"w9\", \"l\": \"a\"}\n";
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 16, 1, 24, 40, 32, 2);
    writer.data[writer.count - 1] += 9;
    checkpoint_writer_finish(&writer);
    tempdir_open(&dir);
    tempdir_write(&dir, "list.jsonl", rows, strlen(rows));
    snprintf(list, sizeof list, "%s/list.jsonl", dir.path);
}

static void teardown(void)
{
    tempdir_close(&dir);
    checkpoint_writer_close(&writer);
}

#define AGREEMENT_NEEDS "--write-agreement needs --dtype int8 or bf16, and --against f32"

/* Ends with 2, says this line, and nothing else. */
static void expect_refused(struct outcome *outcome, const char *line)
{
    char expected[512];
    snprintf(expected, sizeof expected, "attnd-eval: %s\n", line);
    ck_assert_str_eq(outcome->errors, expected);
    ck_assert_str_eq(outcome->out, "");
    ck_assert_int_eq(outcome->code, 2);
    free(outcome);
}

/* ATTND_GOLDEN_WRITE=1 writes it anew. */
START_TEST(eval_help_is_the_golden)
{
    struct outcome *outcome = BARE("--help");
    struct golden_file golden;
    ck_assert(outcome->code == 0 && outcome->errors[0] == '\0');
    golden_file_open(&golden);
    fputs(outcome->out, golden.file);
    golden_file_expect(&golden, "tests/data/eval/help.txt");
    free(outcome);
    outcome = BARE("--version");
    ck_assert_int_eq(outcome->code, 0);
    ck_assert_ptr_eq(strstr(outcome->out, "attnd-eval "), outcome->out);
    ck_assert_uint_lt(strlen(outcome->out), 40);
    free(outcome);
}
END_TEST

START_TEST(eval_says_what_is_missing)
{
    setup();
    expect_refused(BARE("--data", list), "--model DIR is missing; --help shows the usage");
    expect_refused(BARE("--model", writer.dir), "--data PATH is missing; --help shows the usage");
    expect_refused(RUN("--agree-min", "0"), "--agree-min needs --against, which it judges by");
    expect_refused(RUN("--against", "auto"),
                   "--against wants one precision by name: f32, bf16 or int8");
    expect_refused(RUN("--write-agreement"), AGREEMENT_NEEDS);
    expect_refused(RUN("--write-agreement", "--dtype", "int8"), AGREEMENT_NEEDS);
    expect_refused(RUN("--write-agreement", "--dtype", "auto", "--against", "f32"),
                   AGREEMENT_NEEDS);
    expect_refused(RUN("--write-agreement", "--against", "f32"), AGREEMENT_NEEDS);
    expect_refused(RUN("--write-agreement", "--dtype", "int8", "--against", "bf16"),
                   AGREEMENT_NEEDS);
    expect_refused(RUN("--write-agreement", "--dtype", "int8", "--against", "f32", "--calibrate"),
                   "--write-agreement needs a run of its own, after --calibrate");
    expect_refused(RUN("--out-of-fold", "f.jsonl", "--against", "int8"),
                   "--out-of-fold and --against exclude each other");
    expect_refused(RUN("--out-of-fold", "f.jsonl", "--ngrams", "9"),
                   "--out-of-fold and --ngrams exclude each other");
    expect_refused(RUN("--calibrate", "--ngrams", "9"),
                   "--ngrams needs --calibrate and --examples, whose texts it is fitted on");
    expect_refused(RUN("--calibrate", "--examples", "x.csv", "--ngrams", "9", "--ngram-lines", "2"),
                   "--ngram-lines and --ngram-words belong together: so many lines with one of the "
                   "words are read");
    expect_refused(RUN("--foreign", "x.csv"),
                   "--foreign needs --calibrate, which chooses thresholds; --ood-data measures");
    expect_refused(
        RUN("--calibrate", "--reference"),
        "--calibrate and --reference exclude each other: --calibrate writes the reference, too");
    expect_refused(RUN("--explain-inputs", "1"), "--explain-inputs needs --explain");
    expect_refused(RUN("--explain-fill", "clip"), "--explain-fill needs --explain");
    expect_refused(RUN("--explain", "--explain-fill", "clip"),
                   "--explain-fill is of images; removed words leave a text");
    teardown();
}
END_TEST

START_TEST(eval_numbers_have_limits)
{
    static const struct {
        const char *option, *value, *complaint;
    } cases[] = {
        {"--threads", "0", "must be a whole number from 1 to 1024"},
        {"--threads", "1025", "must be a whole number from 1 to 1024"},
        {"--limit", "0", "must be a whole number from 1 to 1000000000"},
        {"--limit", "1000000001", "must be a whole number from 1 to 1000000000"},
        {"--explain-inputs", "0", "must be a whole number from 1 to 1000000000"},
        {"--explain-inputs", "1000000001", "must be a whole number from 1 to 1000000000"},
        {"--target-precision", "0", "must be a number from 1e-09 to 1"},
        {"--target-precision", "1.001", "must be a number from 1e-09 to 1"},
        {"--target-precision", "0.5x", "must be a number from 1e-09 to 1"},
        {"--target-precision", "", "must be a number from 1e-09 to 1"},
        {"--agree-min", "-0.1", "must be a number from 0 to 100"},
        {"--agree-min", "100.1", "must be a number from 0 to 100"},
        {"--agree-min", "5%", "must be a number from 0 to 100"},
        {"--agree-min", "", "must be a number from 0 to 100"},
        {"--explain-fill", "red", "must be median, clip or mean"},
    };
    setup();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[128];
        snprintf(line, sizeof line, "%s: %s", cases[i].option, cases[i].complaint);
        expect_refused(RUN(cases[i].option, cases[i].value), line);
    }
    teardown();
}
END_TEST

START_TEST(eval_takes_numbers_at_their_limits)
{
    setup();
    outcome_expect(RUN("--limit", "1000000000", "--target-precision", "1", "--threads", "2"), 0,
                   " s, 2 threads)\n", "");
    outcome_expect(RUN("--limit", "1", "--against", "f32", "--agree-min", "100"), 0,
                   "inputs         1, of which 0 failed\n", "");
    outcome_expect(RUN("--against", "f32", "--agree-min", "0", "--target-precision", "1e-9"), 0,
                   "same winner    100.000 % (5 of 5)\n", "");
    teardown();
}
END_TEST

/* The defaults: all cores that may be used, 95 % precision, f32, no second run, no file. */
START_TEST(eval_has_defaults)
{
    char threads[32];
    setup();
    snprintf(threads, sizeof threads, " s, %u threads)\n", cpu_quota_threads(""));
    struct outcome *outcome = RUN("--linear-backend", "native");
    outcome_holds(outcome, 0, threads, "");
    outcome_holds(outcome, 0, " (bert, f32, native)\n", "");
    outcome_holds(outcome, 0, "accuracy       0.8000 ", "");
    ck_assert_str_eq(outcome->errors, "");
    ck_assert_ptr_null(strstr(outcome->out, "against"));
    ck_assert_ptr_null(strstr(outcome->out, "explanations"));
    ck_assert_ptr_null(strstr(outcome->out, "OOD data"));
    free(outcome);
    struct json_t *report = outcome_json(RUN("--json"));
    outcome_expect_number(report, "risk_coverage.target_precision", 0.95);
    outcome_expect_number(report, "inputs", 5);
    doc_free(report);
    teardown();
}
END_TEST

START_TEST(eval_reads_the_fields_that_are_named)
{
    setup();
    outcome_expect(RUN("--text-field", "t", "--label-field", "l"), 0, "accuracy       0.2000 ", "");
    outcome_expect(RUN("--label-field", "x"), 2, "", "list.jsonl: line 1: member 'x' is missing");
    outcome_expect(RUN("--text-field", "x"), 2, "", "list.jsonl: line 1: member 'x' is missing");
    teardown();
}
END_TEST

START_TEST(eval_names_the_model_that_cannot_be_opened)
{
    char line[160];
    setup();
    snprintf(line, sizeof line, "attnd-eval: %s: ", writer.dir);
    outcome_expect(RUN("--dtype", "f8"), 2, "", line);
    outcome_expect(RUN("--against", "f8"), 2, "", line);
    outcome_expect(BARE("--model", "/no/where", "--data", list), 2, "", "attnd-eval: /no/where: ");
    outcome_expect(RUN("--linear-backend", "x"), 2, "", "attnd-eval: ");
    teardown();
}
END_TEST

/* A folder that is there, and one that is made; not one within a file. */
START_TEST(eval_makes_the_folder_that_it_writes_to)
{
    char fresh[128], within[128], path[160];
    struct stat info;
    setup();
    snprintf(fresh, sizeof fresh, "%s/fresh", dir.path);
    snprintf(within, sizeof within, "%s/x", list);
    outcome_expect(RUN("--out", fresh, "--explain", "--explain-inputs", "2"), 0,
                   "explanations    2 inputs", "");
    outcome_expect(RUN("--out", fresh), 0, "accuracy", "");
    static const char *const names[] = {"report.json", "report.html", "explanations.json",
                                        "explanations.html"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", fresh, names[i]);
        ck_assert_msg(stat(path, &info) == 0 && info.st_size > 0, "%s", names[i]);
        remove(path);
    }
    outcome_expect(RUN("--out", within), 2, "", "/x: cannot be made: Not a directory\n");
    outcome_expect(RUN("--out", list), 1, "", "list.jsonl/report.json: ");
    remove(fresh);
    teardown();
}
END_TEST

/* The run explains at most 500 of the inputs, or as many as are said; with --json beside the
 * report. */
START_TEST(eval_explains_as_many_as_are_said)
{
    setup();
    outcome_expect(RUN("--explain"), 0, "explanations    5 inputs, 4 of them right", "");
    struct outcome *outcome = RUN("--explain", "--json", "--explain-inputs", "3");
    outcome_holds(outcome, 0, "\"accuracy\"", "explanations    3 inputs, ");
    ck_assert_ptr_null(strstr(outcome->out, "explanations    "));
    free(outcome);
    teardown();
}
END_TEST

START_TEST(eval_calibrates_with_the_energy_of_a_few)
{
    char path[96], *json;
    size_t len;
    struct err err = {0};
    setup();
    snprintf(path, sizeof path, "%s/attnd.json", writer.dir);
    outcome_expect(RUN("--target-precision", "0.25"), 0, "accuracy", "");
    ck_assert_int_ne(file_read(&json, &len, path, 1 << 20, &err), ERR_OK);
    err = (struct err){0};
    outcome_expect(RUN("--target-precision", "0.25", "--calibrate"), 0, "accuracy",
                   "note: ood_score is now the energy of the logits, which finds fewer unknown "
                   "inputs: 5 inputs are too few to be examples (50)");
    ck_assert_msg(!file_read(&json, &len, path, 1 << 20, &err), "%s", err.text);
    ck_assert_ptr_nonnull(strstr(json, "\"target_precision\": 0.25,"));
    ck_assert_ptr_nonnull(strstr(json, "\"method\": \"energy\""));
    free(json);
    outcome_expect(RUN("--json"), 0, "\"decisions\":{", "");
    teardown();
}
END_TEST

START_TEST(eval_calibrates_for_inputs_that_are_foreign)
{
    static const char rows[] = "{\"text\": \"w7 w8\"}\n{\"text\": \"w9\"}\n";
    char path[96];
    setup();
    tempdir_write(&dir, "foreign.jsonl", rows, strlen(rows));
    snprintf(path, sizeof path, "%s/foreign.jsonl", dir.path);
    outcome_expect(RUN("--calibrate", "--foreign", path), 0, "\nforeign inputs  2: ", "");
    struct outcome *outcome = RUN("--calibrate", "--foreign", path, "--json");
    outcome_holds(outcome, 0, "\"accuracy\"", "foreign inputs  2: ");
    ck_assert_ptr_null(strstr(outcome->out, "foreign inputs"));
    free(outcome);
    outcome_expect(RUN("--calibrate", "--foreign", "none.jsonl"), 1, "",
                   "attnd-eval: --foreign: none.jsonl");
    teardown();
}
END_TEST

/* Inputs without labels, of which two are the known ones' twins. */
START_TEST(eval_tells_strange_inputs_of_any_list)
{
    static const char rows[] = "{\"text\": \"w7 w8\"}\n{\"text\": \"w9\"}\n";
    char path[96], said[160];
    setup();
    tempdir_write(&dir, "strange.jsonl", rows, strlen(rows));
    snprintf(path, sizeof path, "%s/strange.jsonl", dir.path);
    snprintf(said, sizeof said, "\nOOD data  %s: 2 inputs, told apart by energy with AUROC 0.",
             path);
    outcome_expect(RUN("--ood-data", path), 0, said, "");
    struct outcome *outcome = RUN("--ood-data", path, "--json");
    outcome_holds(outcome, 0, "", said);
    ck_assert_ptr_null(strstr(outcome->out, "OOD data"));
    free(outcome);
    outcome_expect(RUN("--ood-data", "/no/where.jsonl"), 1, "accuracy",
                   "attnd-eval: /no/where.jsonl: ");
    tempdir_write(&dir, "strange.jsonl", "{\"text\": \"\"}\n", 13);
    outcome_expect(RUN("--ood-data", path), 1, "accuracy", "none of 1 inputs can be used");
    teardown();
}
END_TEST

/* Runs with these arguments and prints to a full disk. */
static int on_full_disk(const char *arguments)
{
    char program[600], command[1024];
    built_program("attnd-eval", program, sizeof program);
    snprintf(command, sizeof command, "'%s' --model %s --data %s %s >/dev/full 2>/dev/null",
             program, writer.dir, list, arguments);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(eval_says_that_nobody_got_its_report)
{
    setup();
    ck_assert_int_eq(on_full_disk(""), 1);
    ck_assert_int_eq(on_full_disk("--json"), 1);
    ck_assert_int_eq(on_full_disk("--explain --explain-inputs 1"), 1);
    ck_assert_int_eq(on_full_disk("--help"), 1);
    teardown();
}
END_TEST

/* Each run's line is taken away when it ends. */
START_TEST(eval_shows_progress_of_all_that_it_runs)
{
    static const char rows[] = "{\"text\": \"w7 w8\"}\n{\"text\": \"w9\"}\n";
    static char said[OUTCOME_BYTES];
    static const char *const lines[] = {"\r\033[Kf32: 5 of 5 inputs, ",
                                        "\r\033[KOOD data: 2 of 2 inputs, ",
                                        "\r\033[Kexplaining: 1 of 3 inputs, "};
    const char *at = said;
    char path[96];
    setup();
    tempdir_write(&dir, "strange.jsonl", rows, strlen(rows));
    snprintf(path, sizeof path, "%s/strange.jsonl", dir.path);
    const char *const arguments[] = {"--model", writer.dir,  "--data",           list, "--ood-data",
                                     path,      "--explain", "--explain-inputs", "3",  NULL};
    ck_assert_int_eq(outcome_on_terminal("attnd-eval", arguments, said), 0);
    for (size_t i = 0; i < 3; i++) {
        const char *found = strstr(at, lines[i]);
        ck_assert_msg(found != NULL && (i == 0 || strncmp(found - 4, "\r\033[K", 4) == 0), "%s",
                      said);
        at = found + strlen(lines[i]);
    }
    ck_assert_str_eq(strrchr(said, '\r'), "\r\033[K");
    teardown();
}
END_TEST

SUITE("eval_options", eval_help_is_the_golden, eval_says_what_is_missing, eval_numbers_have_limits,
      eval_takes_numbers_at_their_limits, eval_has_defaults, eval_reads_the_fields_that_are_named,
      eval_names_the_model_that_cannot_be_opened, eval_makes_the_folder_that_it_writes_to,
      eval_explains_as_many_as_are_said, eval_calibrates_with_the_energy_of_a_few,
      eval_calibrates_for_inputs_that_are_foreign, eval_tells_strange_inputs_of_any_list,
      eval_says_that_nobody_got_its_report, eval_shows_progress_of_all_that_it_runs)
