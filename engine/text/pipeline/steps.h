/* steps.h - all that tokenizer.json says, read: what text_pipeline.c runs.
 *
 *     steps_read(&steps, root, config, &arena, &err);
 *     ... steps.normalizer, steps.pretokenizer, steps.model, steps.added, steps.post
 *
 * Threads: immutable once read.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_STEPS_H
#define ATTND_ENGINE_TEXT_PIPELINE_STEPS_H

#include "engine/text/pipeline/added_tokens.h"
#include "engine/text/pipeline/post_processor.h"
#include "engine/text/pipeline/pretokenizer_step.h"
#include "engine/text/pipeline/text_model.h"

struct steps {
    struct normalizer_steps normalizer;
    struct pretokenizer_steps pretokenizer;
    struct text_model model;
    struct added_tokens added;
    struct post_processor post;
    int32_t pad, mask;   /* ids, or VOCAB_NONE */
    double length_max;   /* model_max_length; infinite if the file does not say */
    unsigned vocab_size; /* largest id + 1, of the model, the added tokens and the template */
};

/* root: tokenizer.json; config: tokenizer_config.json, or NULL. Of neither anything is kept. Error
 * texts begin with the file's name. */
enum err_code steps_read(struct steps *out, const struct json_t *root, const struct json_t *config,
                         struct arena *arena, struct err *err);

/* Whether tokenizer.json describes BERT's own tokenizer, which wordpiece.h implements. */
bool steps_are_bert(const struct json_t *root);

#endif
