/* test_kafka.c - the group member and its transactions against the broker that librdkafka has built
 * in. tests/stream/run.py has the tests that need a real one, such as fencing. */
#include "tests/unit/tools/stream/kafka_fixture.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* API keys of the Kafka protocol. */
enum request {
    PRODUCE = 0,
    ADD_PARTITIONS = 24,
    ADD_OFFSETS = 25,
    END_TXN = 26,
    TXN_OFFSET_COMMIT = 28
};

enum { MESSAGES = 32 };

/* Seeks that the library gives up before it has begun. */
static unsigned early_ends;

rd_kafka_error_t *rd_kafka_seek_partitions(rd_kafka_t *client,
                                           rd_kafka_topic_partition_list_t *partitions, int ms)
{
    static __typeof__(rd_kafka_seek_partitions) *library;
    if (early_ends > 0) {
        early_ends--;
        return rd_kafka_error_new(RD_KAFKA_RESP_ERR__TIMED_OUT, "Timed out");
    }
    if (library == NULL)
        *(void **)&library = dlsym(RTLD_NEXT, "rd_kafka_seek_partitions");
    return library(client, partitions, ms);
}

/* librdkafka 2.0.2 leaks the call that was under way when it learns that it is fenced. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void start_filled(void)
{
    char values[MESSAGES][16];
    struct said said[MESSAGES];
    start_cluster();
    for (int i = 0; i < MESSAGES; i++) {
        snprintf(values[i], sizeof values[i], "v%d", i);
        said[i] = (struct said){.value = values[i], .id = "i7"};
    }
    say(said, MESSAGES);
}

START_TEST(kafka_dead_letters_are_as_they_came_with_their_problem)
{
    enum kafka_outcome outcome;
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    struct kafka_message messages[] = {next(kafka), next(kafka)};
    ck_assert_uint_eq(atomic_load(&state.partitions), 2);
    ck_assert_str_eq(kafka_header(&messages[0], "id"), "i7");
    ck_assert_ptr_null(kafka_header(&messages[0], "traceparent"));
    struct kafka_reply replies[] = {
        {.input = &messages[0], .value = "{}", .len = 2, .id = "i7", .traceparent = "00-t"},
        {.input = &messages[1], .id = "i8", .problem = "{\"status\":422}"}};
    ck_assert_msg(kafka_commit(kafka, replies, 2, &outcome, &err) == ERR_OK, "%s", err.text);
    ck_assert_int_eq(outcome, KAFKA_COMMITTED);
    kafka_release(&messages[0]);
    kafka_release(&messages[1]);
    kafka_close(kafka);

    struct stream_options reading = options_for("dead");
    kafka = open_kafka(&reading);
    struct kafka_message letter = next(kafka);
    ck_assert_mem_eq(letter.value, "v1", 2);
    ck_assert_str_eq(kafka_header(&letter, "id"), "i8");
    ck_assert_str_eq(kafka_header(&letter, "source"), "in/1/1");
    ck_assert_str_eq(kafka_header(&letter, "problem"), "{\"status\":422}");
    kafka_release(&letter);
    kafka_close(kafka);
    stop_cluster();
}
END_TEST

START_TEST(kafka_replies_keep_key_partition_and_headers)
{
    enum kafka_outcome outcome;
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    struct kafka_message first = next(kafka);
    struct kafka_reply replies[] = {
        {.input = &first, .value = "{}", .len = 2, .id = "i9", .traceparent = "00-t"}};
    ck_assert_int_eq(kafka_commit(kafka, replies, 1, &outcome, &err), ERR_OK);
    kafka_release(&first);
    kafka_close(kafka);

    struct stream_options reading = options_for("out");
    kafka = open_kafka(&reading);
    struct kafka_message reply = next(kafka);
    ck_assert_int_eq(reply.partition, 1);
    ck_assert_mem_eq(reply.value, "{}", 2);
    ck_assert_mem_eq(((const rd_kafka_message_t *)reply.handle)->key, "k", 1);
    ck_assert_str_eq(kafka_header(&reply, "id"), "i9");
    ck_assert_str_eq(kafka_header(&reply, "traceparent"), "00-t");
    ck_assert_str_eq(kafka_header(&reply, "content-type"), "application/json");
    kafka_release(&reply);
    kafka_close(kafka);
    stop_cluster();
}
END_TEST

START_TEST(kafka_options_that_the_library_refuses_are_unusable)
{
    struct kafka *kafka;
    struct stream_options options = {.brokers = "127.0.0.1:1",
                                     .group = "g",
                                     .member = "m",
                                     .security_protocol = "plaintext",
                                     .transaction_timeout_ms = 1};
    ck_assert_int_eq(kafka_open(&kafka, &options, &state, &stop, &err), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, "transaction.timeout.ms") != NULL, "%s", err.text);
    kafka_close(kafka);
}
END_TEST

/* Reads two messages and commits replies to them; the offset of the first one. */
static int64_t answer_two(struct kafka *kafka, bool *is_committed)
{
    struct kafka_message messages[] = {next(kafka), next(kafka)};
    int64_t first = messages[0].offset;
    struct kafka_reply replies[] = {
        {.input = &messages[0], .value = "{}", .len = 2, .id = "a"},
        {.input = &messages[1], .value = "{}", .len = 2, .id = "b"},
    };
    enum kafka_outcome outcome;
    err = (struct err){0};
    kafka_commit(kafka, replies, 2, &outcome, &err);
    *is_committed = err.code == ERR_OK && outcome == KAFKA_COMMITTED;
    kafka_release(&messages[0]);
    kafka_release(&messages[1]);
    return first;
}

static const struct {
    enum request request;
    rd_kafka_resp_err_t error;
} abortable[] = {
    {PRODUCE, RD_KAFKA_RESP_ERR_INVALID_RECORD},
    {ADD_PARTITIONS, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING},
    {ADD_OFFSETS, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED},
    {TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED},
    {TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION},
    {TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID},
    {END_TXN, RD_KAFKA_RESP_ERR_OPERATION_NOT_ATTEMPTED},
};

START_TEST(kafka_messages_of_an_aborted_transaction_come_again)
{
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    for (size_t i = 0; i < sizeof abortable / sizeof *abortable; i++) {
        bool is_committed = true;
        early_ends = i; /* of the way back */
        rd_kafka_mock_push_request_errors(cluster, abortable[i].request, 1, abortable[i].error);
        ck_assert_int_eq(answer_two(kafka, &is_committed), 0);
        ck_assert_msg(err.code == ERR_OK && !is_committed, "%zu: %s", i, err.text);
        ck_assert_uint_eq(early_ends, 0);
    }
    bool is_committed = false;
    ck_assert_int_eq(answer_two(kafka, &is_committed), 0);
    ck_assert_msg(is_committed, "%s", err.text);
    struct kafka_message third = next(kafka);
    ck_assert_int_eq(third.offset, 2);
    kafka_release(&third);
    kafka_close(kafka);
    stop_cluster();
}
END_TEST

/* librdkafka 2.0.2 ends the transaction, and the one after it with the numbers that it skipped; 2.8
 * sends the message again. Both answer it once. */
START_TEST(kafka_messages_that_arrived_damaged_are_answered_once)
{
    enum { TRIES_MAX = 4 };
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    bool is_committed = false;
    rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_INVALID_MSG);
    for (unsigned tries = 0; tries < TRIES_MAX && !is_committed; tries++) {
        ck_assert_int_eq(answer_two(kafka, &is_committed), 0);
        ck_assert_msg(err.code == ERR_OK, "%s", err.text);
    }
    ck_assert(is_committed);
    struct kafka_message third = next(kafka);
    ck_assert_int_eq(third.offset, 2);
    kafka_release(&third);
    kafka_close(kafka);
    stop_cluster();
}
END_TEST

static const struct {
    enum request request;
    rd_kafka_resp_err_t error;
} passing[] = {
    {PRODUCE, RD_KAFKA_RESP_ERR__TRANSPORT},
    {PRODUCE, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION},
    {ADD_PARTITIONS, RD_KAFKA_RESP_ERR__TRANSPORT},
    {ADD_PARTITIONS, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS},
    {ADD_OFFSETS, RD_KAFKA_RESP_ERR__TRANSPORT},
    {TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR__TRANSPORT},
    {TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS},
    {END_TXN, RD_KAFKA_RESP_ERR__TRANSPORT},
    {END_TXN, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE},
};

START_TEST(kafka_broker_that_is_away_for_a_moment_is_waited_for)
{
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        bool is_committed = false;
        rd_kafka_mock_push_request_errors(cluster, passing[i].request, 2, passing[i].error,
                                          passing[i].error);
        ck_assert_int_eq(answer_two(kafka, &is_committed), 2 * i);
        ck_assert_msg(is_committed, "%zu: %s", i, err.text);
    }
    kafka_close(kafka);
    stop_cluster();
}
END_TEST

/* The replies are so many that the library reports a failure before the last one is handed over. */
START_TEST(kafka_transaction_that_fails_while_it_is_filled_is_aborted)
{
    enum { REPLIES = 50000 };
    static struct kafka_reply replies[REPLIES];
    static const char value[1000];
    enum kafka_outcome outcome;
    bool is_committed = true;
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    struct kafka_message first = next(kafka);
    for (int i = 0; i < REPLIES; i++)
        replies[i] =
            (struct kafka_reply){.input = &first, .value = value, .len = sizeof value, .id = "a"};
    rd_kafka_mock_push_request_errors(cluster, ADD_PARTITIONS, 1,
                                      RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING);
    kafka_commit(kafka, replies, REPLIES, &outcome, &err);
    ck_assert_msg(err.code == ERR_OK && outcome == KAFKA_ABORTED, "%s", err.text);
    kafka_release(&first);
    ck_assert_int_eq(answer_two(kafka, &is_committed), 0);
    ck_assert_msg(is_committed, "%s", err.text);
    kafka_close(kafka);
    stop_cluster();
}
END_TEST

static void expect_fenced(enum request request, rd_kafka_resp_err_t error)
{
    bool is_committed = true;
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    rd_kafka_mock_push_request_errors(cluster, request, 1, error);
    if (__lsan_disable != NULL)
        __lsan_disable();
    answer_two(kafka, &is_committed);
    if (__lsan_enable != NULL)
        __lsan_enable();
    ck_assert_int_eq(err.code, ERR_IO);
    ck_assert(!is_committed);
    ck_assert_msg(strstr(err.text, "another process has the same group and member") != NULL, "%s",
                  err.text);
    kafka_close(kafka);
    stop_cluster();
}

START_TEST(kafka_producer_fenced_at_its_first_reply_says_by_whom)
{
    expect_fenced(ADD_PARTITIONS, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
}
END_TEST

START_TEST(kafka_producer_fenced_at_its_commit_says_by_whom)
{
    expect_fenced(END_TXN, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH);
}
END_TEST

START_TEST(kafka_topic_that_may_not_be_written_ends_it)
{
    bool is_committed = true;
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1,
                                      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    answer_two(kafka, &is_committed);
    ck_assert_msg(err.code == ERR_OK && !is_committed, "%s", err.text);
    answer_two(kafka, &is_committed);
    ck_assert_int_eq(err.code, ERR_IO);
    ck_assert_msg(strstr(err.text, "the reply to in/1/0: Broker: Topic authorization") != NULL,
                  "%s", err.text);
    kafka_close(kafka);
    stop_cluster();
}
END_TEST

START_TEST(kafka_replies_that_are_too_large_together_are_sent_one_by_one)
{
    bool is_committed = false;
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    rd_kafka_mock_push_request_errors(cluster, PRODUCE, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    ck_assert_int_eq(answer_two(kafka, &is_committed), 0);
    ck_assert_msg(is_committed, "%s", err.text);
    ck_assert_int_eq(answer_two(kafka, &is_committed), 2);
    kafka_close(kafka);
    stop_cluster();
}
END_TEST

/* The mock cluster also shows what was aborted. */
static void expect_letter(struct kafka *kafka, const char *source, const char *value)
{
    struct kafka_message letter = next(kafka);
    while (strcmp(kafka_header(&letter, "source"), source) != 0) {
        kafka_release(&letter);
        letter = next(kafka);
    }
    ck_assert_uint_eq(letter.len, strlen(value));
    ck_assert_mem_eq(letter.value, value, letter.len);
    ck_assert_str_eq(kafka_header(&letter, "problem"), "{}");
    kafka_release(&letter);
}

/* Refused together, then the first one by itself. */
START_TEST(kafka_reply_that_is_too_large_by_itself_is_told_with_those_no_smaller)
{
    enum kafka_outcome outcome;
    start_filled();
    struct stream_options options = options_for("in");
    struct kafka *kafka = open_kafka(&options);
    struct kafka_message messages[] = {next(kafka), next(kafka), next(kafka), next(kafka)};
    struct kafka_reply replies[] = {
        {.input = &messages[0], .value = "{12}", .len = 4, .id = "a"},
        {.input = &messages[1], .value = "{1}", .len = 3, .id = "b"},
        {.input = &messages[2], .value = "{12345}", .len = 7, .id = "c"},
        {.input = &messages[3], .id = "d", .problem = "{}"},
    };
    rd_kafka_mock_push_request_errors(cluster, PRODUCE, 2, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
                                      RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    ck_assert_msg(kafka_commit(kafka, replies, 3, &outcome, &err) == ERR_OK, "%s", err.text);
    ck_assert_int_eq(outcome, KAFKA_REFUSED);
    ck_assert(replies[0].is_refused && !replies[1].is_refused && replies[2].is_refused);
    ck_assert(!replies[3].is_refused);
    for (int i = 0; i < 3; i += 2)
        replies[i] = (struct kafka_reply){
            .input = &messages[i], .id = "a", .problem = "{}", .is_bare = i == 0};
    ck_assert_msg(kafka_commit(kafka, replies, 4, &outcome, &err) == ERR_OK, "%s", err.text);
    ck_assert_int_eq(outcome, KAFKA_COMMITTED);
    for (int i = 0; i < 4; i++)
        kafka_release(&messages[i]);
    kafka_close(kafka);

    struct stream_options reading = options_for("dead");
    kafka = open_kafka(&reading);
    expect_letter(kafka, "in/1/0", "");
    expect_letter(kafka, "in/1/2", "v2");
    kafka_close(kafka);
    stop_cluster();
}
END_TEST

SUITE("kafka", kafka_replies_that_are_too_large_together_are_sent_one_by_one,
      kafka_reply_that_is_too_large_by_itself_is_told_with_those_no_smaller,
      kafka_messages_of_an_aborted_transaction_come_again,
      kafka_messages_that_arrived_damaged_are_answered_once,
      kafka_broker_that_is_away_for_a_moment_is_waited_for,
      kafka_transaction_that_fails_while_it_is_filled_is_aborted,
      kafka_producer_fenced_at_its_first_reply_says_by_whom,
      kafka_producer_fenced_at_its_commit_says_by_whom, kafka_topic_that_may_not_be_written_ends_it,
      kafka_dead_letters_are_as_they_came_with_their_problem,
      kafka_replies_keep_key_partition_and_headers,
      kafka_options_that_the_library_refuses_are_unusable)
