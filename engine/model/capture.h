/* capture.h - the attention of one input's tokens, layer by layer. The encoder records it during a
 * run, for rows of a batch that have a capture; explanations read it afterwards. A row without one
 * costs nothing.
 *
 *     capture_open(&capture, spec, tokens, &arena, &err);
 *     input.capture = &capture;            // then engine_run
 *
 * For the lower layers in the wish, attention is averaged over heads, for rollout. For the last
 * layer every head is kept, for the tokens that the classifier reads.
 *
 * Threads: a capture belongs to its input; the worker that runs it writes it, once.
 */
#ifndef ATTND_ENGINE_MODEL_CAPTURE_H
#define ATTND_ENGINE_MODEL_CAPTURE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/attention_stats.h"
#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"

/* The two sums of a block: each is an output plus its residual, before any norm. */
enum capture_sum { CAPTURE_ATTENTION, CAPTURE_MLP, CAPTURE_SUMS };

struct capture {
    unsigned tokens;   /* N, tokens of the input */
    unsigned from, to; /* layers, counted from 0, whose mean is kept: from <= l < to */
    float *mean;       /* [to - from][N][N] probabilities: row i is the attention of token i */

    /* The last layer: */
    float *last;               /* [spec_head_tokens][heads][N] probabilities of the first tokens */
    float *projected;          /* [N][3 D] query, key and value (of all tokens) */
    float *states;             /* [N][D] instead, with a global token: its input (global_token.h) */
    float *sums[CAPTURE_SUMS]; /* [K][D] each, for the K tokens that the head reads */

    float *logits; /* [labels] logits of this window alone; NULL: the input is one window */

    /* [layers][heads]; NULL: not wanted. For statistics each head's attention is computed again. */
    struct attention_stats *stats;
    struct attention_layout layout;

    /* A family with stages has a capture for each window, all of whose tokens are read: first those
     * of the first stage, then those of the next. `last` is not kept, and `mean` only there. */
    struct capture *windows;
};

/* The data to keep. Each layer costs another softmax of all its scores. */
struct capture_wish {
    unsigned from, to; /* as above; to < layers, except for a family with stages */
    bool stats;
    bool logits;
};

/* Takes capture_bytes from the arena. ERR_NO_MEMORY. */
enum err_code capture_open(struct capture *out, const struct spec *spec, unsigned tokens,
                           const struct capture_wish *wish, struct arena *arena, struct err *err);

/* Bytes of a capture's arrays: 4 (N (N (to - from) + K heads + 3 D) + 2 K D), with D in place of 3
 * D if there is a global token, plus its logits. */
size_t capture_bytes(const struct spec *spec, unsigned tokens, const struct capture_wish *wish);

/* Returns the mean of layer `layer`, [N][N]. */
static inline float *capture_mean(const struct capture *capture, size_t layer)
{
    return capture->mean + (layer - capture->from) * capture->tokens * capture->tokens;
}

/* Returns the capture of window `window` in a stage (a spec from spec_at), in patch_windows.h's
 * order. */
struct capture *capture_window(const struct capture *capture, const struct spec *stage,
                               unsigned window);

/* Records layer `index`, whose block is `layer`, from workspace->qkv and ->x, for every row that
 * has a capture. In the last layer of a model with a global token, qkv is read only for
 * statistics. */
void capture_layer(const struct spec *spec, struct workspace *workspace, const struct layer *layer,
                   unsigned index);

/* Returns true if a row of the batch wants statistics: they read all queries and keys of all
 * layers.
 */
bool capture_judges(const struct workspace *workspace);

/* Records a sum of the last layer, [rows x K, D] in the workspace's stride. */
void capture_sum(const struct spec *spec, const struct workspace *workspace, enum capture_sum which,
                 const float *sum);

#endif
