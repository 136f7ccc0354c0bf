/* test_stream_batch.c - batches of messages that were really read: the reply to each. */
#include "tests/support/writing_model.h"
#include "tests/unit/tools/stream/kafka_fixture.h"
#include "tools/stream/stream_batch.h"

#include <stdio.h>

static struct stream_options options;
static struct answers_model model;
static struct stream_batch *batch;
static struct kafka *kafka;

static void open_batch_of(const char *dir, const struct asking *asking, const struct said *said,
                          size_t count)
{
    start_cluster();
    say(said, count);
    options = options_for("in");
    options.input = "raw";
    options.threads = 2;
    options.batch_messages = 100;
    options.message_bytes_max = 4096;
    options.answers = (struct answers_options){.dir = dir, .top_k = 1, .asking = *asking};
    ck_assert_msg(answers_model_open(&model, &options.answers, &err) == ERR_OK, "%s", err.text);
    ck_assert_msg(stream_batch_open(&batch, &options, &model, &err) == ERR_OK, "%s", err.text);
    kafka = open_kafka(&options);
}

static void open_batch(const struct said *said, size_t count)
{
    open_batch_of("models/testlog-bert", &(struct asking){0}, said, count);
}

static void close_batch(void)
{
    stream_batch_close(batch);
    kafka_close(kafka);
    answers_model_close(&model);
    stop_cluster();
}

static void add(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct kafka_message message = next(kafka);
        stream_batch_add(batch, &message);
    }
}

static struct kafka_reply *answer(void)
{
    ck_assert_msg(stream_batch_answer(batch, &err) == ERR_OK, "%s", err.text);
    return stream_batch_replies(batch);
}

static void expect_text(const char *text, const char *part)
{
    ck_assert_msg(text != NULL && strstr(text, part) != NULL, "no %s in %s", part,
                  text != NULL ? text : "nothing");
}

/* The batch has more messages than threads take at a time, with bad ones between them. */
START_TEST(batch_replies_have_the_order_of_its_messages_and_a_bad_one_fails_alone)
{
    enum { COUNT = 70 };
    struct said said[COUNT];
    char ids[COUNT][16], values[COUNT][40];
    for (int i = 0; i < COUNT; i++) {
        snprintf(ids[i], sizeof ids[i], "m%d", i);
        snprintf(values[i], sizeof values[i], i % 10 == 3 ? "caf\xE9" : "SCAN chain %d FAIL", i);
        said[i] = (struct said){.value = values[i], .id = ids[i]};
    }
    open_batch(said, COUNT);
    add(COUNT);
    const struct kafka_reply *replies = answer();
    for (int i = 0; i < COUNT; i++) {
        char id[24];
        snprintf(id, sizeof id, "\"id\":\"m%d\"", i);
        ck_assert_int_eq(replies[i].input->offset, i);
        ck_assert_str_eq(replies[i].id, ids[i]);
        ck_assert_int_eq(replies[i].value == NULL, i % 10 == 3);
        expect_text(i % 10 == 3 ? replies[i].problem : replies[i].value, id);
        expect_text(i % 10 == 3 ? replies[i].problem : replies[i].value,
                    i % 10 == 3 ? "\"status\":422" : "\"label\":");
        if (replies[i].value != NULL)
            ck_assert_uint_eq(replies[i].len, strlen(replies[i].value));
    }
    struct stream_batch_sums sums = stream_batch_sums(batch);
    ck_assert_uint_eq(sums.messages, COUNT);
    ck_assert_uint_eq(sums.failed, 7);
    stream_batch_clear(batch);
    ck_assert_uint_eq(stream_batch_count(batch), 0);
    ck_assert_uint_eq(stream_batch_sums(batch).bytes, 0);
    close_batch();
}
END_TEST

START_TEST(batch_ids_and_traces_are_those_of_the_message_or_its_own)
{
    static const char json[] = "application/json";
    static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-";
    static const struct said said[] = {
        {.value = "SCAN",
         .id = "wafer-7",
         .traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
        {.value = "{\"text\": \"SCAN\", \"id\": \"body-8\"}", .content_type = json},
        {.value = "{\"text\": \"SCAN\", \"id\": \"body-9\"}", .id = "head-9", .content_type = json},
        {.value = "SCAN", .id = "no id", .traceparent = "nonsense"},
        {.value = "{\"text\": 1, \"id\": \"bad-4\"}", .content_type = json},
        {.value = "{\"text\": \"SCAN\", \"context\": {\"lot\": \"A1\"}}", .content_type = json},
    };
    open_batch(said, 6);
    add(6);
    const struct kafka_reply *replies = answer();
    static const char *const ids[] = {"wafer-7", "body-8", "head-9", NULL, "bad-4", NULL};
    for (int i = 0; i < 6; i++) {
        if (ids[i] != NULL)
            ck_assert_str_eq(replies[i].id, ids[i]);
        else
            ck_assert_uint_eq(strspn(replies[i].id, "0123456789abcdef"), 16);
        ck_assert_uint_eq(strlen(replies[i].traceparent), 55);
        ck_assert_int_eq(strncmp(replies[i].traceparent, trace, strlen(trace)) == 0, i == 0);
    }
    ck_assert_ptr_null(strstr(replies[0].traceparent, "00f067aa0ba902b7"));
    expect_text(replies[4].problem, "$.text: expected a string");
    expect_text(replies[5].value, "\"context\":{\"lot\":\"A1\"}");
    close_batch();
}
END_TEST

START_TEST(batch_is_full_by_its_messages_or_their_bytes)
{
    static const struct said said[] = {
        {.value = "SCAN chain 3 FAIL"}, {.value = "SCAN"}, {.value = "SCAN"}};
    open_batch(said, 3);
    options.batch_messages = 2;
    options.batch_bytes = 1000;
    add(1);
    ck_assert(!stream_batch_is_full(batch));
    ck_assert_uint_eq(stream_batch_sums(batch).bytes, 17);
    options.batch_bytes = 17;
    ck_assert(stream_batch_is_full(batch));
    options.batch_bytes = 18;
    ck_assert(!stream_batch_is_full(batch));
    add(1);
    options.batch_bytes = 1000;
    ck_assert(stream_batch_is_full(batch));
    options.batch_messages = 3;
    ck_assert(!stream_batch_is_full(batch));
    close_batch();
}
END_TEST

/* A verdict, a dead letter, its headers, the end. */
START_TEST(batch_reply_that_is_refused_becomes_shorter_and_the_others_stay)
{
    static const struct said said[] = {{.value = "SCAN", .id = "a"}, {.value = "FAIL", .id = "b"}};
    open_batch(said, 2);
    add(2);
    struct kafka_reply *replies = answer();
    const char *other = replies[1].value;
    replies[0].is_refused = true;
    ck_assert_int_eq(stream_batch_shorten(batch, &err), ERR_OK);
    ck_assert_ptr_null(replies[0].value);
    ck_assert(!replies[0].is_refused && !replies[0].is_bare);
    expect_text(replies[0].problem, "\"status\":413");
    expect_text(replies[0].problem, "too large for topic 'out'");
    expect_text(replies[0].problem, "\"id\":\"a\"");
    ck_assert_ptr_eq(replies[1].value, other);
    ck_assert_uint_eq(stream_batch_sums(batch).failed, 1);
    replies[0].is_refused = true;
    ck_assert_int_eq(stream_batch_shorten(batch, &err), ERR_OK);
    ck_assert(replies[0].is_bare && !replies[0].is_refused);
    replies[0].is_refused = true;
    ck_assert_int_eq(stream_batch_shorten(batch, &err), ERR_IO);
    expect_text(err.text, "topic 'dead' takes not even a short problem");
    close_batch();
}
END_TEST

START_TEST(batch_problem_goes_to_the_output_without_a_dead_letter_topic)
{
    static const struct said said[] = {
        {.value = "caf\xE9"},
        {.value = "{\"text\": \"SCAN\", \"context\": {\"lot\": \"A1\"}}",
         .content_type = "application/json"}};
    open_batch(said, 2);
    options.dead_letter_topic = "";
    add(2);
    struct kafka_reply *replies = answer();
    ck_assert_ptr_null(replies[0].problem);
    expect_text(replies[0].value, "\"status\":422");
    replies[1].is_refused = true;
    ck_assert_int_eq(stream_batch_shorten(batch, &err), ERR_OK);
    expect_text(replies[1].value, "\"status\":413");
    expect_text(replies[1].value, "\"context\":{\"lot\":\"A1\"}");
    replies[0].is_refused = true;
    ck_assert_int_eq(stream_batch_shorten(batch, &err), ERR_IO);
    expect_text(err.text, "topic 'out' takes not even a short problem");
    close_batch();
}
END_TEST

/* The text of tests/data/golden/marian-0 has the output that transformers gives, whatever is written
 * beside it. */
START_TEST(batch_writes_texts_beside_each_other)
{
    enum { COUNT = 70 };
    struct tempdir dir;
    struct said said[COUNT];
    struct asking asking = {0};
    char values[COUNT][64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(values[i], sizeof values[i], "Die %d of lot %d, %.*s", i, i * i, i % 20,
                 "scan of a long chain");
        said[i] = (struct said){.value = i % 9 == 1 ? "The die failed the scan test at 3.97 V."
                                                    : values[i]};
    }
    ck_assert(!asking_set(&asking, "num_beams", "1", &err));
    ck_assert(!asking_set(&asking, "max_new_tokens", "20", &err));
    writing_model_open(&dir, "marian-0");
    open_batch_of(dir.path, &asking, said, COUNT);
    add(COUNT);
    const struct kafka_reply *replies = answer();
    for (int i = 0; i < COUNT; i++)
        if (i % 9 == 1)
            expect_text(replies[i].value, "\"output\":\"timeoutup The\",\"score\":-0.78963");
        else
            expect_text(replies[i].value, "\"output\":");
    ck_assert_uint_eq(stream_batch_sums(batch).failed, 0);
    close_batch();
    tempdir_close(&dir);
}
END_TEST

SUITE("stream_batch", batch_writes_texts_beside_each_other,
      batch_replies_have_the_order_of_its_messages_and_a_bad_one_fails_alone,
      batch_ids_and_traces_are_those_of_the_message_or_its_own,
      batch_is_full_by_its_messages_or_their_bytes,
      batch_reply_that_is_refused_becomes_shorter_and_the_others_stay,
      batch_problem_goes_to_the_output_without_a_dead_letter_topic)
