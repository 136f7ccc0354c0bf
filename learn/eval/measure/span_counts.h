/* span_counts.h - measures labelled spans: precision, recall and F1 of exact spans, as seqeval
 * 1.2.2 counts entities (mode "strict", scheme IOB2): a span is right if a wanted one has its
 * label, start and end.
 *
 *     span_counts_open(&counts, labels, &err);
 *     span_counts_add(&counts, wanted, n, answered, m, NULL);      of each text
 *     span_counts_finish(&counts);
 *     span_counts_close(&counts);
 *
 * 0 / 0 is 0. Micro figures are of all spans together. Macro figures are means over the labels that
 * occur among wanted or answered spans. Threads: one at a time.
 */
#ifndef ATTND_LEARN_EVAL_MEASURE_SPAN_COUNTS_H
#define ATTND_LEARN_EVAL_MEASURE_SPAN_COUNTS_H

#include "engine/base/err.h"
#include "learn/data/tag_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span_key {
    unsigned label;
    uint32_t start, end; /* end exclusive */
};

struct span_rates {
    double precision, recall, f1;
};

struct span_count {
    size_t wanted, answered, right;
    struct span_rates rates;
};

struct span_counts {
    unsigned labels;
    struct span_count *each; /* [labels] */
    struct span_count micro; /* the sums */
    struct span_rates macro;
    unsigned macro_labels; /* labels in the means */
};

enum err_code span_counts_open(struct span_counts *out, unsigned labels, struct err *err);
void span_counts_close(struct span_counts *counts);

/* Both are ascending by start; the labels are below `labels`. right (NULL: not wanted)
 * [answered_count] <- which answered spans are. Returns how many. */
size_t span_counts_add(struct span_counts *counts, const struct span_key *wanted,
                       size_t wanted_count, const struct span_key *answered, size_t answered_count,
                       bool *right);
void span_counts_finish(struct span_counts *counts);

/* Writes the spans that a sequence of tags stands for, places counted in tokens, and returns their
 * number, at most `count`: a span grows while the label is the same and the next tag is not its B-,
 * as the server's do. TAG_NONE is passed over. */
size_t span_counts_read(struct span_key *out, const struct tag_set *set, const int32_t *tags,
                        size_t count);

#endif
