/* disentangled.h - the configuration of disentangled attention in DeBERTa-v2 and v3: the terms of
 * the scores, and the row of the table of relative positions for a distance.
 *
 *     s[i, j] = (q[i] . k[j] + q[i] . kr[x(i - j)] + k[j] . qr[x(i - j)]) / sqrt(terms d)
 *                              content to position   position to content
 *
 * (He et al. 2021, "DeBERTa", eq. 2 to 4; He, Gao and Chen 2023, "DeBERTaV3"). kr and qr are the
 * table's rows, normalised, then projected by the layer's own key and query projections. With
 * buckets, each distance up to half of their number has its own row; longer ones share logarithmic
 * rows:
 *
 *     x(t) = clamp(bucket(t) + span, 0, 2 span - 1)
 *     bucket(t) = t up to m = buckets / 2, beyond
 *                 sign(t) (ceil(log(|t| / m) / log((M - 1) / m) (m - 1)) + m)
 *
 * in fp32, like transformers' DebertaV2Model. Threads: plain data, pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_DISENTANGLED_H
#define ATTND_ENGINE_MODEL_CONFIG_DISENTANGLED_H

#include "engine/base/doc.h"
#include "engine/base/err.h"

#include <stdbool.h>

struct disentangled {
    unsigned span;         /* half the rows of the table; 0: the family has none */
    unsigned buckets;      /* position_buckets; 0: each distance has a row up to the span */
    unsigned distance_max; /* M, max_relative_positions */
    bool content_to_position, position_to_content;
};

/* Reads config.json's members for a model of `hidden` and `heads` whose longest text has `tokens`
 * tokens. ERR_UNSUPPORTED names a feature that is not implemented. */
enum err_code disentangled_read(struct disentangled *out, const struct json_t *config,
                                unsigned hidden, unsigned heads, unsigned tokens, struct err *err);

/* Returns the number of terms of a score: 1 if there are no relative positions. */
unsigned disentangled_terms(const struct disentangled *disentangled);

/* Returns x(distance); distance: query's position minus key's. */
unsigned disentangled_row(const struct disentangled *disentangled, long distance);

#endif
