/* attnd-batch with models that write: the answers of attnd-predict, which writes one text after
 * another, whatever is written beside them; also through a server. */
#include "engine/base/file.h"
#include "tests/support/batch_fixture.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tests/support/writing_model.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* More lines than are written at once, of many lengths. */
enum { LINES = 70, LINES_MANY = 2000, PICTURES = 7, ARGUMENTS = 16 };

#define IMAGES "tests/data/golden/images"

static struct tempdir model, dir;
static char lines[128], out[128];
static unsigned step = 1; /* each so many-th line is written */

static void write_lines(int count)
{
    static char text[64 * LINES_MANY];
    int len = 0;
    for (int i = 0; i < count; i += (int)step)
        len += snprintf(text + len, sizeof text - (size_t)len, "Die %d failed %.*s at %d.%d V.\n",
                        7 * i, i % 29, "the scan test of the chains x", i % 5, i);
    tempdir_open(&dir);
    tempdir_write(&dir, "a.log", text, (size_t)len);
    snprintf(lines, sizeof lines, "%s/a.log", dir.path);
    snprintf(out, sizeof out, "%s/out", dir.path);
}

static void setup(const char *name)
{
    writing_model_open(&model, name);
    write_lines(LINES);
}

static void drop(void)
{
    tempdir_close(&model);
    tempdir_close(&dir);
}

/* Runs a program with some arguments and the options behind them. */
static struct outcome *run(const char *program, const char *const *first,
                           const char *const *options)
{
    const char *arguments[ARGUMENTS + 1];
    unsigned count = 0;
    for (; *first != NULL; first++)
        arguments[count++] = *first;
    for (; *options != NULL; options++)
        arguments[count++] = *options;
    arguments[count] = NULL;
    ck_assert_uint_le(count, ARGUMENTS);
    return outcome_of(program, arguments);
}

#define RUN(...) outcome_of("attnd-batch", (const char *[]){__VA_ARGS__, NULL})

static unsigned lines_of(const char *text)
{
    unsigned count = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        count++;
    return count;
}

static const struct {
    const char *name, *options[9];
    bool reads_pictures;
} cases[] = {
    {"marian-0", {"--num-beams", "1", "--max-new-tokens", "12"}, false},
    {"marian-1",
     {"--num-beams", "3", "--num-return-sequences", "2", "--length-penalty", "0.5",
      "--max-new-tokens", "6"},
     false},
    {"mbart-0",
     {"--source-language", "en_XX", "--target-language", "de_DE", "--max-new-tokens", "4"},
     false},
    {"t5-0",
     {"--no-repeat-ngram-size", "2", "--min-new-tokens", "3", "--max-new-tokens", "5"},
     false},
    {"t5-gated-0", {"--copy-numbers", "--max-new-tokens", "6"}, false},
    {"marian-0", {"--pattern", "[a-z ]{2,9}", "--checksum", "semi-m13", "--num-beams", "2"}, false},
    {"trocr-0", {"--num-beams", "2", "--max-new-tokens", "9", "--explain", "default"}, true},
};
enum { CASES = sizeof cases / sizeof *cases };

/* The answers of a program to the case's inputs. */
static struct outcome *answers_of(unsigned c, const char *program, const char *const *first)
{
    char input[160];
    const char *arguments[8];
    unsigned count = 0;
    snprintf(input, sizeof input, "--lines=%s", lines);
    for (; *first != NULL; first++)
        arguments[count++] = *first;
    arguments[count++] = cases[c].reads_pictures ? IMAGES : input;
    arguments[count] = NULL;
    return run(program, arguments, cases[c].options);
}

/* Checks that each step-th line of `many` has the output of a line of `few`, with all members up to
 * the place of the input. */
static void expect_same(const char *few, const char *many)
{
    unsigned line = 0;
    for (; *many != '\0'; many = strchr(many, '\n') + 1) {
        if (line++ % step != 0)
            continue;
        few = strstr(few, "\"output\":");
        many = strstr(many, "\"output\":");
        ck_assert_ptr_nonnull(few);
        const size_t len = (size_t)(strstr(few, "\"input\":") - few);
        ck_assert_msg(strncmp(few, many, len - 1) == 0, "%.300s\n%.300s", few, many);
        few = strchr(few, '\n') + 1;
    }
    ck_assert_str_eq(few, "");
}

/* attnd-predict lends each token to all cores, which costs most where they are busy. */
START_TEST(batch_writes_as_predict_does)
{
    for (unsigned c = 0; c < CASES; c++) {
        setup(cases[c].name);
        struct outcome *many =
            answers_of(c, "attnd-batch", (const char *[]){"--model", model.path, NULL});
        outcome_holds(many, 0, "\"output\":", " 0 failed");
        ck_assert_uint_eq(lines_of(many->out), cases[c].reads_pictures ? PICTURES : LINES);
        tempdir_close(&dir);
        step = cases[c].reads_pictures ? 1 : 9;
        write_lines(LINES);
        struct outcome *few =
            answers_of(c, "attnd-predict", (const char *[]){"--json", "--model", model.path, NULL});
        expect_same(few->out, many->out);
        step = 1;
        free(few);
        free(many);
        drop();
    }
}
END_TEST

START_TEST(batch_tells_where_a_model_looked)
{
    static const char *const options[] = {"--explain", "alignment", "--max-new-tokens", "5", NULL};
    writing_model_open(&model, "bart-0");
    write_lines(4);
    struct outcome *one =
        run("attnd-predict",
            (const char *[]){"--json", "--model", model.path, "--lines", lines, NULL}, options);
    struct outcome *many = run(
        "attnd-batch", (const char *[]){"--model", model.path, "--lines", lines, NULL}, options);
    outcome_holds(many, 0, "\"alignment\":[{\"text\":", "4 inputs, 0 failed");
    ck_assert_str_eq(one->out, many->out);
    free(one);
    free(many);
    outcome_expect(RUN("--model", model.path, "--lines", lines, "--explain", "rollout"), 1,
                   "the model writes texts, which only alignment explains", "4 failed");
    drop();
}
END_TEST

START_TEST(batch_writes_through_a_server_the_same)
{
    struct tempdir models[CASES];
    struct server_process server;
    const char *arguments[2 * CASES + 1] = {NULL};
    char url[64], names[CASES][128];
    write_lines(10);
    for (unsigned c = 0; c < CASES; c++) {
        writing_model_open(&models[c], cases[c].name);
        snprintf(names[c], sizeof names[c], "m%u=%s", c, models[c].path);
        arguments[2 * c] = "--model";
        arguments[2 * c + 1] = names[c];
    }
    server_process_start(&server, arguments);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
    for (unsigned c = 0; c < CASES; c++) {
        struct outcome *here =
            answers_of(c, "attnd-batch", (const char *[]){"--model", models[c].path, NULL});
        names[c][2] = '\0';
        struct outcome *there =
            answers_of(c, "attnd-batch", (const char *[]){"--url", url, "--model", names[c], NULL});
        outcome_holds(there, 0, "\"output\":", " 0 failed");
        expect_same(here->out, there->out);
        free(here);
        free(there);
    }
    outcome_expect(RUN("--url", url, "--model", "m3", "--lines", lines, "--aggregation", "max"), 2,
                   "", "aggregation: the model does not tag tokens");
    outcome_expect(RUN("--url", url, "--model", "m3", "--lines", lines, "--format", "csv",
                       "--num-return-sequences", "2"),
                   0, ",truncated,output_2,score_2,model,", "");
    ck_assert_int_eq(server_process_stop(&server), 0);
    for (unsigned c = 0; c < CASES; c++)
        tempdir_close(&models[c]);
    tempdir_close(&dir);
}
END_TEST

START_TEST(batch_puts_texts_into_a_table)
{
    setup("t5-0");
    struct outcome *table =
        RUN("--model", model.path, "--lines", lines, "--format", "csv", "--num-beams", "3",
            "--num-return-sequences", "3", "--max-new-tokens", "8");
    outcome_holds(table, 0,
                  "file,line,id,output,score,confidence,decision,reason,broken_rule,truncated,"
                  "output_2,score_2,output_3,score_3,model,version,digest,status,error\r\n",
                  "");
    ck_assert_uint_ge(lines_of(table->out), 1 + LINES); /* a text may have a line's end */
    free(table);
    drop();
}
END_TEST

START_TEST(batch_refuses_what_a_writing_model_does_not_take)
{
    static const struct {
        const char *option, *value, *said;
    } rows[] = {{"--num-beams", "9", "num_beams: 9 is not in 1 to 8"},
                {"--num-beams", "two", "--num-beams: expected an integer"},
                {"--num-beams", "99999999999999999999", "--num-beams: expected an integer"},
                {"--max-new-tokens", "0", "max_new_tokens: 0 is not in 1 to"},
                {"--length-penalty", "nan", "--length-penalty: expected a number"},
                {"--target-language", "xx", "target_language: the model has no languages"},
                {"--target-language", "\xff", "--target-language: at most"},
                {"--pattern", "a(", "pattern: "},
                {"--checksum", "crc", "--checksum: expected semi-m13"},
                {"--allowed", "/no/such/file", "--allowed: /no/such/file: "},
                {"--allowed", "/dev/null", "--allowed: /dev/null: is a device"},
                {"--top-k", "3", "top_k: a model that writes has no labels"},
                {"--top-k", "all", "top_k: a model that writes has no labels"},
                {"--dimensions", "3", "the model answers no vectors"}};
    setup("marian-0");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        outcome_expect(RUN("--model", model.path, "--lines", lines, rows[i].option, rows[i].value),
                       2, "", rows[i].said);
    drop();
    outcome_expect(
        RUN("--model", "models/testlog-bert", "--lines", "/dev/null", "--num-beams", "2"), 2, "",
        "num_beams and other options of writing: the model writes no texts");
}
END_TEST

static size_t bytes_of(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 ? (size_t)file.st_size : 0;
}

/* Texts that a stop gave up are written by the next run, of which the whole is as if unbroken. */
START_TEST(batch_told_to_stop_goes_on_with_the_texts_that_it_gave_up)
{
    const char *const nothing_more[] = {NULL};
    struct batch_fixture fixture = {0};
    char *whole, *found;
    size_t len;
    struct err err = {0};
    writing_model_open(&model, "marian-0");
    write_lines(LINES_MANY);
    snprintf(fixture.model.dir, sizeof fixture.model.dir, "%s", model.path);
    snprintf(fixture.log, sizeof fixture.log, "%s/a.log", dir.path);
    snprintf(fixture.out, sizeof fixture.out, "%s/whole", dir.path);
    ck_assert_int_eq(batch_wait(batch_start(&fixture, nothing_more), NULL), 0);
    ck_assert(!file_read(&whole, &len, fixture.out, 1 << 24, &err));
    snprintf(fixture.out, sizeof fixture.out, "%s/out", dir.path);
    snprintf(fixture.state, sizeof fixture.state, "%s.state", fixture.out);
    int code = 0;
    for (unsigned round = 0; round < 20 && code == 0;
         round++) { /* 0: done before the signal came */
        unlink(fixture.out);
        unlink(fixture.state);
        const pid_t pid = batch_start(&fixture, nothing_more);
        suite_await(bytes_of(fixture.out) > 0);
        ck_assert_int_eq(kill(pid, SIGINT), 0);
        code = batch_wait(pid, NULL);
    }
    ck_assert_int_eq(code, 128 + SIGINT);
    ck_assert_uint_lt(bytes_of(fixture.out), len);
    ck_assert_int_eq(batch_wait(batch_start(&fixture, nothing_more), NULL), 0);
    ck_assert(!file_read(&found, &len, fixture.out, 1 << 24, &err));
    ck_assert_str_eq(found, whole);
    free(found);
    free(whole);
    drop();
}
END_TEST

/* Lines of the file are the texts, without their ends. */
START_TEST(batch_writes_only_what_is_allowed)
{
    char allowed[128];
    setup("t5-0");
    tempdir_write(&dir, "allowed.txt", "scan\r\n\nleak at\n", 15);
    snprintf(allowed, sizeof allowed, "%s/allowed.txt", dir.path);
    struct outcome *found = RUN("--model", model.path, "--lines", lines, "--allowed", allowed,
                                "--format", "csv", "--num-beams", "4");
    outcome_holds(found, 0, ",leak at,-", "70 inputs, 0 failed");
    for (const char *at = strchr(found->out, '\n') + 1; *at != '\0'; at = strchr(at, '\n') + 1) {
        const char *output = strchr(strchr(strchr(at, ',') + 1, ',') + 1, ',') + 1;
        ck_assert_msg(strncmp(output, "leak at,", 8) == 0 || strncmp(output, "scan,", 5) == 0,
                      "%.100s", at);
    }
    free(found);
    drop();
}
END_TEST

/* A file that decides how a text is written is part of what a run is. */
START_TEST(batch_goes_on_only_as_it_began_to_write)
{
    setup("marian-0");
    outcome_expect(RUN("--model", model.path, "--lines", lines, "--out", out, "--num-beams", "1"),
                   0, "", "70 inputs, 0 failed");
    outcome_expect(RUN("--model", model.path, "--lines", lines, "--out", out, "--num-beams", "1"),
                   0, "", "70 inputs (70 of them before)");
    outcome_expect(RUN("--model", model.path, "--lines", lines, "--out", out, "--num-beams", "2"),
                   2, "", "what is asked beside the inputs was '\"num_beams\":1,', now");
    static const char other[] = "{\"decoder_start_token_id\": 353, \"eos_token_id\": 0}";
    tempdir_write(&model, "generation_config.json", other, sizeof other - 1);
    outcome_expect(RUN("--model", model.path, "--lines", lines, "--out", out, "--num-beams", "1"),
                   2, "", "has changed since the run began");
    drop();
}
END_TEST

SUITE("batch_writing", batch_writes_as_predict_does, batch_tells_where_a_model_looked,
      batch_writes_through_a_server_the_same, batch_puts_texts_into_a_table,
      batch_refuses_what_a_writing_model_does_not_take,
      batch_told_to_stop_goes_on_with_the_texts_that_it_gave_up, batch_writes_only_what_is_allowed,
      batch_goes_on_only_as_it_began_to_write)
