/* unigram.h - the Unigram model of tokenizer.json or of a SentencePiece model: of all ways to cut a
 * text into pieces of a vocabulary, the one whose scores have the largest sum (Kudo 2018, Viterbi's
 * algorithm).
 *
 *     unigram_read(&model, json_model, "tokenizer.json: $.model", &arena, &err);
 *     unigram_cursor_init(&cursor, model, &work, interrupt);
 *     unigram_cut(&cursor, word, len, &err);             for each pre-tokenised split
 *     while (unigram_next(&cursor, &piece)) ... piece.id, word[piece.at .. piece.at + piece.len)
 *
 * Equal to Hugging Face tokenizers 0.22.2. Sums are in double precision, and a later candidate wins
 * only if it is strictly better. If no piece of one character matches, an unknown piece scores the
 * lowest score minus 10. Neighbouring unknown characters are one piece, which gets the id of the
 * unknown piece unless the whole is in the vocabulary.
 *
 * A SentencePiece model is cut as by SentencePiece 0.2: sums are rounded to single precision,
 * control and unused pieces are not found in a text, a user-defined piece of n bytes scores n times
 * the largest score, less 0.1, and neighbouring unknown characters are the unknown piece.
 *
 * Threads: a model is immutable, any number may use it; a cursor belongs to one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_UNIGRAM_H
#define ATTND_ENGINE_TEXT_UNIGRAM_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/interrupt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNIGRAM_NONE = -1,
    UNIGRAM_PIECE_BYTES_MAX = 1024, /* bounds the work that one character of a text can cause */
};

struct unigram;
struct json_t;
struct sentencepiece;

struct unigram_piece {
    int32_t id;
    size_t at, len; /* bytes of the text */
};

/* Private; defined here for its size. */
struct unigram_cursor {
    const struct unigram *model;
    struct arena *arena;
    struct interrupt *interrupt;
    uint16_t *steps; /* [room] */
    double *sums;    /* ring of the last positions' best sums */
    size_t room;
    const char *text;
    size_t len, at;
};

/* Reads the `model` object: vocab, a list of [piece, score], and unk_id. `path` opens error texts.
 * Nothing of the tree is kept; memory from the arena, some 9 bytes for each node of the trie and 8
 * for each piece. ERR_UNSUPPORTED for byte_fallback, no unk_id, an unknown member, or a piece that
 * is too long; ERR_UNUSABLE for wrong types and an unk_id outside the vocabulary. */
enum err_code unigram_read(struct unigram **out, const struct json_t *model, const char *path,
                           struct arena *arena, struct err *err);

/* Makes the model of a SentencePiece model, of which nothing is kept. ERR_TOO_LARGE. */
enum err_code unigram_of_pieces(struct unigram **out, const struct sentencepiece *file,
                                struct arena *arena, struct err *err);

/* Number of pieces in the vocabulary's list. */
uint32_t unigram_count(const struct unigram *model);

int32_t unigram_unknown(const struct unigram *model);

/* Returns the id of a piece, or UNIGRAM_NONE. If a piece is listed twice, the later id counts, as
 * in the reference. */
int32_t unigram_find(const struct unigram *model, const char *piece, size_t len);

/* A cursor takes its memory from the arena: 2 bytes for each byte of the longest text that it cuts
 * (at most twice that, by doubling) and 8 KiB. The interrupt (NULL: none) is checked every few
 * thousand characters. */
void unigram_cursor_init(struct unigram_cursor *cursor, const struct unigram *model,
                         struct arena *arena, struct interrupt *interrupt);

/* Cuts a text of valid UTF-8, borrowed until the next cut. Linear in the text (times the longest
 * piece that matches at each character). ERR_NO_MEMORY, or the interrupt's error. */
enum err_code unigram_cut(struct unigram_cursor *cursor, const char *text, size_t len,
                          struct err *err);

/* Returns the pieces in the order of the text; false behind the last. */
bool unigram_next(struct unigram_cursor *cursor, struct unigram_piece *out);

#endif
