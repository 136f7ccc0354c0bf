/* tokenizer_config.h - what a checkpoint directory says about its WordPiece tokenizer.
 *
 *     struct tokenizer_config config;
 *     tokenizer_config_read(&config, dir, tokens_max, &arena, &err);
 *
 * Immutable once read: any thread.
 */
#ifndef ATTND_ENGINE_TEXT_TOKENIZER_CONFIG_H
#define ATTND_ENGINE_TEXT_TOKENIZER_CONFIG_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/text/normalizer.h"
#include "engine/text/vocab.h"

#include <stdint.h>

enum { TOKENIZER_WORD_CHARACTERS_MAX = 1000 };

struct tokenizer_config {
    struct normalizer_flags flags;
    struct vocab initial;         /* pieces as they stand: what a word can begin with */
    struct vocab continued;       /* those with the continuation prefix ("##"), without it */
    struct vocab specials;        /* tokens that are matched literally, before normalisation */
    int32_t cls, sep, unk;        /* ids */
    int32_t pad, mask;            /* ids, or VOCAB_NONE: encoding needs neither */
    unsigned word_characters_max; /* longer words are unknown */
    unsigned vocab_size;          /* largest id + 1 */
    unsigned limit;               /* tokens of the longest encoding */
};

/* vocab.txt or, without it, tokenizer.json; then tokenizer_config.json, whose values win, if there
 * is one. Everything lives in the arena. Error texts start with the file's name. */
enum err_code tokenizer_config_read(struct tokenizer_config *out, const char *dir,
                                    unsigned tokens_max, struct arena *arena, struct err *err);

#endif
