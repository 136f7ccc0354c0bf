/* tags.h - prepares a text for a model that tags each token: where each token of the text is read,
 * and which tokens are one word.
 *
 *     tags_order(&pipeline, text, len, &arena, &input, &err);     behind windows_cut
 *
 * Words are those of transformers' TokenClassificationPipeline. If pieces that continue a word
 * begin with a mark ("##"), a token continues one if its string has another length than its part of
 * the text; the unknown token never does. Else it does if there is no space at or just before its
 * start.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_PREPARE_TAGS_H
#define ATTND_ENGINE_PREPARE_TAGS_H

#include "engine/prepare/pipeline.h"

/* Fills input->order and input->continued; they lie in the arena, at most tags_bytes of it. text
 * [len] is the UTF-8 that was encoded. ERR_NO_MEMORY. */
enum err_code tags_order(const struct pipeline *pipeline, const char *text, size_t len,
                         struct arena *arena, struct engine_input *input, struct err *err);
/* Upper bound, for an input with so many tokens in all windows together. */
size_t tags_bytes(size_t tokens);

#endif
