/* feedback_shadow.h - what shadow versions would have answered, beside what was answered, so that a
 * label judges both. Private to feedback.c.
 *
 *     feedback_shadow_note(feedback, record);                    as an observer
 *     feedback_shadow_judge_locked(feedback, entry, label, +1);  a label stands, or no longer
 *
 * The last feedback_window judgements of shadows are remembered. After a restart there are none:
 * the audit log has answers, and a shadow gives none.
 *
 * Threads: as feedback.h says; the second under its lock.
 */
#ifndef ATTND_SERVER_FEEDBACK_FEEDBACK_SHADOW_H
#define ATTND_SERVER_FEEDBACK_FEEDBACK_SHADOW_H

#include "server/feedback/feedback_state.h"

void feedback_shadow_note(struct feedback *feedback, const struct shadow_record *record);

/* The right label of a prediction is counted for each shadow version that judged its input. */
void feedback_shadow_judge_locked(struct feedback *feedback, const struct window_entry *entry,
                                  uint32_t label, int step);

#endif
