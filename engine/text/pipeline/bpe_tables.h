/* bpe_tables.h - the tables of a BPE model, which bpe_read.c makes and bpe.c uses; private to them.
 *
 *     model->symbols[is_first][is_last][byte]           the first id of a byte
 *     bpe_tables_merge(model, left, right)              the merge of two neighbours, or NULL
 *
 * Threads: immutable once read.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_BPE_TABLES_H
#define ATTND_ENGINE_TEXT_PIPELINE_BPE_TABLES_H

#include "engine/text/vocab.h"

#include <stdbool.h>
#include <stdint.h>

enum { BPE_SUFFIX_BYTES_MAX = 64 }; /* limit of the prefix, too */

struct bpe_pair {
    int32_t left, right; /* left VOCAB_NONE: an empty slot */
    uint32_t rank;
    int32_t id; /* the merged piece */
};

struct bpe {
    struct vocab vocab;     /* pieces as bytes of a text */
    struct bpe_pair *pairs; /* [pair_mask + 1], open addressing, at most half full */
    uint32_t pair_mask;
    int32_t unknown; /* or VOCAB_NONE */
    bool fuses_unknown, ignores_merges, is_byte_level;
    char prefix[BPE_SUFFIX_BYTES_MAX]; /* begins every symbol except the first */
    char suffix[BPE_SUFFIX_BYTES_MAX]; /* ends the last symbol */
    size_t prefix_len, suffix_len;
    int32_t symbols[2][2][256]; /* [is_first][is_last][byte] ids of single bytes, or VOCAB_NONE */
    /* a SentencePiece model: any two neighbours that are a piece together may merge, the piece of
     * the lowest rank first; NULL: only the pairs may */
    const uint32_t *ranks;     /* by id */
    struct vocab user_defined; /* pieces that are found before all others and never merge */
};

/* Bit of a symbol's id: it never merges. */
enum { BPE_SYMBOL_FROZEN = 1 << 30 };

static inline uint32_t bpe_tables_slot(const struct bpe *model, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    return (uint32_t)(key * 0x9E3779B97F4A7C15u >> 32) & model->pair_mask;
}

static inline const struct bpe_pair *bpe_tables_merge(const struct bpe *model, int32_t left,
                                                      int32_t right)
{
    for (uint32_t at = bpe_tables_slot(model, left, right);; at = (at + 1) & model->pair_mask) {
        const struct bpe_pair *pair = &model->pairs[at];
        if (pair->left == left && pair->right == right)
            return pair;
        if (pair->left == VOCAB_NONE)
            return NULL;
    }
}

/* Returns the id of a symbol of `len` bytes at the beginning, within or at the end of a split, or
 * VOCAB_NONE. */
int32_t bpe_tables_symbol(const struct bpe *model, const char *text, size_t len, bool is_first,
                          bool is_last);

#endif
