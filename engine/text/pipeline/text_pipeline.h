/* text_pipeline.h - the tokenizers that tokenizer.json describes step by step, equal to Hugging
 * Face's fast tokenizers: added tokens, normaliser, pre-tokeniser, model (BPE, WordPiece, Unigram),
 * special tokens by a template.
 *
 *     struct tokenizer *tokenizer;
 *     if (text_pipeline_open(&tokenizer, dir, tokens_max, &err)) ...
 *     if (tokenizer == NULL) ... the directory has BERT's WordPiece (wordpiece.h)
 *
 * A long text is worked through in chunks of some kilobytes, cut between two words, if the steps
 * allow; encoding ends with the chunk that fills the list.
 *
 * Threads: as tokenizer.h.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_TEXT_PIPELINE_H
#define ATTND_ENGINE_TEXT_PIPELINE_TEXT_PIPELINE_H

#include "engine/text/tokenizer_kind.h"

/* Reads tokenizer.json (its truncation and padding do not count), or vocab.json and merges.txt
 * (bpe_files.h), and, if there is one, tokenizer_config.json. *out is NULL without an error if
 * there is neither, or a tokenizer.json that says what BERT's says. The limit is the smaller of
 * model_max_length and tokens_max. ERR_UNSUPPORTED for whatever would change the ids and is not
 * implemented, with its place in the file. Yours to close, by tokenizer_close. */
enum err_code text_pipeline_open(struct tokenizer **out, const char *dir, unsigned tokens_max,
                                 struct err *err);

#endif
