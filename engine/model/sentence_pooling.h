/* sentence_pooling.h - a text's vector from its token states: the pooling of sentence-transformers,
 * then Dense and Normalize (engine/model/config/sentence_modules.h).
 *
 *     float *scratch = ... sentence_scratch(&modules) numbers, once for each worker
 *     sentence_embed(vector, &modules, &tokens, scratch);          vector [modules.width]
 *
 * x[t], t < tokens, are the token states, special tokens included. Tokens [first, end) count, n of
 * them:
 *
 *     cls                    x[0], also if the prompt does not count
 *     max                    max over t of x[t]
 *     mean                   sum over t of x[t] / n
 *     mean_sqrt_len_tokens   sum over t of x[t] / sqrt(n)
 *     weightedmean           sum over t of (t + 1) x[t] / sum over t of (t + 1)
 *     lasttoken              x[end - 1]
 *     Dense                  act(W x + b)
 *     Normalize              x / max(|x|, 1e-12)
 *
 * The weights of weightedmean count from the text's first token, whatever `first` is. Version 5 of
 * sentence-transformers, by which the goldens were made, takes x[0] for cls; version 6 takes
 * x[first], which differs only with include_prompt false and a prompt.
 *
 * Sums over tokens and squares are computed in double and rounded once, products of Dense in fp32.
 * A NaN in a column that counts makes that column's result NaN.
 *
 * Cost: n D additions a pooling, out x in multiply-adds a Dense. No memory is allocated. Threads:
 * they touch only their arguments.
 */
#ifndef ATTND_ENGINE_MODEL_SENTENCE_POOLING_H
#define ATTND_ENGINE_MODEL_SENTENCE_POOLING_H

#include "engine/model/config/sentence_modules.h"

#include <stdbool.h>
#include <stddef.h>

/* The token states of one text, borrowed, and the tokens that count. With include_prompt, and for a
 * text without a prompt, these are all tokens. Else `first` is the number of tokens of the prompt
 * alone, special tokens included, less a special token at its end. The range is not empty: the
 * caller refuses a prompt that leaves no token, for which the package gives no usable vector. */
struct sentence_tokens {
    const float *x;      /* [tokens, width] */
    size_t stride;       /* numbers from one token's states to the next, at least width */
    unsigned first, end; /* first < end; x has tokens 0 to end - 1 */
};

/* out [pooling->count x width] <- the results of the modes, side by side. out must not overlap
 * x. */
void sentence_pool(float *out, const struct sentence_pooling *pooling,
                   const struct sentence_tokens *tokens, unsigned width);

/* Numbers of scratch that sentence_embed needs. */
size_t sentence_scratch(const struct sentence_modules *modules);

/* out [modules->width] <- the text's vector, before truncation: the pooling and all steps. The
 * weights are loaded (sentence_modules_load); a token has modules->hidden states. out, scratch and
 * x do not overlap. */
void sentence_embed(float *out, const struct sentence_modules *modules,
                    const struct sentence_tokens *tokens, float *scratch);

/* The same of a vector [modules->width] that the family has pooled: no step is a Dense. */
void sentence_finish(float *out, const struct sentence_modules *modules, const float *vector,
                     float *scratch);

/* vector [width] <- vector / max(|vector|, 1e-12), in place. */
void sentence_normalize(float *vector, unsigned width);

#endif
