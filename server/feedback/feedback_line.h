/* feedback_line.h - right labels as lines of the audit log, and what of its lines is read again
 * after a restart.
 *
 *     {"type":"feedback","id","index","model","version","predicted","label","decision","new"?,
 *      "source"?,"replaced"?}, of sets "predicted_labels", "labels" and "replaced_labels"
 *     of texts "predicted_output", which may be null, "output", "edits" and "characters", and
 *     "replaced_output"
 *     {"type":"feedback_removed", the same, with the label that was taken back}
 *
 * Threads: no state; the arena is the caller's.
 */
#ifndef ATTND_SERVER_FEEDBACK_FEEDBACK_LINE_H
#define ATTND_SERVER_FEEDBACK_FEEDBACK_LINE_H

#include "engine/base/arena.h"
#include "engine/decide/decision.h"
#include "engine/statistics/edits.h"
#include "server/audit/audit.h"
#include "server/feedback/feedback.h"
#include "wire/limits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum feedback_line_kind {
    FEEDBACK_LINE_OTHER, /* a line of another type */
    FEEDBACK_LINE_PREDICTION,
    FEEDBACK_LINE_GIVEN,
    FEEDBACK_LINE_REMOVED
};

struct feedback_line {
    enum feedback_line_kind kind;
    uint64_t seq; /* the line's number; only of one that was read */
    const char *id;
    unsigned index;
    const char *model, *version, *predicted;
    enum decision decision;
    bool is_text;       /* the answer is a text: `predicted` and `replaced` are, and */
    const char *output; /* is the right one, in place of `label` */
    struct edits edits; /* of it */
    const char *label;  /* NULL in a prediction */
    struct feedback_labels predicted_labels, labels, replaced_labels; /* of sets, in their place */
    bool is_new;
    bool is_sampled;               /* only in a prediction; not written */
    const char *source, *replaced; /* NULL: none; not read again */
    const char *key;               /* name of the one that was sent; NULL: none was needed */
};

/* Most bytes that a line takes from an arena; of texts, which have three, more. A right text has no
 * control characters but white space, so that a byte of it is at most 3 in the line. */
enum {
    FEEDBACK_LINE_BYTES = 8192,
    FEEDBACK_TEXT_LINE_BYTES = FEEDBACK_LINE_BYTES + (6 + 2 * 3) * LIMIT_OUTPUT_BYTES
};

/* The members in the arena. ERR_NO_MEMORY. */
enum err_code feedback_line_write(struct audit_members *out, const struct feedback_line *line,
                                  struct arena *arena, struct err *err);

/* A cheap look, before a line is read: what kind it seems to be. */
enum feedback_line_kind feedback_line_glance(const char *text, size_t len);

/* A line of the log, without its end of line. The strings are the arena's. A line that lacks what
 * its kind has is of no interest. */
enum err_code feedback_line_read(struct feedback_line *out, const char *text, size_t len,
                                 struct arena *arena, struct err *err);

/* ---- feedback_past.c: predictions and right labels of the log from before this start ----
 *
 *     struct feedback_past past = {.dir = dir, .until = seq, .predictions_max = 100000,
 *                                  .visit = take, .context = feedback};
 *     feedback_past_read(&past, &err);
 *
 * Only the newest files are read that hold the last predictions_max predictions, twice: to count,
 * and to visit. 100000 predictions in 53 MB take 0.85 s (x86-64, files in memory). The chain is not
 * followed: attnd-audit does that. A reading belongs to one thread; `stop` may be set by any. */

struct feedback_past {
    const char *dir;
    uint64_t until;           /* lines with greater numbers are of this process */
    unsigned predictions_max; /* at least 1 */
    /* Each line of interest, in order; number: of a prediction, from 1, the last of all being
     * predictions_max; 0: an older one, whose id may be that of a label before it. */
    void (*visit)(void *context, const struct feedback_line *line, uint64_t number);
    void *context;
    const atomic_bool *stop; /* NULL: never */

    /* Lines that were visited. */
    uint64_t predictions, labels;
};

/* ERR_IO, ERR_NO_MEMORY; ERR_NOT_READY: stopped. */
enum err_code feedback_past_read(struct feedback_past *past, struct err *err);

#endif
