/* How often each label occurs, for a model that is asked for alone, with the expected shares. */
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <stdio.h>
#include <string.h>

enum { INPUTS = 120 };

/* A text whose answer is not unknown. */
static const char log_of_a_memory[] =
    "{\"model\":\"testlog-bert\","
    "\"text\":\"4100 MBIST bank 2 row 511 col 17 read 0 expected 1 fail\"}";

static struct server_process server;

static struct reply get(const char *path)
{
    struct reply reply = contract_ask(server.port, "GET", path, "", NULL);
    reply_expect_status(&reply, 200);
    return reply;
}

static void ask(void)
{
    for (unsigned i = 0; i < INPUTS; i++) {
        struct http_answer answer = http_post_json(server.port, "/predict", log_of_a_memory);
        ck_assert_int_eq(answer.status, 200);
        http_answer_free(&answer);
    }
}

START_TEST(a_model_tells_how_often_its_labels_occur)
{
    server_process_start(&server,
                         (const char *[]){"--model", "testlog-bert=models/testlog-bert", "--model",
                                          "plain=tests/data/golden/bert-3", NULL});
    struct reply before = get("/models/testlog-bert");
    ck_assert_double_eq(reply_number(&before, "label_shares.count"), 0);
    ck_assert_ptr_nonnull(strstr(before.answer.body, "\"estimated\":null"));
    reply_free(&before);
    ask();
    struct reply after = get("/models/testlog-bert");
    ck_assert_double_eq(reply_number(&after, "label_shares.count"), INPUTS);
    ck_assert_double_eq_tol(reply_number(&after, "label_shares.expected.memory_bist"), 0.1, 0.01);
    ck_assert_double_gt(reply_number(&after, "label_shares.estimated.memory_bist"), 0.7);
    reply_free(&after);
    struct reply plain = get("/models/plain");
    ck_assert_ptr_nonnull(strstr(plain.answer.body, "\"label_shares\":null"));
    reply_free(&plain);
    struct reply all = get("/models");
    ck_assert_ptr_null(strstr(all.answer.body, "label_shares"));
    reply_free(&all);
    ck_assert_int_eq(server_process_stop(&server), 0);
}
END_TEST

SUITE("contract_label_shares", a_model_tells_how_often_its_labels_occur)
