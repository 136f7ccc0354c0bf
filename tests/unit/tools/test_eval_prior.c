/* attnd-eval with a class prior, an estimate of one, and labels that a model has not learnt: a tiny
 * model of texts, whose bias makes it answer "b" to all of them. */
#include "engine/base/file.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN(...)                                                                                   \
    outcome_of("attnd-eval",                                                                       \
               (const char *[]){"--model", writer.dir, "--data", list, __VA_ARGS__, NULL})

static const char config[] =
    "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 1, "
    "\"num_attention_heads\": 2, \"intermediate_size\": 24, \"vocab_size\": 40, "
    "\"max_position_embeddings\": 32, \"id2label\": {\"0\": \"a\", \"1\": \"b\"}}";

static struct checkpoint_writer writer;
static struct tempdir dir;
static char list[96];

static void setup(void)
{
    static const char rows[] = "{\"text\": \"w7 w8\", \"label\": \"b\"}\n"
                               "{\"text\": \"w9\", \"label\": \"b\"}\n"
                               "{\"text\": \"w10 w11\", \"label\": \"a\"}\n"
                               "{\"text\": \"w12\", \"label\": \"b\"}\n"
                               "{\"text\": \"w13\", \"label\": \"b\"}\n";
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 16, 1, 24, 40, 32, 2);
    writer.data[writer.count - 1] += 1;
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

static void expect_refused(struct outcome *outcome, const char *line)
{
    ck_assert_int_eq(outcome->code, 2);
    ck_assert_msg(strstr(outcome->errors, line) != NULL, "%s", outcome->errors);
    ck_assert_str_eq(outcome->out, "");
    free(outcome);
}

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir.path, name);
    return path;
}

static void expect_in_file(const char *folder, const char *name, const char *text)
{
    char path[200], *bytes;
    size_t len;
    struct err err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_msg(!file_read(&bytes, &len, path, 1 << 20, &err), "%s", err.text);
    ck_assert_msg(strstr(bytes, text) != NULL, "%s", bytes);
    free(bytes);
}

START_TEST(a_prior_moves_answers_and_says_what_to_expect)
{
    static const char all_a[] = "{\"a\": 1, \"b\": 0}";
    setup();
    checkpoint_writer_file(&writer, "attnd.json", "{\"fitted_prior\": {\"a\": 200, \"b\": 800}}");
    outcome_expect(RUN("--json"), 0, "\"accuracy\":0.8,", "");
    struct outcome *outcome = RUN("--json");
    ck_assert_ptr_null(strstr(outcome->out, "\"expected\":"));
    free(outcome);
    outcome_expect(RUN("--json", "--class-prior", "natural"), 0,
                   "\"expected\":{\"class_prior\":\"natural\",\"accuracy\":0.8,", "");
    tempdir_write(&dir, "prior.json", all_a, strlen(all_a));
    outcome_expect(RUN("--json", "--class-prior", path_of("prior.json")), 0, "\"accuracy\":0.2,",
                   "");
    outcome_expect(RUN("--class-prior", path_of("prior.json")), 0,
                   "class prior    counts: in a stream with these shares\naccuracy       1.0000",
                   "");
    outcome_expect(RUN("--class-prior", path_of("prior.json"), "--out", dir.path), 0, "accuracy",
                   "");
    expect_in_file(dir.path, "report.html", "What to expect");
    teardown();
}
END_TEST

START_TEST(eval_refuses_a_bad_class_prior)
{
    setup();
    expect_refused(RUN("--class-prior", "equal"), "class_prior needs fitted_prior");
    checkpoint_writer_file(&writer, "attnd.json", "{\"fitted_prior\": {\"a\": 2, \"b\": 8}}");
    expect_refused(RUN("--class-prior", "/no/where.json"), "/no/where.json");
    expect_refused(RUN("--class-prior", "equal", "--calibrate"), "--calibrate is without");
    teardown();
}
END_TEST

/* The class prior says "a", and the calibration still sees the model as it was fitted. */
START_TEST(a_calibration_is_without_the_prior_and_leaves_it)
{
    setup();
    checkpoint_writer_file(&writer, "attnd.json",
                           "{\"fitted_prior\": {\"a\": 200, \"b\": 800}, "
                           "\"class_prior\": {\"a\": 1, \"b\": 0}}");
    outcome_expect(RUN("--json"), 0, "\"accuracy\":0.2,", "");
    outcome_expect(RUN("--json", "--calibrate"), 0, "\"accuracy\":0.8,", "");
    expect_in_file(writer.dir, "attnd.json", "\"fitted_prior\": {\n    \"a\": 1,\n    \"b\": 4}");
    expect_in_file(writer.dir, "attnd.json", "\"class_prior\": {\n    \"a\": 1,\n    \"b\": 0}");
    teardown();
}
END_TEST

START_TEST(a_prior_is_estimated_of_inputs_without_labels)
{
    static const char rows[] = "{\"text\": \"w7 w8\"}\n{\"text\": \"w9\"}\n{\"text\": \"w12\"}\n";
    setup();
    tempdir_write(&dir, "stream.jsonl", rows, strlen(rows));
    outcome_expect(RUN("--estimate-prior", path_of("stream.jsonl"), "--out", dir.path), 0,
                   "3 inputs, 0 unknown ones left out", "");
    expect_in_file(dir.path, "class_prior.json", "{\"a\": 0.");
    outcome_expect(RUN("--estimate-prior", path_of("stream.jsonl")), 0,
                   "the model has no fitted_prior yet: --calibrate writes it", "");
    outcome_expect(RUN("--estimate-prior", "/no/where.jsonl"), 1, "accuracy",
                   "--estimate-prior: /no/where.jsonl: ");
    checkpoint_writer_file(&writer, "attnd.json", "{\"fitted_prior\": {\"a\": 2, \"b\": 8}}");
    outcome_expect(RUN("--class-prior", path_of("class_prior.json")), 0, "class prior    counts",
                   "");
    teardown();
}
END_TEST

START_TEST(inputs_of_labels_that_the_model_lacks_tell_how_they_stand_out)
{
    static const char rows[] = "{\"text\": \"w7 w8\", \"label\": \"b\"}\n"
                               "{\"text\": \"w20 w21\", \"label\": \"x\"}\n"
                               "{\"text\": \"w10 w11\", \"label\": \"a\"}\n"
                               "{\"text\": \"w22\", \"label\": \"y\"}\n"
                               "{\"text\": \"w13\", \"label\": \"b\"}\n";
    setup();
    tempdir_write(&dir, "list.jsonl", rows, strlen(rows));
    expect_refused(RUN("--threads", "1"), "the model has no label 'x'");
    expect_refused(RUN("--unseen", "x", "--unseen", "z"), "no input has the label 'z'");
    expect_refused(RUN("--unseen", "b"), "--unseen: the model has the label 'b'");
    outcome_expect(RUN("--unseen", "x", "--unseen", "y"), 0, "\nunseen         all: 2 inputs\n",
                   "");
    outcome_expect(RUN("--unseen", "x", "--unseen", "y"), 0, "all but b (1)", "");
    outcome_expect(RUN("--unseen", "x", "--unseen", "y", "--json"), 0,
                   "\"unseen\":{\"ood_method\":\"energy\",\"majority\":\"b\",\"all\":{\"inputs\":2,"
                   "\"auto\":0,",
                   "");
    outcome_expect(RUN("--unseen", "x", "--unseen", "y", "--out", dir.path), 0, "accuracy", "");
    expect_in_file(dir.path, "report.json", "\"labels\":{\"x\":{\"inputs\":1,");
    expect_in_file(dir.path, "report.html", "What the model has not learnt");
    teardown();
}
END_TEST

SUITE("eval_prior", a_prior_moves_answers_and_says_what_to_expect, eval_refuses_a_bad_class_prior,
      a_calibration_is_without_the_prior_and_leaves_it,
      a_prior_is_estimated_of_inputs_without_labels,
      inputs_of_labels_that_the_model_lacks_tell_how_they_stand_out)
