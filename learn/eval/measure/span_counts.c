#include "learn/eval/measure/span_counts.h"

#include <stdlib.h>

enum err_code span_counts_open(struct span_counts *out, unsigned labels, struct err *err)
{
    *out = (struct span_counts){.labels = labels};
    out->each = calloc(labels + 1u, sizeof *out->each);
    return out->each != NULL ? ERR_OK : err_no_memory(err, labels * sizeof *out->each);
}

void span_counts_close(struct span_counts *counts)
{
    free(counts->each);
    *counts = (struct span_counts){0};
}

size_t span_counts_add(struct span_counts *counts, const struct span_key *wanted,
                       size_t wanted_count, const struct span_key *answered, size_t answered_count,
                       bool *right)
{
    size_t found = 0;
    for (size_t i = 0; i < wanted_count; i++)
        counts->each[wanted[i].label].wanted++;
    for (size_t i = 0, w = 0; i < answered_count; i++) {
        const struct span_key *span = &answered[i];
        counts->each[span->label].answered++;
        while (w < wanted_count && wanted[w].start < span->start)
            w++;
        const bool is_right = w < wanted_count && wanted[w].start == span->start &&
                              wanted[w].end == span->end && wanted[w].label == span->label;
        counts->each[span->label].right += is_right;
        found += is_right;
        if (right != NULL)
            right[i] = is_right;
    }
    return found;
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void rate(struct span_count *count)
{
    count->rates = (struct span_rates){
        .precision = ratio((double)count->right, (double)count->answered),
        .recall = ratio((double)count->right, (double)count->wanted),
        .f1 = ratio(2 * (double)count->right, (double)(count->answered + count->wanted))};
}

void span_counts_finish(struct span_counts *counts)
{
    struct span_rates *macro = &counts->macro;
    for (unsigned k = 0; k < counts->labels; k++) {
        struct span_count *each = &counts->each[k];
        rate(each);
        counts->micro.wanted += each->wanted;
        counts->micro.answered += each->answered;
        counts->micro.right += each->right;
        counts->macro_labels += each->wanted + each->answered > 0;
        macro->precision += each->rates.precision;
        macro->recall += each->rates.recall;
        macro->f1 += each->rates.f1;
    }
    rate(&counts->micro);
    macro->precision = ratio(macro->precision, counts->macro_labels);
    macro->recall = ratio(macro->recall, counts->macro_labels);
    macro->f1 = ratio(macro->f1, counts->macro_labels);
}

size_t span_counts_read(struct span_key *out, const struct tag_set *set, const int32_t *tags,
                        size_t count)
{
    unsigned before = set->count; /* label of the token before; count: outside */
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (tags[i] == TAG_NONE)
            continue;
        const unsigned tag = (unsigned)tags[i], label = set->label_of[tag];
        const bool begins =
            label < set->count && tag == set->begin[label] && tag != set->inside[label];
        if (label < set->count && (label != before || begins))
            out[found++] = (struct span_key){.label = label, .start = (uint32_t)i};
        if (label < set->count)
            out[found - 1].end = (uint32_t)i + 1;
        before = label;
    }
    return found;
}
