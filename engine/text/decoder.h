/* decoder.h - strings of tokens -> text: the member "decoder" of tokenizer.json, as Hugging Face
 * tokenizers 0.22 applies it.
 *
 *     struct decoding decoding;
 *     decoding_begin(&decoding, decoder, room, decoder_room(bytes, count));
 *     decoding_add(&decoding, "##ing", 5);                    for each token, in the text's order
 *     text = decoding_end(&decoding, &len);
 *
 *     none        tokens with a space between them
 *     WordPiece   the same, but a piece that begins with the prefix follows without it; `cleanup`
 *                 takes the space before ". ? ! ," and before English endings, token by token
 *     ByteLevel   characters stand for bytes (byte_alphabet); a token with another character is
 *                 taken as it is; a sequence of bytes that is no character becomes one U+FFFD
 *     Metaspace   the mark is a space; those of the first token are nothing
 *
 * Threads: a decoder is immutable once read; a decoding belongs to one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_DECODER_H
#define ATTND_ENGINE_TEXT_DECODER_H

#include "engine/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

enum decoder_kind {
    DECODER_NONE,
    DECODER_WORDPIECE,
    DECODER_BYTE_LEVEL,
    DECODER_METASPACE,
    DECODER_UNSUPPORTED
};

enum { DECODER_MARK_BYTES = 64 };

struct decoder {
    enum decoder_kind kind;
    char mark[DECODER_MARK_BYTES]; /* the prefix or the replacement; of DECODER_UNSUPPORTED the type
                                    */
    size_t mark_len;
    bool cleans;      /* WordPiece's `cleanup` */
    bool keeps_first; /* Metaspace's `prepend_scheme` never: a mark of the first token is a space */
    bool tidies;      /* tokenizer_config.json's clean_up_tokenization_spaces: decoding_tidy */
};

/* `json`: the member; NULL: none. A type that is not implemented is no error until it is used:
 * decoder_check. ERR_UNUSABLE for members of a wrong type. */
enum err_code decoder_read(struct decoder *out, const struct json_t *json, struct err *err);

/* ERR_UNSUPPORTED, with the type, for a decoder that cannot be applied. */
enum err_code decoder_check(const struct decoder *decoder, struct err *err);

/* Bytes of room for `count` tokens whose strings have `bytes` together. */
size_t decoder_room(size_t bytes, size_t count);

struct decoding {
    const struct decoder *decoder;
    char *out;     /* [room] */
    size_t at;     /* where bytes go on being written */
    size_t start;  /* where they began */
    bool is_later; /* a token is there already */
};

/* `room` is borrowed; the decoder has passed decoder_check. */
void decoding_begin(struct decoding *out, const struct decoder *decoder, char *room, size_t bytes);
void decoding_add(struct decoding *decoding, const char *token, size_t len);
/* The text, in the room, which is UTF-8 and ended by NUL. */
const char *decoding_end(struct decoding *decoding, size_t *len);

/* Takes spaces before punctuation and English endings out of a whole text, in place, as
 * transformers' clean_up_tokenization does; returns the length. */
size_t decoding_tidy(char *text, size_t len);

/* The byte that a character of a byte-level vocabulary stands for; -1: none. GPT-2's alphabet: the
 * printable characters of Latin-1 stand for themselves, the other bytes, in ascending order, are
 * the characters from 256 on. */
int decoder_byte(uint32_t character);

#endif
