/* bleu_tokens.h - the words of a text as BLEU counts them: sacrebleu's tokenizer "13a", which is
 * that of mteval-v13a.pl (NIST), as used by WMT.
 *
 *     bleu_tokens_split(&words, text, len, &arena, &err)
 *
 * Punctuation but . , - and ' becomes a word; so do . and , that are not between digits, and -
 * behind a digit. The four entities &quot; &amp; &lt; &gt; are characters. Threads: no state.
 */
#ifndef ATTND_LEARN_EVAL_TEXTS_BLEU_TOKENS_H
#define ATTND_LEARN_EVAL_TEXTS_BLEU_TOKENS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"

struct bleu_word {
    const char *text; /* [len] UTF-8 */
    size_t len;
};

struct bleu_tokens {
    const struct bleu_word *words; /* [count] in the arena, as their texts are */
    size_t count;
};

/* text[len]: UTF-8. ERR_NO_MEMORY. */
enum err_code bleu_tokens_split(struct bleu_tokens *out, const char *text, size_t len,
                                struct arena *arena, struct err *err);

#endif
