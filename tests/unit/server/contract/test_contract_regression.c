/* A regression in the program: its answer is a number, in the reply and in the audit log, and there
 * is no label to be right or wrong. */
#include "tests/support/checkpoint_writer.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>

static const char config[] =
    "{\"architectures\":[\"BertForSequenceClassification\"],\"model_type\":\"bert\","
    "\"hidden_size\":12,\"num_hidden_layers\":1,\"num_attention_heads\":2,"
    "\"intermediate_size\":24,\"vocab_size\":30,\"max_position_embeddings\":20,"
    "\"type_vocab_size\":2,\"problem_type\":\"regression\",\"id2label\":{%s}}";

static struct checkpoint_writer writer;
static struct server_process server;
static struct tempdir audit;

static void start(const char *labels, unsigned count)
{
    char text[1024], model[128];
    checkpoint_writer_open(&writer);
    snprintf(text, sizeof text, config, labels);
    checkpoint_writer_file(&writer, "config.json", text);
    checkpoint_writer_bert(&writer, 12, 1, 24, 30, 20, count);
    checkpoint_writer_finish(&writer);
    snprintf(model, sizeof model, "m=%s", writer.dir);
    tempdir_open(&audit);
    server_process_start(&server, (const char *[]){"--model", model, "--audit-dir", audit.path,
                                                   "--audit-sync", "none", NULL});
}

static void stop(void)
{
    ck_assert_int_eq(server_process_stop(&server), 0);
    checkpoint_writer_close(&writer);
}

static struct reply post(const char *path, const char *body)
{
    return contract_ask(server.port, "POST", path, "", body);
}

START_TEST(a_regression_answers_with_a_number)
{
    char out[4096], errors[1024], number[64];
    start("\"0\":\"thickness\"", 1);
    struct reply reply = post("/predict", "{\"text\": \"a\", \"id\": \"die-1\"}");
    reply_expect_status(&reply, 200);
    const double value = reply_number(&reply, "value");
    reply_expect_text(&reply, "decision", "auto");
    ck_assert_ptr_null(strstr(reply.answer.body, "\"label\""));
    ck_assert_ptr_null(strstr(reply.answer.body, "\"score\""));
    ck_assert_ptr_null(strstr(reply.answer.body, "\"predictions\""));
    reply_free(&reply);
    reply = post("/predict", "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"\"}]}");
    ck_assert_double_eq(reply_number(&reply, "results.0.value"), value);
    ck_assert_double_eq(reply_number(&reply, "results.1.status"), 422);
    reply_free(&reply);
    reply = contract_ask_ready(server.port, "POST", "/feedback",
                               "{\"id\": \"die-1\", \"label\": \"thickness\"}");
    reply_expect_status(&reply, 404);
    reply_free(&reply);
    stop();
    ck_assert_int_eq(run_program("attnd-audit", (const char *[]){"show", audit.path, NULL}, out,
                                 sizeof out, errors, sizeof errors),
                     0);
    snprintf(number, sizeof number, "%.6g", value);
    ck_assert_msg(strstr(out, number) != NULL, "%s in %s", number, out);
    ck_assert_ptr_null(strstr(out, "thickness"));
    tempdir_close(&audit);
}
END_TEST

START_TEST(a_regression_of_several_numbers_names_each)
{
    start("\"0\":\"yield\",\"1\":\"leakage\"", 2);
    struct reply reply = post("/predict", "{\"text\": \"a\", \"top_k\": 1}");
    reply_expect_status(&reply, 200);
    ck_assert_double_ne(reply_number(&reply, "values.yield"),
                        reply_number(&reply, "values.leakage"));
    reply_free(&reply);
    stop();
    tempdir_close(&audit);
}
END_TEST

SUITE("server/contract/regression", a_regression_answers_with_a_number,
      a_regression_of_several_numbers_names_each)
