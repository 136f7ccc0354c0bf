/* explanation.h - the ways to explain an answer, and the content of an explanation; part of
 * engine.h's interface. Threads: plain data; explanations are in the arena of the request. */
#ifndef ATTND_ENGINE_EXPLAIN_EXPLANATION_H
#define ATTND_ENGINE_EXPLAIN_EXPLANATION_H

#include "engine/model/input.h"
#include "engine/vision/region.h"

#include <stdbool.h>
#include <stdint.h>

struct attention_stats; /* model/attention_stats.h */

/* ---- methods ---- */

enum explain_method {
    EXPLAIN_ROLLOUT,       /* "rollout": attention through all layers (attention_map.h) */
    EXPLAIN_ATTENTION,     /* "attention": attention of the last layer (attention_map.h) */
    EXPLAIN_GRADIENT,      /* "gradient": attention weighted with one class's gradient */
    EXPLAIN_GRADIENT_LAST, /* "gradient-last": the same, of the last layer's tokens */
    EXPLAIN_LABEL_METHODS, /* the ones above explain a label */
    EXPLAIN_ALIGNMENT = EXPLAIN_LABEL_METHODS, /* "alignment": where a model that writes looked for
                                                  each token */
    EXPLAIN_METHODS,
    EXPLAIN_DEFAULT = EXPLAIN_METHODS, /* the most faithful one by measurement: method_default */
};

/* Options of an explanation. */
struct explain_options {
    enum explain_method method;
    unsigned layer;  /* 1 is the lowest: rollout up to this layer, attention of this layer; 0: the
                       last. Gradients exist for the last only. */
    bool statistics; /* also return statistics of each layer and head (attention_stats.h) */
};

/* Returns the method of EXPLAIN_DEFAULT (models/README.md has the tables). For images it is
 * rollout, which shows the defect, while the last layer's methods miss it; for texts
 * gradient-last. */
enum explain_method method_default(enum engine_kind kind);

const char *method_name(enum explain_method method);
/* Finds a method by name. False for any other name, and for "default". */
bool method_find(const char *name, enum explain_method *method);
/* "rollout, attention, ...": for error texts and help. */
const char *method_names(void);

/* ---- an explanation ---- */

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

/* A token of a text that was written. */
struct aligned_token {
    const char *text; /* [len] what it adds to the text, whole characters; may be empty */
    size_t len;
    const float *weights; /* [words] or [rows x columns] attention of its step, mean over heads and
                             layers; special tokens of the source have the rest to one */
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

    /* For a text that was written; words or patches then have the mean over its tokens. */
    const struct aligned_token *aligned; /* [aligned_count] in the order of its ids */
    unsigned aligned_count;
};

#endif
