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

/* Gives a tokenizer its kind; its steps, which are set, are plain. */
void wordpiece_init(struct tokenizer *tokenizer);

#endif
