/* kafka_fixture.h - messages, and a member that reads them, over the broker that librdkafka has
 * built in: topics "in", "out" and "dead" of two partitions each. For one file of a test program.
 *
 *     start_cluster();
 *     say(said, 3);
 *     struct stream_options options = options_for("in");
 *     struct kafka *kafka = open_kafka(&options);
 *     struct kafka_message message = next(kafka);
 *     kafka_release(&message);
 *     kafka_close(kafka);
 *     stop_cluster();
 */
#ifndef ATTND_TESTS_UNIT_TOOLS_STREAM_KAFKA_FIXTURE_H
#define ATTND_TESTS_UNIT_TOOLS_STREAM_KAFKA_FIXTURE_H

#include "tests/support/suite.h"
#include "tools/stream/kafka.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <string.h>

static rd_kafka_t *helper;
static rd_kafka_mock_cluster_t *cluster;
static struct kafka_state state;
static atomic_bool stop;
static struct err err;

static inline rd_kafka_t *new_client(const char *brokers)
{
    char text[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", text, sizeof text);
    if (brokers != NULL)
        rd_kafka_conf_set(conf, "bootstrap.servers", brokers, text, sizeof text);
    rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof text);
    ck_assert_msg(client != NULL, "%s", text);
    return client;
}

static inline void start_cluster(void)
{
    static const char *const topics[] = {"in", "out", "dead"};
    err = (struct err){0};
    helper = new_client(NULL);
    cluster = rd_kafka_mock_cluster_new(helper, 1);
    for (size_t i = 0; i < 3; i++)
        rd_kafka_mock_topic_create(cluster, topics[i], 2, 1);
}

static inline void stop_cluster(void)
{
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(helper);
}

/* A message; headers that are NULL it has not. */
struct said {
    const char *value, *id, *content_type, *traceparent;
};

static inline rd_kafka_headers_t *headers_of(const struct said *said)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new(3);
    if (said->id != NULL)
        rd_kafka_header_add(headers, "id", -1, said->id, -1);
    if (said->content_type != NULL)
        rd_kafka_header_add(headers, "content-type", -1, said->content_type, -1);
    if (said->traceparent != NULL)
        rd_kafka_header_add(headers, "traceparent", -1, said->traceparent, -1);
    return headers;
}

/* Sends to the second partition of "in", with the key "k". */
static inline void say(const struct said *said, size_t count)
{
    rd_kafka_t *client = new_client(rd_kafka_mock_cluster_bootstraps(cluster));
    for (size_t i = 0; i < count; i++)
        rd_kafka_producev(client, RD_KAFKA_V_TOPIC("in"), RD_KAFKA_V_PARTITION(1),
                          RD_KAFKA_V_KEY("k", 1),
                          RD_KAFKA_V_VALUE((void *)(uintptr_t)said[i].value, strlen(said[i].value)),
                          RD_KAFKA_V_HEADERS(headers_of(&said[i])),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    ck_assert_int_eq(rd_kafka_flush(client, 30000), 0);
    rd_kafka_destroy(client);
}

static inline struct stream_options options_for(const char *topic)
{
    return (struct stream_options){.brokers = rd_kafka_mock_cluster_bootstraps(cluster),
                                   .topic_names = {topic},
                                   .topic_count = 1,
                                   .group = topic,
                                   .member = "m",
                                   .output_topic = "out",
                                   .dead_letter_topic = "dead",
                                   .start = "earliest",
                                   .security_protocol = "plaintext",
                                   .batch_bytes = 1024 * 1024,
                                   .transaction_timeout_ms = 10000,
                                   .session_timeout_ms = 6000,
                                   .max_poll_interval_ms = 60000};
}

static inline struct kafka *open_kafka(const struct stream_options *options)
{
    struct kafka *kafka;
    ck_assert_msg(kafka_open(&kafka, options, &state, &stop, &err) == ERR_OK, "%s", err.text);
    return kafka;
}

static inline struct kafka_message next(struct kafka *kafka)
{
    struct kafka_message message;
    bool found = false;
    while (!found)
        ck_assert_msg(kafka_next(kafka, 200, &message, &found, &err) == ERR_OK, "%s", err.text);
    return message;
}

#endif
