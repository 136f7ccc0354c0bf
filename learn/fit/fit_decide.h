/* fit_decide.h - when a fitted head answers by itself: temperature, thresholds, OOD score and
 * reference, written into attnd.json.
 *
 * An encoder has seen what it learnt: on those inputs every head looks sure, left out or not, and
 * thresholds from them would promise what new inputs do not keep. So decisions are fitted on inputs
 * that the model's own record (record.h) does not know, if FIT_FRESH_MIN or more of them have a
 * label that the model had: what is mistaken for a new label can only be told by these. Even then
 * none becomes looser than it was (fit_trust.h). With fewer the model's decisions are kept: OOD
 * score, reference and thresholds, with none for a new label, which is then reviewed; and its
 * temperature, of a head that was fitted anew times how much colder it needs to be than the old one
 * on the very same inputs.
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_DECIDE_H
#define ATTND_LEARN_FIT_FIT_DECIDE_H

#include "engine/model/spec.h"
#include "learn/fit/fit.h"

enum { FIT_FRESH_MIN = 50 };

/* Do the inputs say enough to fit decisions on? After fit_features. */
static inline bool fit_decides_anew(const struct fit *fit)
{
    return fit->fresh_known >= FIT_FRESH_MIN;
}

/* dir: the new checkpoint, without decisions. */
enum err_code fit_decide(struct fit *fit, const char *dir, struct err *err);

struct assessment;

/* Opens a checkpoint directory of the fit with the answers that were left out as its own: those to
 * the inputs of the data. End it in any case. */
enum err_code fit_assess(struct fit *fit, const char *dir, struct assessment *out, struct err *err);
void fit_end_assessment(struct assessment *assessment);

#endif
