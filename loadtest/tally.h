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
#include "loadtest/histogram.h"
#include "loadtest/options.h"

#include <stdint.h>

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

#endif
