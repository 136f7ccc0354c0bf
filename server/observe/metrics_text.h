/* metrics_text.h - Prometheus' text format 0.0.4, line by line (prometheus.io/docs/instrumenting/
 * exposition_formats). Names, types, help and label names come from metrics.def.
 *
 * A collector (metrics.h) writes the samples of its metrics:
 *
 *     metrics_text_value(out, METRIC_KEPT_INPUTS_BYTES, NULL, bytes);
 *
 * A scrape (metrics_expose.c) writes the page around them:
 *
 *     struct metrics_text text = {.arena = arena};
 *     metrics_text_family(&text, METRIC_READY);
 *     metrics_text_value(&text, METRIC_READY, NULL, 1);
 *     const char *page = metrics_text_end(&text, &len);
 *
 * Threads: a text belongs to one. Without memory nothing more is written, and metrics_text_end says
 * so.
 */
#ifndef ATTND_SERVER_OBSERVE_METRICS_TEXT_H
#define ATTND_SERVER_OBSERVE_METRICS_TEXT_H

#include "server/observe/metrics.h"

/* ---- for a collector ---- */

/* A sample of a metric that is not a histogram. values are in the order of the metric's labels;
 * NULL: it has none. */
void metrics_text_value(struct metrics_text *text, enum metric_id id, const char *const *values,
                        double number);

/* A sample for each value of the metric's only label: values and numbers are [count]. */
void metrics_text_values(struct metrics_text *text, enum metric_id id, const char *const *values,
                         const uint64_t *numbers, size_t count);

/* ---- for a scrape ---- */

enum { METRICS_TEXT_BYTES_FIRST = 64 * 1024 };

/* It grows in an arena; what it outgrows is given back with the arena. */
struct metrics_text {
    struct arena *arena;
    char *bytes;
    size_t len, size;
    uint64_t in_flight; /* read first: who is over by then is counted on the page */
    bool failed;
};

/* HELP and TYPE. */
void metrics_text_family(struct metrics_text *text, enum metric_id id);

/* One line; le is NULL but for a bucket. */
void metrics_text_sample(struct metrics_text *text, enum metric_id id, const char *suffix,
                         const char *const *values, const char *le, double number);

/* The whole, NUL-terminated, in the arena; NULL if there was no memory. */
const char *metrics_text_end(struct metrics_text *text, size_t *len);

#endif
