/* stream_metrics.h - the counters of attnd-stream, and its page in Prometheus' text format.
 *
 *     stream_metrics_batch(&metrics, messages);
 *     stream_metrics_write(&metrics, file);
 *
 * Threads: any; each number is an atomic of its own.
 */
#ifndef ATTND_TOOLS_STREAM_STREAM_METRICS_H
#define ATTND_TOOLS_STREAM_STREAM_METRICS_H

#include "engine/base/err.h"
#include "tools/stream/kafka.h"

#include <stdatomic.h>
#include <stdio.h>

enum { STREAM_BUCKETS = 8 };

struct stream_metrics {
    struct kafka_state kafka;
    atomic_bool is_ready;          /* the model is open and the brokers were reached */
    atomic_ullong verdicts;        /* committed */
    atomic_ullong problems;        /* committed, to the output topic */
    atomic_ullong dead_letters;    /* committed */
    atomic_ullong bytes;           /* bytes of messages that were answered and committed */
    atomic_ullong commits, aborts; /* transactions */
    atomic_ullong dropped;         /* messages read, but given away with their partition */
    atomic_ullong batch_buckets[STREAM_BUCKETS + 1]; /* not cumulated; the last: above all */
    atomic_ullong batch_messages;
    atomic_ullong compute_us, commit_us;
};

/* A batch was committed that had so many messages. */
void stream_metrics_batch(struct stream_metrics *metrics, unsigned messages);

/* The page. Failures show in ferror(file). */
void stream_metrics_write(const struct stream_metrics *metrics, FILE *file);

/* ---- the page over HTTP ---- */

/* Routes: /metrics, /healthz and /readyz, over the house's HTTP server, which has a thread of its
 * own.
 *
 *     stream_http_start(&http, "127.0.0.1", 8091, &metrics, &err);
 *     stream_http_stop(http);
 */

struct stream_http;

/* The metrics must outlive it. Port 0: any free one. Stop it in any case. */
enum err_code stream_http_start(struct stream_http **out, const char *address, unsigned port,
                                const struct stream_metrics *metrics, struct err *err);
unsigned stream_http_port(const struct stream_http *http);
void stream_http_stop(struct stream_http *http);

#endif
