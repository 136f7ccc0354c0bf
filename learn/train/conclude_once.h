/* conclude_once.h - the end of a run whose weights stay as they are: evaluates the finished
 * directory on the validation part, and writes report.json. Called by conclude after the checkpoint
 * is written; out->judged becomes true. Threads: one caller. */
#ifndef ATTND_LEARN_TRAIN_CONCLUDE_ONCE_H
#define ATTND_LEARN_TRAIN_CONCLUDE_ONCE_H

#include "learn/train/conclude.h"

struct history;
struct report_epoch;

/* Sets of *out, by the run's task:
 *
 *     regression      errors; attnd.json gets its answers' distribution
 *     embedding       ndcg, ndcg_words
 *     cross-encoder   accuracy, ndcg, ndcg_words; the last two are 0 if no text is paired with
 *                     several
 *     tags            accuracy, of tokens, span_f1, span_macro_f1, exact; automatic and right, of
 *                     spans; report.html is written, and attnd.json gets the thresholds of spans
 *     texts           exact; accuracy, of tokens, as the best epoch had it
 *
 * Does nothing for other tasks. */
enum err_code conclude_once(struct run *run, const struct conclude_progress *progress,
                            struct conclusion *out, struct err *err);

/* The epochs for a report; the measure lies `offset` bytes behind the beginning of an epoch of the
 * history. The caller frees them; NULL: ERR_NO_MEMORY. */
struct report_epoch *conclude_epochs(const struct history *history, size_t offset, struct err *err);

#endif
