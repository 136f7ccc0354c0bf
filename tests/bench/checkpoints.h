/* checkpoints.h - BERT-base and ViT-B/16 with seeded random weights, for measurements on a machine
 * that has no checkpoint: speed does not depend on what the weights are. */
#ifndef ATTND_TESTS_BENCH_CHECKPOINTS_H
#define ATTND_TESTS_BENCH_CHECKPOINTS_H

#include "engine/base/err.h"

#include <stddef.h>

struct checkpoint_size {
    unsigned layers, hidden, heads, intermediate, vocab, positions, labels; /* BERT */
    unsigned image, patch;                                                  /* ViT */
};

extern const struct checkpoint_size checkpoints_base; /* 12 layers of 768; 224 pixels */

/* Writes DIR/config.json, model.safetensors and, for BERT, vocab.txt, unless the weights are there
 * already. The parent of DIR must exist. ERR_IO names the path. */
enum err_code checkpoints_bert(const char *dir, const struct checkpoint_size *size,
                               struct err *err);
enum err_code checkpoints_vit(const char *dir, const struct checkpoint_size *size, struct err *err);

#endif
