/* feedback_given.h - the right labels that were given, by the key of their prediction: they outlive
 * it, since whoever labels an input may want to teach it long after the window went on. Private to
 * feedback.c; feedback.h has what others ask.
 *
 * An id that is used again is another prediction: the label of the one before is dropped with it.
 * The table is a window (window.h) whose entries are found by the keys of feedback->window; of an
 * entry key, version, predicted and label are used. Without labels to keep its size is 0.
 *
 * Each entry holds its label (outcomes_hold) until it leaves the table.
 *
 * Threads: under feedback->lock.
 */
#ifndef ATTND_SERVER_FEEDBACK_FEEDBACK_GIVEN_H
#define ATTND_SERVER_FEEDBACK_FEEDBACK_GIVEN_H

#include "server/feedback/feedback_line.h"
#include "server/feedback/feedback_state.h"

/* A label of the entry's prediction was given, or with WINDOW_NO_LABEL taken back. One whose text
 * is not kept is none. */
void feedback_given_note_locked(struct feedback *feedback, const struct window_entry *entry,
                                uint32_t label);

/* A new prediction has the key. */
void feedback_given_drop_locked(struct feedback *feedback, const uint64_t key[2]);

/* One of before the start has it; a later one may have it, too. */
void feedback_given_drop_old_locked(struct feedback *feedback, const uint64_t key[2]);

/* A label of before the start whose prediction is not in the window. */
void feedback_given_take_locked(struct feedback *feedback, const struct feedback_line *line,
                                const uint64_t key[2]);

#endif
