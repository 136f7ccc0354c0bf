/* token_mean.h - a description of an input that is independent of the labels: the mean of its
 * tokens in the encoder.
 *
 *     h_b = the mean over all tokens of the input of block b
 *     mean = (sum over b of h_b / |h_b|) / blocks
 *
 * over the blocks except the first, whose input tokens have not yet seen each other (with a single
 * block, that one counts; with stages, the blocks of the last stage count), and except blocks
 * that do not read all tokens (struct token_pruning). Inputs are compared by the cosine of their
 * means: decide/ood.h.
 *
 * An image has four means, one after the other, each over the patches in one of four rings around
 * its centre. One mean over all patches has no positions; rings have, and stay the same when the
 * image is rotated or mirrored. AUROC of a class that wafer-vits of one epoch had never seen
 * against known defects, by 10 neighbours: Center 0.77 by one mean and 0.88 by rings, Donut 0.92
 * and 0.97.
 *
 * The last hidden states are not used: they are made for the classifier, and there a text that is
 * no log at all comes close to one class or another. Of 69 foreign texts, accepted as logs of
 * kernel-bert by 20 neighbours when 95 % of its logs are: 23 by the mean of the last hidden states,
 * 13 by that of the embeddings, none by this mean; for testlog-bert 18, 18 and 12 (eleven of them
 * XML or CSV, which are also formats of its logs). A last block computed for [CLS] alone also stays
 * so.
 *
 * Cost: T D additions a block. Threads: as encoder.h.
 */
#ifndef ATTND_ENGINE_MODEL_TOKEN_MEAN_H
#define ATTND_ENGINE_MODEL_TOKEN_MEAN_H

#include "engine/model/spec.h"
#include "engine/model/workspace.h"

/* Called before layer `layer` of a spec from spec_at: adds workspace->x to workspace->means, if the
 * layer counts and the workspace takes means. */
void token_mean_add(const struct spec *spec, struct workspace *workspace, unsigned layer);

#endif
