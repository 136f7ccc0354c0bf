/* sentence_options.h - the options of a sentence-transformers directory: prompts, similarity,
 * truncation, and the limits of a text.
 *
 *     config_sentence_transformers.json   {"prompts": {"query": "query: "},
 *                                          "default_prompt_name": "query",
 *                                          "similarity_fn_name": "cosine", "truncate_dim": 256}
 *     sentence_bert_config.json           {"max_seq_length": 512, "do_lower_case": false}
 *
 * Source: the package sentence-transformers, versions 5.2.3 and 6.2.0. A member that both write and
 * that would change a vector in a way that is not served is refused by name.
 *
 * Threads: plain data, pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_SENTENCE_OPTIONS_H
#define ATTND_ENGINE_MODEL_CONFIG_SENTENCE_OPTIONS_H

#include "engine/base/arena.h"
#include "engine/base/doc.h"
#include "engine/base/err.h"

#include <stdbool.h>

enum { SENTENCE_PROMPTS_MAX = 1024 };

/* How vectors of the model are compared. euclidean and manhattan are negative distances, so that
 * larger is closer. */
enum sentence_similarity {
    SENTENCE_COSINE,
    SENTENCE_DOT,
    SENTENCE_EUCLIDEAN,
    SENTENCE_MANHATTAN,
    SENTENCE_SIMILARITIES
};

struct sentence_prompt {
    const char *name, *text; /* UTF-8; the text stands before the input's, without a separator */
};

/* All zero: nothing is said. */
struct sentence_options {
    /* A text is prompt + input, without white space at both ends (Python's str.strip). */
    const struct sentence_prompt *prompts; /* [prompt_count], in the file's order */
    unsigned prompt_count;
    const struct sentence_prompt *default_prompt; /* one of prompts; NULL: none */

    /* The text becomes lower case before the tokenizer. The caller does that, unless its tokenizer
     * does so anyway, or refuses the model. Version 5 calls Python's str.lower, which makes a final
     * sigma of a capital at a word's end; version 6 lowers character by character. */
    bool lower_case;
    unsigned max_tokens; /* most tokens of a text, specials included; 0: the tokenizer's limit. The
                            caller takes the smallest of this and the model's own limits */

    enum sentence_similarity similarity;

    /* First numbers of a vector that are kept, if it has more; 0: all (Matryoshka vectors,
     * Kusupati et al. 2022). As in the package, the cut comes behind all modules: a vector of a
     * model that ends with Normalize then has no unit length any more. */
    unsigned truncate_width;
};

/* Reads config_sentence_transformers.json's object, whose strings the arena copies. Absent members
 * leave *out unchanged; others are ignored, as the package does. ERR_UNSUPPORTED: a model_type
 * other than `type`, a default prompt that is not in the list, an unknown similarity,
 * too many prompts. ERR_UNUSABLE: a wrong type. ERR_NO_MEMORY. */
enum err_code sentence_options_read(struct sentence_options *out, const struct json_t *object,
                                    const char *type, struct arena *arena, struct err *err);

/* Reads sentence_bert_config.json's object. ERR_UNSUPPORTED: an unknown member; a task or an output
 * other than token states of texts; arguments of transformers or of the tokenizer. */
enum err_code sentence_options_read_limits(struct sentence_options *out,
                                           const struct json_t *object, struct err *err);

/* Returns the text of a prompt, borrowed from `options` ("" if it is empty). name NULL: the default
 * one, "" if there is none. NULL: no prompt has this name; "query" and "document" always exist, as
 * in the package. */
const char *sentence_prompt_find(const struct sentence_options *options, const char *name);

/* "cosine", "dot", "euclidean" or "manhattan". */
const char *sentence_similarity_name(enum sentence_similarity similarity);

#endif
