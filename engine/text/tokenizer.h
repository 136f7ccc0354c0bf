/* tokenizer.h - text -> token ids with character offsets, and ids -> text, by the kind of tokenizer
 * that a checkpoint has: BERT's WordPiece (wordpiece.c), or the steps of a tokenizer.json or of a
 * SentencePiece model (pipeline/text_pipeline.c).
 *
 *     struct tokenizer *tokenizer;
 *     tokenizer_open(&tokenizer, dir, tokens_max, &err);
 *     tokenizer_encode(tokenizer, 0, text, len, NULL, &arena, &encoding, &err);
 *     ... encoding.ids[0] is [CLS], encoding.ids[encoding.count - 1] is [SEP]
 *     tokenizer_close(tokenizer);
 *
 * Threads: a tokenizer is immutable after open; any number of threads may encode.
 */
#ifndef ATTND_ENGINE_TEXT_TOKENIZER_H
#define ATTND_ENGINE_TEXT_TOKENIZER_H

#include "engine/text/tokenizer_kind.h"

/* Reads the tokenizer's files of a checkpoint directory. tokens_max: the model's limit; the
 * tokenizer's limit is the smaller of it and the files'. Error texts start with the file's name.
 * Yours to close. */
enum err_code tokenizer_open(struct tokenizer **out, const char *dir, unsigned tokens_max,
                             struct err *err);
/* The same for the texts that an encoder-decoder writes: Marian's target has files of its own, and
 * the usual language is the target's, which may be none. */
enum err_code tokenizer_open_target(struct tokenizer **out, const char *dir, unsigned tokens_max,
                                    struct err *err);
void tokenizer_close(struct tokenizer *tokenizer);

/* Tells the tokenizer how many rows of embeddings the model has. Special tokens that the class of
 * tokenizer adds behind the vocabulary, and that have no row, are not searched for. Call it before
 * the first encoding. */
void tokenizer_fit(struct tokenizer *tokenizer, unsigned rows);

/* limit: most tokens, at least one more than the special ones; 0: the tokenizer's limit. The
 * interrupt (NULL: none) is checked every few thousand characters. ERR_UNUSABLE for invalid UTF-8,
 * with its byte offset. ERR_TOO_LARGE for a text that the normaliser makes too long. Linear in len;
 * memory from the arena, and temporary memory (tokenizer_encode_bytes). */
enum err_code tokenizer_encode(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                               size_t len, struct interrupt *interrupt, struct arena *arena,
                               struct encoding *out, struct err *err);

/* The same, with the token of a language where the tokenizer puts one: an id of
 * tokenizer_languages; VOCAB_NONE: the usual one, or none. */
enum err_code tokenizer_encode_language(const struct tokenizer *tokenizer, int32_t language,
                                        unsigned limit, const char *text, size_t len,
                                        struct interrupt *interrupt, struct arena *arena,
                                        struct encoding *out, struct err *err);

/* tokenizer_encode for a text that is known to be UTF-8, for example from a JSON parser: not
 * checked. */
enum err_code tokenizer_encode_utf8(const struct tokenizer *tokenizer, unsigned limit,
                                    const char *text, size_t len, struct interrupt *interrupt,
                                    struct arena *arena, struct encoding *out, struct err *err);

/* The languages that the tokenizer has tokens for (mBART, M2M100; Marian's targets), borrowed;
 * *count is 0 if it has none. The target's is also the first token that the model must write. */
const struct tokenizer_language *tokenizer_languages(const struct tokenizer *tokenizer,
                                                     unsigned *count);

/* Finds the token of a language. `name` is the option that asks for it, for the error text.
 * ERR_UNUSABLE: the tokenizer (NULL: there is none) does not have it; the text names one that
 * differs only in case or region. */
enum err_code tokenizer_find_language(const struct tokenizer *tokenizer, const char *name,
                                      const char *code, int32_t *out, struct err *err);

/* False: all tokens are special ones that a template adds, which have no extent in a text. */
bool tokenizer_has_token(const struct encoding *encoding);

/* Encodes two texts as one, both known to be UTF-8; an empty `pair` means a single text. The longer
 * text is cut first, as by the reference's "longest_first". pair_at separates the texts, and token
 * types do if the family has them; offsets are in a token's own text. ERR_UNSUPPORTED if the
 * tokenizer takes no pairs or the limit has no room for two. */
enum err_code tokenizer_encode_pair(const struct tokenizer *tokenizer, unsigned limit,
                                    const char *text, size_t len, const char *pair, size_t pair_len,
                                    struct interrupt *interrupt, struct arena *arena,
                                    struct encoding *out, struct err *err);

/* Two texts' tokens without special ones, all or their first [counts[0]] and [counts[1]], as
 * tokenizer_encode_pair lays them out, and cuts them, within the limit (0: the tokenizer's). Of
 * *out only ids, types, count, pair_at and truncated are set. ERR_UNSUPPORTED as there. */
enum err_code tokenizer_join_pair(const struct tokenizer *tokenizer, unsigned limit,
                                  const int32_t *const ids[2], const unsigned counts[2],
                                  struct arena *arena, struct encoding *out, struct err *err);
/* Special tokens of a pair; 0: the tokenizer takes none. */
unsigned tokenizer_pair_specials(const struct tokenizer *tokenizer);

/* Upper bound of the bytes that tokenizer_encode takes, arena and temporary, with the same limit;
 * likewise for tokenizer_encode_pair, with the tokenizer's limit. */
size_t tokenizer_encode_bytes(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                              size_t len);
size_t tokenizer_encode_pair_bytes(const struct tokenizer *tokenizer, const char *text, size_t len,
                                   const char *pair, size_t pair_len);

/* Upper bound of the tokens of such an encoding, special ones included. */
unsigned tokenizer_tokens_max(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                              size_t len);

size_t tokenizer_bytes(const struct tokenizer *tokenizer); /* memory that it holds */

/* The string of a token; NULL: no token has the id. */
const struct token_string *tokenizer_string(const struct tokenizer *tokenizer, int32_t id);
/* The token with such a string, or VOCAB_NONE (-1). */
int32_t tokenizer_find(const struct tokenizer *tokenizer, const char *string, size_t len);
/* How strings of tokens become a text: decoder.h. */
struct decoder;
const struct decoder *tokenizer_decoder(const struct tokenizer *tokenizer);

/* *text [*len] <- the text that the tokens ids[count] stand for, as transformers decodes them, in
 * the arena and ended by a NUL; ids that no token has are left out. skips_specials: special tokens
 * are too. ERR_UNSUPPORTED for a decoder that is not supported; ERR_NO_MEMORY.
 * tokenizer_decode.c. */
enum err_code tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, size_t count,
                               bool skips_specials, const char **text, size_t *len,
                               struct arena *arena, struct err *err);

/* True if decoding without special tokens keeps this one. */
bool tokenizer_decodes(const struct tokenizer *tokenizer, int32_t id);

/* The same into room[room_bytes], without taking memory, for a tokenizer whose decoder is
 * supported: tokenizer_decode_bytes of the strings of these tokens, or of longer ones and more. */
const char *tokenizer_decode_into(const struct tokenizer *tokenizer, const int32_t *ids,
                                  size_t count, bool skips_specials, char *room, size_t room_bytes,
                                  size_t *len);
/* The room for `count` tokens whose strings have so many bytes together. */
size_t tokenizer_decode_bytes(const struct tokenizer *tokenizer, size_t bytes, size_t count);

/* (*bytes)[(*offset)[id] .. (*offset)[id + 1]) <- what each of `count` tokens adds to a text that
 * is decoded without special tokens: as its first one, or behind others. A sequence of them is the
 * decoded text, but for bytes that are no UTF-8, what clean_up_tokenization_spaces takes away, and
 * white space at the ends if the tokenizer strips it. Nothing: the token is special, no token has
 * the id, or the tokenizer puts spaces around it. In the arena. ERR_UNSUPPORTED for a decoder that
 * is not supported; ERR_NO_MEMORY. */
enum err_code tokenizer_additions(const struct tokenizer *tokenizer, unsigned count, bool is_first,
                                  const char **bytes, const uint32_t **offset, struct arena *arena,
                                  struct err *err);
/* Upper bound of what this takes from the arena. */
size_t tokenizer_additions_bytes(const struct tokenizer *tokenizer, unsigned count);
/* False: a token adds the same as the first one and behind others. */
bool tokenizer_first_differs(const struct tokenizer *tokenizer);
/* True if decoding strips white space off both ends: then a first token may add nothing, and the
 * next is first again. */
bool tokenizer_strips(const struct tokenizer *tokenizer);
/* text[len] <- what decoding makes of a whole text: without white space at the ends if it is
 * stripped, and with clean_up_tokenization_spaces, in place, with room for a NUL; returns the
 * length, which is smaller if anything was taken away. */
size_t tokenizer_finish(const struct tokenizer *tokenizer, char *text, size_t len);

/* *texts [count] <- each token as the text that it stands for, UTF-8: a piece of WordPiece keeps
 * its mark ("##ing"), one of Metaspace loses it, bytes that are no UTF-8 become U+FFFD, as
 * tokenizers decode one token. NULL: no token has the id. In the arena. ERR_UNSUPPORTED for a
 * decoder that is not supported; ERR_NO_MEMORY. */
enum err_code tokenizer_texts(const struct tokenizer *tokenizer, unsigned count,
                              const char *const **texts, struct arena *arena, struct err *err);

/* *lengths [vocab_size] <- the characters of each token's string, "##ing" has five, if pieces say
 * by a mark that they continue a word (WordPiece); 0: no token has the id. NULL: they do not. In
 * the arena. ERR_UNSUPPORTED for a BPE with such a mark; ERR_NO_MEMORY. */
enum err_code tokenizer_piece_lengths(const struct tokenizer *tokenizer, const uint32_t **lengths,
                                      struct arena *arena, struct err *err);

#endif
