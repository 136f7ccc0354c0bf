/* attnd-eval --multi-label as a program. What the model answers is attnd-predict's word. */
#include "engine/base/doc.h"
#include "tests/support/checkpoint_writer.h"
#include "tests/support/contract.h"
#include "tests/support/outcome.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define EVAL(...) outcome_of("attnd-eval", (const char *[]){__VA_ARGS__, NULL})

enum { LABELS = 3, TEXTS = 4 };

static struct checkpoint_writer writer;
static char data[128];
static const char *const texts[TEXTS] = {"w5", "w6 w7", "w8 w9 w10", "w11"};

static void open_model(const char *problem)
{
    char config[512];
    snprintf(config, sizeof config,
             "{\"model_type\": \"bert\", \"hidden_size\": 16, \"num_hidden_layers\": 2, "
             "\"num_attention_heads\": 4, \"intermediate_size\": 24, \"vocab_size\": 40, "
             "\"max_position_embeddings\": 32, \"problem_type\": \"%s\", "
             "\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}",
             problem);
    checkpoint_writer_open(&writer);
    checkpoint_writer_file(&writer, "config.json", config);
    checkpoint_writer_bert(&writer, 16, 2, 24, 40, 32, LABELS);
    writer.data[writer.count - LABELS] = 2; /* the bias of "a", which is then always given */
    checkpoint_writer_finish(&writer);
    snprintf(data, sizeof data, "%s/data.jsonl", writer.dir);
}

/* The labels that score at least 0.5, as an array. */
static void write_answer(const char *text, char out[64])
{
    struct json_t *answer = outcome_json(
        outcome_of("attnd-predict", (const char *[]){"--model", writer.dir, "--text", text,
                                                     "--top-k", "all", "--json", NULL}));
    const struct json_t *list = contract_at(answer, "predictions");
    strcpy(out, "[");
    for (size_t i = 0; i < doc_array_count(list); i++) {
        double score;
        ck_assert(doc_as_number(doc_member(doc_array_item(list, i), "score"), &score));
        if (score >= 0.5)
            snprintf(out + strlen(out), 8, "%s\"%s\"", out[1] != '\0' ? "," : "",
                     doc_as_string(doc_member(doc_array_item(list, i), "label")));
    }
    strcat(out, "]");
    doc_free(answer);
}

START_TEST(eval_of_a_multi_label_model_matches_its_own_answers)
{
    char list[1024] = "", answer[64];
    open_model("multi_label_classification");
    for (size_t i = 0; i < TEXTS; i++) {
        write_answer(texts[i], answer);
        snprintf(list + strlen(list), 128, "{\"text\": \"%s\", \"label\": %s}\n", texts[i], answer);
    }
    checkpoint_writer_file(&writer, "data.jsonl", list);
    struct json_t *report = outcome_json(EVAL("--model", writer.dir, "--data", data,
                                              "--multi-label", "--json", "--out", writer.dir));
    ck_assert_str_eq(doc_as_string(contract_at(report, "task")), "multi_label");
    ck_assert(outcome_number(report, "inputs") == TEXTS && outcome_number(report, "failed") == 0);
    ck_assert(outcome_number(report, "exact_match") == 1);
    ck_assert(outcome_number(report, "hamming_loss") == 0);
    ck_assert(outcome_number(report, "micro.f1") == 1);
    ck_assert(outcome_number(report, "per_label.a.support") == TEXTS);
    ck_assert(outcome_number(report, "per_label.a.given") == TEXTS);
    doc_free(report);
    char path[160];
    struct err err = {0};
    snprintf(path, sizeof path, "%s/report.json", writer.dir);
    ck_assert_msg(!doc_parse_file(&report, path, 1 << 16, &err), "%s", err.text);
    ck_assert(outcome_number(report, "exact_match") == 1);
    doc_free(report);
    outcome_expect(EVAL("--model", writer.dir, "--data", data, "--multi-label"), 0,
                   "exact match   1.0000 of the inputs", "");
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(eval_of_several_labels_reads_them_in_either_form)
{
    open_model("multi_label_classification");
    checkpoint_writer_file(&writer, "data.jsonl",
                           "{\"text\": \"w5\", \"label\": \"a|c\"}\n"
                           "{\"text\": \"w6\", \"label\": [\"c\", \"a\"]}\n"
                           "{\"text\": \"w7\", \"label\": []}\n");
    struct json_t *report =
        outcome_json(EVAL("--model", writer.dir, "--data", data, "--multi-label", "--json"));
    ck_assert(outcome_number(report, "per_label.a.support") == 2);
    ck_assert(outcome_number(report, "per_label.b.support") == 0);
    ck_assert(outcome_number(report, "per_label.c.support") == 2);
    doc_free(report);
    checkpoint_writer_close(&writer);
}
END_TEST

START_TEST(eval_of_several_labels_refuses_what_is_of_one)
{
    open_model("multi_label_classification");
    checkpoint_writer_file(&writer, "data.jsonl", "{\"text\": \"w5\", \"label\": \"a|d\"}\n");
    outcome_expect(EVAL("--model", writer.dir, "--data", data, "--multi-label"), 2, "",
                   "data.jsonl: line 1: the model has no label 'd'");
    outcome_expect(EVAL("--model", writer.dir, "--data", data, "--multi-label", "--calibrate"), 2,
                   "", "--calibrate does not go with --multi-label");
    outcome_expect(EVAL("--model", writer.dir, "--data", data, "--multi-label", "--explain"), 2, "",
                   "--explain does not go with --multi-label");
    checkpoint_writer_close(&writer);
    open_model("single_label_classification");
    checkpoint_writer_file(&writer, "data.jsonl", "{\"text\": \"w5\", \"label\": \"a\"}\n");
    outcome_expect(EVAL("--model", writer.dir, "--data", data, "--multi-label"), 2, "",
                   "the model's labels exclude each other: it is no multi-label model");
    checkpoint_writer_close(&writer);
}
END_TEST

SUITE("eval_sets", eval_of_a_multi_label_model_matches_its_own_answers,
      eval_of_several_labels_reads_them_in_either_form,
      eval_of_several_labels_refuses_what_is_of_one)
