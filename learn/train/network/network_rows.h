/* network_rows.h - the steps of a network that work row by row, divided among the pool: norms,
 * activations, dropout, gather and scatter of the kept rows.
 *
 * Sums over rows (gradients of gammas, betas) are divided by columns. Threads: one caller, with its
 * pool.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_ROWS_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_ROWS_H

#include "learn/train/network/network_state.h"

/* y = norm(x); y may be x. */
void network_rows_norm(struct network *network, const struct network_norm *norm, struct matrix y,
                       struct matrix x, size_t rows);
/* dx = norm'(dy; x) + residual (NULL: none), and the gradients of gamma and beta. dx is not dy. */
void network_rows_norm_backward(struct network *network, const struct network_norm *norm,
                                struct matrix dx, struct matrix dy, struct matrix x,
                                const struct matrix *residual, size_t rows);

/* y = act(x), dx = dy act'(x); dx may be dy. */
void network_rows_activate(struct network *network, struct matrix y, struct matrix x, size_t rows,
                           enum activation act);
void network_rows_activation(struct network *network, struct matrix dx, struct matrix dy,
                             struct matrix x, size_t rows, enum activation act);

/* A gated MLP: y [rows, F] = act(u) v with x = [u, v] [rows, 2 F], and dx from dy. dx is neither dy
 * nor x. */
void network_rows_gate(struct network *network, struct matrix y, struct matrix x, size_t rows,
                       enum activation act);
void network_rows_gate_backward(struct network *network, struct matrix dx, struct matrix dy,
                                struct matrix x, size_t rows, enum activation act);

/* Layer scale: y = x * s + residual (NULL: none) for each row, where s is the values at offset
 * `scale`; y may be x. Backward: ds += column sums of dy * x; dx = dy * s; dx may be dy. */
void network_rows_scale(struct network *network, size_t scale, struct matrix y, struct matrix x,
                        const struct matrix *residual, size_t rows);
void network_rows_scale_backward(struct network *network, size_t scale, bool learns,
                                 struct matrix dx, struct matrix dy, struct matrix x, size_t rows);

/* True if the micro-batch has dropout at this site. */
bool network_rows_drops(const struct network *network, enum network_site site);
/* The key of a site's mask; layer 0 for sites outside the blocks. */
uint32_t network_rows_key(const struct network *network, enum network_site site, unsigned layer);
/* y = D(x) + residual (NULL: none), with the site's mask; y may be x. Call it only where the
 * site drops. */
void network_rows_dropout(struct network *network, enum network_site site, unsigned layer,
                          struct matrix y, struct matrix x, const struct matrix *residual,
                          size_t rows);

/* In each image, which has `image` rows: y[i] = x[from[i]] or, backward, y[from[i]] = x[i]. */
void network_rows_move(struct network *network, struct matrix y, struct matrix x,
                       const unsigned *from, size_t image, bool is_backward);

/* y += x */
void network_rows_add(struct network *network, struct matrix y, struct matrix x, size_t rows);

/* y[i] = x[kept[i]], and x[kept[i]] += y[i]. */
void network_rows_gather(struct network *network, struct matrix y, struct matrix x);
void network_rows_scatter(struct network *network, struct matrix x, struct matrix y);

#endif
