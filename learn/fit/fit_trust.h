/* fit_trust.h - a fit must not make decisions looser: inputs that the old model called unknown or
 * sent to review stay so.
 *
 * The OOD score depends on the encoder and its examples, which a fit does not change, so its
 * threshold is kept. A threshold that was chosen anew on the examples, which have equally many of
 * each label, let 28 % of foreign pictures pass where the old one let none. A label's threshold
 * changes only if new inputs show that it must, and only rises. A label without one gets one when
 * there are enough inputs (selective.h).
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_TRUST_H
#define ATTND_LEARN_FIT_FIT_TRUST_H

#include "learn/eval/assessment.h"
#include "learn/eval/calibrate.h"
#include "learn/fit/fit.h"

/* Adds the old model's decisions to DIR/attnd.json, which has none yet: OOD score and reference
 * without new labels, temperature and thresholds from `kept`. fitted: [labels.count] class counts
 * that the scores are calibrated for. Errors as attnd_json_write. */
enum err_code fit_trust_keep(const struct fit *fit, const char *dir,
                             const struct calibrate_kept *kept, const double *fitted,
                             struct err *err);

/* Replaces decisions in DIR/attnd.json, which were fitted on an assessment, by the old model's
 * where those are stricter. A label that lost its threshold keeps the old one if too few of the
 * assessment's answers gave this label. */
enum err_code fit_trust_hold(const struct fit *fit, const char *dir,
                             const struct assessment *assessment, struct err *err);

/* Judges all rows by a checkpoint's decisions and its logits [rows.count, labels]; sets
 * out->decisions and out->trusted. An example is not its own neighbour. */
enum err_code fit_trust_count(const struct fit *fit, const char *dir, const float *logits,
                              struct fit_figures *out, struct err *err);

/* Called after both counts, if thresholds are kept: a head that was fitted anew may be surer than
 * the old one. Raises the temperature in DIR/attnd.json by 3 % at a time, at most 24 times, until
 * no more examples are trusted than before, and counts again. */
enum err_code fit_trust_cool(struct fit *fit, const char *dir, struct err *err);

/* ERR_UNUSABLE if the share of trusted answers rose by more than options.automatic_max points. The
 * share is of the examples that the model carried, not of the new data, whose answers may well
 * become automatic. For a model without examples or thresholds it does nothing. */
enum err_code fit_trust_accept(const struct fit *fit, struct err *err);

#endif
