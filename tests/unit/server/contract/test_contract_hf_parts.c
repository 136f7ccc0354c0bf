/* Answers about parts of a text, as clients of Hugging Face get them, are those that transformers'
 * pipelines gave: the recorded cases of the checkpoints. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAGS "tests/data/tags/"
#define ANSWERS "tests/data/answers/"
#define WORDS "tests/data/vocabulary/"

static struct server_process server;

static void start(void)
{
    server_process_start(&server,
                         (const char *[]){"--model", "ner-bert-0=" TAGS "ner-bert-0", "--model",
                                          "ner-xlmr-0=" TAGS "ner-xlmr-0", "--model",
                                          "qa-bert-0=" ANSWERS "qa-bert-0", "--model",
                                          "mlm-bert-0=" WORDS "mlm-bert-0", "--model",
                                          "mlm-roberta-0=" WORDS "mlm-roberta-0", "--model",
                                          "mlm-xlmr-0=" WORDS "mlm-xlmr-0", "--model",
                                          "splade=" WORDS "splade-bert-0", NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
}

static struct reply ask(const char *model, json_t *body)
{
    char *path = contract_format("/models/%s", model), *text = json_dumps(body, 0);
    struct reply reply =
        contract_ask(server.port, "POST", path, "Content-Type: application/json\r\n", text);
    json_decref(body);
    free(path);
    free(text);
    return reply;
}

static bool is_same(const json_t *found, json_t *right)
{
    if (json_is_number(right))
        return json_is_number(found) &&
               json_number_value(found) - json_number_value(right) < 1e-4 &&
               json_number_value(right) - json_number_value(found) < 1e-4;
    if (!json_is_array(right) && !json_is_object(right))
        return json_equal(found, right);
    if (json_typeof(found) != json_typeof(right) ||
        json_array_size(found) != json_array_size(right) ||
        json_object_size(found) != json_object_size(right))
        return false;
    for (size_t i = 0; i < json_array_size(right); i++)
        if (!is_same(json_array_get(found, i), json_array_get(right, i)))
            return false;
    for (void *at = json_object_iter(right); at != NULL; at = json_object_iter_next(right, at))
        if (!is_same(json_object_get(found, json_object_iter_key(at)), json_object_iter_value(at)))
            return false;
    return true;
}

static void expect(const char *model, json_t *body, json_t *right)
{
    char *sent = json_dumps(body, 0);
    struct reply reply = ask(model, body);
    reply_expect_status(&reply, 200);
    if (!is_same(reply.json, right)) {
        char *found = json_dumps(reply.json, 0), *asked = json_dumps(right, 0);
        ck_abort_msg("%s: %s: %.900s instead of %.900s", model, sent, found, asked);
    }
    reply_free(&reply);
    free(sent);
}

static json_t *cases_of(const char *folder, const char *model)
{
    char *path = contract_format("%s%s/cases.json", folder, model);
    json_t *root = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(root);
    free(path);
    return root;
}

static json_t *of(const json_t *one, const char *key)
{
    return json_object_get(one, key);
}

START_TEST(hf_parts_are_the_spans_of_the_pipeline)
{
    static const char *const models[] = {"ner-bert-0", "ner-xlmr-0"};
    static const char *const names[] = {"none", "simple", "first", "max", "average"};
    start();
    for (int m = 0; m < 2; m++) {
        json_t *root = cases_of(TAGS, models[m]), *one;
        size_t i;
        json_array_foreach(of(root, "cases"), i, one)
        {
            expect(models[m], json_pack("{s:O}", "inputs", of(one, "text")), of(one, "simple"));
            for (int k = 0; k < 5; k++)
                expect(models[m],
                       json_pack("{s:O,s:{s:s,s:[s]}}", "inputs", of(one, "text"), "parameters",
                                 "aggregation_strategy", names[k], "ignore_labels", "O"),
                       of(one, names[k]));
        }
        json_decref(root);
    }
    stop();
}
END_TEST

START_TEST(hf_parts_leave_out_the_labels_that_are_ignored)
{
    start();
    json_t *root = cases_of(TAGS, "ner-bert-0");
    const json_t *one = json_array_get(of(root, "cases"), 0);
    const char *first = json_string_value(of(json_array_get(of(one, "simple"), 0), "entity_group"));
    json_t *left = json_array(), *span;
    size_t i;
    json_array_foreach(of(one, "simple"), i, span)
    {
        if (strcmp(json_string_value(of(span, "entity_group")), first) != 0)
            json_array_append(left, span);
    }
    expect("ner-bert-0",
           json_pack("{s:O,s:{s:[s,s]}}", "inputs", of(one, "text"), "parameters", "ignore_labels",
                     first, "O"),
           left);
    /* with nothing ignored every token is in a span */
    struct reply reply =
        ask("ner-bert-0", json_pack("{s:O,s:{s:[],s:s}}", "inputs", of(one, "text"), "parameters",
                                    "ignore_labels", "aggregation_strategy", "none"));
    ck_assert_uint_eq(json_array_size(reply.json), json_array_size(of(one, "ids")) - 2);
    reply_free(&reply);
    json_decref(left);
    json_decref(root);
    stop();
}
END_TEST

START_TEST(hf_parts_are_the_answers_of_the_pipeline)
{
    start();
    json_t *root = cases_of(ANSWERS, "qa-bert-0"), *one, *list = json_array(), *all = json_array();
    size_t i;
    json_array_foreach(of(root, "cases"), i, one)
    {
        json_t *answers = of(one, "answers");
        json_t *asked =
            json_pack("{s:O,s:O}", "question", of(one, "question"), "context", of(one, "context"));
        json_t *right = json_array_size(answers) == 1 ? json_array_get(answers, 0) : answers;
        expect("qa-bert-0",
               json_pack("{s:O,s:O}", "inputs", asked, "parameters", of(one, "parameters")), right);
        struct reply best = ask("qa-bert-0", json_pack("{s:O}", "inputs", asked));
        ck_assert(json_is_object(best.json));
        json_array_append_new(list, asked);
        json_array_append(all, best.json);
        reply_free(&best);
    }
    expect("qa-bert-0", json_pack("{s:O}", "inputs", list), all);
    json_decref(list);
    json_decref(all);
    json_decref(root);
    stop();
}
END_TEST

START_TEST(hf_parts_are_the_words_of_the_pipeline)
{
    static const char *const models[] = {"mlm-bert-0", "mlm-roberta-0", "mlm-xlmr-0"};
    start();
    for (int m = 0; m < 3; m++) {
        json_t *root = cases_of(WORDS, models[m]), *one;
        size_t i;
        json_array_foreach(of(root, "cases"), i, one)
        {
            json_t *top = of(one, "top");
            json_t *right = json_array_size(top) == 1 ? json_array_get(top, 0) : top;
            expect(models[m], json_pack("{s:O}", "inputs", of(one, "text")), right);
        }
        json_decref(root);
    }
    stop();
}
END_TEST

START_TEST(hf_parts_fill_a_mask_with_the_targets_alone)
{
    start();
    json_t *body =
        json_pack("{s:s,s:{s:i}}", "inputs", "[MASK] is broken", "parameters", "top_k", 100);
    struct reply all = ask("mlm-bert-0", body);
    const json_t *low = json_array_get(all.json, 70), *high = json_array_get(all.json, 20);
    json_t *right = json_pack("[O,O]", high, low);
    /* a target twice is one, and one that is no token is the first of its text */
    expect("mlm-bert-0",
           json_pack("{s:s,s:{s:[O,O,O]}}", "inputs", "[MASK] is broken", "parameters", "targets",
                     of(low, "token_str"), of(high, "token_str"), of(low, "token_str")),
           right);
    struct reply none = ask("mlm-bert-0", json_pack("{s:s,s:{s:[s]}}", "inputs", "[MASK] is broken",
                                                    "parameters", "targets", " ffffffff81 x"));
    ck_assert_uint_eq(json_array_size(none.json), 1);
    ck_assert_str_eq(json_string_value(contract_at(none.json, "0.token_str")), "ffffffff81");
    reply_free(&none);
    reply_free(&all);
    json_decref(right);
    stop();
}
END_TEST

START_TEST(hf_parts_of_another_task_are_refused_by_name)
{
    static const struct {
        const char *model, *body, *message;
    } cases[] = {
        {"ner-bert-0", "{\"inputs\":\"a\",\"parameters\":{\"aggregation_strategy\":\"best\"}}",
         "aggregation_strategy: expected none"},
        {"ner-bert-0", "{\"inputs\":\"a\",\"parameters\":{\"top_k\":2}}", "top_k: the model"},
        {"ner-bert-0", "{\"inputs\":\"a\",\"parameters\":{\"ignore_labels\":\"O\"}}",
         "ignore_labels: expected a list"},
        {"ner-bert-0", "{\"inputs\":\"a\",\"parameters\":{\"ignore_labels\":[1]}}",
         "ignore_labels[0]: "},
        {"ner-bert-0", "{\"inputs\":\"a\",\"parameters\":{\"function_to_apply\":\"none\"}}",
         "function_to_apply: it is of a model's own labels"},
        {"ner-bert-0", "{\"inputs\":\"a\",\"parameters\":{\"targets\":[\"a\"]}}",
         "inputs: targets: the model does not fill"},
        {"ner-bert-0", "{\"inputs\":\"a\",\"parameters\":{\"max_seq_len\":64}}",
         "inputs: question and its options: "},
        {"ner-bert-0", "{\"inputs\":{\"question\":\"a\",\"context\":\"b\"}}",
         "inputs: the model ner-bert-0 answers no questions"},
        {"qa-bert-0", "{\"inputs\":\"a\"}", "inputs: question: it is missing"},
        {"qa-bert-0", "{\"inputs\":{\"question\":\"a\"}}", "inputs.context: it is missing"},
        {"qa-bert-0", "{\"inputs\":{\"question\":\"a\",\"text\":\"b\"}}",
         "inputs.text is not supported"},
        {"qa-bert-0", "{\"inputs\":[{\"question\":\"a\",\"context\":\"b\"},\"c\"]}",
         "inputs[1]: expected {"},
        {"qa-bert-0",
         "{\"inputs\":{\"question\":\"a b c\",\"context\":\"b\"},\"parameters\":"
         "{\"max_question_len\":2}}",
         "inputs: max_question_len: the question has 3 tokens"},
        {"qa-bert-0",
         "{\"inputs\":{\"question\":\"a\",\"context\":\"b\"},\"parameters\":{\"top_k\":101}}",
         "inputs: top_k: for answers"},
        {"qa-bert-0",
         "{\"inputs\":{\"question\":\"a\",\"context\":\"b\"},\"parameters\":"
         "{\"max_seq_len\":2147483646}}",
         "inputs: max_seq_len is 2147483646; the model reads at most"},
        {"qa-bert-0",
         "{\"inputs\":{\"question\":\"a\",\"context\":\"b\"},\"parameters\":{\"normalize\":true}}",
         "inputs: dimensions, encoding, normalize: the model answers no vectors"},
        {"qa-bert-0",
         "{\"inputs\":{\"question\":\"a\",\"context\":\"b\"},\"parameters\":{\"multi_label\":true}"
         "}",
         "multi_label: it goes with candidate_labels"},
        {"mlm-bert-0", "{\"inputs\":\"a\"}", "inputs: the text has no masked token"},
        {"mlm-bert-0", "{\"inputs\":\"[MASK]\",\"parameters\":{\"targets\":[]}}", "targets: the l"},
        {"mlm-bert-0", "{\"inputs\":\"[MASK]\",\"parameters\":{\"targets\":[\"a\",\" \"]}}",
         "inputs: targets[1]: it has no token"},
        {"mlm-bert-0", "{\"inputs\":\"[MASK]\",\"parameters\":{\"top_k\":101}}", "top_k: for m"},
        {"mlm-bert-0", "{\"inputs\":\"[MASK]\",\"parameters\":{\"stride\":1}}",
         "stride: the model does not answer spans"},
        {"splade", "{\"inputs\":\"a\"}", "inputs: the model splade answers weights"},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = ask(cases[i].model, json_loads(cases[i].body, 0, NULL));
        reply_expect_status(&reply, 422);
        const char *message = reply_text(&reply, "error");
        ck_assert_msg(strncmp(message, cases[i].message, strlen(cases[i].message)) == 0, "%s: %s",
                      cases[i].body, message);
        reply_free(&reply);
    }
    stop();
}
END_TEST

/* The first model of texts tags; a question is another model's, and so are its options. */
START_TEST(hf_parts_without_a_name_go_to_the_model_that_can_answer)
{
    static const char body[] = "{\"inputs\":{\"question\":\"Which pin?\",\"context\":\"pin 7\"},"
                               "\"parameters\":{\"top_k\":2}}";
    start();
    struct reply named = ask("qa-bert-0", json_loads(body, 0, NULL));
    struct reply found =
        contract_ask(server.port, "POST", "/", "Content-Type: application/json\r\n", body);
    reply_expect_status(&found, 200);
    ck_assert_uint_eq(json_array_size(found.json), 2);
    ck_assert(json_equal(found.json, named.json));
    reply_free(&named);
    reply_free(&found);
    stop();
}
END_TEST

/* A text of several windows has no answer that the pipeline would give with a stride. */
START_TEST(hf_parts_take_a_stride_where_a_text_is_read_at_once)
{
    char text[2048] = "", *at = text;
    start();
    for (int i = 0; i < 200; i++)
        at += sprintf(at, "pin %d ", i % 10);
    struct reply one = ask("ner-bert-0", json_pack("{s:s}", "inputs", "pin 7 failed"));
    expect("ner-bert-0",
           json_pack("{s:s,s:{s:i}}", "inputs", "pin 7 failed", "parameters", "stride", 8),
           one.json);
    struct reply longer =
        ask("ner-bert-0", json_pack("{s:s,s:{s:i}}", "inputs", text, "parameters", "stride", 8));
    reply_expect_status(&longer, 413);
    ck_assert_ptr_nonnull(strstr(reply_text(&longer, "error"), "no stride"));
    reply_free(&one);
    reply_free(&longer);
    stop();
}
END_TEST

SUITE("contract_hf_parts", hf_parts_are_the_spans_of_the_pipeline,
      hf_parts_leave_out_the_labels_that_are_ignored, hf_parts_are_the_answers_of_the_pipeline,
      hf_parts_are_the_words_of_the_pipeline, hf_parts_fill_a_mask_with_the_targets_alone,
      hf_parts_of_another_task_are_refused_by_name,
      hf_parts_without_a_name_go_to_the_model_that_can_answer,
      hf_parts_take_a_stride_where_a_text_is_read_at_once)
