#include "tools/stream/kafka_writer.h"

#include "engine/base/file.h"

#include <librdkafka/rdkafka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASSWORD_BYTES_MAX = 4096, SYSLOG_WARNING = 4 };

static void set(rd_kafka_conf_t *conf, const char *key, const char *value, struct err *err)
{
    char text[256];
    if (err->code == ERR_OK && value[0] != '\0' &&
        rd_kafka_conf_set(conf, key, value, text, sizeof text) != RD_KAFKA_CONF_OK)
        err_set(err, ERR_UNUSABLE, "kafka: %s: %s", key, text);
}

static void set_number(rd_kafka_conf_t *conf, const char *key, size_t value, struct err *err)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", value);
    set(conf, key, text, err);
}

static void set_security(rd_kafka_conf_t *conf, const struct stream_options *options,
                         struct err *err)
{
    set(conf, "security.protocol", options->security_protocol, err);
    if (strcmp(options->security_protocol, "plaintext") == 0)
        return;
    set(conf, "ssl.ca.location", options->ssl_ca_file, err);
    set(conf, "ssl.certificate.location", options->ssl_certificate_file, err);
    set(conf, "ssl.key.location", options->ssl_key_file, err);
    if (strncmp(options->security_protocol, "sasl", 4) != 0)
        return;
    set(conf, "sasl.mechanism", options->sasl_mechanism, err);
    set(conf, "sasl.username", options->sasl_username, err);
    char *bytes = NULL;
    size_t len;
    if (err->code != ERR_OK || options->sasl_password_file[0] == '\0' ||
        file_read_given(&bytes, &len, options->sasl_password_file, PASSWORD_BYTES_MAX, err))
        return;
    bytes[strcspn(bytes, "\r\n")] = '\0';
    set(conf, "sasl.password", bytes, err);
    explicit_bzero(bytes, len);
    free(bytes);
}

/* A line on standard error, without addresses of objects and threads. */
static void log_line(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
    (void)rk;
    if (level <= SYSLOG_WARNING)
        fprintf(stderr, "attnd-stream: kafka: %s: %s\n", facility, text);
}

static rd_kafka_conf_t *open_common(const struct stream_options *options, struct err *err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", options->brokers, err);
    set(conf, "client.id", "attnd-stream", err);
    set_security(conf, options, err);
    rd_kafka_conf_set_log_cb(conf, log_line);
    return conf;
}

enum err_code kafka_conf_consumer(rd_kafka_conf_t **out, const struct stream_options *options,
                                  struct err *err)
{
    rd_kafka_conf_t *conf = *out = open_common(options, err);
    set(conf, "group.id", options->group, err);
    set(conf, "isolation.level", "read_committed", err);
    set(conf, "enable.auto.commit", "false", err);
    set(conf, "enable.auto.offset.store", "false", err);
    set(conf, "auto.offset.reset", options->start, err);
    set(conf, "partition.assignment.strategy", "range,roundrobin", err);
    set_number(conf, "session.timeout.ms", options->session_timeout_ms, err);
    set_number(conf, "max.poll.interval.ms", options->max_poll_interval_ms, err);
    /* Read ahead: two batches, the library's unit is a kilobyte. */
    set_number(conf, "queued.max.messages.kbytes", 2 * (options->batch_bytes / 1024) + 1, err);
    return err->code;
}

enum err_code kafka_conf_producer(rd_kafka_conf_t **out, const struct stream_options *options,
                                  struct err *err)
{
    char id[600];
    rd_kafka_conf_t *conf = *out = open_common(options, err);
    snprintf(id, sizeof id, "%s.%s", options->group, options->member);
    set(conf, "transactional.id", id, err);
    set_number(conf, "transaction.timeout.ms", options->transaction_timeout_ms, err);
    set(conf, "linger.ms", "5", err);
    set(conf, "compression.type", "lz4", err);
    /* The library's most: how large a dead letter may be is the topic's to say. */
    set(conf, "message.max.bytes", "1000000000", err);
    return err->code;
}
