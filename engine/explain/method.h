/* method.h - the ways to explain an answer; part of engine.h's interface. Threads: plain data. */
#ifndef ATTND_ENGINE_EXPLAIN_METHOD_H
#define ATTND_ENGINE_EXPLAIN_METHOD_H

#include <stdbool.h>

enum explain_method {
    EXPLAIN_ROLLOUT,   /* "rollout": attention through all layers (attention_map.h) */
    EXPLAIN_ATTENTION, /* "attention": attention of the last layer (attention_map.h) */
    EXPLAIN_GRADIENT,  /* "gradient": attention that speaks for one class (gradient.h) */
    EXPLAIN_METHODS
};

const char *method_name(enum explain_method method);
/* False for a name that is none of them. */
bool method_find(const char *name, enum explain_method *method);
/* "rollout, attention, gradient": for error texts and help. */
const char *method_names(void);

#endif
