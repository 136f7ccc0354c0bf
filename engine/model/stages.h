/* stages.h - an encoder whose layers have several widths: each stage runs on windows of its grid,
 * and between two stages four neighbouring patches become one (Liu et al. 2021, section 3.1):
 *
 *     x[p] = W norm([x(2r, 2c), x(2r + 1, 2c), x(2r, 2c + 1), x(2r + 1, 2c + 1)])   for p = (r, c)
 *
 * A stage's rows are in the order of its windows (patch_windows.h), which are the sequences of its
 * packed batch. A family without stages is one stage, which encoder.h runs directly.
 *
 * Threads: as encoder.h.
 */
#ifndef ATTND_ENGINE_MODEL_STAGES_H
#define ATTND_ENGINE_MODEL_STAGES_H

#include "engine/model/encoder.h"

/* workspace->x: embeddings in. Out: the last hidden states, in encoder_run's layout, in
 * workspace_last. Its rows and offsets are the inputs' again; an input's tokens are in the order of
 * its last windows. */
void stages_run(const struct spec *spec, const struct weights *weights,
                struct workspace *workspace);

#endif
