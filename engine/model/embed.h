/* embed.h - a prepared input -> token vectors, the rows of workspace->x from `first` on.
 *
 *   text   x[t] = norm(s word[id[t]] + position[p(t)] + token_type[type[t]])  (Devlin et al. 2019)
 *          without positions if they are rotary or added to the scores, and without types or norm
 *          in some families; s is 1 or spec->embedding_scale (Vaswani et al. 2017, section 3.4);
 *          if embeddings have another size than blocks, times W_e + b_e        (Lan et al. 2020)
 *          p(t) is t, or see position_next
 *   image  x[0] = [CLS] + position[0], (x[1] = distillation token + position[1],) then registers,
 *          which have no position (Darcet et al. 2024), then
 *          x[s + p] = W_patch patch[p] + b + position[s + p]     (Dosovitskiy et al. 2021, eq. 1)
 *          or norm(W_patch patch[p] + b), without learnt tokens          (Liu et al. 2021)
 */
#ifndef ATTND_ENGINE_MODEL_EMBED_H
#define ATTND_ENGINE_MODEL_EMBED_H

#include "engine/model/input.h"
#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"

/* Returns the position of a text's next token, whose id is `id`; *counted is 0 at its start. */
static inline unsigned position_next(const struct spec *spec, int32_t id, unsigned *counted)
{
    if (spec->family->positions != POSITION_PAST_PAD)
        return (*counted)++ + (spec->family->positions == POSITION_BEHIND_TWO ? 2 : 0);
    return id == (int32_t)spec->pad_id ? spec->pad_id : spec->pad_id + ++*counted;
}

/* x [E] = a token's embedding, before the norm, in a text of one type of tokens. */
void embed_token(const struct spec *spec, const struct weights *weights, float *x, int32_t id,
                 unsigned position);

void embed(const struct spec *spec, const struct weights *weights, struct workspace *workspace,
           const struct engine_input *input, unsigned first);

#endif
