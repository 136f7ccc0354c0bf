/* steps.h - reads the files of a tokenizer into the steps that text_pipeline.c and wordpiece.c run.
 *
 *     steps_read(&steps, &files, &arena, &err);
 *     ... steps.normalizer, steps.pretokenizer, steps.model, steps.added, steps.post
 *
 * Threads: immutable once read.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_STEPS_H
#define ATTND_ENGINE_TEXT_PIPELINE_STEPS_H

#include "engine/text/decoder.h"
#include "engine/text/pipeline/added_tokens.h"
#include "engine/text/pipeline/pretokenizer_step.h"
#include "engine/text/pipeline/text_model.h"
#include "engine/text/pipeline/tokenizer_files.h"
#include "engine/text/tokenizer_kind.h"

/* The member "post_processor" of tokenizer.json: the special tokens around one text and around two,
 * and the trimming of white space from offsets. */
struct post_processor {
    struct tokenizer_template single, pair;
    bool trims;       /* spaces at a token's ends are not in its offsets */
    bool adds_prefix; /* one space before the first token was added, so it is not trimmed */
    bool ends_once;   /* tokenizer_kind.h */
};

/* The ways of a slow tokenizer with a text that its SentencePiece model gets. */
struct slow_text {
    enum piece_class class; /* 0: none */
    unsigned strings;       /* of the vocabulary, without added tokens */
    bool strips_first;      /* T5: decoding takes the mark of the first token */
    /* T5 with legacy false: a mark in the text is a space; `spaced` is put before a part of the
     * text that begins with a space, `first` before the whole text, and the `dropped` tokens that
     * `spaced` becomes are dropped. It keeps the model from removing the space. NULL: none. */
    const char *spaced, *first;
    unsigned dropped;
};

struct steps {
    struct normalizer_steps normalizer;
    struct pretokenizer_steps pretokenizer;
    struct text_model model;
    struct added_tokens added;
    struct post_processor post;
    struct decoder decoder;
    const struct token_string *strings; /* [string_count], by id; a text of NULL: no token has it */
    unsigned string_count;
    int32_t pad, mask;   /* ids, or VOCAB_NONE */
    double length_max;   /* model_max_length; infinite if the file does not say */
    unsigned vocab_size; /* largest id + 1 of the model, the added tokens and the template */
    bool keeps_end;      /* a text that is too long is cut at its beginning */
    struct slow_text slow;
    const struct tokenizer_language *languages; /* [language_count] */
    unsigned language_count;
    bool ends_words; /* CLIP: in a decoded text the end of a word is a space */
    bool is_bert;    /* texts are cleaned, split and cut as by BERT */
    bool is_plain;   /* and added tokens are matched literally: wordpiece.c implements it */
};

/* Reads the steps; keeps nothing of the files. Error texts begin with a file's name. */
enum err_code steps_read(struct steps *out, const struct tokenizer_files *files,
                         struct arena *arena, struct err *err);

/* Tells the steps the model's number of embeddings. Special tokens that the class of tokenizer adds
 * behind the vocabulary, and that have none, are not searched for. (The reference fails on a text
 * with one.) */
void steps_fit(struct steps *steps, unsigned rows);

/* Returns the flags of BERT's normaliser. */
struct normalizer_flags steps_flags(const struct steps *steps);

/* Writes the limit of a tokenizer: the smaller of the files' and of tokens_max. ERR_UNSUPPORTED if
 * a text would have no room for a token. */
enum err_code steps_limit(unsigned *out, const struct steps *steps, unsigned tokens_max,
                          struct err *err);

/* ---- a SentencePiece model ---- */

/* Reads the model of a slow tokenizer: steps->normalizer, ->model, ->slow, and `pieces`, the
 * strings that have ids without the added tokens. Error texts begin with a file's name. */
enum err_code steps_read_pieces(struct steps *steps, const struct tokenizer_files *files,
                                struct piece_list *pieces, struct arena *arena, struct err *err);

/* Gives the pieces their ids, once steps->added has been read. */
enum err_code steps_name_pieces(struct steps *steps, const struct tokenizer_files *files,
                                const struct piece_list *pieces, struct arena *arena,
                                struct err *err);

/* Lists the languages of the class, and makes the frame of a class with languages around a text;
 * its language is that of tokenizer_config.json or the class's usual one. */
enum err_code steps_read_languages(struct steps *steps, const struct tokenizer_files *files,
                                   const struct piece_list *pieces, struct arena *arena,
                                   struct err *err);

/* ---- the post-processor ---- */

struct json_t;

/* `json`: the member; NULL: no special tokens. ERR_UNSUPPORTED for a type or a member that is not
 * implemented, for a template without the text, or with more than TEMPLATE_ITEMS_MAX tokens. */
enum err_code post_processor_read(struct post_processor *out, const struct json_t *json,
                                  struct err *err);

/* Makes the frame of the class, which older files imply. cls, sep: ids of its first and last
 * token; of a frame without a first one, cls is the usual language. */
void post_processor_frame(struct post_processor *out, enum class_frame frame, int32_t cls,
                          int32_t sep);

/* Applies trim_offsets and add_prefix_space of tokenizer_config.json, if the class of tokenizer
 * lets them win over a RobertaProcessing or a ByteLevel, or over older files. */
enum err_code post_processor_override(struct post_processor *post, const struct json_t *json,
                                      const struct tokenizer_files *files, struct err *err);

#endif
