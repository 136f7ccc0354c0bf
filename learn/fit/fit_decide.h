/* fit_decide.h - decides when a fitted head answers automatically: fits temperature, thresholds,
 * OOD score and reference and writes them into attnd.json.
 *
 * On inputs that the encoder learnt every head is too sure, left out or not, and thresholds from
 * them would promise too much for new inputs. So decisions are fitted on inputs that the model's
 * record (record.h) does not know, if at least FIT_FRESH_MIN of them have an old label: only these
 * show what is mistaken for a new label. Even then no decision becomes looser than before
 * (fit_trust.h).
 *
 * With fewer such inputs the model's decisions are kept: OOD score, reference and thresholds. A new
 * label has no threshold and is always reviewed. The temperature is kept too; for a head that was
 * fitted anew it is multiplied by the ratio of the new head's best temperature to the old one's on
 * the same inputs.
 *
 * Threads: as fit.h.
 */
#ifndef ATTND_LEARN_FIT_FIT_DECIDE_H
#define ATTND_LEARN_FIT_FIT_DECIDE_H

#include "engine/model/spec.h"
#include "learn/fit/fit.h"

enum { FIT_FRESH_MIN = 50 };

/* True if there are enough fresh inputs to fit decisions on. Called after fit_features. */
static inline bool fit_decides_anew(const struct fit *fit)
{
    return fit->fresh_known >= FIT_FRESH_MIN;
}

/* Writes decisions into DIR/attnd.json of the new checkpoint, which has none yet. */
enum err_code fit_decide(struct fit *fit, const char *dir, struct err *err);

struct assessment;

/* Opens an assessment of the fit's checkpoint directory, with the left-out answers to the inputs of
 * the data as its evaluation. End it in any case. */
enum err_code fit_assess(struct fit *fit, const char *dir, struct assessment *out, struct err *err);
void fit_end_assessment(struct assessment *assessment);

#endif
