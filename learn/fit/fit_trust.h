/* fit_trust.h - no model becomes more trusting by being taught: what it called unknown or reviewed
 * it goes on to.
 *
 * The OOD score is of the encoder and its examples, which a fit does not change, so its threshold
 * holds on: chosen anew on the examples, which have as many of each label, it let 28 % of foreign
 * pictures pass where none had. A threshold of a label moves only if new inputs say so, and only
 * up; a label that had none gets one when they suffice (selective.h).
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_TRUST_H
#define ATTND_LEARN_FIT_FIT_TRUST_H

#include "learn/eval/assessment.h"
#include "learn/eval/calibrate.h"
#include "learn/fit/fit.h"

/* DIR/attnd.json, written without decisions, gets those of the model that was taught: OOD score,
 * thresholds and reference as they were, with none of a new label; temperature and thresholds are
 * `kept`'s. fitted: [labels.count] counts that scores hold for. Errors as attnd_json_write. */
enum err_code fit_trust_keep(const struct fit *fit, const char *dir,
                             const struct calibrate_kept *kept, const double *fitted,
                             struct err *err);

/* DIR/attnd.json has decisions that were fitted on an assessment: those that the model had stay
 * where they are stricter. A label that lost its threshold keeps the old one if too few of the
 * assessment's answers gave it. */
enum err_code fit_trust_hold(const struct fit *fit, const char *dir,
                             const struct assessment *assessment, struct err *err);

/* Judges all rows by a checkpoint and its logits [rows.count, labels] for them, into `decisions`
 * and `trusted`. An example counts without itself among its neighbours. */
enum err_code fit_trust_count(const struct fit *fit, const char *dir, const float *logits,
                              struct fit_figures *out, struct err *err);

/* After both counts: a head that was fitted anew may be surer than the old one where thresholds are
 * kept. Raises the temperature of DIR/attnd.json by steps of 3 %, at most 24, until no more
 * examples are trusted than before, and counts again. */
enum err_code fit_trust_cool(struct fit *fit, const char *dir, struct err *err);

/* ERR_UNUSABLE if the share of trusted answers rose by more than options.automatic_max points. It
 * is of the examples that the model carried, which nobody taught it now: what was given may well
 * become automatic. For a model without examples or thresholds nothing is compared. */
enum err_code fit_trust_accept(const struct fit *fit, struct err *err);

#endif
