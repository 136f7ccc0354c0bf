/* tokenizer_kind.h - what tokenizer.c and the kinds of tokenizer share: structs and functions.
 *
 * Threads: as tokenizer.h.
 */
#ifndef ATTND_ENGINE_TEXT_TOKENIZER_KIND_H
#define ATTND_ENGINE_TEXT_TOKENIZER_KIND_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/interrupt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct encoding {
    unsigned count; /* tokens, [CLS] and [SEP] included; 2 for a text with no token */
    bool truncated;
    const int32_t *ids;     /* [count] */
    const uint32_t *starts; /* [count] first character (code point) of the token in the text */
    const uint32_t *ends;   /* [count] one past its last character; 0 for the template's tokens */
    const bool *continued;  /* [count] continues the word of the token before */
    const uint8_t *types;   /* [count] token types; NULL: all are 0 */
    unsigned pair_at;       /* the first token of the second text of a pair; 0: a single text */
};

/* Ids of the special tokens; pad and mask are negative if there are none. */
struct tokenizer_specials {
    int32_t cls, sep, unk, pad, mask;
};

/* The order of an encoding: special tokens, and places for the texts. */
enum template_source { TEMPLATE_SPECIAL, TEMPLATE_TEXT, TEMPLATE_PAIR, TEMPLATE_LANGUAGE };
enum { TEMPLATE_ITEMS_MAX = 16 };

struct template_item {
    enum template_source source;
    uint8_t type;
    int32_t id; /* the special token's; the usual language's, or negative: none */
};

struct tokenizer_template {
    struct template_item items[TEMPLATE_ITEMS_MAX];
    unsigned count;
};

/* The string of a token as tokenizer.json spells it: "##ing", "\u0120the". */
struct token_string {
    const char *text; /* [len] */
    uint32_t len;
    bool is_special;
};

/* A language that a tokenizer has a token for. */
struct tokenizer_language {
    const char *code; /* "de", "de_DE", "deu" */
    int32_t id;
};

struct tokenizer;
struct token_list;
struct steps;
struct text_pipeline;

struct tokenizer_kind {
    const char *name;
    /* Appends the tokens of a text, without those of the template, until the list has enough
     * (token_list.h): valid UTF-8 of fewer than UINT32_MAX bytes. */
    enum err_code (*encode)(const struct tokenizer *tokenizer, const char *text, size_t len,
                            struct interrupt *interrupt, struct arena *arena,
                            struct token_list *list, struct err *err);
    /* Upper bound of the bytes that `encode` takes, arena and temporary, without the list. */
    size_t (*encode_bytes)(const struct tokenizer *tokenizer, const char *text, size_t len);
    /* Upper bound of the tokens of a text. */
    size_t (*tokens_max)(const struct tokenizer *tokenizer, const char *text, size_t len);
};

struct tokenizer {
    const struct tokenizer_kind *kind;
    struct arena arena;                   /* holds all of it, this struct too */
    struct steps *steps;                  /* content of the files */
    const struct text_pipeline *pipeline; /* NULL: wordpiece.c's */
    unsigned vocab_size;                  /* largest id + 1 */
    unsigned limit;                       /* tokens of the longest encoding */
    bool keeps_end;                       /* a text that is too long is cut at its beginning */
    bool ends_once; /* a text whose last token is the template's last gets no second one */
    struct tokenizer_specials specials;
    struct tokenizer_template single, pair; /* pair.count 0: it takes no pairs */
};

/* Sets the kind of a tokenizer that has its arena and plain steps: wordpiece.c. */
void wordpiece_init(struct tokenizer *tokenizer);

/* Sets the kind of a tokenizer that has its arena and steps: pipeline/text_pipeline.c.
 * ERR_NO_MEMORY. */
enum err_code text_pipeline_init(struct tokenizer *tokenizer, struct err *err);

#endif
