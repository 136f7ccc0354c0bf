/* otlp_exporter.h - sends the spans of sampled requests to a collector, by OTLP/HTTP in protobuf,
 * from a thread of its own. An observer of requests (record.h).
 *
 *     const struct otlp_options options = {.endpoint = "http://127.0.0.1:4318/v1/traces"};
 *     if (otlp_exporter_open(&exporter, &options, &err)) ...
 *     observers_add(&observers, otlp_exporter_observer(exporter));
 *     ...
 *     otlp_exporter_close(exporter);                             within a second
 *
 * A request is never held up: its spans wait in a ring of fixed size (otlp_ring.c), and if that is
 * full they are dropped. A batch is sent when it has 73 requests (at most 511 spans), or is 5 s
 * old. A collector that cannot be reached, or answers 429, 502, 503 or 504, is tried again four
 * times, after 1, 2, 4 and 8 s or after what its Retry-After says; then the batch has failed. Every
 * span ends as sent, dropped or failed, and is counted.
 *
 * Threads: the observer's function and the counts are any thread's, open and close are one's.
 */
#ifndef ATTND_SERVER_OTLP_OTLP_EXPORTER_H
#define ATTND_SERVER_OTLP_OTLP_EXPORTER_H

#include "server/observe/record.h"

struct metrics;
struct otlp_exporter;

struct otlp_options {
    const char *endpoint; /* the option's value; NULL, "": none */
    unsigned batch_ms;    /* age at which a batch is sent that is not full; 0: 5 s */
    unsigned attempt_ms;  /* time that the collector may take; 0: 10 s */
    unsigned backoff_ms;  /* before the second attempt, doubled each time; 0: 1 s */
};

/* ERR_UNUSABLE for an endpoint that is not understood (otlp_post.h). */
enum err_code otlp_exporter_check(const char *endpoint, struct err *err);

/* NULL in *out without an endpoint. The options are copied. As otlp_exporter_check; ERR_NO_MEMORY.
 * Yours to close, after the last request. */
enum err_code otlp_exporter_open(struct otlp_exporter **out, const struct otlp_options *options,
                                 struct err *err);

/* Sends what waits, once, and gives up after a second. NULL is allowed. */
void otlp_exporter_close(struct otlp_exporter *exporter);

/* Memory of an exporter to the endpoint, with its thread's stack. */
size_t otlp_exporter_bytes(const char *endpoint);

struct observer otlp_exporter_observer(struct otlp_exporter *exporter);

/* Its collector of metrics: metrics_register. All 0 of NULL. */
void otlp_exporter_register(struct otlp_exporter *exporter, struct metrics *metrics);

#endif
