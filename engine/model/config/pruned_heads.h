/* pruned_heads.h - the attention heads that were removed from a checkpoint: config.json's
 * "pruned_heads", which save_pretrained writes after prune_heads (Michel et al. 2019).
 *
 *     {"num_attention_heads": 12, "pruned_heads": {"0": [1], "11": [0, 2, 7]}}
 *
 * Layers and heads are counted from 0, in the model before pruning. A head's rows of query, key and
 * value and its columns of the output projection are removed with it. A head's width stays hidden
 * size over num_attention_heads. Each layer keeps at least one head.
 *
 * Threads: immutable after the read.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_PRUNED_HEADS_H
#define ATTND_ENGINE_MODEL_CONFIG_PRUNED_HEADS_H

#include "engine/base/arena.h"
#include "engine/base/doc.h"
#include "engine/base/err.h"

#include <stdbool.h>

struct pruned_heads {
    const bool *is_gone;  /* [layers][heads]; NULL: all heads are there */
    const unsigned *left; /* [layers] heads that a layer still has; NULL: all */
};

/* Reads the member, which may be absent, null or empty. ERR_UNSUPPORTED for a layer or head that
 * the model never had, a head that is named twice, or a layer without any head. */
enum err_code pruned_heads_read(struct pruned_heads *out, const struct json_t *config,
                                unsigned layers, unsigned heads, struct arena *arena,
                                struct err *err);

/* Counts the heads left by a table `is_gone` [layers][heads], which is borrowed; the arena owns
 * `left`. Every layer keeps at least one head. */
enum err_code pruned_heads_count(struct pruned_heads *out, const bool *is_gone, unsigned layers,
                                 unsigned heads, struct arena *arena, struct err *err);

#endif
