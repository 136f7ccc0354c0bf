/* prompt.h - the text that an embedding model reads: its prompt before the client's text, without
 * white space at both ends, as sentence-transformers makes it (encode, tokenize).
 *
 *     struct pipeline_text text = {.bytes = "leakage at pin 3", ...};
 *     prompt_add(&text, &skipped, pipeline, "query", &arena, &err);       "query: leakage at pin 3"
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_PREPARE_PROMPT_H
#define ATTND_ENGINE_PREPARE_PROMPT_H

#include "engine/prepare/pipeline.h"

/* Replaces the text, which then lies in the arena and is known to be UTF-8. The pipeline's spec is
 * an embedding's. name NULL: the model's default prompt, if it has one. *skipped: the encoding's
 * first tokens, those of the prompt, that are not pooled; 0 if they are. ERR_UNUSABLE: an unknown
 * name, a pair, a text that is not UTF-8. ERR_NO_MEMORY. */
enum err_code prompt_add(struct pipeline_text *text, unsigned *skipped,
                         const struct pipeline *pipeline, const char *name, struct arena *arena,
                         struct err *err);

/* Upper bound of what that and the encoding of the text take of the arena; 0: it is refused before
 * it takes any. */
size_t prompt_bytes(const struct pipeline *pipeline, const char *text, size_t len,
                    const char *name);

#endif
