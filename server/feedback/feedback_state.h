/* feedback_state.h - the tables of feedback.h: predictions, right labels, shadows and counts.
 * Private to feedback.c, feedback_figures.c, feedback_label.c and feedback_text.c.
 *
 * Threads: functions that end in _locked are called under feedback->lock.
 */
#ifndef ATTND_SERVER_FEEDBACK_FEEDBACK_STATE_H
#define ATTND_SERVER_FEEDBACK_FEEDBACK_STATE_H

#include "engine/statistics/edits.h"
#include "server/feedback/feedback.h"
#include "server/feedback/feedback_line.h"
#include "server/feedback/outcomes.h"
#include "server/feedback/window.h"

#include <pthread.h>
#include <stdatomic.h>

/* Holders of a text or of a label that people made up: entries of a window, of the right labels
 * that outlive it, and calls. */
enum feedback_holder { FEEDBACK_WINDOW, FEEDBACK_GIVEN_LABELS, FEEDBACK_CALL, FEEDBACK_HOLDERS };

struct feedback {
    struct audit *audit;
    char *audit_dir; /* NULL: there is no past */
    uint64_t past_seq;
    pthread_mutex_t order;

    pthread_mutex_t lock; /* guards what follows */
    struct window window;
    struct window shadows; /* judgements of shadows; `label` is a part of the answer's number */
    struct window given;   /* right labels, which outlive their predictions */
    struct outcomes *outcomes;
    size_t text_bytes[FEEDBACK_HOLDERS]; /* of the texts that each holds */
    uint64_t text_from[FEEDBACK_CALL];   /* no entry of a lower number has a text */
    bool is_reading_past;
    uint64_t generation; /* the newest that labels were learnt of */
    uint64_t contested;  /* inputs that came under an id of somebody else */
    uint64_t told_ns;    /* when that was told last; 0: never */
    bool is_full_told;   /* the log says that pairs of labels are no longer counted one by one */

    pthread_t reader; /* joined by close, if has_reader */
    bool has_reader;
    atomic_bool is_closing; /* partners: feedback_close, feedback_past_read */
};

/* ---- versions ---- */

/* outcomes_version, for which another version and all that is known of it makes room if it must. */
int feedback_version_locked(struct feedback *feedback, const char *model, const char *version,
                            bool is_old);

/* The set of a version from bits that are indexes of `labels`. False: it lacks one of them, or the
 * number of one is no bit. */
bool feedback_set_locked(const struct outcomes *outcomes, unsigned version,
                         const char *const *labels, uint64_t set, uint64_t *out);

/* ---- right labels ----
 *
 * They are kept by the key of their prediction and outlive it, since whoever labels an input may
 * want to teach it long after the window went on. An id that is used again is another prediction:
 * the label of the one before is dropped with it.
 *
 * The table `given` is a window (window.h) whose entries are found by the keys of feedback->window;
 * of an entry key, version, predicted and label are used. Without labels to keep its size is 0.
 * Each entry holds its label (outcomes_hold) until it leaves the table. */

/* A label of the entry's prediction was given, or with WINDOW_NO_LABEL taken back. One whose text
 * is not kept is none. */
void feedback_given_note_locked(struct feedback *feedback, const struct window_entry *entry,
                                uint64_t label);

/* A new prediction has the key. */
void feedback_given_drop_locked(struct feedback *feedback, const uint64_t key[2]);

/* A prediction from before the start has the key. A later prediction may have it, too. */
void feedback_given_drop_old_locked(struct feedback *feedback, const uint64_t key[2]);

/* A label of before the start whose prediction is not in the window. */
void feedback_given_take_locked(struct feedback *feedback, const struct feedback_line *line,
                                const uint64_t key[2]);

/* ---- texts ----
 *
 * The text of an answer, or the right one of it. An entry of a text has the place of what was
 * written as predicted_set, and that of the right text as label; predicted is the label
 * FEEDBACK_TEXT_LABEL, which is right or OUTCOMES_OTHER. A text goes with its last holder. Those of
 * a window take at most feedback_text_bytes: beyond, the oldest predictions are forgotten. */

#define FEEDBACK_TEXT_LABEL "texts" /* as attnd_predictions_total has it */
#define FEEDBACK_NO_TEXT UINT64_C(0)

struct feedback_text {
    size_t bytes; /* of all of it */
    unsigned holds[FEEDBACK_HOLDERS];
    struct edits edits; /* of a right text: from what was written, or without one from nothing */
    bool is_right;      /* likewise: it was written so */
    char text[];
};

static inline struct feedback_text *feedback_text_at(uint64_t place)
{
    return (struct feedback_text *)(uintptr_t)place;
}
static inline uint64_t feedback_text_place(const struct feedback_text *text)
{
    return (uint64_t)(uintptr_t)text;
}

/* Without a holder: yours to hold or to free. NULL: there is no memory. Any thread. */
struct feedback_text *feedback_text_make(const char *text);
/* The same of a right text. written: NULL: there is none. ERR_NO_MEMORY. Any thread. */
enum err_code feedback_text_compare(struct feedback_text **out, const char *written,
                                    const char *right, struct err *err);

/* A label as an entry has it. */
struct feedback_told {
    uint64_t label; /* WINDOW_NO_LABEL: none */
    bool is_other, is_set;
};
#define FEEDBACK_UNTOLD ((struct feedback_told){.label = WINDOW_NO_LABEL})

/* Changes the number of holders of the entry's text and of a label of it. Of other entries only
 * labels that people made up are held, and sets have none. */
void feedback_hold_locked(struct feedback *feedback, enum feedback_holder holder,
                          const struct window_entry *entry, struct feedback_told told, int step);
/* Forgets the oldest predictions with texts while these take too much. */
void feedback_text_trim_locked(struct feedback *feedback);

/* ---- shadows ----
 *
 * Answers of shadow versions are kept beside the answer, so that a label judges both. The last
 * feedback_window judgements of shadows are remembered. After a restart there are none: the audit
 * log has answers, and a shadow gives none. */

/* Takes a shadow's judgement, for the observer. */
void feedback_shadow_note(struct feedback *feedback, const struct shadow_record *record);

/* The right label of a prediction is counted for each shadow version that judged its input. step: 1
 * when the label stands, -1 when it stands no longer. */
void feedback_shadow_judge_locked(struct feedback *feedback, const struct window_entry *entry,
                                  uint64_t label, bool is_set, int step);

#endif
