/* generation_rules.h - the rules of a search over the logits of one hypothesis, in the order in
 * which generate() of transformers 4.57 applies its LogitsProcessors: no n-gram twice, bad words,
 * no end before the minimum, the forced first token, the forced last one, suppressed tokens. A
 * banned token gets minus infinity; the others are not normalised anew (renormalize_logits does
 * that, and is the search's).
 *
 * Threads: pure function.
 */
#ifndef ATTND_ENGINE_GENERATE_GENERATION_RULES_H
#define ATTND_ENGINE_GENERATE_GENERATION_RULES_H

#include "engine/generate/generation_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes logits [vocabulary] of the token behind ids [count], the start first. True: the token is
 * forced; all logits are minus infinity, but for 0 at the tokens that may come. */
bool generation_rules_apply(const struct generation_config *config, float *logits,
                            size_t vocabulary, const uint32_t *ids, unsigned count);

#endif
