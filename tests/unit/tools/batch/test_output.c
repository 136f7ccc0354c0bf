/* The file of results and OUT.state beside it: runs that may go on, their place, and runs that may
 * not. */
#include "tests/support/contract.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"
#include "tools/batch/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tempdir dir;
static char path[128];
static struct output output;
static struct err err;

static struct output_state wanted(const char *model)
{
    return (struct output_state){.model = strdup(model), .inputs = strdup("--lines a.log")};
}

static enum err_code open_for(const char *model)
{
    struct output_state state = wanted(model);
    err = (struct err){0};
    return output_open(&output, path, &state, &err);
}

static void begin_new(void)
{
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/out.jsonl", dir.path);
    ck_assert_int_eq(open_for("m1"), ERR_OK);
    ck_assert_int_eq(output_begin(&output, &err), ERR_OK);
}

static void append(const char *text)
{
    ck_assert_int_eq(output_append(&output, text, strlen(text), &err), ERR_OK);
}

static void save(unsigned done)
{
    output.state.done = done;
    output.state.failed = 1;
    snprintf(output.state.digest, sizeof output.state.digest, "d%u", done);
    ck_assert_int_eq(output_save(&output, &err), ERR_OK);
}

static void expect_file(const char *want)
{
    size_t len;
    char *found = contract_file(path, &len);
    ck_assert_str_eq(found, want);
    free(found);
}

START_TEST(output_goes_on_behind_what_was_saved)
{
    begin_new();
    append("one\n");
    save(1);
    append("two\nthr"); /* and a kill here */
    output_close(&output);
    expect_file("one\ntwo\nthr");
    ck_assert_int_eq(open_for("m1"), ERR_OK);
    ck_assert_uint_eq(output.state.done, 1);
    ck_assert_uint_eq(output.state.failed, 1);
    ck_assert_str_eq(output.state.digest, "d1");
    expect_file("one\ntwo\nthr"); /* nothing is cut before the inputs are looked at */
    ck_assert_int_eq(output_begin(&output, &err), ERR_OK);
    expect_file("one\n");
    append("two\n");
    output_close(&output);
    expect_file("one\ntwo\n");
    tempdir_close(&dir);
}
END_TEST

START_TEST(output_of_another_command_is_refused_and_left_alone)
{
    begin_new();
    append("one\n");
    save(1);
    output_close(&output);
    ck_assert_int_eq(open_for("m2"), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "the model was 'm1', now 'm2'"));
    ck_assert_ptr_nonnull(strstr(err.text, "another --out"));
    output_close(&output);
    expect_file("one\n");
    tempdir_close(&dir);
}
END_TEST

static enum err_code open_with_calibration(const char *digest)
{
    struct output_state state = wanted("m1");
    state.attnd_json = strdup(digest);
    state.dir = "models/m";
    err = (struct err){0};
    return output_open(&output, path, &state, &err);
}

/* The first state has no digest, as those of older programs. */
START_TEST(output_of_another_calibration_is_refused)
{
    begin_new();
    append("one\n");
    save(1);
    output_close(&output);
    ck_assert_int_eq(open_with_calibration("c1"), ERR_OK);
    ck_assert_uint_eq(output.state.done, 1);
    ck_assert_int_eq(output_begin(&output, &err), ERR_OK);
    output_close(&output);
    ck_assert_int_eq(open_with_calibration("c2"), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "attnd.json of models/m has changed since the run"));
    output_close(&output);
    ck_assert_int_eq(open_with_calibration("c1"), ERR_OK);
    output_close(&output);
    tempdir_close(&dir);
}
END_TEST

START_TEST(output_that_nobody_began_is_refused)
{
    begin_new();
    output_close(&output);
    tempdir_write(&dir, "out.jsonl", "mine", 4);
    snprintf(path, sizeof path, "%s/out.jsonl.state", dir.path);
    ck_assert_int_eq(unlink(path), 0);
    snprintf(path, sizeof path, "%s/out.jsonl", dir.path);
    ck_assert_int_eq(open_for("m1"), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "is there already"));
    output_close(&output);
    expect_file("mine");
    tempdir_close(&dir);
}
END_TEST

START_TEST(output_that_became_shorter_is_refused)
{
    begin_new();
    append("one\n");
    save(1);
    output_close(&output);
    ck_assert_int_eq(truncate(path, 2), 0);
    ck_assert_int_eq(open_for("m1"), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "has 2 bytes, but 4 were written"));
    output_close(&output);
    tempdir_close(&dir);
}
END_TEST

START_TEST(output_begins_anew_when_the_file_is_gone)
{
    begin_new();
    append("one\n");
    save(1);
    output_close(&output);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(open_for("m2"), ERR_OK);
    ck_assert_uint_eq(output.state.done, 0);
    output_close(&output);
    tempdir_close(&dir);
}
END_TEST

START_TEST(output_has_one_writer)
{
    struct output second;
    struct output_state state = wanted("m1");
    begin_new();
    ck_assert_int_eq(output_open(&second, path, &state, &err), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(err.text, "another run is writing it"));
    output_close(&second);
    output_close(&output);
    tempdir_close(&dir);
}
END_TEST

START_TEST(output_is_a_regular_file)
{
    struct output_state state = wanted("m1");
    err = (struct err){0};
    ck_assert_int_eq(output_open(&output, "/dev/null", &state, &err), ERR_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(err.text, "no regular file"));
    output_close(&output);
}
END_TEST

START_TEST(output_refuses_a_bad_state_file)
{
    static const char *const states[][2] = {{"{", ".state: "},
                                            {"{\"attnd_batch\": 2}", "of version 2 of such files"},
                                            {"{\"attnd_batch\": 1, \"done\": -1}", "done"}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        begin_new();
        append("one\n");
        output_close(&output);
        tempdir_write(&dir, "out.jsonl.state", states[i][0], strlen(states[i][0]));
        ck_assert_int_eq(open_for("m1"), ERR_UNUSABLE);
        ck_assert_msg(strstr(err.text, states[i][1]) != NULL, "%s", err.text);
        output_close(&output);
        tempdir_close(&dir);
    }
}
END_TEST

SUITE("output", output_goes_on_behind_what_was_saved,
      output_of_another_command_is_refused_and_left_alone, output_of_another_calibration_is_refused,
      output_that_nobody_began_is_refused, output_that_became_shorter_is_refused,
      output_begins_anew_when_the_file_is_gone, output_has_one_writer, output_is_a_regular_file,
      output_refuses_a_bad_state_file)
