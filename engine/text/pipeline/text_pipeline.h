/* text_pipeline.h - a tokenizer that tokenizer.json describes step by step, equal to Hugging Face's
 * fast tokenizers: added tokens, normaliser, pre-tokeniser, model (BPE, WordPiece, Unigram),
 * special tokens by a template.
 *
 *     tokenizer->steps = &steps;
 *     text_pipeline_init(tokenizer, &err);
 *
 * A long text is encoded in chunks of some kilobytes, cut between two words, if the steps allow it.
 * Encoding ends with the chunk that fills the list.
 *
 * Threads: as tokenizer.h.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_TEXT_PIPELINE_H
#define ATTND_ENGINE_TEXT_PIPELINE_TEXT_PIPELINE_H

#include "engine/text/tokenizer_kind.h"

/* Sets the kind of a tokenizer that has its arena and steps. ERR_NO_MEMORY. */
enum err_code text_pipeline_init(struct tokenizer *tokenizer, struct err *err);

#endif
