/* attention.h - scaled dot-product attention over a packed batch. A task is one head of one block
 * of at most ATTENTION_QUERIES neighbouring queries of one sequence; the members of the pool take
 * tasks from a counter, the heads of a block one after another. The member that finishes the last
 * head of a block converts its rows into the operand of the next linear layer, while they are in
 * the cache. A token that sees all (global_token.h) is one more task of the first block of its
 * sequence.
 *
 *     attention_plan(spec, workspace, 0);     // once a batch: cuts the sequences into blocks
 *     attention_run(spec, workspace, layer);  // each layer: workspace->qkv [T, 3 D] -> attended
 */
#ifndef ATTND_ENGINE_MODEL_ATTENTION_H
#define ATTND_ENGINE_MODEL_ATTENTION_H

#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"

#include <limits.h>

/* In place of a number of queries: a row's attention_pruned_tokens. */
enum { ATTENTION_PRUNED = UINT_MAX };

/* How many of a row's tokens go on where others are left out: all of one with a capture. */
static inline unsigned attention_pruned_tokens(const struct spec *spec,
                                               const struct workspace *workspace, unsigned row)
{
    const unsigned tokens = workspace->offset[row + 1] - workspace->offset[row];
    return workspace->captures[row] == NULL ? spec_pruned_tokens(spec, tokens) : tokens;
}

/* From the offsets of the batch to its blocks, smaller ones if that balances the pool better.
 * kept > 0: only the first `kept` queries of each sequence, or the last of a family that pools it,
 * whose rows come out side by side. */
void attention_plan(const struct spec *spec, struct workspace *workspace, unsigned kept);

/* The scores are what the layer says: with its bias, whose query 0 is each sequence's first token,
 * or with what queries and keys add for their distance, and with its reach. Only a token that sees
 * all reads workspace->x, as the layer found it; where no block has another query, workspace->qkv
 * is not read. */
void attention_run(const struct spec *spec, struct workspace *workspace, const struct layer *layer);

/* workspace->received [T] <- the most that any query of its sequence attends to a token, as the
 * mean over the heads, from workspace->qkv and the blocks of a plan for all queries. Of a layer
 * whose scores have no bias and no reach. Cost: the scores of a layer and their softmax. */
void attention_receive(const struct spec *spec, struct workspace *workspace,
                       const struct layer *layer);

/* What a layer whose `relative` is set adds to the scores of a block's queries and one head, from
 * workspace->qkv: matrix [tokens of the sequence][ATTENTION_QUERIES]. scratch as
 * relative_scores_run has it. */
void attention_relative(const struct spec *spec, const struct workspace *workspace,
                        const struct layer *layer, const struct query_block *block, size_t head,
                        float *matrix, float *scratch);

#endif
