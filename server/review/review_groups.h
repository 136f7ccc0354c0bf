/* review_groups.h - kept inputs of a model that nobody has labelled, those that are alike together,
 * so that twenty are labelled at once; beside each group the labelled inputs that are most like it.
 *
 *     struct review_question question = {.model = "wafer-vit", .decisions = REVIEW_NOT_AUTO, ...};
 *     review_groups_find(review, &question, &found, &arena, &err);     reads, compares
 *     claim(review_groups_bytes(&found));
 *     review_groups_read(review, &found, &arena, &groups, &err);       what is told of each input
 *
 * Inputs are alike by what their model's classifier read of them (server/serve/likeness.h), in
 * groups by average linkage (linkage.h) at a mean cosine of REVIEW_ALIKE. Measured on inputs that
 * the models had not learnt from, and would not answer by themselves (2026-11): 203 wafer maps, 80
 * of them drawn, of two kinds that wafer-vit does not know, come in 30 groups, in which 94.7 % have
 * the label that most of their group have, and each unknown kind is one group; 102 logs, 42 of
 * kernels and 60 of builds, which kernel-bert does not know, in 25 with 88.6 %. At 0.7 it is 20
 * groups with 74.2 % and 15 with 82.5 %, at 0.9 50 with 97.7 % and 36 with 92.9 %.
 *
 * A vector pooled over the encoder's states (their mean, as an embedding has it) was tried in place
 * of that, and is no better (2026-11). Share of pairs of inputs that are in one group and have one
 * label, or neither, and the adjusted Rand index:
 *
 *                                                               now          mean of states
 *     207 maps of WM-811K that wafer-vit would not answer       0.917  0.75  0.813  0.35
 *     78 crash reports that kernel-bert would not (learnt)      0.876  0.69  0.867  0.67
 *     200 failed builds by kernel-bert, which it has not learnt 0.759  0.39  0.735  0.28
 *     300 crash reports by testlog-bert, which learnt none      0.772  0.07  0.148  0.00
 *
 * Both side by side came between. Less the mean of all, the vectors gave 0.14 for the last line and
 * less than now for the others.
 *
 * The newest REVIEW_READ_MAX inputs of the model are read, of which the newest REVIEW_GROUPED_MAX
 * without a label are grouped. An input of before likenesses were kept, or of a version with
 * another feature size, is a group of its own, after all others.
 *
 * Threads: any; it reads files and computes, on the caller's thread: a second for the most.
 */
#ifndef ATTND_SERVER_REVIEW_REVIEW_GROUPS_H
#define ATTND_SERVER_REVIEW_REVIEW_GROUPS_H

#include "engine/base/interrupt.h"
#include "server/feedback/feedback.h"
#include "server/review/review.h"

#define REVIEW_ALIKE 0.8F

enum {
    REVIEW_READ_MAX = 4000,
    REVIEW_GROUPED_MAX = 2000,
    REVIEW_GROUPS_MAX = 50,       /* of one reply */
    REVIEW_GROUP_ITEMS_MAX = 100, /* of one group, that are told; its size counts all */
    REVIEW_NEAREST_MAX = 5,       /* labelled inputs beside a group */
    REVIEW_LABELS_MAX = 1000,     /* labels that are counted */
    REVIEW_NOT_AUTO = 1u << DECISION_REVIEW | 1u << DECISION_UNKNOWN
};

struct review_question {
    const char *model;
    unsigned decisions;     /* 1 << decision of each that is wanted */
    unsigned limit;         /* groups, up to REVIEW_GROUPS_MAX */
    unsigned likeness_size; /* of the model that is served */
    struct feedback *feedback;
    struct interrupt *interrupt; /* NULL: none */
};

/* A kept input on its way into a group. */
struct review_item {
    uint64_t number; /* of its file */
    size_t line;     /* bytes of its file's line */
    enum decision decision;
    const char *label;      /* the right one, the feedback's; NULL: it has none */
    const int8_t *likeness; /* NULL: it has none that can be compared */
    float similarity;       /* to the middle of the group at hand */
};

struct review_nearest {
    const char *label; /* the right one */
    float similarity;
    const struct review_item *item;
    const struct kept_input *input; /* NULL: it has made room since */
};

struct review_group {
    unsigned size;
    unsigned decisions[DECISION_COUNT]; /* how many were so */
    struct review_item *items;          /* [count] most typical first */
    unsigned count;                     /* at most REVIEW_GROUP_ITEMS_MAX */
    struct review_nearest nearest[REVIEW_NEAREST_MAX];
    unsigned nearest_count;

    /* Filled by review_groups_read. */
    struct kept_input *inputs; /* [input_count] of the items, but for those that made room since */
    unsigned input_count;
    const char *label; /* that the model gave most of them; NULL: there are none */
};

struct review_count {
    const char *label;
    unsigned count;
};

struct review_found {
    struct review_group *groups; /* [count] the largest first */
    unsigned count;
    unsigned total;     /* groups, also beyond the limit */
    unsigned inputs;    /* without a label, and of the decisions that are wanted */
    unsigned ungrouped; /* of them, those that could not be compared */
    unsigned forgotten; /* that can be given no label: their predictions are not remembered */
    struct review_count *labels; /* [label_count] right labels of kept inputs */
    unsigned label_count;
};

/* Inputs that finding reads, at most. */
unsigned review_groups_units(struct review *review);
/* Most memory that finding takes, with all inputs that are kept now. */
size_t review_groups_finding(struct review *review, const struct review_question *question);

/* ERR_NOT_READY: the inputs or predictions of before the start are still being read; ERR_NO_MEMORY;
 * the error of the interrupt. */
enum err_code review_groups_find(struct review *review, const struct review_question *question,
                                 struct review_found *out, struct arena *arena, struct err *err);

/* Most memory that reading the groups and encoding them takes. */
size_t review_groups_bytes(const struct review_found *found);
/* ERR_NO_MEMORY. */
enum err_code review_groups_read(struct review *review, struct review_found *found,
                                 struct arena *arena, struct err *err);

#endif
