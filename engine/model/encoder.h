/* encoder.h - the stack of attention blocks that all families share, over a packed batch.
 *
 * Sequences lie end to end in one matrix of T tokens; workspace->offset marks the borders. Linear
 * layers, norms and activations see one matrix; only attention looks at the borders. Linear layers
 * read their activations in the precision of the weights; the conversion is made where the value is
 * computed: by the norm, and by the pool's member that finishes a block of attention.
 *
 * Threads: weights are shared; a workspace belongs to one caller, which lends it a pool.
 */
#ifndef ATTND_ENGINE_MODEL_ENCODER_H
#define ATTND_ENGINE_MODEL_ENCODER_H

#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"

/* workspace->x: embeddings in; out, before a final norm, the last hidden states of the tokens that
 * the head reads: [rows x spec_head_tokens, D]. The others' are never computed: in the last block
 * they are keys and values only, which saves three quarters of it. Of a head that reads them all
 * they lie as the batch does. Of a family with stages it runs the layers of one, `spec` being what
 * spec_at gave: stages.h. */
void encoder_run(const struct spec *spec, const struct weights *weights,
                 struct workspace *workspace);

#endif
