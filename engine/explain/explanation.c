#include "engine/explain/explanation.h"

#include <string.h>

enum explain_method method_default(enum engine_kind kind)
{
    return kind == ENGINE_IMAGE ? EXPLAIN_ROLLOUT : EXPLAIN_GRADIENT_LAST;
}

static const char *const names[EXPLAIN_METHODS] = {
    [EXPLAIN_ROLLOUT] = "rollout",
    [EXPLAIN_ATTENTION] = "attention",
    [EXPLAIN_GRADIENT] = "gradient",
    [EXPLAIN_GRADIENT_LAST] = "gradient-last",
    [EXPLAIN_ALIGNMENT] = "alignment",
};

const char *method_name(enum explain_method method)
{
    return names[method];
}

bool method_find(const char *name, enum explain_method *method)
{
    for (int i = 0; i < EXPLAIN_METHODS; i++)
        if (strcmp(name, names[i]) == 0) {
            *method = (enum explain_method)i;
            return true;
        }
    return false;
}

const char *method_names(void)
{
    return "rollout, attention, gradient, gradient-last, alignment";
}
