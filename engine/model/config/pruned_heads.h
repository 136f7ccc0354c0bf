/* pruned_heads.h - which attention heads a checkpoint no longer has: config.json's "pruned_heads",
 * as save_pretrained writes it after prune_heads (Michel et al. 2019).
 *
 *     {"num_attention_heads": 12, "pruned_heads": {"0": [1], "11": [0, 2, 7]}}
 *
 * Layers and heads are counted from 0, as the model had them before any was cut. The rows of query,
 * key and value and the columns of the output projection that belong to a head are gone with it; a
 * head's width stays what hidden size over num_attention_heads says. One head of a layer has to
 * stay.
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
    const unsigned *left; /* [layers] how many a layer still has; NULL likewise */
};

/* Reads the member, which may be absent, null or empty. ERR_UNSUPPORTED for a layer or head that
 * the model never had, a head that is named twice, or a layer without any. */
enum err_code pruned_heads_read(struct pruned_heads *out, const struct json_t *config,
                                unsigned layers, unsigned heads, struct arena *arena,
                                struct err *err);

/* Of a table `is_gone` [layers][heads], which is borrowed; *left is the arena's. Every layer keeps
 * one head. */
enum err_code pruned_heads_count(struct pruned_heads *out, const bool *is_gone, unsigned layers,
                                 unsigned heads, struct arena *arena, struct err *err);

#endif
