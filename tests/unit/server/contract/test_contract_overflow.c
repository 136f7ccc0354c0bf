/* A checkpoint whose numbers overflow, over a real socket: no score is made up, whatever the
 * precision and the pooler's tanh. */
#include "tests/support/checkpoint_writer.h"
#include "tests/support/contract.h"
#include "tests/support/server_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char value_weight[] = "bert.encoder.layer.0.attention.self.value.weight";

enum { HIDDEN = 32 };

/* One layer, whose values are near the largest float. */
static void write_overflowing_bert(struct checkpoint_writer *writer)
{
    checkpoint_writer_open(writer);
    checkpoint_writer_file(writer, "config.json",
                           "{\"model_type\": \"bert\", \"hidden_size\": 32, "
                           "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
                           "\"intermediate_size\": 48, \"vocab_size\": 40, "
                           "\"max_position_embeddings\": 32, \"num_labels\": 3}");
    writer->leave_out = value_weight;
    checkpoint_writer_bert(writer, HIDDEN, 1, 48, 40, 32, 3);
    writer->leave_out = NULL;
    checkpoint_writer_add(writer, value_weight, HIDDEN, HIDDEN);
    for (size_t i = writer->count - (size_t)HIDDEN * HIDDEN; i < writer->count; i++)
        writer->data[i] *= 1e38f;
    checkpoint_writer_finish(writer);
}

START_TEST(a_model_that_overflows_answers_500_to_every_text)
{
    if (getenv("ATTND_TEST_BACKEND") != NULL)
        suite_skip("another product sums more exactly and may not overflow");
    static const char *const dtypes[] = {"f32", "bf16", "int8"};
    static const char *const bodies[] = {"{\"text\":\"a\"}", "{\"text\":\"b c d\"}"};
    struct checkpoint_writer writer;
    write_overflowing_bert(&writer);
    for (int i = 0; i < 3; i++) {
        struct server_process server;
        char model[128];
        snprintf(model, sizeof model, "m=%s,dtype=%s", writer.dir, dtypes[i]);
        server_process_try(&server, (const char *[]){"--model", model, NULL},
                           &(struct server_launch){.count = 0});
        if (strcmp(dtypes[i], "bf16") == 0 && server.port == 0) {
            ck_assert_int_eq(server_process_stop(&server), 2); /* slower than f32 here: refused */
            continue;
        }
        for (int k = 0; k < 2; k++) {
            struct reply reply = reply_of(http_post_json(server.port, "/predict", bodies[k]));
            reply_expect_problem(&reply, 500, "internal",
                                 "the model gave a score that is not a finite number");
            reply_free(&reply);
        }
        ck_assert_int_eq(server_process_stop(&server), 0);
    }
    checkpoint_writer_close(&writer);
}
END_TEST

SUITE("contract_overflow", a_model_that_overflows_answers_500_to_every_text)
