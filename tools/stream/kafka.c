/* kafka.c - see kafka.h. Two clients of the library: a consumer of the classic, eager protocol of
 * groups, by which all partitions are given back before others are given, and a transactional
 * producer.
 *
 * Each error of the library is one of three kinds (rd_kafka_error_*): retriable, the same call
 * again; abortable, the transaction is given up and its inputs are read again; all else, of which
 * fenced and fatal ones are the most, ends the process. A call that stays retriable for as long as
 * a batch may take is given up as well.
 *
 * A topic refuses what is larger than its max.message.bytes, and means all messages of a request
 * together: those are sent one by one in a second transaction, which shows the ones that are too
 * large by themselves. Without that one such verdict would be computed and aborted for ever. The
 * transaction after a refused message fails in any case: only then does the library (2.0.2) see
 * that its sequence numbers have a gap, and begins them anew. */
#include "tools/stream/kafka.h"

#include "engine/base/clock.h"
#include "tools/stream/kafka_conf.h"

#include <librdkafka/rdkafka.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_MS = 5000, METADATA_MS = 10000, FLUSH_MS = 100, ERROR_BYTES = 512 };

struct kafka {
    const struct stream_options *options;
    struct kafka_state *state;
    const atomic_bool *stop;
    rd_kafka_t *consumer, *producer;
    rd_kafka_topic_partition_list_t *assigned;  /* NULL: none */
    rd_kafka_consumer_group_metadata_t *member; /* of the generation that gave us `assigned` */
    unsigned epoch;
    int output_partitions, dead_letter_partitions;
    unsigned undelivered, too_large; /* replies of the last transaction */
    char refusal[ERROR_BYTES];       /* why a broker does not let us in; "": none said so */
};

/* ---- errors ---- */

/* Takes the error. */
static enum err_code end_with(struct err *err, const char *what, rd_kafka_error_t *error)
{
    bool is_fenced = rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__FENCED ||
                     rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
                     rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
    err_set(err, ERR_IO, "kafka: %s: %s%s", what, rd_kafka_error_string(error),
            is_fenced ? "; another process has the same group and member" : "");
    rd_kafka_error_destroy(error);
    return err->code;
}

enum call_kind { CALL_DONE, CALL_ABORT, CALL_FAILED };

/* A step of a transaction, again while its error is retriable. */
static enum call_kind repeat(struct kafka *kafka, const char *what,
                             rd_kafka_error_t *(*step)(struct kafka *kafka, const void *argument),
                             const void *argument, struct err *err)
{
    uint64_t end_ns =
        clock_now_ns() + (uint64_t)kafka->options->max_poll_interval_ms * CLOCK_NS_PER_MS;
    rd_kafka_error_t *error = step(kafka, argument);
    while (error != NULL && rd_kafka_error_is_retriable(error) && clock_now_ns() < end_ns) {
        rd_kafka_error_destroy(error);
        rd_kafka_poll(kafka->producer, 100);
        error = step(kafka, argument);
    }
    if (error == NULL)
        return CALL_DONE;
    if (!rd_kafka_error_txn_requires_abort(error)) {
        end_with(err, what, error);
        return CALL_FAILED;
    }
    fprintf(stderr, "attnd-stream: transaction_aborted: %s: %s\n", what,
            rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return CALL_ABORT;
}

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

static enum err_code open_consumer(struct kafka *kafka, struct err *err)
{
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
    return ERR_OK;
}

static enum err_code subscribe(struct kafka *kafka, struct err *err)
{
    const struct stream_options *options = kafka->options;
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

/* ---- the producer ---- */

/* These run inside rd_kafka_poll and the like of the producer, so in our thread. */
static void note_delivery(rd_kafka_t *producer, const rd_kafka_message_t *message, void *opaque)
{
    struct kafka *kafka = opaque;
    struct kafka_reply *reply = message->_private;
    (void)producer;
    kafka->undelivered += message->err != RD_KAFKA_RESP_ERR_NO_ERROR;
    if (message->err != RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        return;
    reply->is_refused = reply->is_alone;
    reply->is_alone = true;
    kafka->too_large++;
}

static void note_error(rd_kafka_t *producer, int code, const char *reason, void *opaque)
{
    struct kafka *kafka = opaque;
    (void)producer;
    fprintf(stderr, "attnd-stream: kafka: ERROR: %s\n", reason);
    if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL)
        snprintf(kafka->refusal, sizeof kafka->refusal, "%s", reason);
}

/* To the library a broker that refuses our password or whose certificate we refuse is one that is
 * away: it goes on trying. If no other has answered either meanwhile we end and say why. */
static rd_kafka_error_t *init_step(struct kafka *kafka, const void *argument)
{
    (void)argument;
    if (atomic_load(kafka->stop))
        return rd_kafka_error_new(RD_KAFKA_RESP_ERR__INTR, "stopped before it began");
    if (kafka->refusal[0] != '\0')
        return rd_kafka_error_new(RD_KAFKA_RESP_ERR__AUTHENTICATION, "%s", kafka->refusal);
    return rd_kafka_init_transactions(kafka->producer, CALL_MS);
}

static enum err_code open_producer(struct kafka *kafka, struct err *err)
{
    char text[ERROR_BYTES];
    rd_kafka_conf_t *conf = NULL;
    if (kafka_conf_producer(&conf, kafka->options, err)) {
        rd_kafka_conf_destroy(conf);
        return err->code;
    }
    rd_kafka_conf_set_opaque(conf, kafka);
    rd_kafka_conf_set_error_cb(conf, note_error);
    rd_kafka_conf_set_dr_msg_cb(conf, note_delivery);
    kafka->producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    if (kafka->producer == NULL) {
        rd_kafka_conf_destroy(conf);
        return err_set(err, ERR_UNUSABLE, "kafka: %.400s", text);
    }
    repeat(kafka, "the first transaction", init_step, NULL, err);
    return err->code;
}

/* How many partitions a topic has that is written. */
static enum err_code count_partitions(struct kafka *kafka, const char *name, int *out,
                                      struct err *err)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(kafka->producer, name, NULL);
    if (topic == NULL)
        return err_set(err, ERR_UNUSABLE, "kafka: topic '%.200s': no valid name", name);
    rd_kafka_resp_err_t code = rd_kafka_metadata(kafka->producer, 0, topic, &metadata, METADATA_MS);
    rd_kafka_topic_destroy(topic);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return err_set(err, ERR_IO, "kafka: topic '%.200s': %s", name, rd_kafka_err2str(code));
    *out = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
    rd_kafka_metadata_destroy(metadata);
    return *out > 0 ? ERR_OK
                    : err_set(err, ERR_UNUSABLE, "kafka: topic '%.200s' does not exist", name);
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
    kafka->stop = stop;
    if (open_producer(kafka, err) ||
        count_partitions(kafka, options->output_topic, &kafka->output_partitions, err))
        return err->code;
    if (options->dead_letter_topic[0] != '\0' &&
        count_partitions(kafka, options->dead_letter_topic, &kafka->dead_letter_partitions, err))
        return err->code;
    return open_consumer(kafka, err) ? err->code : subscribe(kafka, err);
}

void kafka_close(struct kafka *kafka)
{
    if (kafka == NULL)
        return;
    if (kafka->consumer != NULL) {
        rd_kafka_consumer_close(kafka->consumer);
        rd_kafka_destroy(kafka->consumer);
    }
    if (kafka->producer != NULL)
        rd_kafka_destroy(kafka->producer);
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

/* ---- a transaction ---- */

static rd_kafka_headers_t *make_headers(const struct kafka_reply *reply)
{
    const struct kafka_message *input = reply->input;
    rd_kafka_headers_t *own = NULL, *headers;
    char place[400];
    if (reply->value != NULL || reply->is_bare ||
        rd_kafka_message_headers(input->handle, &own) != 0)
        headers = rd_kafka_headers_new(4);
    else
        headers = rd_kafka_headers_copy(own);
    rd_kafka_header_remove(headers, "id");
    rd_kafka_header_add(headers, "id", -1, reply->id, -1);
    if (reply->traceparent != NULL) {
        rd_kafka_header_remove(headers, "traceparent");
        rd_kafka_header_add(headers, "traceparent", -1, reply->traceparent, -1);
    }
    if (reply->value != NULL) {
        rd_kafka_header_add(headers, "content-type", -1, "application/json", -1);
        return headers;
    }
    snprintf(place, sizeof place, "%s/%d/%lld", input->topic, input->partition,
             (long long)input->offset);
    rd_kafka_header_add(headers, "source", -1, place, -1);
    rd_kafka_header_add(headers, "problem", -1, reply->problem, -1);
    return headers;
}

static const char *topic_of(const struct kafka *kafka, const struct kafka_reply *reply)
{
    return reply->value == NULL ? kafka->options->dead_letter_topic : kafka->options->output_topic;
}

static size_t size_of(const struct kafka_reply *reply)
{
    return reply->value != NULL ? reply->len : reply->is_bare ? 0 : reply->input->len;
}

static rd_kafka_resp_err_t produce_once(struct kafka *kafka, struct kafka_reply *reply)
{
    const rd_kafka_message_t *input = reply->input->handle;
    bool is_dead = reply->value == NULL;
    int partitions = is_dead ? kafka->dead_letter_partitions : kafka->output_partitions;
    void *value = is_dead ? input->payload : (void *)(uintptr_t)reply->value;
    rd_kafka_headers_t *headers = make_headers(reply);
    rd_kafka_resp_err_t code = rd_kafka_producev(
        kafka->producer, RD_KAFKA_V_TOPIC(topic_of(kafka, reply)),
        RD_KAFKA_V_PARTITION(input->partition % partitions),
        RD_KAFKA_V_KEY(input->key, input->key_len), RD_KAFKA_V_VALUE(value, size_of(reply)),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(reply),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_headers_destroy(headers);
    return code;
}

/* False if the transaction has failed already: its next step says how. */
static bool produce(struct kafka *kafka, struct kafka_reply *reply, struct err *err)
{
    rd_kafka_resp_err_t code = produce_once(kafka, reply);
    while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
        rd_kafka_poll(kafka->producer, 100);
        code = produce_once(kafka, reply);
    }
    bool is_over = code == RD_KAFKA_RESP_ERR__STATE || code == RD_KAFKA_RESP_ERR__FATAL;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR && !is_over)
        err_set(err, ERR_IO, "kafka: the reply to %s/%d/%lld: %s", reply->input->topic,
                reply->input->partition, (long long)reply->input->offset, rd_kafka_err2str(code));
    return code == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Until all is delivered or something is not: then the rest is not even sent. */
static void flush(struct kafka *kafka)
{
    while (rd_kafka_outq_len(kafka->producer) > 0 && kafka->undelivered == 0)
        rd_kafka_flush(kafka->producer, FLUSH_MS);
}

static bool produce_all(struct kafka *kafka, struct kafka_reply *replies, size_t count,
                        struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (replies[i].is_alone)
            flush(kafka);
        if (!produce(kafka, &replies[i], err))
            return false;
        if (replies[i].is_alone)
            flush(kafka);
    }
    return true;
}

/* Of each partition the first input's offset, or the one behind the last. */
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

static rd_kafka_error_t *begin_step(struct kafka *kafka, const void *argument)
{
    (void)argument;
    return rd_kafka_begin_transaction(kafka->producer);
}

static rd_kafka_error_t *offsets_step(struct kafka *kafka, const void *argument)
{
    return rd_kafka_send_offsets_to_transaction(kafka->producer, argument, kafka->member, CALL_MS);
}

static rd_kafka_error_t *commit_step(struct kafka *kafka, const void *argument)
{
    (void)argument;
    return rd_kafka_commit_transaction(kafka->producer, CALL_MS);
}

static rd_kafka_error_t *abort_step(struct kafka *kafka, const void *argument)
{
    (void)argument;
    return rd_kafka_abort_transaction(kafka->producer, CALL_MS);
}

/* Back to where the batch began. If the partitions are lost already the next poll says so, and who
 * gets them begins at what is committed. */
static enum err_code rewind_to(struct kafka *kafka, rd_kafka_topic_partition_list_t *first,
                               struct err *err)
{
    if (rd_kafka_assignment_lost(kafka->consumer))
        return ERR_OK;
    rd_kafka_error_t *error = rd_kafka_seek_partitions(kafka->consumer, first, CALL_MS);
    if (error != NULL)
        return end_with(err, "going back after an aborted transaction", error);
    for (int i = 0; i < first->cnt; i++)
        if (first->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR)
            return err_set(
                err, ERR_IO, "kafka: going back to %s/%d/%lld after an aborted transaction: %s",
                first->elems[i].topic, first->elems[i].partition, (long long)first->elems[i].offset,
                rd_kafka_err2str(first->elems[i].err));
    return ERR_OK;
}

static enum err_code rewind_all(struct kafka *kafka, const struct kafka_reply *replies,
                                size_t count, struct err *err)
{
    rd_kafka_topic_partition_list_t *first = offsets_of(replies, count, true);
    rewind_to(kafka, first, err);
    rd_kafka_topic_partition_list_destroy(first);
    return err->code;
}

static enum call_kind try_commit(struct kafka *kafka, struct kafka_reply *replies, size_t count,
                                 struct err *err)
{
    kafka->undelivered = kafka->too_large = 0;
    enum call_kind kind = repeat(kafka, "beginning a transaction", begin_step, NULL, err);
    if (kind == CALL_DONE && !produce_all(kafka, replies, count, err) && err->code != ERR_OK)
        return CALL_FAILED;
    rd_kafka_topic_partition_list_t *next = offsets_of(replies, count, false);
    if (kind == CALL_DONE)
        kind = repeat(kafka, "offsets of a transaction", offsets_step, next, err);
    rd_kafka_topic_partition_list_destroy(next);
    if (kind == CALL_DONE)
        kind = repeat(kafka, "committing a transaction", commit_step, NULL, err);
    if (kind == CALL_ABORT && repeat(kafka, "aborting a transaction", abort_step, NULL, err)) {
        err_set(err, ERR_IO, "kafka: a transaction could not be aborted");
        return CALL_FAILED;
    }
    return kind;
}

/* A transaction shows only the first reply that is refused. If all of a batch are too large, each
 * by a transaction of its own would take too long, so those that are no smaller than it (before
 * compression) are refused with it. False if none is. */
static bool refuse_larger(const struct kafka *kafka, struct kafka_reply *replies, size_t count)
{
    const struct kafka_reply *least = NULL;
    for (size_t i = 0; i < count; i++)
        if (replies[i].is_refused && (least == NULL || size_of(&replies[i]) < size_of(least)))
            least = &replies[i];
    for (size_t i = 0; least != NULL && i < count; i++)
        if (topic_of(kafka, &replies[i]) == topic_of(kafka, least) &&
            size_of(&replies[i]) >= size_of(least))
            replies[i].is_refused = true;
    return least != NULL;
}

enum err_code kafka_commit(struct kafka *kafka, struct kafka_reply *replies, size_t count,
                           enum kafka_outcome *outcome, struct err *err)
{
    enum call_kind kind;
    bool is_refused, is_after_refusal;
    assert(kafka->member != NULL);
    do {
        is_after_refusal = kafka->too_large > 0;
        kind = try_commit(kafka, replies, count, err);
        is_refused = refuse_larger(kafka, replies, count);
    } while (kind == CALL_ABORT && !is_refused && (kafka->too_large > 0 || is_after_refusal));
    *outcome = kind == CALL_DONE ? KAFKA_COMMITTED : is_refused ? KAFKA_REFUSED : KAFKA_ABORTED;
    return kind == CALL_ABORT && !is_refused ? rewind_all(kafka, replies, count, err) : err->code;
}
