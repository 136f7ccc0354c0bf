/* kafka_writer.c - see kafka_writer.h.
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
#include "tools/stream/kafka_writer.h"

#include "engine/base/clock.h"

#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

enum { CALL_MS = 5000, METADATA_MS = 10000, FLUSH_MS = 100, ERROR_BYTES = 512 };

struct kafka_writer {
    const struct stream_options *options;
    const atomic_bool *stop;
    rd_kafka_t *client;
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
static enum call_kind repeat(struct kafka_writer *writer, const char *what,
                             rd_kafka_error_t *(*step)(struct kafka_writer *writer,
                                                       const void *argument),
                             const void *argument, struct err *err)
{
    uint64_t end_ns =
        clock_now_ns() + (uint64_t)writer->options->max_poll_interval_ms * CLOCK_NS_PER_MS;
    rd_kafka_error_t *error = step(writer, argument);
    while (error != NULL && rd_kafka_error_is_retriable(error) && clock_now_ns() < end_ns) {
        rd_kafka_error_destroy(error);
        rd_kafka_poll(writer->client, 100);
        error = step(writer, argument);
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

/* ---- open and close ---- */

/* These run inside rd_kafka_poll and the like of the client, so in our thread. */
static void note_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
    struct kafka_writer *writer = opaque;
    struct kafka_reply *reply = message->_private;
    (void)client;
    writer->undelivered += message->err != RD_KAFKA_RESP_ERR_NO_ERROR;
    if (message->err != RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        return;
    reply->is_refused = reply->is_alone;
    reply->is_alone = true;
    writer->too_large++;
}

static void note_error(rd_kafka_t *client, int code, const char *reason, void *opaque)
{
    struct kafka_writer *writer = opaque;
    (void)client;
    fprintf(stderr, "attnd-stream: kafka: ERROR: %s\n", reason);
    if (code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL)
        snprintf(writer->refusal, sizeof writer->refusal, "%s", reason);
}

/* The library treats a broker that refuses our password, or whose certificate we refuse, as one
 * that is away, and goes on trying. If no other broker has answered meanwhile, we end and say why.
 */
static rd_kafka_error_t *init_step(struct kafka_writer *writer, const void *argument)
{
    (void)argument;
    if (atomic_load(writer->stop))
        return rd_kafka_error_new(RD_KAFKA_RESP_ERR__INTR, "stopped before it began");
    if (writer->refusal[0] != '\0')
        return rd_kafka_error_new(RD_KAFKA_RESP_ERR__AUTHENTICATION, "%s", writer->refusal);
    return rd_kafka_init_transactions(writer->client, CALL_MS);
}

/* Number of partitions of a topic that is written. */
static enum err_code count_partitions(struct kafka_writer *writer, const char *name, int *out,
                                      struct err *err)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(writer->client, name, NULL);
    if (topic == NULL)
        return err_set(err, ERR_UNUSABLE, "kafka: topic '%.200s': no valid name", name);
    rd_kafka_resp_err_t code = rd_kafka_metadata(writer->client, 0, topic, &metadata, METADATA_MS);
    rd_kafka_topic_destroy(topic);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return err_set(err, ERR_IO, "kafka: topic '%.200s': %s", name, rd_kafka_err2str(code));
    *out = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
    rd_kafka_metadata_destroy(metadata);
    return *out > 0 ? ERR_OK
                    : err_set(err, ERR_UNUSABLE, "kafka: topic '%.200s' does not exist", name);
}

enum err_code kafka_writer_open(struct kafka_writer **out, const struct stream_options *options,
                                const atomic_bool *stop, struct err *err)
{
    struct kafka_writer *writer = *out = calloc(1, sizeof *writer);
    if (writer == NULL)
        return err_no_memory(err, sizeof *writer);
    writer->options = options;
    writer->stop = stop;
    char text[ERROR_BYTES];
    rd_kafka_conf_t *conf = NULL;
    if (kafka_conf_producer(&conf, writer->options, err)) {
        rd_kafka_conf_destroy(conf);
        return err->code;
    }
    rd_kafka_conf_set_opaque(conf, writer);
    rd_kafka_conf_set_error_cb(conf, note_error);
    rd_kafka_conf_set_dr_msg_cb(conf, note_delivery);
    writer->client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    if (writer->client == NULL) {
        rd_kafka_conf_destroy(conf);
        return err_set(err, ERR_UNUSABLE, "kafka: %.400s", text);
    }
    repeat(writer, "the first transaction", init_step, NULL, err);
    if (err->code)
        return err->code;
    if (count_partitions(writer, options->output_topic, &writer->output_partitions, err))
        return err->code;
    if (options->dead_letter_topic[0] != '\0')
        count_partitions(writer, options->dead_letter_topic, &writer->dead_letter_partitions, err);
    return err->code;
}

void kafka_writer_close(struct kafka_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->client != NULL) {
        rd_kafka_set_log_level(writer->client, LOG_EMERG); /* what its end breaks off is no news */
        rd_kafka_destroy(writer->client);
    }
    free(writer);
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

static const char *topic_of(const struct kafka_writer *writer, const struct kafka_reply *reply)
{
    return reply->value == NULL ? writer->options->dead_letter_topic
                                : writer->options->output_topic;
}

static size_t size_of(const struct kafka_reply *reply)
{
    return reply->value != NULL ? reply->len : reply->is_bare ? 0 : reply->input->len;
}

static rd_kafka_resp_err_t produce_once(struct kafka_writer *writer, struct kafka_reply *reply)
{
    const rd_kafka_message_t *input = reply->input->handle;
    bool is_dead = reply->value == NULL;
    int partitions = is_dead ? writer->dead_letter_partitions : writer->output_partitions;
    void *value = is_dead ? input->payload : (void *)(uintptr_t)reply->value;
    rd_kafka_headers_t *headers = make_headers(reply);
    rd_kafka_resp_err_t code = rd_kafka_producev(
        writer->client, RD_KAFKA_V_TOPIC(topic_of(writer, reply)),
        RD_KAFKA_V_PARTITION(input->partition % partitions),
        RD_KAFKA_V_KEY(input->key, input->key_len), RD_KAFKA_V_VALUE(value, size_of(reply)),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(reply),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_headers_destroy(headers);
    return code;
}

/* Waits until all messages are delivered, or one is not: then the rest is not even sent. */
static void flush(struct kafka_writer *writer)
{
    while (rd_kafka_outq_len(writer->client) > 0 && writer->undelivered == 0)
        rd_kafka_flush(writer->client, FLUSH_MS);
}

static bool produce_all(struct kafka_writer *writer, struct kafka_reply *replies, size_t count,
                        struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (replies[i].is_alone)
            flush(writer);
        rd_kafka_resp_err_t code = produce_once(writer, &replies[i]);
        while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            rd_kafka_poll(writer->client, 100);
            code = produce_once(writer, &replies[i]);
        }
        bool is_over = code == RD_KAFKA_RESP_ERR__STATE || code == RD_KAFKA_RESP_ERR__FATAL;
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR && !is_over)
            err_set(err, ERR_IO, "kafka: the reply to %s/%d/%lld: %s", replies[i].input->topic,
                    replies[i].input->partition, (long long)replies[i].input->offset,
                    rd_kafka_err2str(code));
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR) /* if it is over, the next step says how */
            return false;
        if (replies[i].is_alone)
            flush(writer);
    }
    return true;
}

/* The offsets at which the group goes on, and the member that commits them. */
struct place {
    const rd_kafka_topic_partition_list_t *next;
    const rd_kafka_consumer_group_metadata_t *member;
};

static rd_kafka_error_t *begin_step(struct kafka_writer *writer, const void *argument)
{
    (void)argument;
    return rd_kafka_begin_transaction(writer->client);
}

static rd_kafka_error_t *offsets_step(struct kafka_writer *writer, const void *argument)
{
    const struct place *place = argument;
    return rd_kafka_send_offsets_to_transaction(writer->client, place->next, place->member,
                                                CALL_MS);
}

static rd_kafka_error_t *commit_step(struct kafka_writer *writer, const void *argument)
{
    (void)argument;
    return rd_kafka_commit_transaction(writer->client, CALL_MS);
}

static rd_kafka_error_t *abort_step(struct kafka_writer *writer, const void *argument)
{
    (void)argument;
    return rd_kafka_abort_transaction(writer->client, CALL_MS);
}

static enum call_kind try_commit(struct kafka_writer *writer, struct kafka_reply *replies,
                                 size_t count, const struct place *place, struct err *err)
{
    writer->undelivered = writer->too_large = 0;
    enum call_kind kind = repeat(writer, "beginning a transaction", begin_step, NULL, err);
    if (kind == CALL_DONE && !produce_all(writer, replies, count, err) && err->code != ERR_OK)
        return CALL_FAILED;
    if (kind == CALL_DONE)
        kind = repeat(writer, "offsets of a transaction", offsets_step, place, err);
    if (kind == CALL_DONE)
        kind = repeat(writer, "committing a transaction", commit_step, NULL, err);
    if (kind == CALL_ABORT && repeat(writer, "aborting a transaction", abort_step, NULL, err)) {
        err_set(err, ERR_IO, "kafka: a transaction could not be aborted");
        return CALL_FAILED;
    }
    return kind;
}

enum err_code kafka_writer_commit(struct kafka_writer *writer, struct kafka_reply *replies,
                                  size_t count, const struct rd_kafka_topic_partition_list_s *next,
                                  const struct rd_kafka_consumer_group_metadata_s *member,
                                  enum kafka_outcome *outcome, struct err *err)
{
    const struct place place = {.next = next, .member = member};
    enum call_kind kind;
    bool is_refused, is_after_refusal;
    do {
        is_after_refusal = writer->too_large > 0;
        kind = try_commit(writer, replies, count, &place, err);
        /* A transaction shows only the first reply that is refused. If all of a batch are too
         * large, each by a transaction of its own would take too long, so those that are no
         * smaller than it (before compression) are refused with it. */
        const struct kafka_reply *least = NULL;
        for (size_t i = 0; i < count; i++)
            if (replies[i].is_refused && (least == NULL || size_of(&replies[i]) < size_of(least)))
                least = &replies[i];
        for (size_t i = 0; least != NULL && i < count; i++)
            if (topic_of(writer, &replies[i]) == topic_of(writer, least) &&
                size_of(&replies[i]) >= size_of(least))
                replies[i].is_refused = true;
        is_refused = least != NULL;
    } while (kind == CALL_ABORT && !is_refused && (writer->too_large > 0 || is_after_refusal));
    *outcome = kind == CALL_DONE ? KAFKA_COMMITTED : is_refused ? KAFKA_REFUSED : KAFKA_ABORTED;
    return err->code;
}
