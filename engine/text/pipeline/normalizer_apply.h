/* normalizer_apply.h - applies the steps of normalizer_step.c to a text: one function for each type
 * of tokenizer.json.
 *
 *     step.apply = normalizer_lowercase;
 *     step.apply(&step, &text, &next, &work, &err);
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_NORMALIZER_APPLY_H
#define ATTND_ENGINE_TEXT_PIPELINE_NORMALIZER_APPLY_H

#include "engine/base/interrupt.h"
#include "engine/text/aligned.h"
#include "engine/text/normalizer.h"
#include "engine/text/pipeline/pattern.h"
#include "engine/text/pipeline/text_cost.h"
#include "engine/text/precompiled.h"
#include "engine/text/unicode_forms.h"

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
    struct precompiled *table;     /* Precompiled */
};

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

/* Inserts `content` behind the character replaced or dropped last. False if there is no memory. */
bool normalizer_insert(struct aligned_builder *builder, const char *content, size_t len,
                       struct err *err);

/* Inserts `content` before the next character, whose extent it shares. False without memory. */
bool normalizer_insert_before(struct aligned_builder *builder, const char *content, size_t len,
                              struct err *err);

#endif
