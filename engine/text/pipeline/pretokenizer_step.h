/* pretokenizer_step.h - the member "pre_tokenizer" of tokenizer.json: steps that cut a normalised
 * text into splits, which the model gets one by one; read from a table by `type`.
 *
 *     pretokenizer_steps_read(&steps, json, &arena, &err);                        once
 *     struct splits splits;
 *     splits_init(&splits, &text, &scratch, &err);                    all of the text is one split
 *     pretokenizer_steps_apply(&steps, &splits, interrupt, &err);
 *     ... splits.text.bytes[splits.items[i].at ..) of splits.items[i].len bytes
 *
 * The reference (Hugging Face tokenizers 0.22) writes each byte as a printable character in
 * "ByteLevel"; here bytes do not change, and the model's vocabulary is read as bytes.
 *
 * Threads: immutable once read; splits belong to one at a time.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_PRETOKENIZER_STEP_H
#define ATTND_ENGINE_TEXT_PIPELINE_PRETOKENIZER_STEP_H

#include "engine/base/interrupt.h"
#include "engine/text/aligned.h"
#include "engine/text/pipeline/pattern.h"
#include "engine/text/pipeline/text_cost.h"
#include "engine/text/pipeline/tokenizer_files.h"

#include <stdint.h>

struct json_t;

struct split {
    uint32_t at, len; /* bytes of the text; len is not 0 */
};

struct splits {
    struct aligned text;
    struct split *items;
    size_t count, room;
    struct arena *arena;
};

/* Makes room for as many splits as the text has bytes: 8 bytes for each, and as much again for each
 * step that cuts. ERR_NO_MEMORY. */
enum err_code splits_init(struct splits *splits, const struct aligned *text, struct arena *arena,
                          struct err *err);

/* The fate of a match of a pattern, as the reference names it. */
enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS,
};

enum pretokenizer_prefix { PREFIX_NEVER, PREFIX_ALWAYS, PREFIX_FIRST };

struct pretokenizer_step {
    bool cuts; /* cuts by `pattern`; otherwise it only adds marks */
    struct pattern pattern;
    enum split_behavior behavior;
    bool is_inverted;                /* text between matches counts as the match */
    enum pretokenizer_prefix prefix; /* the splits that get `mark` in front, unless they have it */
    const char *mark;
    size_t mark_len;
    bool marks_spaces; /* each space becomes `mark` */
    bool is_byte_level;
};

enum { PRETOKENIZER_STEPS_MAX = 32 };

struct pretokenizer_steps {
    struct pretokenizer_step *items;
    size_t count;
    bool is_byte_level; /* the last step is ByteLevel: the model gets bytes, not characters */
    bool cuts_words;    /* a split ends between a letter or digit of ASCII and a space before one */
};

/* `json`: the member, NULL if absent. Error texts name the path. ERR_UNSUPPORTED for a type, a
 * member or an expression that is not implemented, and for steps behind a ByteLevel. */
enum err_code pretokenizer_steps_read(struct pretokenizer_steps *out, const struct json_t *json,
                                      struct arena *arena, struct err *err);

/* Applies add_prefix_space of tokenizer_config.json to a ByteLevel that is all of `json`, not one
 * in a Sequence. As in the reference, no such member means that no space is added. ERR_UNSUPPORTED
 * for a class of tokenizer that does not read such a member. */
enum err_code pretokenizer_steps_override(struct pretokenizer_steps *steps,
                                          const struct json_t *json,
                                          const struct tokenizer_files *files, struct err *err);

/* Applies the steps. The interrupt is checked once in some thousand splits. */
enum err_code pretokenizer_steps_apply(const struct pretokenizer_steps *steps,
                                       struct splits *splits, struct interrupt *interrupt,
                                       struct err *err);

void pretokenizer_steps_cost(const struct pretokenizer_steps *steps, struct text_cost *cost);

#endif
