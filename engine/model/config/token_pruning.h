/* token_pruning.h - the share of an input's tokens that go through all layers: attnd.json's
 * "token_pruning".
 *
 *     {"token_pruning": {"full_layers": 2, "share": 0.28}}
 *
 * The first full_layers layers compute all tokens. In the next one all are still keys and values,
 * but only a share of them are queries and stay: the tokens that the head reads, and those that get
 * the most attention from any single token. Tokens with little attention cost as much as others and
 * carry little information. PoWER-BERT (Goyal et al. 2020) ranks tokens by the sum of attention
 * received, EViT (Liang et al. 2022) by the attention of [CLS]. The maximum is better than either
 * without training: docs/training.md has the figures.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_TOKEN_PRUNING_H
#define ATTND_ENGINE_MODEL_CONFIG_TOKEN_PRUNING_H

#include "engine/base/doc.h"
#include "engine/base/err.h"

struct token_pruning {
    unsigned full_layers; /* 0: all layers compute all tokens */
    double share;         /* share of the tokens, above 0, at most 1 */
};

/* Reads the member of attnd.json's object; if absent, *out is unchanged. ERR_UNSUPPORTED. */
enum err_code token_pruning_read(struct token_pruning *out, const struct json_t *object,
                                 struct err *err);

/* The same from "none" or "LAYERS:SHARE", for example "2:0.28". ERR_UNSUPPORTED. */
enum err_code token_pruning_parse(struct token_pruning *out, const char *word, struct err *err);

/* out [count] <- the first `always` of `tokens`, and the rest with the largest numbers in received
 * [tokens], none of which is negative; of equal ones the first. They keep their order. always <=
 * count <= tokens. Cost: 32 passes over the numbers. */
void token_pruning_choose(unsigned *out, const float *received, unsigned tokens, unsigned always,
                          unsigned count);

#endif
