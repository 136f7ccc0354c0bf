/* ranking_loss.h - what an embedding minimises: multiple negatives ranking loss (Henderson et al.
 * 2017, "Efficient Natural Language Response Suggestion for Smart Reply", section 4.4). Of n pairs,
 * a_i and b_i belong together, and b_j is a negative of a_i unless pair j is of the same group:
 *
 *     s_ij = scale cos(a_i, b_j)
 *     L    = -1/n sum_i log( exp(s_ii) / sum over j of exp(s_ij) ),   j = i or of another group
 *
 * with p_ij = exp(s_ij) / sum, u = a / |a| and v = b / |b|
 *
 *     ds_ij = (p_ij - [i = j]) / n
 *     du_i  = scale sum_j ds_ij v_j,   dv_j = scale sum_i ds_ij u_i
 *     da    = (du - u (u du)) / |a|,   and so db
 *
 * A vector of length 0 has no direction: it counts as u = 0, and its gradient is 0. Cost: 3 n^2
 * width multiply-adds, in double. Threads: pure.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_RANKING_LOSS_H
#define ATTND_LEARN_TRAIN_NETWORK_RANKING_LOSS_H

#include <stddef.h>

struct ranking_pairs {
    const float *vectors;   /* [2 count, width]: a_0, b_0, a_1, b_1, ... */
    const unsigned *groups; /* [count] of the pairs */
    size_t count, width;
    double scale;
};

/* Numbers of scratch that ranking_loss needs. */
size_t ranking_loss_scratch(const struct ranking_pairs *pairs);

/* Returns L. Writes dvectors [2 count, width] = dL/dvectors, unless that is NULL. `hits` (may be
 * NULL) gets how many a_i are closest to their own b_i. */
double ranking_loss(const struct ranking_pairs *pairs, float *dvectors, double *scratch,
                    size_t *hits);

#endif
