/* tag_pairs.h - how often one label of a token follows another in the texts that a model learnt:
 *
 *     "transitions": {"apart":    {"O": [61, 7, 0], "B-pin": [9, 0, 4], "I-pin": [3, 0, 2]},
 *                     "touching": {...}}
 *
 * attnd.json's counts: of the label before, how often each label came next, in the order of
 * config.json, where white space or nothing stands between the two tokens. The path of spans.h adds
 * to the logits of b behind a
 *
 *     0.3 log( p(b | a, gap) / p(b) )
 *
 * with half a time more for each. The weight is below 1 because the logits know a part of it.
 *
 * Threads: immutable once read. Owned by the arena.
 */
#ifndef ATTND_ENGINE_DECIDE_TAG_PAIRS_H
#define ATTND_ENGINE_DECIDE_TAG_PAIRS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stddef.h>

struct json_t;

enum { TAG_PAIRS_LABELS_MAX = 256 };
#define TAG_PAIRS_COUNT_MAX 1e15

enum tag_gap { TAG_APART, TAG_TOUCHING, TAG_GAPS };

/* All zeros: not known. */
struct tag_pairs {
    const double *counts; /* [TAG_GAPS][label before][label behind] */
    const float *weights; /* [TAG_GAPS][label behind][label before]; -INFINITY where the one behind
                             is I-X and the one before neither B-X nor I-X */
};

/* "apart", "touching". */
const char *tag_gap_name(enum tag_gap gap);

/* Takes the counts as they lie. insides [label_count] is tag_insides'. ERR_NO_MEMORY. */
enum err_code tag_pairs_fit(struct tag_pairs *out, const double *counts, const unsigned *insides,
                            unsigned label_count, struct arena *arena, struct err *err);

/* $.transitions of attnd.json's object, which may be absent. ERR_UNSUPPORTED names the member, what
 * is wrong with it and the limit; there are at most TAG_PAIRS_LABELS_MAX labels. */
enum err_code tag_pairs_read(struct tag_pairs *out, const struct json_t *object,
                             const char *const *labels, const unsigned *insides,
                             unsigned label_count, struct arena *arena, struct err *err);

#endif
