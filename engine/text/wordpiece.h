/* wordpiece.h - the WordPiece tokenizer, equal to Hugging Face's BertTokenizerFast.
 *
 * Order of work, as in the reference: literal special tokens are cut out of the text; the rest is
 * cleaned (control characters and U+FFFD removed, white space unified), CJK characters spaced,
 * accents stripped and letters lower-cased if the configuration says so, split at white space and
 * punctuation, and each word (100 characters at most, else [UNK]) matched greedily, longest piece
 * first. Schuster and Nakajima 2012; Devlin et al. 2019. Longer texts are cut to the limit.
 *
 * Threads: as tokenizer.h.
 */
#ifndef ATTND_ENGINE_TEXT_WORDPIECE_H
#define ATTND_ENGINE_TEXT_WORDPIECE_H

#include "engine/text/tokenizer_kind.h"

/* Reads vocab.txt or, without it, the WordPiece vocabulary and normaliser of tokenizer.json, and
 * tokenizer_config.json if present (do_lower_case: default true; strip_accents: default as
 * do_lower_case; tokenize_chinese_chars: default true; model_max_length). The limit is the smaller
 * of model_max_length and tokens_max. Error texts start with the file's name. Yours to close, by
 * tokenizer_close. */
enum err_code wordpiece_open(struct tokenizer **out, const char *dir, unsigned tokens_max,
                             struct err *err);

#endif
