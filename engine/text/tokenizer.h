/* tokenizer.h - text -> token ids with character offsets, by the kind of tokenizer that a
 * checkpoint has. The only kind is WordPiece (wordpiece.h).
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
 * tokenizer's is the smaller of it and that in the files. Error texts start with the file's name.
 * Yours to close. */
enum err_code tokenizer_open(struct tokenizer **out, const char *dir, unsigned tokens_max,
                             struct err *err);
void tokenizer_close(struct tokenizer *tokenizer);

/* limit: tokens at most, at least 3; 0: the tokenizer's. The interrupt (NULL: none) is checked
 * every few thousand characters. ERR_UNUSABLE for invalid UTF-8, with its byte offset. Linear in
 * len; memory from the arena. */
enum err_code tokenizer_encode(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                               size_t len, struct interrupt *interrupt, struct arena *arena,
                               struct encoding *out, struct err *err);

/* The same of a text that is known to be UTF-8, as a JSON parser's strings are: not checked. */
enum err_code tokenizer_encode_utf8(const struct tokenizer *tokenizer, unsigned limit,
                                    const char *text, size_t len, struct interrupt *interrupt,
                                    struct arena *arena, struct encoding *out, struct err *err);

/* Upper bound of what tokenizer_encode takes from the arena, with the same limit. */
size_t tokenizer_encode_bytes(const struct tokenizer *tokenizer, unsigned limit, const char *text,
                              size_t len);

size_t tokenizer_bytes(const struct tokenizer *tokenizer); /* that it holds */

#endif
