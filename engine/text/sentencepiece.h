/* sentencepiece.h - reads a SentencePiece model (source.spm, spiece.model,
 * sentencepiece.bpe.model): the protocol buffer ModelProto of google/sentencepiece,
 * src/sentencepiece_model.proto, version 0.2.
 *
 *     sentencepiece_read(&model, bytes, len, &arena, &err);
 *     model->pieces[id].text, vocab_find(&model->names, "\xE2\x96\x81the", 6)
 *
 * What it holds becomes a Unigram (unigram_of_pieces) or a BPE (bpe_of_pieces), and a normaliser
 * (pipeline/sentencepiece_steps.c).
 *
 * Threads: immutable once read.
 */
#ifndef ATTND_ENGINE_TEXT_SENTENCEPIECE_H
#define ATTND_ENGINE_TEXT_SENTENCEPIECE_H

#include "engine/text/vocab.h"

#include <stdbool.h>

/* The mark that stands for a space: U+2581. */
#define SENTENCEPIECE_MARK "\xE2\x96\x81"
enum { SENTENCEPIECE_MARK_BYTES = 3, SENTENCEPIECE_BYTES_MAX = 64 * 1024 * 1024 };

/* Numbers as in the file. */
enum sentencepiece_type {
    PIECE_NORMAL = 1,
    PIECE_UNKNOWN,
    PIECE_CONTROL,      /* never found in a text */
    PIECE_USER_DEFINED, /* always one piece, and not normalised */
    PIECE_UNUSED,       /* never found in a text */
    PIECE_BYTE,         /* "<0x0A>", a byte of a character that no piece has */
};

struct sentencepiece_piece {
    const char *text; /* [len] UTF-8 without a NUL, not empty */
    uint32_t len;
    enum sentencepiece_type type;
    float score; /* finite */
};

struct sentencepiece {
    struct sentencepiece_piece *pieces; /* [count], by id */
    uint32_t count;
    struct vocab names;        /* all pieces */
    struct vocab user_defined; /* those that are always one piece */
    int32_t unknown;
    bool is_bpe;          /* else a Unigram */
    bool falls_back;      /* an unknown character becomes its bytes, 256 pieces */
    bool adds_prefix;     /* a mark before the text */
    bool removes_spaces;  /* at both ends; of several neighbours one stays */
    bool marks_spaces;    /* a space becomes the mark */
    const char *charsmap; /* [charsmap_len] precompiled.h; NULL: characters stay as they are */
    size_t charsmap_len;
    const char *unknown_surface; /* the unknown piece in a decoded text */
    size_t unknown_surface_len;
};

/* `bytes` are copied into the arena. ERR_UNUSABLE for a file that is cut short or breaks a rule of
 * the format; ERR_UNSUPPORTED, with the field's name, for what is not implemented: models of words
 * or characters, marks behind words, a denormaliser, unused pieces of a BPE, too many or too long
 * pieces. Error texts name the byte or the piece. ERR_TOO_LARGE; ERR_NO_MEMORY. Linear in len. */
enum err_code sentencepiece_read(struct sentencepiece **out, const char *bytes, size_t len,
                                 struct arena *arena, struct err *err);

/* The byte that a piece of PIECE_BYTE stands for; -1: its text is not "<0xHH>". */
int sentencepiece_byte(const struct sentencepiece_piece *piece);

#endif
