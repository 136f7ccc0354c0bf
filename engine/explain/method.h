/* method.h - the ways to explain an answer; part of engine.h's interface. Threads: plain data. */
#ifndef ATTND_ENGINE_EXPLAIN_METHOD_H
#define ATTND_ENGINE_EXPLAIN_METHOD_H

#include "engine/model/input.h"

#include <stdbool.h>

enum explain_method {
    EXPLAIN_ROLLOUT,       /* "rollout": attention through all layers (attention_map.h) */
    EXPLAIN_ATTENTION,     /* "attention": attention of the last layer (attention_map.h) */
    EXPLAIN_GRADIENT,      /* "gradient": attention weighted with one class's gradient */
    EXPLAIN_GRADIENT_LAST, /* "gradient-last": the same, of the last layer's tokens */
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

#endif
