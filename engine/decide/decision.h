/* decision.h - what is to become of an answer: it may go out by itself, a person should look at it,
 * or the input is like nothing the model knows. Plain data, for everyone who passes answers on. */
#ifndef ATTND_ENGINE_DECIDE_DECISION_H
#define ATTND_ENGINE_DECIDE_DECISION_H

#include <stdbool.h>

enum decision { DECISION_AUTO, DECISION_REVIEW, DECISION_UNKNOWN, DECISION_COUNT };

struct judgement {
    enum decision decision;
    bool truncated;  /* review: the model has not read all of the text; nothing else was wrong */
    unsigned label;  /* review, unless truncated: the label that is not sure enough */
    bool never;      /* review: no score of that label goes out by itself */
    float threshold; /* review: the label's, unless truncated or never; unknown: ood_score's */

    bool has_ood;    /* the model scores strangeness */
    float ood_score; /* larger: stranger; finite */
    bool has_rank;
    float ood_rank; /* the share of the validation inputs that are less strange, 0 to 1 */
};

/* "auto", "review", "unknown". */
static inline const char *decision_name(enum decision decision)
{
    return decision == DECISION_AUTO ? "auto" : decision == DECISION_REVIEW ? "review" : "unknown";
}

#endif
