/* vocab_trim.h - a checkpoint directory with fewer words: the rows of the word embedding, and of a
 * masked-language-model head, whose pieces are kept.
 *
 *     vocab_use_open(&use, dir, &err), vocab_use_add(...);
 *     count = vocab_use_choose(use, &choice, ids);
 *     struct vocab_trim what = {.source_dir = dir, .use = use, .ids = ids, .count = count};
 *     vocab_trim_write("models/small", &what, &err);
 *
 * The new directory has vocab.txt, tokenizer_config.json, special_tokens_map.json,
 * added_tokens.json and config.json, with the new ids, attnd.json and attnd_head.safetensors, of
 * these what the source has, and model.safetensors: every tensor of floating-point numbers in its
 * own dtype (BF16 as F32), integer buffers left out. There is no tokenizer.json: both attnd and
 * Hugging Face read vocab.txt then.
 *
 * Threads: one write into a directory at a time.
 */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_VOCAB_TRIM_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_VOCAB_TRIM_H

#include "engine/base/err.h"
#include "engine/text/vocab_use.h"

#include <stddef.h>
#include <stdint.h>

struct vocab_trim {
    const char *source_dir;
    const struct vocab_use *use; /* of source_dir */
    const int32_t *ids;          /* [count] that are kept, ascending; the new id is the place */
    size_t count;
};

/* Numbers of the weights before and after. */
struct vocab_trimmed {
    size_t numbers_before, numbers_after;
};

/* ERR_UNUSABLE if dir is source_dir; ERR_UNSUPPORTED for a checkpoint without word embeddings or
 * with too few rows; ERR_IO. */
enum err_code vocab_trim_write(const char *dir, const struct vocab_trim *what,
                               struct vocab_trimmed *trimmed, struct err *err);

#endif
