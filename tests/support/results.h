/* results.h - results of the engine for tests that need no engine. Threads: none. */
#ifndef ATTND_TESTS_SUPPORT_RESULTS_H
#define ATTND_TESTS_SUPPORT_RESULTS_H

#include "engine/decide/argmax.h"
#include "engine/engine.h"

/* The result of these scores, which stay the caller's: the label is the largest score's, the
 * decision is automatic. */
static inline struct engine_result result_of(float *scores, unsigned count)
{
    const unsigned label = argmax(scores, count);
    return (struct engine_result){
        .scores = scores, .is_finite = true, .label = label, .number = scores[label]};
}

#endif
