/* vocab_trim.h - writes a checkpoint directory with a smaller vocabulary: the word embedding, and a
 * masked-language-model head, keep only the rows of the chosen pieces.
 *
 *     vocab_use_open(&use, dir, &err), vocab_use_add(...);
 *     count = vocab_use_choose(use, &choice, ids);
 *     struct vocab_trim what = {.source_dir = dir, .use = use, .ids = ids, .count = count};
 *     vocab_trim_write("models/small", &what, &err);
 *
 * The new directory has vocab.txt and, as far as the source has them, tokenizer_config.json,
 * special_tokens_map.json, added_tokens.json and config.json, with the new ids, attnd.json and
 * attnd_head.safetensors. model.safetensors has every floating-point tensor in its own dtype (BF16
 * as F32); integer buffers are left out. There is no tokenizer.json, so that attnd and Hugging Face
 * both read vocab.txt.
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
    const int32_t *ids;          /* [count] kept ids, ascending; the new id is the index */
    size_t count;
};

/* How many numbers the weights have before and after. */
struct vocab_trimmed {
    size_t numbers_before, numbers_after;
};

/* ERR_UNUSABLE if dir is source_dir; ERR_UNSUPPORTED for a checkpoint without word embeddings or
 * with too few rows; ERR_IO. */
enum err_code vocab_trim_write(const char *dir, const struct vocab_trim *what,
                               struct vocab_trimmed *trimmed, struct err *err);

#endif
