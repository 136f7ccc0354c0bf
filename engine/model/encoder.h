/* encoder.h - the stack of attention blocks that BERT and ViT share, over a packed batch.
 *
 * Sequences lie end to end in one matrix of T tokens; workspace->offset marks the borders. Linear
 * layers, norms and activations see one matrix; only attention looks at the borders.
 *
 * Threads: weights are shared; a workspace belongs to one caller, who lends it a team.
 */
#ifndef ATTND_ENGINE_MODEL_ENCODER_H
#define ATTND_ENGINE_MODEL_ENCODER_H

#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"

/* workspace->x: embeddings in, last hidden states out (before a final norm). */
void encoder_run(const struct spec *spec, const struct weights *weights,
                 struct workspace *workspace);

#endif
