/* kafka.c - see kafka.h. Reads as a consumer of the classic, eager protocol of groups, by which all
 * partitions are given back before others are given; writes by kafka_writer.h. */
#include "tools/stream/kafka.h"

#include "engine/base/clock.h"
#include "tools/stream/kafka_writer.h"

#include <librdkafka/rdkafka.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

enum { CALL_MS = 5000, ERROR_BYTES = 512 };

struct kafka {
    const struct stream_options *options;
    struct kafka_state *state;
    rd_kafka_t *consumer;
    struct kafka_writer *writer;
    rd_kafka_topic_partition_list_t *assigned;  /* NULL: none */
    rd_kafka_consumer_group_metadata_t *member; /* of the generation that gave us `assigned` */
    unsigned epoch;
};

static enum err_code check_fatal(rd_kafka_t *client, struct err *err)
{
    char text[ERROR_BYTES];
    if (rd_kafka_fatal_error(client, text, sizeof text) == RD_KAFKA_RESP_ERR_NO_ERROR)
        return ERR_OK;
    return err_set(err, ERR_IO, "kafka: %.400s", text);
}

/* ---- the group ---- */

static void forget_assignment(struct kafka *kafka)
{
    if (kafka->member != NULL)
        rd_kafka_consumer_group_metadata_destroy(kafka->member);
    if (kafka->assigned != NULL)
        rd_kafka_topic_partition_list_destroy(kafka->assigned);
    kafka->member = NULL;
    kafka->assigned = NULL;
    atomic_store(&kafka->state->partitions, 0);
    atomic_store(&kafka->state->lag, 0);
    kafka->epoch++;
}

/* Runs inside rd_kafka_consumer_poll. */
static void rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t code,
                      rd_kafka_topic_partition_list_t *partitions, void *opaque)
{
    struct kafka *kafka = opaque;
    forget_assignment(kafka);
    atomic_fetch_add(&kafka->state->rebalances, 1);
    if (code != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        rd_kafka_assign(consumer, NULL);
        return;
    }
    kafka->member = rd_kafka_consumer_group_metadata(consumer);
    kafka->assigned = rd_kafka_topic_partition_list_copy(partitions);
    atomic_store(&kafka->state->partitions, (unsigned)partitions->cnt);
    rd_kafka_assign(consumer, partitions);
}

/* ---- open and close ---- */

enum err_code kafka_open(struct kafka **out, const struct stream_options *options,
                         struct kafka_state *state, const atomic_bool *stop, struct err *err)
{
    struct kafka *kafka = *out = calloc(1, sizeof *kafka);
    if (kafka == NULL)
        return err_no_memory(err, sizeof *kafka);
    kafka->options = options;
    kafka->state = state;
    if (kafka_writer_open(&kafka->writer, options, stop, err))
        return err->code;
    char text[ERROR_BYTES];
    rd_kafka_conf_t *conf = NULL;
    if (kafka_conf_consumer(&conf, kafka->options, err)) {
        rd_kafka_conf_destroy(conf);
        return err->code;
    }
    rd_kafka_conf_set_opaque(conf, kafka);
    rd_kafka_conf_set_rebalance_cb(conf, rebalance);
    kafka->consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    if (kafka->consumer == NULL) {
        rd_kafka_conf_destroy(conf);
        return err_set(err, ERR_UNUSABLE, "kafka: %.400s", text);
    }
    rd_kafka_poll_set_consumer(kafka->consumer);
    rd_kafka_topic_partition_list_t *topics =
        rd_kafka_topic_partition_list_new((int)options->topic_count);
    for (unsigned i = 0; i < options->topic_count; i++)
        rd_kafka_topic_partition_list_add(topics, options->topic_names[i], RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t code = rd_kafka_subscribe(kafka->consumer, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return err_set(err, ERR_UNUSABLE, "kafka: topics: %s", rd_kafka_err2str(code));
    return ERR_OK;
}

void kafka_close(struct kafka *kafka)
{
    if (kafka == NULL)
        return;
    if (kafka->consumer != NULL) {
        rd_kafka_consumer_close(kafka->consumer);
        rd_kafka_set_log_level(kafka->consumer, LOG_EMERG); /* as kafka_writer_close */
        rd_kafka_destroy(kafka->consumer);
    }
    kafka_writer_close(kafka->writer);
    forget_assignment(kafka);
    free(kafka);
}

/* ---- reading ---- */

enum err_code kafka_next(struct kafka *kafka, unsigned wait_ms, struct kafka_message *out,
                         bool *found, struct err *err)
{
    *found = false;
    rd_kafka_message_t *message = rd_kafka_consumer_poll(kafka->consumer, (int)wait_ms);
    if (message == NULL)
        return check_fatal(kafka->consumer, err);
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fprintf(stderr, "attnd-stream: consumer_error: %s\n", rd_kafka_message_errstr(message));
        rd_kafka_message_destroy(message);
        return check_fatal(kafka->consumer, err);
    }
    *out = (struct kafka_message){.handle = message,
                                  .topic = rd_kafka_topic_name(message->rkt),
                                  .partition = message->partition,
                                  .offset = message->offset,
                                  .value = message->payload,
                                  .len = message->len};
    *found = true;
    return ERR_OK;
}

void kafka_release(struct kafka_message *message)
{
    rd_kafka_message_destroy(message->handle);
    message->handle = NULL;
}

unsigned kafka_epoch(const struct kafka *kafka)
{
    return kafka->epoch;
}

const char *kafka_header(const struct kafka_message *message, const char *name)
{
    rd_kafka_headers_t *headers;
    const void *value = NULL;
    size_t len;
    if (rd_kafka_message_headers(message->handle, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
        rd_kafka_header_get_last(headers, name, &value, &len) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return NULL;
    return value;
}

void kafka_measure_lag(struct kafka *kafka)
{
    unsigned long long lag = 0;
    if (kafka->assigned == NULL)
        return;
    rd_kafka_position(kafka->consumer, kafka->assigned);
    for (int i = 0; i < kafka->assigned->cnt; i++) {
        const rd_kafka_topic_partition_t *at = &kafka->assigned->elems[i];
        int64_t low, high;
        if (at->offset >= 0 &&
            rd_kafka_get_watermark_offsets(kafka->consumer, at->topic, at->partition, &low,
                                           &high) == RD_KAFKA_RESP_ERR_NO_ERROR &&
            high > at->offset)
            lag += (unsigned long long)(high - at->offset);
    }
    atomic_store(&kafka->state->lag, lag);
}

/* ---- answering ---- */

/* The offsets, for each partition, of the first input, or behind the last. */
static rd_kafka_topic_partition_list_t *offsets_of(const struct kafka_reply *replies, size_t count,
                                                   bool is_first)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    for (size_t i = 0; i < count; i++) {
        const struct kafka_message *input = replies[i].input;
        rd_kafka_topic_partition_t *at =
            rd_kafka_topic_partition_list_find(list, input->topic, input->partition);
        bool is_new = at == NULL;
        if (is_new)
            at = rd_kafka_topic_partition_list_add(list, input->topic, input->partition);
        if (is_new || !is_first)
            at->offset = input->offset + !is_first;
    }
    return list;
}

/* Back to where the batch began. If the partitions are lost already the next poll says so, and who
 * gets them begins at what is committed. librdkafka 2.0.2 says now and then after a millisecond
 * that the time is over, so time is kept here as well. */
static enum err_code rewind_to(struct kafka *kafka, rd_kafka_topic_partition_list_t *first,
                               struct err *err)
{
    if (rd_kafka_assignment_lost(kafka->consumer))
        return ERR_OK;
    const uint64_t end_ns = clock_now_ns() + (uint64_t)CALL_MS * CLOCK_NS_PER_MS;
    rd_kafka_error_t *error = rd_kafka_seek_partitions(kafka->consumer, first, CALL_MS);
    while (error != NULL && rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__TIMED_OUT &&
           clock_now_ns() < end_ns) {
        rd_kafka_error_destroy(error);
        error = rd_kafka_seek_partitions(kafka->consumer, first, CALL_MS);
    }
    if (error != NULL) {
        err_set(err, ERR_IO, "kafka: going back after an aborted transaction: %s",
                rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
        return err->code;
    }
    for (int i = 0; i < first->cnt; i++)
        if (first->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR)
            return err_set(
                err, ERR_IO, "kafka: going back to %s/%d/%lld after an aborted transaction: %s",
                first->elems[i].topic, first->elems[i].partition, (long long)first->elems[i].offset,
                rd_kafka_err2str(first->elems[i].err));
    return ERR_OK;
}

enum err_code kafka_commit(struct kafka *kafka, struct kafka_reply *replies, size_t count,
                           enum kafka_outcome *outcome, struct err *err)
{
    assert(kafka->member != NULL);
    rd_kafka_topic_partition_list_t *next = offsets_of(replies, count, false);
    kafka_writer_commit(kafka->writer, replies, count, next, kafka->member, outcome, err);
    rd_kafka_topic_partition_list_destroy(next);
    if (err->code == ERR_OK && *outcome == KAFKA_ABORTED) {
        rd_kafka_topic_partition_list_t *first = offsets_of(replies, count, true);
        rewind_to(kafka, first, err);
        rd_kafka_topic_partition_list_destroy(first);
    }
    return err->code;
}
