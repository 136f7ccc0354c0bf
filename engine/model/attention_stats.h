/* attention_stats.h - statistics of a head's attention: five numbers a head, averaged over the
 * queries that are no special token. With the attention a_ij of token i to token j of N,
 *
 *     entropy    -sum_j a_ij ln a_ij, in nats: 0 if all on one token, ln N if uniform
 *     distance   sum_j a_ij d(i, j) / sum_j a_ij over the j that are no special token: the mean
 *                distance of attention (Dosovitskiy et al. 2021, figure 7; Raghu et al. 2021), in
 *                tokens of a text or, Euclidean, in patches of an image
 *     diagonal   a_ii: attention to the token itself
 *     neighbour  attention to the adjacent tokens: two of a text, eight of an image
 *     sparsity   the share of the a_ij below half of uniform attention, 1 / (2 N)
 *
 * Threads: pure functions; a struct is summed up by one thread at a time.
 */
#ifndef ATTND_ENGINE_MODEL_ATTENTION_STATS_H
#define ATTND_ENGINE_MODEL_ATTENTION_STATS_H

#include <stddef.h>

struct attention_stats {
    float entropy, distance, diagonal, neighbour, sparsity;
};

/* The arrangement of an input's tokens. */
struct attention_layout {
    size_t tokens;     /* N */
    size_t first, end; /* the tokens that are not special */
    size_t columns;    /* columns of the patch grid; 0: a text */
};

/* Adds the rows of the queries `query` to query + count - 1, each [N], one behind the other;
 * special tokens among them are skipped. Some 20 operations and a logarithm a number. */
void attention_stats_add(struct attention_stats *sums, const struct attention_layout *layout,
                         const float *probabilities, size_t query, size_t count);

/* Turns sums over all queries into means. */
void attention_stats_finish(struct attention_stats *sums, const struct attention_layout *layout);

#endif
