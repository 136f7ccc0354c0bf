/* wordpiece.h - text -> token ids with character offsets, equal to Hugging Face's
 * BertTokenizerFast.
 *
 *     struct wordpiece *tokenizer;
 *     wordpiece_open(&tokenizer, dir, tokens_max, &err);
 *     wordpiece_encode(tokenizer, text, len, &arena, &encoding, &err);
 *     ... encoding.ids[0] is [CLS], encoding.ids[encoding.count - 1] is [SEP]
 *     wordpiece_close(tokenizer);
 *
 * Order of work, as in the reference: literal special tokens are cut out of the text; the rest is
 * cleaned (control characters and U+FFFD removed, white space unified), CJK characters spaced,
 * accents stripped and letters lower-cased if the configuration says so, split at white space and
 * punctuation, and each word (100 characters at most, else [UNK]) matched greedily, longest piece
 * first. Schuster and Nakajima 2012; Devlin et al. 2019. Longer texts are cut to the limit.
 *
 * Threads: a tokenizer is immutable after open; any number of threads may encode.
 */
#ifndef ATTND_ENGINE_TEXT_WORDPIECE_H
#define ATTND_ENGINE_TEXT_WORDPIECE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/interrupt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wordpiece;

struct encoding {
    unsigned count; /* tokens, [CLS] and [SEP] included; 2 for a text with no token */
    bool truncated;
    const int32_t *ids;     /* [count] */
    const uint32_t *starts; /* [count] first character (code point) of the token in the text */
    const uint32_t *ends;   /* [count] one past its last character; special tokens added by us: 0 */
    const bool *continued;  /* [count] goes on with the word of the token before */
};

/* Reads vocab.txt or, without it, the WordPiece vocabulary and normaliser of tokenizer.json, and
 * tokenizer_config.json if present (do_lower_case: default true; strip_accents: default as
 * do_lower_case; tokenize_chinese_chars: default true; model_max_length). The limit is the smaller
 * of model_max_length and tokens_max. Error texts start with the file's name. Yours to close. */
enum err_code wordpiece_open(struct wordpiece **out, const char *dir, unsigned tokens_max,
                             struct err *err);
void wordpiece_close(struct wordpiece *tokenizer);

size_t wordpiece_bytes(const struct wordpiece *tokenizer);        /* that it holds */
unsigned wordpiece_vocab_size(const struct wordpiece *tokenizer); /* largest id + 1 */
unsigned wordpiece_limit(const struct wordpiece *tokenizer); /* tokens of the longest encoding */

/* Ids of the tokens with a meaning of their own; pad and mask are negative if there are none. */
struct wordpiece_specials {
    int32_t cls, sep, unk, pad, mask;
};
struct wordpiece_specials wordpiece_specials(const struct wordpiece *tokenizer);

/* ERR_UNUSABLE for invalid UTF-8, with its byte offset. Linear in len; memory from the arena. */
enum err_code wordpiece_encode(const struct wordpiece *tokenizer, const char *text, size_t len,
                               struct arena *arena, struct encoding *out, struct err *err);

/* The same with a limit of the caller's (at least 3) in place of the tokenizer's, below or above,
 * and an interrupt (NULL: none), which is looked at every few thousand characters. */
enum err_code wordpiece_encode_to(const struct wordpiece *tokenizer, unsigned limit,
                                  const char *text, size_t len, struct interrupt *interrupt,
                                  struct arena *arena, struct encoding *out, struct err *err);

/* Upper bound of what wordpiece_encode takes from the arena. */
size_t wordpiece_encode_bytes(const struct wordpiece *tokenizer, const char *text, size_t len);

#endif
