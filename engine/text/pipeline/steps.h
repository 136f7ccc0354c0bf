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
    bool is_bert;        /* texts are cleaned, split and cut as by BERT */
    bool is_plain;       /* and added tokens are matched literally: wordpiece.c implements it */
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

/* ---- the post-processor ---- */

struct json_t;

/* `json`: the member; NULL: no special tokens. ERR_UNSUPPORTED for a type or a member that is not
 * implemented, for a template without the text, or with more than TEMPLATE_ITEMS_MAX tokens. */
enum err_code post_processor_read(struct post_processor *out, const struct json_t *json,
                                  struct err *err);

/* Makes the frame of the class, which older files imply. cls, sep: ids of its first and last
 * token. */
void post_processor_frame(struct post_processor *out, enum class_frame frame, int32_t cls,
                          int32_t sep);

/* Applies trim_offsets and add_prefix_space of tokenizer_config.json, if the class of tokenizer
 * lets them win over a RobertaProcessing or a ByteLevel, or over older files. */
enum err_code post_processor_override(struct post_processor *post, const struct json_t *json,
                                      const struct tokenizer_files *files, struct err *err);

#endif
