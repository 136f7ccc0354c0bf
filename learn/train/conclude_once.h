/* conclude_once.h - the end of a run whose weights stay as they are: evaluates the finished
 * directory on the validation part, and writes report.json. Called by conclude after the checkpoint
 * is written; out->judged becomes true. Threads: one caller. */
#ifndef ATTND_LEARN_TRAIN_CONCLUDE_ONCE_H
#define ATTND_LEARN_TRAIN_CONCLUDE_ONCE_H

#include "learn/train/conclude.h"

struct history;
struct report_epoch;

/* A regression: sets out->errors, and writes its answers' distribution into attnd.json. */
enum err_code conclude_numbers(struct run *run, const struct conclude_progress *progress,
                               struct conclusion *out, struct err *err);
/* An embedding: sets out->ndcg and out->ndcg_words. */
enum err_code conclude_vectors(struct run *run, const struct conclude_progress *progress,
                               struct conclusion *out, struct err *err);
/* A cross-encoder: sets out->accuracy, out->ndcg and out->ndcg_words; the last two are 0 if no text
 * is paired with several. */
enum err_code conclude_pairs(struct run *run, const struct conclude_progress *progress,
                             struct conclusion *out, struct err *err);
/* A model of tags: sets out->accuracy, of tokens, out->span_f1, out->span_macro_f1 and out->exact;
 * out->automatic and out->right, of spans. Writes report.html, and the thresholds of spans into
 * attnd.json. */
enum err_code conclude_tags(struct run *run, const struct conclude_progress *progress,
                            struct conclusion *out, struct err *err);

/* A model that writes: sets out->exact, and out->accuracy, of tokens, as the best epoch had it. */
enum err_code conclude_texts(struct run *run, const struct conclude_progress *progress,
                             struct conclusion *out, struct err *err);

/* The epochs for a report; the measure lies `offset` bytes behind the beginning of an epoch of the
 * history. The caller frees them; NULL: ERR_NO_MEMORY. */
struct report_epoch *conclude_epochs(const struct history *history, size_t offset, struct err *err);

#endif
