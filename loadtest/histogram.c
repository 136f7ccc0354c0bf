#include "loadtest/histogram.h"

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
