/* span_thresholds.h - the thresholds of a model of tags, from the spans that it answered to an
 * assessment.
 *
 *     span_thresholds_write(dir, NULL, &assessment, 0.95, &decided, &err);
 *
 * A span is automatic from the lowest score on from which spans of its label are right often enough
 * (selective_thresholds). Both tags of a label get its threshold. A threshold says nothing of spans
 * that were missed: recall does. Scores stay as they are: no temperature is fitted. Threads: one
 * caller.
 */
#ifndef ATTND_LEARN_EVAL_SPAN_THRESHOLDS_H
#define ATTND_LEARN_EVAL_SPAN_THRESHOLDS_H

#include "learn/eval/measure/span_assessment.h"

/* Counts of the assessment's own spans, by the thresholds. */
struct span_decided {
    size_t automatic, right; /* spans that reach their threshold; those of them that are right */
    unsigned labels;         /* that have a threshold */
};

/* Writes the directory's attnd.json with them; the rest of it stays. version NULL: stays, too.
 * Sorts the verdicts. ERR_IO, ERR_NO_MEMORY, and what spec_read returns. */
enum err_code span_thresholds_write(const char *dir, const char *version,
                                    struct span_assessment *assessment, double target_precision,
                                    struct span_decided *out, struct err *err);

#endif
