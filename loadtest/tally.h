/* tally.h - results so far: counts, histograms and a timeline.
 *
 * Latency counts from the intended time of a request to the last byte of its answer, and only for
 * answers that were OK; rejections (429) have a histogram of their own, because mixing fast
 * refusals with answers flatters the median. Threads: one at a time.
 */
#ifndef ATTND_LOADTEST_TALLY_H
#define ATTND_LOADTEST_TALLY_H

#include "engine/base/err.h"
#include "loadtest/answer.h"
#include "loadtest/options.h"

#include <stdint.h>
#include <stdio.h>

/* ---- quantiles of durations ---- */

/* Buckets are log-linear, as in HdrHistogram: each power of two is split into 128 equal parts. A
 * quantile is at most 1/128 (0.8 %) above the value that was recorded, from nanoseconds to hours.
 *
 *     struct histogram latency = {0};
 *     histogram_record(&latency, clock_now_ns() - start_ns);
 *     double p99_ms = (double)histogram_quantile(&latency, 0.99) / CLOCK_NS_PER_MS; */

enum {
    HISTOGRAM_PART_BITS = 7,   /* 128 parts a power of two */
    HISTOGRAM_VALUE_BITS = 44, /* values are clamped below 2^44 ns: 4.9 hours */
    HISTOGRAM_BUCKETS = (HISTOGRAM_VALUE_BITS - HISTOGRAM_PART_BITS + 1) << HISTOGRAM_PART_BITS,
};

struct histogram {
    uint64_t count;
    uint64_t sum;      /* sum of the recorded values, for the mean */
    uint64_t min, max; /* exact; 0 while empty */
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_record(struct histogram *histogram, uint64_t value);

/* The smallest bucket's upper end such that at least `fraction` of the values are not above it,
 * never above max; 0 if nothing was recorded. */
uint64_t histogram_quantile(const struct histogram *histogram, double fraction);

double histogram_mean(const struct histogram *histogram);

/* ---- the results ---- */

enum { TALLY_BUCKET_MS = 100, TALLY_EXAMPLES = 5 };

/* Counts of one interval, by the time of the answer or of the failure. */
struct tally_bucket {
    uint32_t ok, rejected, failed;
};

struct tally {
    const struct options *options;
    uint64_t start_ns, end_ns; /* end: when the last request ended */
    uint64_t requests;
    uint64_t outcome[OUTCOME_COUNT];
    uint64_t status[OPTIONS_STATUS_MAX + 1];
    uint64_t unaccepted; /* requests whose outcome fails the run */
    uint64_t retries;    /* see connection.c */
    uint64_t connects;
    uint64_t bytes_in, bytes_out;

    struct histogram latency, rejection;
    struct histogram overhead; /* OK: from sending to the answer, less the server's inference */
#define X(name) struct histogram name;
    ANSWER_TIMES(X)
#undef X

    struct tally_bucket *timeline;
    uint32_t timeline_len, timeline_capacity; /* len: up to the last one that is not empty */

    char example[TALLY_EXAMPLES][256]; /* the first requests that failed the run */
    unsigned examples;
};

/* One request that has ended. */
struct tally_sample {
    enum outcome outcome;
    unsigned status; /* 0: no reply */
    unsigned item;
    uint64_t intended_ns, sent_ns, done_ns;
    const struct answer *answer; /* NULL: none */
    const char *why;             /* NULL, or a sentence for the examples */
};

enum err_code tally_open(struct tally **out, const struct options *options, uint64_t start_ns,
                         struct err *err);
void tally_close(struct tally *tally);
void tally_record(struct tally *tally, const struct tally_sample *sample);

/* The table's name and sentence of an outcome. */
const char *tally_outcome_name(enum outcome outcome);
const char *tally_outcome_sentence(enum outcome outcome);

/* ---- the report ---- */

/* The tally as a table for people, or as one JSON object for machines (report.c). */
void report_text(const struct tally *tally, FILE *file);

/* One line. ERR_NO_MEMORY. */
enum err_code report_json(const struct tally *tally, FILE *file, struct err *err);

#endif
