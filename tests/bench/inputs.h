/* inputs.h - batches of prepared inputs whose numbers come from formulas, so that a peer on the
 * other side of a pipe can make the very same: of row r, token t is id
 * 1000 + (7919 t + 104729 r) mod 29000 and pixel i, counted over [channel, y, x], sin(0.37 i + r).
 *
 *     inputs_texts(&inputs, info, 8, 128, &err);
 *     run_logits(session, inputs.rows, inputs.count, inputs.logits);
 *     inputs_free(&inputs);
 */
#ifndef ATTND_TESTS_BENCH_INPUTS_H
#define ATTND_TESTS_BENCH_INPUTS_H

#include "engine/engine.h"

/* A mixed batch: text r has inputs_mixed_tokens(r) tokens, from 8 to 256, 2112 of 16 rows. */
enum { INPUTS_MIXED = 0, INPUTS_MIXED_ROWS = 16, INPUTS_MIXED_TOKENS = 2112 };

struct inputs {
    struct arena arena;
    const struct engine_input **rows; /* [count] */
    float **logits;                   /* [count][label_count] */
    unsigned count;
    size_t tokens; /* of all rows */
};

unsigned inputs_mixed_tokens(unsigned row);

/* tokens of each text, or INPUTS_MIXED; at most the model's tokens_max. ERR_UNUSABLE, or
 * ERR_NO_MEMORY. Free them also after an error. */
enum err_code inputs_texts(struct inputs *out, const struct engine_info *info, unsigned count,
                           unsigned tokens, struct err *err);
enum err_code inputs_images(struct inputs *out, const struct engine_info *info, unsigned count,
                            struct err *err);
void inputs_free(struct inputs *inputs);

#endif
