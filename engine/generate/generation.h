/* generation.h - the search for a text, token by token, as generate() of transformers 4.57 goes:
 * greedy search and beams. It holds no model: whoever has one computes the logits of the rows that
 * the search names, for several searches in one batch.
 *
 *     generation_begin(&generation, &options, &arena, &err)
 *     while (generation_rows(generation, &rows) > 0) {
 *         ... logits[row][vocabulary] of each row
 *         if (generation_take(generation, logits, stride, &err)) ...
 *     }
 *     for (unsigned i = 0; generation_result(generation, i, &hypothesis); i++) ...
 *
 * A row is a hypothesis that goes on: a token, and the slots of a cache that hold the keys and
 * values of the tokens before. Each row of each step has a slot of its own, so hypotheses share the
 * slots of what they have in common, and nothing is copied. Hypotheses with the same tokens are one
 * row.
 *
 * The steps of beam search (GenerationMixin._beam_search):
 *   1. log-probabilities, the rules (generation_rules.h), plus the sum of the hypothesis;
 *   2. the best candidates of all hypotheses, twice the beams (with several end tokens more);
 *   3. the best of them that do not end go on; those among the first `beams` that end are finished
 *      hypotheses, by sum / length^length_penalty, of which the best `beams` stay;
 *   4. it ends when the best that goes on cannot get better than the worst finished one
 *      (early_stopping false: at its present length; "never": at the best length), or when `beams`
 *      are finished (true), or at new_max, where all are.
 * Greedy search takes the largest logit. Ties are those of torch.topk (top_k.h) and torch.argmax.
 *
 * With a check (output_check.h), a token is banned if no accepted text goes on like that, a
 * hypothesis that must end where no text may end is dropped, and so is one that does not hold. Beam
 * search that finds nothing so is run once more, from position 0, with hypotheses ordered by what
 * may follow them (look_ahead.h), if the check has an automaton of the whole.
 *
 * Threads: one at a time.
 */
#ifndef ATTND_ENGINE_GENERATE_GENERATION_H
#define ATTND_ENGINE_GENERATE_GENERATION_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/generate/generation_config.h"
#include "engine/generate/output_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct generation;
struct kernels;

/* Borrowed until the search has ended, with all that they name. */
struct generation_options {
    const struct generation_config *config;
    const struct output_check *check; /* NULL: none */
    const struct kernels *kernels;
    unsigned vocabulary; /* logits of a row */
};

struct generation_row {
    uint32_t token;
    float probability;     /* the token's natural logarithm, as generation_hypothesis has it */
    unsigned parent;       /* row of the step before that it goes on from; 0 at the first step */
    const uint32_t *slots; /* [position + 1] of each token so far, its own last */
};

struct generation_rows {
    unsigned count;
    unsigned position; /* of all tokens, from 0 */
    struct generation_row row[GENERATION_BEAMS_MAX];
};

struct generation_hypothesis {
    const uint32_t *ids; /* [count] without the start; the end, if there is one, is the last */
    const float *probabilities; /* [count] natural logarithms; 0 where a token was forced */
    const uint32_t *slots;      /* [count] of the row whose logits each token is of */
    unsigned count;
    float sum, score; /* of the logarithms; sum / count^length_penalty */
};

/* Bytes that a search takes from its arena, whatever it finds; and look_ahead_bytes, if it can look
 * ahead. */
size_t generation_bytes(const struct generation_config *config, unsigned vocabulary);
/* Slots of the cache that it needs: each holds one token's keys and values. */
size_t generation_slots(const struct generation_config *config);

/* Memory is the arena's. ERR_NO_MEMORY. */
enum err_code generation_begin(struct generation **out, const struct generation_options *options,
                               struct arena *arena, struct err *err);

/* The rows to compute next, the search's until the next generation_take; returns their number, 0
 * when the search has ended. */
unsigned generation_rows(const struct generation *generation, struct generation_rows *out);

/* Goes one step on with the logits of the rows, `stride` numbers apart; they are overwritten.
 * ERR_INTERNAL for logits that are not finite; the search has then ended. */
enum err_code generation_take(struct generation *generation, float *logits, size_t stride,
                              struct err *err);

/* The finished hypotheses that are asked for (num_return_sequences), the best first. False: there
 * are no more; there may be none if there is a check. `out` points into the search; it is valid
 * until the next call. */
bool generation_result(struct generation *generation, unsigned index,
                       struct generation_hypothesis *out);

/* The best hypothesis that was dropped: the best of those that did not hold or, if there are none,
 * of those that were cut or that no token of the vocabulary goes on with. False: there is none. */
bool generation_dropped(struct generation *generation, struct generation_hypothesis *out);

#endif
