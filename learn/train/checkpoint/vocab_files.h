/* vocab_files.h - writes the files of a WordPiece tokenizer, as attnd and Hugging Face read them.
 * Each file is whole or absent. Threads: one at a time in a directory. */
#ifndef ATTND_LEARN_TRAIN_CHECKPOINT_VOCAB_FILES_H
#define ATTND_LEARN_TRAIN_CHECKPOINT_VOCAB_FILES_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes DIR/vocab.txt, one piece a line. */
enum err_code vocab_files_write_pieces(const char *dir, const char *const *pieces, size_t count,
                                       struct err *err);

/* Writes a new tokenizer with BERT's special tokens: vocab.txt, tokenizer_config.json and
 * special_tokens_map.json. Removes tokenizer.json and added_tokens.json, which would belong to
 * another vocabulary. Makes the directory if it is absent. */
enum err_code vocab_files_write(const char *dir, const char *const *pieces, size_t count,
                                bool cased, struct err *err);

#endif
