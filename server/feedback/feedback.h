/* feedback.h - live accuracy: recent predictions, and the labels that people say are right.
 *
 *     feedback_open(&feedback, &(struct feedback_options){.window = 100000, .audit = audit}, &err);
 *     observers_add(&observers, feedback_observer(feedback));          predictions come in
 *     feedback_learn(feedback, "wafer-vit", "1", labels, count, 1);    what the model can say
 *     struct feedback_item item = {.id = "die-7", .label = "Donut"};
 *     feedback_give(feedback, &item, 1, &arena, &err);                 item.predicted "Center"
 *     feedback_accuracy(feedback, "wafer-vit", "1", true, &arena, &accuracy, &err);
 *
 * A label is given for a prediction of the window (window.h), by its id and index; the latest
 * prediction with them is meant. It counts (outcomes.h) for the version of the model that
 * predicted, and goes on counting when its prediction has left the window; it then can no longer be
 * changed.
 *
 * An id belongs to who asked under it (the name of the key): an input of somebody else under an id
 * that is remembered is answered and not remembered, and from then on no label is taken for that
 * id, since nobody knows which input is meant.
 *
 * An answer that is a text is given the right text as a whole. It is right if it is the same to the
 * last character; else the characters that differ are counted, too.
 *
 * The last FEEDBACK_GIVEN labels themselves are remembered longer, for who learns from them:
 * feedback_given tells the one of a prediction, by a key that kept inputs are found by, too.
 *
 * With an audit log each label is a line there before it is accepted, and after a restart the
 * predictions and their labels are read from it (feedback_past.c) by a thread; until that is done
 * nobody knows whether an id is unknown.
 *
 * Threads: any, but for open and close.
 */
#ifndef ATTND_SERVER_FEEDBACK_FEEDBACK_H
#define ATTND_SERVER_FEEDBACK_FEEDBACK_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/decide/decision.h"
#include "engine/statistics/statistics.h"
#include "server/audit/audit.h"
#include "server/observe/record.h"

#include <stdbool.h>
#include <stdint.h>

struct feedback;
struct metrics;

enum { FEEDBACK_GIVEN = 100000 };

struct feedback_options {
    unsigned window;       /* predictions that are remembered; 0: none */
    struct audit *audit;   /* borrowed; NULL: there is none */
    const char *audit_dir; /* its directory */
    bool keeps_labels;     /* for feedback_given */
};

/* The most memory, in bytes, that the texts of models that write take in a window of that size.
 * Where they are longer than 100 bytes each, fewer predictions are remembered. */
size_t feedback_text_bytes(unsigned size);
/* The most memory that it takes, in bytes, without the texts of labels. */
size_t feedback_bytes(unsigned window, bool keeps_labels);

enum err_code feedback_open(struct feedback **out, const struct feedback_options *options,
                            struct err *err);
/* Stops the reading of the past. NULL is allowed. */
void feedback_close(struct feedback *feedback);

/* Observes predictions, and allocates no memory for one that is no text. */
struct observer feedback_observer(struct feedback *feedback);

/* True if the answer to `key` under this id and index may be remembered: no other key's prediction
 * has them. */
bool feedback_is_own(struct feedback *feedback, const char *id, unsigned index, const char *key);

/* The labels of a model that is served in the snapshot of that generation. Only the first call of a
 * generation, from 1, reads them. */
void feedback_learn(struct feedback *feedback, const char *model, const char *version,
                    const char *const *labels, unsigned count, uint64_t generation);

/* Labels that do not exclude each other. */
struct feedback_labels {
    const char **texts; /* [count] NULL: not told, which is not the empty set */
    unsigned count;
};

struct feedback_item {
    const char *id;
    unsigned index;
    const char *label; /* NULL, and no labels: what was given is taken back */
    /* In place of `label`, for an answer of a multi-label model with at most OUTCOME_SET_LABELS:
     * all that are right. `label` is compared with the best label of such an answer. */
    struct feedback_labels labels;
    const char *output; /* in place of both, for an answer that is a text: the right one */
    bool is_new;        /* the label may be one that no served version of the model has */
    const char *source; /* NULL: not told */
    const char *key;    /* name of the key that was sent; NULL: none was needed */

    /* The result: ERR_NOT_FOUND (not remembered, or nothing to take back), ERR_UNUSABLE (no such
     * label, no room for it, or two keys asked under the id), ERR_NOT_READY (the past is being
     * read). The text begins with the member. */
    struct err err;
    bool is_text;          /* the answer is a text, and so are `predicted` and `replaced` */
    const char *predicted; /* NULL also: no text was written that obeys the rules */
    const char *replaced;  /* the label that was given before; NULL: none */
    unsigned edits;        /* characters by which `predicted` differs from `output` */
    struct feedback_labels predicted_labels, replaced_labels; /* of a set, in their place */
    bool is_correct;                                          /* the same label, or the same set */
};

/* Each item without an error of its own is judged, in order. Strings of results live as long as
 * both `feedback` and `arena`. Errors of one do not affect the others. What is returned is of all,
 * and none was accepted: ERR_NOT_READY, the audit log cannot be written; ERR_NO_MEMORY. */
enum err_code feedback_give(struct feedback *feedback, struct feedback_item *items, unsigned count,
                            struct arena *arena, struct err *err);

/* The state of a prediction's right label. */
enum feedback_standing {
    FEEDBACK_NO_MEMORY, /* for the copy of the label */
    FEEDBACK_FORGOTTEN, /* no prediction with that id and index, nor its label, is remembered */
    FEEDBACK_UNREAD,    /* not known yet: the past is being read */
    FEEDBACK_OPEN,      /* nobody has told one, or it was taken back */
    FEEDBACK_LABELLED
};

/* Looks up the latest prediction with the id and index, as feedback_give does. *label: the text, in
 * the arena, of a set "a|b"; NULL: it is not labelled, or its label is one whose text is not kept
 * (outcomes.h). */
enum feedback_standing feedback_label_of(struct feedback *feedback, const char *id, unsigned index,
                                         struct arena *arena, const char **label);

/* The key of an id and index. */
void feedback_key(const struct feedback *feedback, const char *id, unsigned index, uint64_t key[2]);

struct feedback_given {
    /* the prediction's; they live as long as `feedback` */
    const char *model, *version;
    bool is_text; /* the label is a text */
    const char *predicted;
    const char *label; /* the right label, in the arena; NULL: no arena was given. Not of a set */
};

/* The right label of the latest prediction with the key. False: none was given, it was taken back,
 * or it is too old: of before the last FEEDBACK_GIVEN, or of before a start that did not read it
 * again, or there is an error: ERR_NOT_READY, the past is being read; ERR_NO_MEMORY. */
bool feedback_given(struct feedback *feedback, const uint64_t key[2], struct arena *arena,
                    struct feedback_given *out, struct err *err);

struct feedback_share {
    uint64_t right, count;
    uint64_t edits, characters; /* of answers that are texts: of the right texts */
};

/* An estimate for all traffic: each decision counts as often as it was made. Automatic answers
 * count by those labels whose predictions were drawn at random, since somebody chose the others
 * (engine/statistics/statistics.h). */
struct feedback_weighted {
    bool is_known; /* false: a decision was made of which nothing was labelled */
    double value;
    struct interval interval;
    uint64_t count; /* labels that it is made from */
};

struct feedback_class {
    const char *label;
    uint64_t right;
    uint64_t told;      /* labels that say so */
    uint64_t predicted; /* labels of predictions that said so */
};

struct feedback_pair {
    const char *label, *predicted;
    uint64_t count;
};

/* Counts of labelled inputs that a version judged as a shadow. */
struct feedback_paired {
    uint64_t both, answer_only, shadow_only, neither; /* were right */
};

struct feedback_accuracy {
    bool has_texts; /* the answers are texts, without classes and pairs */
    struct feedback_share all, by_decision[DECISION_COUNT];
    struct feedback_weighted weighted;
    struct feedback_paired paired;
    struct feedback_class *classes; /* [class_count] those that occur; NULL: not asked for */
    unsigned class_count;
    struct feedback_pair *pairs; /* [pair_count] what occurred */
    unsigned pair_count;
};

/* The accuracy of a version; with classes and pairs if `whole`. ERR_NO_MEMORY. */
enum err_code feedback_accuracy(struct feedback *feedback, const char *model, const char *version,
                                bool whole, struct arena *arena, struct feedback_accuracy *out,
                                struct err *err);

/* Its collector of metrics: metrics_register. No series of NULL. */
void feedback_register(struct feedback *feedback, struct metrics *metrics);
/* Most series of its metrics, all together; no accuracy has more pairs. One with long texts counts
 * as several. */
size_t feedback_series(struct feedback *feedback);

#endif
