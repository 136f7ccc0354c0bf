/* bpe.h - the model "BPE" of tokenizer.json or of a SentencePiece model: byte pair encoding of one
 * split of a text (Sennrich et al. 2016), over bytes (GPT-2, RoBERTa, CLIP) or over characters.
 *
 *     bpe_read(&model, json, &pieces, is_byte_level, &arena, &err);              once
 *     bpe_work_init(&work, longest_split, &scratch, interrupt, &err);
 *     count = bpe_cut(model, &work, text, len, cuts, &err);
 *     ... cuts[0].id is text[0 .. cuts[0].end), cuts[1].id follows it
 *
 * The pair of neighbours with the lowest rank (merged first in training) is merged, the leftmost of
 * equals, until no pair has a rank. A priority queue makes it n log n in the bytes of the split.
 *
 * Threads: a model is immutable, any number may use it; work belongs to one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_BPE_H
#define ATTND_ENGINE_TEXT_PIPELINE_BPE_H

#include "engine/base/interrupt.h"
#include "engine/text/pipeline/piece_list.h"

#include <stdbool.h>
#include <stdint.h>

struct bpe;
struct json_t;
struct sentencepiece;

struct bpe_symbol;
struct bpe_merge;

/* A token that a model cut from a split. */
struct model_cut {
    int32_t id;
    uint32_t end; /* in bytes of the split; it begins where the one before ends */
};

/* Memory for one split of at most `len_max` bytes. */
struct bpe_work {
    const char *text; /* the split */
    struct bpe_symbol *symbols;
    struct bpe_merge *queue;
    size_t queued;
    struct interrupt *interrupt;
};

enum { BPE_WORK_BYTES = 52 }; /* for each byte of the longest split */

/* `json`: the object of type BPE; its vocabulary is `pieces`. Merges are "a b" or ["a", "b"].
 * ERR_UNSUPPORTED for a dropout, byte_fallback, a merge of pieces that are not in the vocabulary,
 * and where an unknown character would have no id. Nothing of the tree is kept. */
enum err_code bpe_read(struct bpe **out, const struct json_t *json, const struct piece_list *pieces,
                       bool is_byte_level, struct arena *arena, struct err *err);

/* Makes the model of a SentencePiece model, whose texts it borrows. It cuts as SentencePiece 0.2:
 * the pair that becomes the piece with the highest score is merged, the leftmost of equals.
 * Unknown characters are not fused. */
enum err_code bpe_of_pieces(struct bpe **out, const struct sentencepiece *file, struct arena *arena,
                            struct err *err);

/* Returns the id of the unknown token, or VOCAB_NONE. */
int32_t bpe_unknown(const struct bpe *model);
/* Returns the end of a word's last symbol; "": nothing. */
const char *bpe_suffix(const struct bpe *model);
/* True if every symbol of a word but the first begins with a mark. */
bool bpe_has_prefix(const struct bpe *model);

enum err_code bpe_work_init(struct bpe_work *work, size_t len_max, struct arena *arena,
                            struct interrupt *interrupt, struct err *err);

/* Writes the tokens of a split to cuts[len] and returns their number; 0 with the interrupt's
 * error. */
size_t bpe_cut(const struct bpe *model, struct bpe_work *work, const char *text, size_t len,
               struct model_cut *cuts, struct err *err);

/* The pieces, as bytes of a text. */
const struct vocab *bpe_vocabulary(const struct bpe *model);

#endif
