/* reading.h - how a model reads its inputs: the heads that it has left, and the members of
 * attnd.json about images, long texts and tokens that are left out. Threads: plain data, pure
 * functions.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_READING_H
#define ATTND_ENGINE_MODEL_CONFIG_READING_H

#include "engine/base/arena.h"
#include "engine/base/doc.h"
#include "engine/base/err.h"

#include <stdbool.h>

/* The attention heads that were removed from a checkpoint: config.json's "pruned_heads", which
 * save_pretrained writes after prune_heads (Michel et al. 2019).
 *
 *     {"num_attention_heads": 12, "pruned_heads": {"0": [1], "11": [0, 2, 7]}}
 *
 * Layers and heads are counted from 0, in the model before pruning. A head's rows of query, key and
 * value and its columns of the output projection are removed with it. A head's width stays hidden
 * size over num_attention_heads. Each layer keeps at least one head. */
struct pruned_heads {
    const bool *is_gone;  /* [layers][heads]; NULL: all heads are there */
    const unsigned *left; /* [layers] heads that a layer still has; NULL: all */
};

enum image_reduction { REDUCTION_FILTER, REDUCTION_LINES };

/* How a model reads an image, beyond preprocessor_config.json: attnd.json's "views" and
 * "reduction", {"views": 4, "reduction": "lines"}.
 *
 * With several views the answer is the mean of the features of the image and of its rotations or
 * reflections (engine/prepare/views.h), and so the mean of their logits. The reduction is the
 * method for details smaller than a pixel when an image is shrunk (engine/vision/resize_lines.c).
 */
struct image_reading {
    unsigned views; /* 1, 2, 4 or 8 */
    enum image_reduction reduction;
};

enum window_pooling { WINDOW_MAX, WINDOW_MEAN };

/* How a model reads a text beyond its longest input: attnd.json's "long_text", "window_stride" and
 * "window_pooling", {"long_text": "windows", "window_stride": 96, "window_pooling": "max"}.
 *
 * "truncate" (the default) reads its beginning. "windows" reads all of it in windows of the longest
 * input, each `stride` tokens behind the one before, and pools the classifier's inputs: by the
 * maximum of each number (the default: models/README.md measures both), or by their mean, which is
 * the mean of logits, because the classifier is linear. Without a stride windows do not overlap. */
struct long_text {
    bool in_windows;
    unsigned stride; /* in tokens; 0: the length of a window */
    enum window_pooling pooling;
};

/* The share of an input's tokens that go through all layers: attnd.json's "token_pruning",
 * {"full_layers": 2, "share": 0.28}.
 *
 * The first full_layers layers compute all tokens. In the next one all are still keys and values,
 * but only a share of them are queries and stay: the tokens that the head reads, and those that get
 * the most attention from any single token. Tokens with little attention cost as much as others and
 * carry little information. PoWER-BERT (Goyal et al. 2020) ranks tokens by the sum of attention
 * received, EViT (Liang et al. 2022) by the attention of [CLS]. The maximum is better than either
 * without training: docs/training.md has the figures. */
struct token_pruning {
    unsigned full_layers; /* 0: all layers compute all tokens */
    double share;         /* share of the tokens, above 0, at most 1 */
};

/* Reads config.json's member, which may be absent, null or empty. ERR_UNSUPPORTED for a layer or
 * head that the model never had, a head that is named twice, or a layer without any head. */
enum err_code pruned_heads_read(struct pruned_heads *out, const struct json_t *config,
                                unsigned layers, unsigned heads, struct arena *arena,
                                struct err *err);
/* Counts the heads left by a table `is_gone` [layers][heads], which is borrowed; the arena owns
 * `left`. Every layer keeps at least one head. */
enum err_code pruned_heads_count(struct pruned_heads *out, const bool *is_gone, unsigned layers,
                                 unsigned heads, struct arena *arena, struct err *err);

extern const struct image_reading image_reading_default; /* one view, the filter */
bool image_reading_is_default(const struct image_reading *reading);

/* The three read members of attnd.json's object; absent ones leave *out unchanged.
 * ERR_UNSUPPORTED. pipeline_open finds a stride that is too large or small for the tokenizer. */
enum err_code image_reading_read(struct image_reading *out, const struct json_t *object,
                                 struct err *err);
enum err_code long_text_read(struct long_text *out, const struct json_t *object, struct err *err);
enum err_code token_pruning_read(struct token_pruning *out, const struct json_t *object,
                                 struct err *err);

/* "filter" or "lines". */
const char *image_reduction_name(enum image_reduction reduction);
bool image_reduction_find(const char *name, enum image_reduction *out);

/* "mean" or "max". */
const char *window_pooling_name(enum window_pooling pooling);

/* Reads "none" or "LAYERS:SHARE", for example "2:0.28". ERR_UNSUPPORTED. */
enum err_code token_pruning_parse(struct token_pruning *out, const char *word, struct err *err);

/* out [count] <- the first `always` of `tokens`, and the rest with the largest numbers in received
 * [tokens], none of which is negative; of equal ones the first. They keep their order. always <=
 * count <= tokens. Cost: 32 passes over the numbers. */
void token_pruning_choose(unsigned *out, const float *received, unsigned tokens, unsigned always,
                          unsigned count);

#endif
