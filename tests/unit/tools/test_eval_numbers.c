/* attnd-eval as a program, on a small regression. What the model answers is attnd-predict's word. */
#include "engine/base/doc.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVAL(...) outcome_of("attnd-eval", (const char *[]){__VA_ARGS__, NULL})

static struct checkpoint_writer writer;
static char data[128];

static void open_model(unsigned outputs)
{
    char config[512];
    snprintf(config, sizeof config,
             "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
             "\"num_attention_heads\": 4, \"intermediate_size\": 24, \"vocab_size\": 40, "
             "\"max_position_embeddings\": 32, \"problem_type\": \"regression\", "
             "\"num_labels\": %u}",
             outputs);
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 16, 2, 24, 40, 32, outputs);
    checkpoint_writer_finish(&writer);
    snprintf(data, sizeof data, "%s/data.jsonl", writer.dir);
}

static double answer_to(const char *text)
{
    struct json_t *answer = outcome_json(outcome_of(
        "attnd-predict", (const char *[]){"--model", writer.dir, "--text", text, "--json", NULL}));
    const double value = outcome_number(answer, "value");
    doc_free(answer);
    return value;
}

/* The right numbers are 1 above, 1 below and 4 below what is answered. */
START_TEST(eval_of_a_regression_tells_how_far_its_numbers_are)
{
    static const char *const texts[] = {"a", "b c", "d e f"};
    static const double offsets[] = {1, -1, -4};
    char lines[512] = "";
    open_model(1);
    for (size_t i = 0; i < 3; i++)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
                 "{\"text\": \"%s\", \"label\": %.12f}\n", texts[i],
                 answer_to(texts[i]) + offsets[i]);
    checkpoint_writer_file(&writer, "data.jsonl", lines);
    struct json_t *report = outcome_json(EVAL("--model", writer.dir, "--data", data, "--json"));
    ck_assert_str_eq(doc_as_string(contract_at(report, "task")), "regression");
    ck_assert(outcome_number(report, "inputs") == 3 && outcome_number(report, "failed") == 0);
    ck_assert_double_eq_tol(outcome_number(report, "mean_absolute_error"), 2, 1e-5);
    ck_assert_double_eq_tol(outcome_number(report, "mae"), 2, 1e-5);
    ck_assert(outcome_number(report, "rmse") == outcome_number(report, "root_mean_square_error"));
    ck_assert(outcome_number(report, "r2") == outcome_number(report, "r_squared"));
    ck_assert_double_eq_tol(outcome_number(report, "bias"), 4 / 3.0, 1e-5);
    ck_assert_double_eq_tol(outcome_number(report, "largest_error"), 4, 1e-5);
    doc_free(report);
    outcome_expect(EVAL("--model", writer.dir, "--data", data), 0,
                   "mean absolute error     2\nroot mean square error  2.449 (", "");
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(eval_of_a_regression_refuses_what_is_of_labels)
{
    static const char *const options[] = {"--explain"};
    open_model(1);
    checkpoint_writer_file(&writer, "data.jsonl",
                           "{\"text\": \"a\", \"label\": 1}\n"
                           "{\"text\": \"b\", \"label\": \"hot\"}\n");
    outcome_expect(EVAL("--model", writer.dir, "--data", data), 2, "",
                   "data.jsonl: line 2: the label 'hot' is no number");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char expected[128];
        snprintf(expected, sizeof expected, "%s is for models that answer labels", options[i]);
        outcome_expect(EVAL("--model", writer.dir, "--data", data, options[i]), 2, "", expected);
    }
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(eval_of_a_regression_writes_a_reference_and_keeps_the_rest)
{
    static const char *const options[] = {"--calibrate", "--reference"};
    struct err err = {0};
    struct json_t *file;
    char path[160];
    open_model(1);
    snprintf(path, sizeof path, "%s/attnd.json", writer.dir);
    checkpoint_writer_file(&writer, "attnd.json", "{\"version\": \"3\"}");
    checkpoint_writer_file(&writer, "data.jsonl",
                           "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 2}\n");
    for (size_t i = 0; i < 2; i++) {
        outcome_expect(EVAL("--model", writer.dir, "--data", data, options[i]), 0,
                       "mean absolute error ", "");
        ck_assert_msg(!doc_parse_file(&file, path, 1 << 16, &err), "%s", err.text);
        ck_assert_str_eq(doc_as_string(doc_member(file, "version")), "3");
        ck_assert(outcome_number(file, "reference.count") == 2);
        ck_assert_uint_ge(doc_array_count(contract_at(file, "reference.value.edges")), 1);
        doc_free(file);
        checkpoint_writer_file(&writer, "attnd.json", "{\"version\": \"3\"}");
    }
    checkpoint_writer_close(&writer);
    open_model(2);
    checkpoint_writer_file(&writer, "data.jsonl", "{\"text\": \"a\", \"label\": [1, 2]}\n");
    outcome_expect(EVAL("--model", writer.dir, "--data", data, "--reference"), 2, "",
                   "the model answers 2 numbers. A reference can be written for one only");
    checkpoint_writer_close(&writer);
}
END_TEST

/* Two runs differ in the labels of the second output alone, 0 and 2: its error differs by 2. */
START_TEST(eval_of_a_regression_tells_the_errors_of_each_output)
{
    struct json_t *reports[2];
    open_model(2);
    for (unsigned i = 0; i < 2; i++) {
        checkpoint_writer_file(&writer, "data.jsonl",
                               i == 0 ? "{\"text\": \"a\", \"label\": [0, 0]}\n"
                                        "{\"text\": \"b\", \"label\": \"0|0\"}\n"
                                      : "{\"text\": \"a\", \"label\": [0, 2]}\n"
                                        "{\"text\": \"b\", \"label\": [0, 2]}\n");
        reports[i] = outcome_json(
            EVAL("--model", writer.dir, "--data", data, "--json", "--out", writer.dir));
    }
    ck_assert_double_eq(outcome_number(reports[0], "outputs.LABEL_0.bias"),
                        outcome_number(reports[1], "outputs.LABEL_0.bias"));
    ck_assert_double_eq_tol(outcome_number(reports[0], "outputs.LABEL_1.bias") - 2,
                            outcome_number(reports[1], "outputs.LABEL_1.bias"), 1e-6);
    doc_free(reports[0]);
    doc_free(reports[1]);
    char path[160];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/report.json", writer.dir);
    ck_assert_msg(!doc_parse_file(&reports[0], path, 1 << 16, &err), "%s", err.text);
    ck_assert(outcome_number(reports[0], "inputs") == 2);
    doc_free(reports[0]);
    outcome_expect(EVAL("--model", writer.dir, "--data", data), 0,
                   "\noutput                  LABEL_1\n", "");
    checkpoint_writer_file(&writer, "data.jsonl", "{\"text\": \"a\", \"label\": 1}\n");
    outcome_expect(EVAL("--model", writer.dir, "--data", data), 2, "",
                   "data.jsonl: line 1: the label has 1 number, and the model answers 2");
    checkpoint_writer_close(&writer);
}
END_TEST

SUITE("eval_numbers", eval_of_a_regression_tells_how_far_its_numbers_are,
      eval_of_a_regression_refuses_what_is_of_labels,
      eval_of_a_regression_writes_a_reference_and_keeps_the_rest,
      eval_of_a_regression_tells_the_errors_of_each_output)
