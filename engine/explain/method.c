#include "engine/explain/method.h"

#include <string.h>

enum explain_method method_default(enum engine_kind kind)
{
    return kind == ENGINE_IMAGE ? EXPLAIN_ATTENTION : EXPLAIN_GRADIENT;
}

static const char *const names[EXPLAIN_METHODS] = {
    [EXPLAIN_DEFAULT] = "default",
    [EXPLAIN_ROLLOUT] = "rollout",
    [EXPLAIN_ATTENTION] = "attention",
    [EXPLAIN_GRADIENT] = "gradient",
};

const char *method_name(enum explain_method method)
{
    return names[method];
}

bool method_find(const char *name, enum explain_method *method)
{
    for (int i = EXPLAIN_DEFAULT + 1; i < EXPLAIN_METHODS; i++)
        if (strcmp(name, names[i]) == 0) {
            *method = (enum explain_method)i;
            return true;
        }
    return false;
}

const char *method_names(void)
{
    return "rollout, attention, gradient";
}
