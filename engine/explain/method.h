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
    EXPLAIN_DEFAULT = EXPLAIN_METHODS, /* the most faithful one, as measured: method_default */
};

/* How an answer is to be explained. */
struct explain_options {
    enum explain_method method;
    unsigned layer; /* 1 is the lowest: rollout through the layers up to it, attention of it; 0: the
                       last. Gradients are of the last only. */
    bool statistics; /* of the attention, per layer and head (attention_stats.h) */
};

/* What EXPLAIN_DEFAULT stands for (models/README.md has the tables): rollout for images, where it
 * points to the defect and the last layer's methods beside it; gradient-last for texts. */
enum explain_method method_default(enum engine_kind kind);

const char *method_name(enum explain_method method);
/* False for a name that is none of them; "default" is none. */
bool method_find(const char *name, enum explain_method *method);
/* "rollout, attention, ...": for error texts and help. */
const char *method_names(void);

#endif
