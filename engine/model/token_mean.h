/* token_mean.h - what an input is like, whatever it is called: the mean of its tokens on their way
 * through the encoder.
 *
 *     h_b = the mean over all tokens of what block b reads
 *     mean = (sum over b of h_b / |h_b|) / blocks
 *
 * Of an image there is one of each of four rings about its middle, over the patches in it, one
 * after the other: a mean over all places does not tell where a thing is, rings do, however the
 * image is turned or mirrored. Of wafer-vits of one epoch that had never seen a class, by 10
 * neighbours against known defects, AUROC: Center 0.77 by one mean and 0.88 by rings, Donut 0.92
 * and 0.97.
 *
 * over the blocks but the first, which no other token has reached yet (of a single block, over
 * that; of a family with stages, over those of the last one), and but for those that do not read
 * all tokens (token_pruning.h). Inputs are compared by the cosine of
 * their means: decide/neighbours.h.
 *
 * Why not the last hidden states: those are what the classifier asks for, and there all that is no
 * log at all comes close to one class or another. Of 69 foreign texts pass for logs of kernel-bert,
 * where 95 % of its logs do, by 20 neighbours: 23 by the mean of the last hidden states, 13 by that
 * of the embeddings, none by this; of testlog-bert 18, 18 and 12 (eleven of them XML or CSV, which
 * its logs come in). It is free, too: a last block that is computed for [CLS] alone stays so.
 *
 * Cost: T D additions a block. Threads: as encoder.h.
 */
#ifndef ATTND_ENGINE_MODEL_TOKEN_MEAN_H
#define ATTND_ENGINE_MODEL_TOKEN_MEAN_H

#include "engine/model/spec.h"
#include "engine/model/workspace.h"

/* Before layer `layer` of what spec_at gave: takes workspace->x into workspace->means, if the layer
 * counts and the workspace takes means. */
void token_mean_add(const struct spec *spec, struct workspace *workspace, unsigned layer);

#endif
