/* embed.h - a prepared input -> token vectors, the rows of workspace->x from `first` on.
 *
 *   text   x[t] = norm(word[id[t]] + position[t] + token_type[0])          (Devlin et al. 2019)
 *   image  x[0] = [CLS] + position[0], (x[1] = distillation token + position[1],) then registers,
 *          which have no position (Darcet et al. 2024), then
 *          x[s + p] = W_patch patch[p] + b + position[s + p]     (Dosovitskiy et al. 2021, eq. 1)
 */
#ifndef ATTND_ENGINE_MODEL_EMBED_H
#define ATTND_ENGINE_MODEL_EMBED_H

#include "engine/model/input.h"
#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"

void embed(const struct spec *spec, const struct weights *weights, struct workspace *workspace,
           const struct engine_input *input, unsigned first);

#endif
