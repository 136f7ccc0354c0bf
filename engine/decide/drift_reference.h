/* drift_reference.h - what a model's answers were like on its validation inputs: attnd.json's
 * "reference", against which live predictions are compared (statistics.h).
 *
 *     "reference": {"count": 1000, "labels": {"Center": 0.2, "none": 0.8},
 *                   "score": {"edges": [0.7, 0.9], "shares": [0.1, 0.3, 0.6]},
 *                   "ood": {"edges": [31.5], "shares": [0.5, 0.5]}}
 *
 * or, of a regression,
 *
 *     "reference": {"count": 1000, "value": {"edges": [12.5, 20], "shares": [0.3, 0.3, 0.4]}}
 *
 *     drift_reference_read(&reference, object, labels, label_count, &arena, &err);
 *     unsigned bin = drift_reference_bin(reference, DRIFT_SCORE, answer->scores[label]);
 *     counts[bin]++;
 *     moved = psi_excess(counts, &reference->psi[DRIFT_SCORE]);
 *
 * A value belongs to the bin of as many edges as do not exceed it. Labels are taken together, the
 * rarest last, until a bin has DRIFT_SHARE_MIN of the inputs, and DRIFT_BIN_INPUTS of them:
 * bins of fewer would be empty in most windows, and PSI's mean and spread are then not those that
 * statistics.h corrects for (at least five expected in a bin: Cochran 1954).
 *
 * Threads: immutable after drift_reference_read. Owned by the arena.
 */
#ifndef ATTND_ENGINE_DECIDE_DRIFT_REFERENCE_H
#define ATTND_ENGINE_DECIDE_DRIFT_REFERENCE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/statistics/statistics.h"

#include <stdbool.h>

struct json_t;

enum { DRIFT_BINS_MAX = 64, DRIFT_BIN_INPUTS = 20, DRIFT_COUNT_MAX = 1000000000 };
#define DRIFT_SHARE_MIN 0.025 /* five of a window of 200 */

/* A classifier's reference has the first three, a regression's the last. */
enum drift_kind { DRIFT_LABEL, DRIFT_SCORE, DRIFT_OOD, DRIFT_VALUE, DRIFT_KINDS };

struct drift_reference {
    uint64_t digest;      /* of all that follows: equal ones count alike */
    unsigned count;       /* validation inputs */
    unsigned label_count; /* 0 of a regression */
    float *label_shares;  /* [label_count]; labels of one text have one share, each all of it */
    uint8_t *label_bins;  /* [label_count] */
    const float *edges[DRIFT_KINDS];       /* rising; NULL of DRIFT_LABEL */
    struct psi_reference psi[DRIFT_KINDS]; /* bin_count 0: the reference lacks the kind */
};

/* "label", "score", "ood", "value": the values of a metric's label. */
const char *drift_kind_name(enum drift_kind kind);

static inline bool drift_reference_has(const struct drift_reference *reference,
                                       enum drift_kind kind)
{
    return reference->psi[kind].bin_count > 0;
}

/* Reads $.reference; label_count 0: that of a regression with one output. ERR_UNSUPPORTED names the
 * member, what is wrong with it and the limit. */
enum err_code drift_reference_read(const struct drift_reference **out, const struct json_t *object,
                                   const char *const *labels, unsigned label_count,
                                   struct arena *arena, struct err *err);

/* The bin of a label, below label_count, and that of a score, an OOD score or a number. */
static inline unsigned drift_reference_label_bin(const struct drift_reference *reference,
                                                 unsigned label)
{
    return reference->label_bins[label];
}
unsigned drift_reference_bin(const struct drift_reference *reference, enum drift_kind kind,
                             float value);

#endif
