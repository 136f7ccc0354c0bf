/* run_logits.h - engine_run for tests that look at logits and features alone. Threads: one at a time
 * in each file that includes it. */
#ifndef ATTND_TESTS_SUPPORT_RUN_LOGITS_H
#define ATTND_TESTS_SUPPORT_RUN_LOGITS_H

#include "engine/engine.h"

enum { RUN_LOGITS_ROWS_MAX = 512 };

/* Features of the rows of the last run_logits; the session's. */
static const float *run_features[RUN_LOGITS_ROWS_MAX];

/* logits[r][label_count] of inputs[0..rows), at most RUN_LOGITS_ROWS_MAX. Allocates nothing. */
static inline void run_logits(struct engine_session *session,
                              const struct engine_input *const *inputs, unsigned rows,
                              float *const *logits)
{
    struct engine_result results[RUN_LOGITS_ROWS_MAX], *listed[RUN_LOGITS_ROWS_MAX] = {NULL};
    for (unsigned r = 0; r < rows; r++) {
        results[r] = (struct engine_result){.logits = logits[r]};
        listed[r] = &results[r];
    }
    engine_run(session, inputs, rows, listed);
    for (unsigned r = 0; r < rows; r++)
        run_features[r] = results[r].features;
}

/* The same of one input. */
static inline void run_logits_one(struct engine_session *session, const struct engine_input *input,
                                  float *logits)
{
    run_logits(session, &input, 1, &logits);
}

/* The same of inputs that lie one behind the other, as one batch; logits: [rows, stride]. */
static inline void run_logits_rows(struct engine_session *session,
                                   const struct engine_input *inputs, unsigned rows, float *logits,
                                   size_t stride)
{
    const struct engine_input *listed[RUN_LOGITS_ROWS_MAX] = {NULL};
    float *wanted[RUN_LOGITS_ROWS_MAX] = {NULL};
    for (unsigned r = 0; r < rows; r++) {
        listed[r] = &inputs[r];
        wanted[r] = logits + r * stride;
    }
    run_logits(session, listed, rows, wanted);
}

#endif
