#include "server/review/sample.h"

#include "server/rollout/share.h"

#include <stdio.h>

bool sample_takes(double share, const char *id, unsigned index, enum decision decision)
{
    char item[16];
    if (decision != DECISION_AUTO || !(share > 0))
        return false;
    snprintf(item, sizeof item, "%u", index);
    return share_point("keep", item, id) < share;
}
