/* explanation.h - the content of the answer to an explain request; part of engine.h's interface.
 * Threads: plain data, in the arena of the request. */
#ifndef ATTND_ENGINE_EXPLAIN_EXPLANATION_H
#define ATTND_ENGINE_EXPLAIN_EXPLANATION_H

#include "engine/explain/method.h"
#include "engine/model/attention_stats.h"
#include "engine/vision/region.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    EXPLANATION_SPANS = 5,
    EXPLANATION_BOXES = 5,
    OVERLAY_PIXELS_MAX = 1 << 22, /* most pixels of an image with a heat map */
};

/* A stretch of a text: character offsets, end exclusive. */
struct excerpt {
    uint32_t start, end;
    float relevance;
    bool of_pair; /* offsets are in the second text of a pair */
};

/* An image, and the place of the patches on it. */
struct patches_view {
    unsigned width, height;  /* size of the posted image */
    struct image_region all; /* the area of all rows x columns patches */
    unsigned rows, columns;
};

/* A patch as pixels of the image, right and bottom exclusive, cut off at the image's edges. */
struct patch_box {
    unsigned left, top, right, bottom;
    float relevance;
};

struct explanation {
    enum explain_method method; /* never EXPLAIN_DEFAULT */
    unsigned layer;             /* 0: all layers, or the last */

    const struct attention_stats *stats; /* [layers][heads]; NULL: not asked for */
    unsigned layers, heads;
    const unsigned *heads_left; /* [layers] heads of each layer after pruning; NULL: all */

    /* For a text. */
    const struct excerpt *words; /* [word_count] in the order of the text; summing to one */
    unsigned word_count;
    struct excerpt spans[EXPLANATION_SPANS]; /* the most relevant first */
    unsigned span_count;
    struct excerpt phrases[EXPLANATION_SPANS]; /* phrases of a table of n-grams; relevance: what
                                                  each adds to the label's logit */
    unsigned phrase_count;
    bool has_phrases; /* the model has such a table */

    /* For an image. */
    struct patches_view view;
    const float *patches;                      /* [rows][columns], summing to one */
    struct patch_box boxes[EXPLANATION_BOXES]; /* the most relevant first */
    unsigned box_count;
    const char *overlay; /* a heat map as base64, if it was asked for; else NULL */
};

#endif
