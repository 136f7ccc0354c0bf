/* outcomes.h - how often which label was right where which one was predicted, by version of a
 * model.
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
 * Threads: one at a time.
 */
#ifndef ATTND_SERVER_FEEDBACK_OUTCOMES_H
#define ATTND_SERVER_FEEDBACK_OUTCOMES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/decide/decision.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OUTCOMES_VERSIONS = 256,    /* in one life of the process */
    OUTCOMES_CELLS = 4096,      /* of all versions */
    OUTCOMES_NEW_LABELS = 1024, /* of a version, whose texts are kept */
};
/* A label that the model lacks, as it is counted: no enumerator, which is an int. */
#define OUTCOMES_OTHER 0xFFFFFFFEu

struct outcomes_cell {
    bool is_used;
    uint16_t version;
    uint32_t label, predicted;
    uint32_t now[DECISION_COUNT]; /* labels that stand, by the prediction's decision */
    uint64_t total;               /* labels that were given to this process; it never falls */
};

struct outcomes_label {
    const char *text;
    bool is_new; /* no model of the version has it */
};

struct outcomes_version {
    const char *model, *version;
    struct outcomes_label *labels; /* [label_count] */
    unsigned label_count, label_room, new_count;
    uint64_t count[DECISION_COUNT], right[DECISION_COUNT]; /* of the labels that stand */
    uint64_t sampled_count, sampled_right;                 /* of them, of automatic ones drawn */
    uint64_t predictions[DECISION_COUNT];                  /* that the labels are of */
    bool is_shadow;                                        /* it has judged copies */
    uint64_t paired[2]
                   [2]; /* of those with a label, by [the answer was right][it would have been] */
};

struct outcomes {
    struct arena arena; /* holds all texts */
    struct outcomes_version versions[OUTCOMES_VERSIONS];
    unsigned version_count;
    unsigned cell_count;
    struct outcomes_cell cells[2 * OUTCOMES_CELLS]; /* open addressing */
};

/* Yours to close. ERR_NO_MEMORY. */
enum err_code outcomes_open(struct outcomes **out, struct err *err);
void outcomes_close(struct outcomes *outcomes); /* NULL is allowed */

/* Made at first sight. Below 0: there is no memory, or there are too many. */
int outcomes_version(struct outcomes *outcomes, const char *model, const char *version);
/* NULL: never seen. */
const struct outcomes_version *outcomes_find(const struct outcomes *outcomes, const char *model,
                                             const char *version);

/* The labels of a model: none of them is new from now on. False: there is no memory. */
bool outcomes_learn(struct outcomes *outcomes, unsigned version, const char *const *labels,
                    unsigned count);

/* The number of a text; hint: where it is likely to be. Below 0: the version lacks it. */
int64_t outcomes_label(const struct outcomes *outcomes, unsigned version, const char *text,
                       unsigned hint);
/* The same, but it is added. Below 0: there is no memory, or there are too many new ones. */
int64_t outcomes_add_label(struct outcomes *outcomes, unsigned version, const char *text,
                           bool is_new, unsigned hint);

struct outcomes_mark {
    uint32_t label, predicted; /* label: a number or OUTCOMES_OTHER */
    enum decision decision;
    bool is_sampled; /* drawn at random among the automatic ones */
};
/* One more prediction that may get a label. */
void outcomes_predicted(struct outcomes *outcomes, unsigned version, enum decision decision);
/* One more or one less of those that stand. */
void outcomes_count(struct outcomes *outcomes, unsigned version, const struct outcomes_mark *mark,
                    int step);
/* One more that was given, after it was counted. */
void outcomes_given(struct outcomes *outcomes, unsigned version, const struct outcomes_mark *mark);

/* The text of a number; "other" of OUTCOMES_OTHER. */
const char *outcomes_text(const struct outcomes *outcomes, unsigned version, uint32_t label);

#endif
