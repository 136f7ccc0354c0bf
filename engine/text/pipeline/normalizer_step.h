/* normalizer_step.h - the member "normalizer" of tokenizer.json: steps that a text passes through,
 * read from a table by `type`.
 *
 *     normalizer_steps_read(&steps, json, &arena, &err);                 once
 *     struct normalizer_work work = {NULL, interrupt, true, true, size_max};
 *     normalizer_steps_apply(&steps, &text, arenas, &work, &err);        text is the result
 *
 * Characters and alignments are those of the reference (Hugging Face tokenizers 0.22).
 *
 * Threads: immutable once read; any number may apply them, each with work of its own.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_NORMALIZER_STEP_H
#define ATTND_ENGINE_TEXT_PIPELINE_NORMALIZER_STEP_H

#include "engine/base/interrupt.h"
#include "engine/text/aligned.h"
#include "engine/text/normalizer.h"
#include "engine/text/pipeline/pattern.h"
#include "engine/text/pipeline/text_cost.h"
#include "engine/text/pipeline/tokenizer_files.h"
#include "engine/text/precompiled.h"
#include "engine/text/unicode.h"

struct json_t;
struct sentencepiece;

/* ---- one step ---- */

/* Arguments of every step. A long text comes in chunks: white space is only stripped at the start
 * of the first chunk and at the end of the last. */
struct normalizer_work {
    struct arena *arena;
    struct interrupt *interrupt; /* NULL: none */
    bool is_first, is_last;
    size_t size_max; /* most bytes that the text may become */
};

struct normalizer_step {
    /* *out may share the arrays of `in`. ERR_NO_MEMORY, or the interrupt's error. */
    enum err_code (*apply)(const struct normalizer_step *step, const struct aligned *in,
                           struct aligned *out, const struct normalizer_work *work,
                           struct err *err);
    struct text_growth growth;
    bool keeps_words;       /* a space between ASCII letters or digits stays a space between them */
    struct pattern pattern; /* Replace */
    const char *content;    /* Replace, Prepend */
    size_t content_len;
    bool left, right;              /* Strip */
    struct normalizer_flags flags; /* BertNormalizer */
    enum unicode_form form;        /* NFC ... */
    struct precompiled *table;     /* Precompiled; of a SentencePiece model NULL if it has none */
    const struct sentencepiece *file;
};

/* The steps, one function for each type of tokenizer.json. */
#define NORMALIZER_APPLY(name)                                                                     \
    enum err_code name(const struct normalizer_step *step, const struct aligned *in,               \
                       struct aligned *out, const struct normalizer_work *work, struct err *err)

NORMALIZER_APPLY(normalizer_lowercase);     /* by character, without context */
NORMALIZER_APPLY(normalizer_strip);         /* white space at the ends */
NORMALIZER_APPLY(normalizer_strip_accents); /* all marks */
NORMALIZER_APPLY(normalizer_nmt);           /* drops controls, unifies white space */
NORMALIZER_APPLY(normalizer_replace);
NORMALIZER_APPLY(normalizer_prepend); /* before a text that is not empty */
NORMALIZER_APPLY(normalizer_form);
NORMALIZER_APPLY(normalizer_precompiled);
NORMALIZER_APPLY(normalizer_bert);
NORMALIZER_APPLY(normalizer_pieces); /* all of a SentencePiece model's normaliser */

/* Inserts `content` behind the character replaced or dropped last. False if there is no memory. */
bool normalizer_insert(struct aligned_builder *builder, const char *content, size_t len,
                       struct err *err);

/* Inserts `content` before the next character, whose extent it shares. False without memory. */
bool normalizer_insert_before(struct aligned_builder *builder, const char *content, size_t len,
                              struct err *err);

/* ---- all of them ---- */

enum { NORMALIZER_STEPS_MAX = 32 };

struct normalizer_steps {
    struct normalizer_step *items;
    size_t count;
    bool keep_words; /* all steps keep words */
};

/* `json`: the member, NULL if absent. Error texts name the path. ERR_UNSUPPORTED for a type, a
 * member or an expression that is not implemented. Nothing of the tree is kept. */
enum err_code normalizer_steps_read(struct normalizer_steps *out, const struct json_t *json,
                                    struct arena *arena, struct err *err);

/* Makes the one step of a SentencePiece model, which is borrowed. */
enum err_code normalizer_steps_of_pieces(struct normalizer_steps *out,
                                         const struct sentencepiece *file, struct arena *arena,
                                         struct err *err);

/* Applies do_lower_case, tokenize_chinese_chars and strip_accents of tokenizer_config.json, if the
 * class of tokenizer lets them win. They change a BertNormalizer that is all of `json`, not one in
 * a Sequence. ERR_UNSUPPORTED for such a class without a normaliser, which the reference does not
 * read. */
enum err_code normalizer_steps_override(struct normalizer_steps *steps, const struct json_t *json,
                                        const struct tokenizer_files *files, struct err *err);

/* Applies the steps to *text, which lives in pair[0]; the result lives in either arena. work->arena
 * is not used. ERR_TOO_LARGE if the result has more than work->size_max bytes. */
enum err_code normalizer_steps_apply(const struct normalizer_steps *steps, struct aligned *text,
                                     struct arena pair[2], const struct normalizer_work *work,
                                     struct err *err);

void normalizer_steps_cost(const struct normalizer_steps *steps, struct text_cost *cost);

#endif
