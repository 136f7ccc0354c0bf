/* encoder_vector.h - the vectors of a checkpoint that has no modules.json: what attnd.json says of
 * them, and what they are made of then.
 *
 *     attnd.json   {"task": "embed", "pooling": "cls", "normalize": true}
 *
 *     "cls"      the first token's last state
 *     "mean"     the mean of the last states: of a text's tokens, special ones included; of an
 *                image's patches, without class token and registers. "max" likewise
 *     "pooler"   transformers' pooler_output of the family
 *     others of sentence_modules.h for texts; or a list of names, whose results stand side by side
 *
 * Threads: plain data, pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_ENCODER_VECTOR_H
#define ATTND_ENGINE_MODEL_CONFIG_ENCODER_VECTOR_H

#include "engine/base/doc.h"
#include "engine/model/config/sentence_modules.h"

/* All zero: nothing is said. */
struct encoder_vector {
    bool is_asked;                   /* one of the members is there */
    bool is_pooler;                  /* "pooling": "pooler" */
    struct sentence_pooling pooling; /* count 0: not said */
    bool is_normalized_told, is_normalized;
};

/* Reads the members of attnd.json's object. ERR_UNSUPPORTED: another task, an unknown pooling.
 * ERR_UNUSABLE: a wrong type. */
enum err_code encoder_vector_read(struct encoder_vector *out, const struct json_t *object,
                                  struct err *err);

/* Fills *out for an encoder of that hidden size whose pooling is known; a pooling with a count of 0
 * stands for the family's own vector of `width` numbers. */
void encoder_vector_make(struct sentence_modules *out, const struct sentence_pooling *pooling,
                         bool is_normalized, unsigned hidden, unsigned width);

#endif
