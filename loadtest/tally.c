/* tally.c - see tally.h. The report is made of it in report.c. */
#include "loadtest/tally.h"

#include "engine/base/clock.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- quantiles of durations ---- */

/* Values below 128 have a bucket each; above, the top eight significant bits name the bucket. */
static unsigned bucket_of(uint64_t value)
{
    const uint64_t limit = (UINT64_C(1) << HISTOGRAM_VALUE_BITS) - 1;
    if (value > limit)
        value = limit;
    if (value >> HISTOGRAM_PART_BITS == 0)
        return (unsigned)value;
    unsigned shift = 63U - (unsigned)__builtin_clzll(value) - HISTOGRAM_PART_BITS;
    return (shift << HISTOGRAM_PART_BITS) + (unsigned)(value >> shift);
}

/* The largest value that falls into a bucket: the inverse of bucket_of. */
static uint64_t bucket_end(unsigned bucket)
{
    unsigned octave = bucket >> HISTOGRAM_PART_BITS;
    if (octave == 0)
        return bucket;
    uint64_t top = bucket - ((octave - 1) << HISTOGRAM_PART_BITS);
    return ((top + 1) << (octave - 1)) - 1;
}

void histogram_record(struct histogram *histogram, uint64_t value)
{
    if (histogram->count == 0 || value < histogram->min)
        histogram->min = value;
    if (value > histogram->max)
        histogram->max = value;
    histogram->count++;
    histogram->sum += value;
    histogram->bucket[bucket_of(value)]++;
}

uint64_t histogram_quantile(const struct histogram *histogram, double fraction)
{
    if (histogram->count == 0)
        return 0;
    double wanted = fraction * (double)histogram->count;
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen > 0 && (double)seen >= wanted)
            return bucket_end(i) < histogram->max ? bucket_end(i) : histogram->max;
    }
    return histogram->max;
}

double histogram_mean(const struct histogram *histogram)
{
    return histogram->count == 0 ? 0.0 : (double)histogram->sum / (double)histogram->count;
}

/* ---- the results ---- */

enum err_code tally_open(struct tally **out, const struct options *options, uint64_t start_ns,
                         struct err *err)
{
    *out = NULL;
    struct tally *tally = calloc(1, sizeof *tally);
    if (tally == NULL)
        return err_no_memory(err, sizeof *tally);
    double bounds_ms = options->duration_s * 1000 + options->timeout_ms;
    tally->timeline_capacity = (uint32_t)(bounds_ms / TALLY_BUCKET_MS) + 10;
    tally->timeline = calloc(tally->timeline_capacity, sizeof *tally->timeline);
    if (tally->timeline == NULL) {
        err_no_memory(err, tally->timeline_capacity * sizeof *tally->timeline);
        free(tally);
        return err->code;
    }
    tally->options = options;
    tally->start_ns = tally->end_ns = start_ns;
    *out = tally;
    return ERR_OK;
}

void tally_close(struct tally *tally)
{
    if (tally == NULL)
        return;
    free(tally->timeline);
    free(tally);
}

const char *tally_outcome_name(enum outcome outcome)
{
    static const char *const names[] = {
#define X(code, name, sentence) name,
        OUTCOMES(X)
#undef X
    };
    return names[outcome];
}

const char *tally_outcome_sentence(enum outcome outcome)
{
    static const char *const sentences[] = {
#define X(code, name, sentence) sentence,
        OUTCOMES(X)
#undef X
    };
    return sentences[outcome];
}

static void record_times(struct tally *tally, const struct tally_sample *sample)
{
    const struct answer *answer = sample->answer;
    if (answer == NULL || !answer->timed)
        return;
#define X(name)                                                                                    \
    if (answer->name##_ms >= 0 && answer->name##_ms < 1e9)                                         \
        histogram_record(&tally->name, (uint64_t)(answer->name##_ms * CLOCK_NS_PER_MS));
    ANSWER_TIMES(X)
#undef X
    double spent_ms = clock_ms_between(sample->sent_ns, sample->done_ns) - answer->inference_ms;
    histogram_record(&tally->overhead, spent_ms > 0 ? (uint64_t)(spent_ms * CLOCK_NS_PER_MS) : 0);
}

static bool accepted(const struct options *options, const struct tally_sample *sample)
{
    if (options->accept[sample->outcome])
        return true;
    return (sample->outcome == OUTCOME_STATUS || sample->outcome == OUTCOME_REJECTED) &&
           options->accept_status[sample->status];
}

static void keep_example(struct tally *tally, const struct tally_sample *sample)
{
    if (tally->examples == TALLY_EXAMPLES)
        return;
    const char *why = sample->why != NULL ? sample->why : tally_outcome_sentence(sample->outcome);
    snprintf(tally->example[tally->examples++], sizeof tally->example[0],
             "input %u: %s: status %u: %s", sample->item + 1, tally_outcome_name(sample->outcome),
             sample->status, why);
}

void tally_record(struct tally *tally, const struct tally_sample *sample)
{
    tally->requests++;
    tally->outcome[sample->outcome]++;
    tally->status[sample->status]++;
    if (sample->done_ns > tally->end_ns)
        tally->end_ns = sample->done_ns;
    uint64_t since_ns = sample->done_ns - tally->start_ns;
    uint64_t index = since_ns / ((uint64_t)TALLY_BUCKET_MS * CLOCK_NS_PER_MS);
    if (index >= tally->timeline_capacity)
        index = tally->timeline_capacity - 1;
    if (index >= tally->timeline_len)
        tally->timeline_len = (uint32_t)index + 1;
    struct tally_bucket *bucket = &tally->timeline[index];
    if (sample->outcome == OUTCOME_OK)
        bucket->ok++;
    else if (sample->outcome == OUTCOME_REJECTED)
        bucket->rejected++;
    else
        bucket->failed++;
    uint64_t latency_ns = sample->done_ns - sample->intended_ns;
    if (sample->outcome == OUTCOME_OK) {
        histogram_record(&tally->latency, latency_ns);
        record_times(tally, sample);
    } else if (sample->outcome == OUTCOME_REJECTED) {
        histogram_record(&tally->rejection, latency_ns);
    }
    if (!accepted(tally->options, sample)) {
        tally->unaccepted++;
        keep_example(tally, sample);
    }
}
