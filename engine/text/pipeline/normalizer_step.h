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

#include "engine/text/pipeline/normalizer_apply.h"
#include "engine/text/pipeline/tokenizer_files.h"

struct json_t;

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
