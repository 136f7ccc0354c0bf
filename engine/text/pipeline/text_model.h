/* text_model.h - the member "model" of tokenizer.json, BPE, WordPiece or Unigram, or that of a
 * SentencePiece model, which cut one split of a text into tokens.
 *
 *     text_model_read(&model, json, is_byte_level, &names, &arena, &err);         once
 *     text_model_work_init(&work, &model, longest, &scratch, interrupt, &err);
 *     count = text_model_cut(&model, &work, text, len, &err);          work.cuts[0 .. count)
 *
 * Threads: a model is immutable, any number may use it; work belongs to one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_TEXT_MODEL_H
#define ATTND_ENGINE_TEXT_PIPELINE_TEXT_MODEL_H

#include "engine/text/pipeline/bpe.h"
#include "engine/text/sentencepiece.h"
#include "engine/text/unigram.h"

enum { TEXT_MODEL_WORD_CHARACTERS_MAX = 1000 };

enum text_model_kind { MODEL_BPE, MODEL_WORDPIECE, MODEL_UNIGRAM };

struct text_model {
    enum text_model_kind kind;
    const char *name; /* "BPE", ... */
    struct bpe *bpe;
    struct vocab initial, continued; /* WordPiece: pieces that begin a word, that continue one */
    unsigned word_characters_max;
    struct unigram *unigram;
    bool has_prefix;     /* pieces that continue a word begin with a mark: WordPiece's "##" */
    int32_t unknown;     /* or VOCAB_NONE */
    unsigned vocab_size; /* largest id + 1 */
    unsigned pieces;     /* their number */

    /* A SentencePiece model has pieces with numbers of its own; a tokenizer gives them ids by their
     * text. A run of unknown characters may be a token too. */
    const struct sentencepiece *file; /* NULL: tokenizer.json, and all of this is unused */
    const int32_t *ids;               /* [file->count] the token of each piece */
    struct vocab tokens;              /* all tokens, the added ones too */
    int32_t bytes[256];               /* if file->falls_back */
};

struct text_model_work {
    struct model_cut *cuts; /* [longest] */
    struct bpe_work bpe;
    struct unigram_cursor cursor;
};

enum { TEXT_MODEL_WORK_BYTES = BPE_WORK_BYTES + sizeof(struct model_cut) + 16 };

/* `pieces` has the vocabulary, or is empty and is filled from the file; unused for Unigram. Nothing
 * of the tree is kept. ERR_UNSUPPORTED for another type or member. */
enum err_code text_model_read(struct text_model *out, const struct json_t *json, bool is_byte_level,
                              struct piece_list *pieces, struct arena *arena, struct err *err);

/* Makes the model of a SentencePiece model; `pieces` has the ids. text_model_name must follow. */
enum err_code text_model_of_pieces(struct text_model *out, const struct sentencepiece *file,
                                   const struct piece_list *pieces, struct arena *arena,
                                   struct err *err);

/* Gives the pieces of a SentencePiece model their tokens: model->tokens is filled, and what it
 * lacks is the unknown token. */
enum err_code text_model_name(struct text_model *model, int32_t unknown, struct arena *arena,
                              struct err *err);

/* Returns the id of a piece in the file's spelling, or VOCAB_NONE. */
int32_t text_model_find(const struct text_model *model, const struct piece_list *pieces,
                        const char *piece, size_t len);

/* Takes memory for splits of at most `longest` bytes: TEXT_MODEL_WORK_BYTES for each byte, and
 * 8 KiB. */
enum err_code text_model_work_init(struct text_model_work *work, const struct text_model *model,
                                   size_t longest, struct arena *arena, struct interrupt *interrupt,
                                   struct err *err);

/* Writes the tokens of a split to work->cuts and returns their number, which is undefined after an
 * error: ERR_NO_MEMORY, or the interrupt's error. */
size_t text_model_cut(const struct text_model *model, struct text_model_work *work,
                      const char *text, size_t len, struct err *err);

#endif
