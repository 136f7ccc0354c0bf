/* attention.h - scaled dot-product attention over a packed batch. A task is one head of one block
 * of at most ATTENTION_QUERIES neighbouring queries of one sequence; the members of the pool take
 * tasks from a counter, the heads of a block one after another. The member that finishes the last
 * head of a block converts its rows into the operand of the next linear layer, while they are in
 * the cache. A global token (global_token.h) is one more task of the first block of its sequence.
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

/* Value of `kept` that stands for a row's attention_pruned_tokens. */
enum { ATTENTION_PRUNED = UINT_MAX };

/* Returns the tokens of a row that stay after pruning: all of them if the row has a capture. */
static inline unsigned attention_pruned_tokens(const struct spec *spec,
                                               const struct workspace *workspace, unsigned row)
{
    const unsigned tokens = workspace->offset[row + 1] - workspace->offset[row];
    return workspace->captures[row] == NULL ? spec_pruned_tokens(spec, tokens) : tokens;
}

/* Cuts the batch into blocks by its offsets; blocks are smaller if that balances the pool better.
 * kept > 0: only the first `kept` queries of each sequence, or the last ones if the family pools
 * the last token. Their rows are then side by side in the output. */
void attention_plan(const struct spec *spec, struct workspace *workspace, unsigned kept);

/* Scores have the layer's bias, whose query 0 is each sequence's first token, or its terms of
 * relative positions, and its reach. Only a global token reads workspace->x, the layer's input. If
 * no block has another query, workspace->qkv is not read. */
void attention_run(const struct spec *spec, struct workspace *workspace, const struct layer *layer);

/* workspace->pruning.received [T] <- the largest attention that a token gets from any query of its
 * sequence, averaged over the heads, from workspace->qkv and the blocks of a plan for all queries.
 * Only for a layer whose scores have no bias and no reach. Cost: the scores of a layer and their
 * softmax. */
void attention_receive(const struct spec *spec, struct workspace *workspace,
                       const struct layer *layer);

/* Computes the terms that a layer with `relative` adds to the scores of a block's queries and one
 * head, from workspace->qkv: matrix [tokens of the sequence][ATTENTION_QUERIES]. scratch: as for
 * relative_scores_run. */
void attention_relative(const struct spec *spec, const struct workspace *workspace,
                        const struct layer *layer, const struct query_block *block, size_t head,
                        float *matrix, float *scratch);

#endif
