/* attnd-batch killed at any moment, told to stop, and started again. */
#include "tests/support/batch_fixture.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 2000, KILLS = 3 };

static struct batch_fixture fixture;

static const char *const nothing_more[] = {NULL};
/* About six seconds of it; chunks are as they are without. */
static const char *const slowly[] = {"--rate", "320", NULL};

#define RUN(...)                                                                                   \
    outcome_of("attnd-batch",                                                                      \
               (const char *[]){"--model", fixture.model.dir, "--lines", fixture.log, "--out",     \
                                fixture.out, __VA_ARGS__, NULL})

static char *unbroken(void)
{
    size_t len;
    ck_assert_int_eq(batch_wait(batch_start(&fixture, nothing_more), NULL), 0);
    char *text = contract_file(fixture.out, &len);
    ck_assert_int_eq(unlink(fixture.out), 0);
    ck_assert_int_eq(unlink(fixture.state), 0);
    return text;
}

static void await_more_than(unsigned done)
{
    while (batch_done(&fixture) <= done)
        usleep(5000);
}

static void expect_out(const char *want)
{
    size_t len;
    char *found = contract_file(fixture.out, &len);
    ck_assert_str_eq(found, want);
    free(found);
}

static void tear_line(void)
{
    static const char torn[] = "{\"model\":{\"name\":\"x\"},\"lab";
    int file = open(fixture.out, O_WRONLY | O_APPEND | O_CLOEXEC);
    ck_assert_int_eq(write(file, torn, sizeof torn - 1), (ssize_t)sizeof torn - 1);
    close(file);
}

START_TEST(batch_killed_at_any_moment_loses_and_doubles_nothing)
{
    batch_fixture_open(&fixture, LINES);
    char *want = unbroken();
    for (unsigned i = 0; i < KILLS; i++) {
        unsigned before = batch_done(&fixture);
        pid_t pid = batch_start(&fixture, slowly);
        await_more_than(before);
        usleep((unsigned)rand() % 100000);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(batch_wait(pid, NULL), -1);
        tear_line();
    }
    ck_assert_uint_lt(batch_done(&fixture), LINES);
    ck_assert_int_eq(batch_wait(batch_start(&fixture, nothing_more), NULL), 0);
    expect_out(want);
    ck_assert_uint_eq(batch_done(&fixture), LINES);
    free(want);
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_told_to_stop_ends_with_whole_lines_and_goes_on)
{
    batch_fixture_open(&fixture, LINES);
    char *want = unbroken();
    pid_t pid = batch_start(&fixture, slowly);
    await_more_than(0);
    ck_assert_int_eq(kill(pid, SIGINT), 0);
    ck_assert_int_eq(batch_wait(pid, NULL), 128 + SIGINT);
    unsigned done = batch_done(&fixture), lines = 0;
    size_t len;
    char *text = contract_file(fixture.out, &len);
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    ck_assert_uint_eq(lines, done);
    ck_assert_int_eq(text[len - 1], '\n');
    free(text);
    outcome_expect(RUN("--threads", "3"), 0, "", " of them before), 0 failed");
    expect_out(want);
    free(want);
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_that_is_done_computes_nothing_again)
{
    batch_fixture_open(&fixture, 100);
    outcome_expect(RUN("--threads", "1"), 0, "", "attnd-batch: 100 inputs, 0 failed, ");
    outcome_expect(RUN("--threads", "1"), 0, "", "100 inputs (100 of them before), 0 failed");
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_goes_on_with_lines_that_were_added)
{
    batch_fixture_open(&fixture, 300);
    char *want = unbroken();
    batch_fixture_write_log(&fixture, 100);
    ck_assert_int_eq(batch_wait(batch_start(&fixture, nothing_more), NULL), 0);
    batch_fixture_write_log(&fixture, 300);
    outcome_expect(RUN("--threads", "1"), 0, "", "300 inputs (100 of them before), 0 failed");
    size_t len;
    char *found = contract_file(fixture.out, &len);
    ck_assert_uint_eq(strlen(want), len);
    free(found);
    free(want);
    batch_fixture_close(&fixture);
}
END_TEST

/* The last bit of the last one's mantissa, and back. */
static void change_weight(void)
{
    char path[128], byte;
    snprintf(path, sizeof path, "%s/model.safetensors", fixture.model.dir);
    FILE *file = fopen(path, "r+be");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, -4, SEEK_END), 0);
    ck_assert_uint_eq(fread(&byte, 1, 1, file), 1);
    byte ^= 1;
    ck_assert_int_eq(fseek(file, -4, SEEK_END), 0);
    ck_assert_uint_eq(fwrite(&byte, 1, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
}

static void remove_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", fixture.model.dir, name);
    ck_assert_int_eq(unlink(path), 0);
}

START_TEST(batch_refuses_to_go_on_with_other_inputs_options_or_model)
{
    batch_fixture_open(&fixture, 100);
    ck_assert_int_eq(batch_wait(batch_start(&fixture, nothing_more), NULL), 0);
    outcome_expect(RUN("--top-k", "2"), 2, "", "--top-k was '1', now '2'");
    outcome_expect(RUN("--format", "csv"), 2, "", "--format was 'jsonl', now 'csv'");
    outcome_expect(RUN("--dtype", "int8"), 2, "", "--dtype was 'f32', now 'int8'");
    checkpoint_writer_file(&fixture.model, "attnd.json", "{\"dtype\": \"int8\"}");
    outcome_expect(RUN("--dtype", "auto"), 2, "", "--dtype was 'f32', now 'int8'");
    checkpoint_writer_file(&fixture.model, "attnd.json", "{\"dtype\": \"f32\"}");
    outcome_expect(RUN("--dtype", "auto"), 2, "", "attnd-batch: dtype f32: attnd.json pins it\n");
    remove_file("attnd.json");
    outcome_expect(RUN("--lines", fixture.log), 2, "", "the list of inputs was '");
    change_weight();
    outcome_expect(RUN("--threads", "1"), 2, "", "the model was 'sha256:");
    change_weight();
    batch_fixture_write_log(&fixture, 99);
    outcome_expect(RUN("--threads", "1"), 2, "", "the first 100 inputs are not those");
    batch_fixture_write_log(&fixture, 100);
    outcome_expect(RUN("--threads", "1"), 0, "", "(100 of them before)");
    batch_fixture_close(&fixture);
}
END_TEST

START_TEST(batch_refuses_to_mix_two_calibrations_in_one_output)
{
    batch_fixture_open(&fixture, 100);
    checkpoint_writer_file(&fixture.model, "attnd.json", "{\"temperature\": 1.5}");
    ck_assert_int_eq(batch_wait(batch_start(&fixture, nothing_more), NULL), 0);
    checkpoint_writer_file(&fixture.model, "attnd.json", "{\"temperature\": 2.5}");
    outcome_expect(RUN("--threads", "1"), 2, "", ": attnd.json of ");
    outcome_expect(RUN("--threads", "1"), 2, "",
                   " has changed since the run began. Give another --out, ");
    remove_file("attnd.json");
    outcome_expect(RUN("--threads", "1"), 2, "", ": attnd.json of ");
    checkpoint_writer_file(&fixture.model, "attnd.json", "{\"temperature\": 1.5}");
    checkpoint_writer_file(&fixture.model, "tokenizer_config.json", "{}");
    outcome_expect(RUN("--threads", "1"), 2, "",
                   ": config.json, or a file of the tokenizer or preprocessor, of ");
    remove_file("tokenizer_config.json");
    outcome_expect(RUN("--threads", "1"), 0, "", "(100 of them before)");
    batch_fixture_close(&fixture);
}
END_TEST

/* Expects the exit status and the output of the command. */
static void expect_piped(const char *feed, int status, const char *says)
{
    char program[600], command[1400], said[4096] = "";
    snprintf(command, sizeof command, "%s %s | %s --model %s --lines - --out %s.piped 2>&1", feed,
             fixture.log, built_program("attnd-batch", program, sizeof program), fixture.model.dir,
             fixture.out);
    FILE *pipe = popen(command, "re");
    ck_assert_ptr_nonnull(pipe);
    ck_assert_uint_gt(fread(said, 1, sizeof said - 1, pipe), 0);
    int ended = pclose(pipe);
    ck_assert_msg(WIFEXITED(ended) && WEXITSTATUS(ended) == status, "%s", said);
    ck_assert_msg(strstr(said, says) != NULL, "%s", said);
}

START_TEST(batch_goes_on_with_standard_input_if_it_is_the_same)
{
    batch_fixture_open(&fixture, 200);
    expect_piped("head -n 100", 0, "attnd-batch: 100 inputs, 0 failed");
    expect_piped("tail -n +2", 2, "the first 100 inputs are not those that it holds the answers");
    expect_piped("head -n 50", 2, "the first 100 inputs are not those that it holds the answers");
    expect_piped("cat", 0, "attnd-batch: 200 inputs (100 of them before), 0 failed");
    batch_fixture_close(&fixture);
}
END_TEST

SUITE("batch_resume", batch_killed_at_any_moment_loses_and_doubles_nothing,
      batch_told_to_stop_ends_with_whole_lines_and_goes_on,
      batch_that_is_done_computes_nothing_again, batch_goes_on_with_lines_that_were_added,
      batch_goes_on_with_standard_input_if_it_is_the_same,
      batch_refuses_to_mix_two_calibrations_in_one_output,
      batch_refuses_to_go_on_with_other_inputs_options_or_model)
