/* explanation.h - what the answer to an explain request says; part of engine.h's interface.
 * Threads: plain data, in the arena of the request. */
#ifndef ATTND_ENGINE_EXPLAIN_EXPLANATION_H
#define ATTND_ENGINE_EXPLAIN_EXPLANATION_H

#include "engine/explain/method.h"
#include "engine/explain/patches.h"
#include "engine/explain/words.h"
#include "engine/model/attention_stats.h"

enum { EXPLANATION_SPANS = 5, EXPLANATION_BOXES = 5 };

struct explanation {
    enum explain_method method; /* never EXPLAIN_DEFAULT */
    unsigned layer;             /* 0: all, or the last */

    const struct attention_stats *stats; /* [layers][heads]; NULL: not asked for */
    unsigned layers, heads;

    /* of a text */
    const struct excerpt *words; /* [word_count] in the order of the text; summing to one */
    unsigned word_count;
    struct excerpt spans[EXPLANATION_SPANS]; /* the most relevant first */
    unsigned span_count;

    /* of an image */
    struct patches_view view;
    const float *patches;                      /* [rows][columns], summing to one */
    struct patch_box boxes[EXPLANATION_BOXES]; /* the most relevant first */
    unsigned box_count;
    const char *overlay; /* a heat map as base64, if it was asked for; else NULL */
};

#endif
