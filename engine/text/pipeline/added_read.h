/* added_read.h - reads the tokens that the files of a checkpoint add to the vocabulary, in the
 * order and with the ids of transformers 4.57: the tokens of tokenizer.json, then those of
 * tokenizer_config.json's added_tokens_decoder or, without it, of added_tokens.json, then the
 * special tokens by name, including the class's.
 *
 *     added_read(&added, &files, &model, &pieces, &arena, &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_ADDED_READ_H
#define ATTND_ENGINE_TEXT_PIPELINE_ADDED_READ_H

#include "engine/text/pipeline/added_tokens.h"
#include "engine/text/pipeline/text_model.h"
#include "engine/text/pipeline/tokenizer_files.h"

/* Fills `out`, without added_tokens_build. ERR_UNSUPPORTED for a token whose id in a file is not
 * the one that the reference gives it, and for a vocabulary of older files without cls_token or
 * sep_token. Error texts begin with the file's name. */
enum err_code added_read(struct added_tokens *out, const struct tokenizer_files *files,
                         const struct text_model *model, const struct piece_list *pieces,
                         struct arena *arena, struct err *err);

#endif
