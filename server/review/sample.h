/* sample.h - the random sample of automatic answers: which of them are kept beside those that a
 * person is to look at anyway, so that labels tell something of all traffic.
 *
 *     if (sample_takes(config->keep_inputs_share, "die-7", 0, DECISION_AUTO)) ...
 *     record.is_sampled = ...                       into the audit log and the feedback's window
 *
 * A hash of id and index decides, so that whoever asks gets the same answer. A client that chooses
 * its ids could choose its sample; an id that is always the same is always in or always out.
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_REVIEW_SAMPLE_H
#define ATTND_SERVER_REVIEW_SAMPLE_H

#include "engine/decide/decision.h"

#include <stdbool.h>

/* Never of another decision than auto. */
bool sample_takes(double share, const char *id, unsigned index, enum decision decision);

#endif
