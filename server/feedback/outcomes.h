/* outcomes.h - counts of pairs of predicted and right labels, for each version of a model.
 *
 *     int version = outcomes_version(outcomes, "wafer-vit", "1");
 *     outcomes_learn(outcomes, version, info->labels, info->label_count);
 *     outcomes_count(outcomes, version, &mark, +1);       one more label
 *     outcomes_count(outcomes, version, &mark, -1);       it was taken back, or replaced
 *
 * A label is a number within its version, for a text that stays. A label that the model lacks is
 * one too, and is counted as OUTCOMES_OTHER. A cell is a right label and a predicted one; it exists
 * from the first count on. What is said of a version as a whole is exact however many cells there
 * are; beyond OUTCOMES_CELLS, in all, further pairs of labels have no cell.
 *
 * Labels that do not exclude each other are counted in sets: bit n of a set is label n of the
 * version. A set that is right is the whole one. Labels of a set are the model's own, with numbers
 * below OUTCOME_SET_LABELS.
 *
 * When there are OUTCOMES_VERSIONS, a new version takes the place of the one that was longest
 * without a use: who keeps numbers of versions forgets those of that one first
 * (feedback_version_locked). A label that a version lacks has a place while an entry of a window
 * has it (outcomes_hold); after that its place is free for another text, and the text goes with
 * it: copy one that outlives the lock. The texts of models stay until close.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_SERVER_FEEDBACK_OUTCOMES_H
#define ATTND_SERVER_FEEDBACK_OUTCOMES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/decide/decision.h"
#include "wire/answer_outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OUTCOMES_VERSIONS = 256,    /* at a time */
    OUTCOMES_CELLS = 4096,      /* over all versions */
    OUTCOMES_NEW_LABELS = 1024, /* new labels that are held for a version */
};
/* A label that the model lacks, as it is counted: no enumerator, which is an int. */
#define OUTCOMES_OTHER 0xFFFFFFFEu

struct outcomes_cell {
    bool is_used, is_set;
    uint16_t version;
    uint64_t label, predicted;
    uint32_t now[DECISION_COUNT]; /* labels that stand, by the prediction's decision */
    uint64_t total;               /* labels that were given to this process; it never falls */
};

struct outcomes_label {
    const char *text;
    char *own; /* allocated text of a new label; else NULL */
    uint64_t hash;
    bool is_new;    /* no model of the version has it */
    unsigned holds; /* entries and calls that have the number of a new label */
};

struct outcomes_version {
    const char *model, *version;
    uint64_t used;       /* the number of its last use; those of before the start are lower */
    uint64_t generation; /* the last snapshot that served it */
    unsigned pins;       /* calls that have its number without the lock */
    struct outcomes_label *labels; /* [label_count] */
    unsigned label_count, label_room, new_count;
    uint32_t *slots; /* [2 * label_room] open addressing: 1 + the number of a label; 0: empty */
    uint64_t count[DECISION_COUNT], right[DECISION_COUNT];      /* labels that stand */
    uint64_t edits[DECISION_COUNT], characters[DECISION_COUNT]; /* of right texts that stand */
    bool has_texts;                                             /* its answers are texts */
    uint64_t sampled_count, sampled_right; /* those for automatic answers that were drawn */
    uint64_t predictions[DECISION_COUNT];  /* predictions that may get a label */
    bool is_shadow;                        /* it has judged copies */
    uint64_t paired[2]
                   [2]; /* of those with a label, by [the answer was right][it would have been] */
};

struct outcomes {
    struct arena arena; /* holds the texts of models, each once */
    const char **texts; /* [text_room] open addressing, half full at most */
    size_t text_room, text_count;
    uint64_t secret[2];
    uint64_t uses, old_uses;
    struct outcomes_version versions[OUTCOMES_VERSIONS];
    unsigned version_count;
    unsigned cell_count;
    struct outcomes_cell cells[2 * OUTCOMES_CELLS]; /* open addressing */
};

/* Yours to close. ERR_NO_MEMORY; ERR_IO without random bytes. */
enum err_code outcomes_open(struct outcomes **out, struct err *err);
void outcomes_close(struct outcomes *outcomes); /* NULL is allowed */

/* Made at first sight; a use, at last of all of before the start if is_old. Below 0: there is no
 * memory, or there are too many. */
int outcomes_version(struct outcomes *outcomes, const char *model, const char *version,
                     bool is_old);
/* The version that makes room for another, which has no number yet; below 0: there is room, or all
 * are pinned. */
int outcomes_oldest(const struct outcomes *outcomes, const char *model, const char *version);
/* Forgets a version. Its place is free for the next one. */
void outcomes_forget(struct outcomes *outcomes, unsigned version);
/* NULL: never seen. */
const struct outcomes_version *outcomes_find(const struct outcomes *outcomes, const char *model,
                                             const char *version);

/* The labels of a model: none of them is new from now on. False: there is no memory. */
bool outcomes_learn(struct outcomes *outcomes, unsigned version, const char *const *labels,
                    unsigned count);

/* The number of a text; hint: where it is likely to be. Below 0: the version lacks it. */
int64_t outcomes_label(const struct outcomes *outcomes, unsigned version, const char *text,
                       unsigned hint);
/* The same, but it is added; a new one without a hold. Below 0: there is no memory, or there are
 * too many new ones. */
int64_t outcomes_add_label(struct outcomes *outcomes, unsigned version, const char *text,
                           bool is_new, unsigned hint);

/* True if one more new label was within the limits. outcomes_add_label then failed for lack of
 * memory. */
bool outcomes_has_room(const struct outcomes *outcomes, unsigned version);

/* Changes the number of holders of a label by `step`. It does nothing for a label that a model has,
 * and for OUTCOMES_OTHER. */
void outcomes_hold(struct outcomes *outcomes, unsigned version, uint64_t label, int step);

struct outcomes_mark {
    uint64_t label, predicted;  /* label: a number or OUTCOMES_OTHER; or both are sets */
    unsigned edits, characters; /* of a right text */
    enum decision decision;
    bool is_sampled; /* drawn at random among the automatic ones */
    bool is_set;
};
/* Counts a prediction that may get a label. */
void outcomes_predicted(struct outcomes *outcomes, unsigned version, enum decision decision);
/* Changes the count of labels that stand by `step`. */
void outcomes_count(struct outcomes *outcomes, unsigned version, const struct outcomes_mark *mark,
                    int step);
/* Counts a label that was given, after outcomes_count. */
void outcomes_given(struct outcomes *outcomes, unsigned version, const struct outcomes_mark *mark);

/* The text of a number; "other" of OUTCOMES_OTHER. That of a new label may go with the lock. */
const char *outcomes_text(const struct outcomes *outcomes, unsigned version, uint64_t label);

/* texts <- the labels of a set, by their numbers; returns how many. */
unsigned outcomes_set_texts(const struct outcomes *outcomes, unsigned version, uint64_t set,
                            const char *texts[OUTCOME_SET_LABELS]);
/* The labels of a set as one text, "a|b", in the arena. NULL: there is no memory. */
const char *outcomes_set_text(const struct outcomes *outcomes, unsigned version, uint64_t set,
                              struct arena *arena);

#endif
