/* capture.h - the attention of one input's tokens, layer by layer: recorded by the encoder as it
 * runs, for the rows of a batch that have a capture, and read by explanations afterwards. A row
 * without one costs nothing.
 *
 *     capture_open(&capture, spec, tokens, &arena, &err);
 *     input.capture = &capture;            // then engine_run
 *
 * For the lower layers that are asked for, attention is averaged over heads, as rollout needs it;
 * for the last layer every head is kept, for the tokens that the classifier reads.
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

/* The two sums of a block: an output plus its residual, before any norm. */
enum capture_sum { CAPTURE_ATTENTION, CAPTURE_MLP, CAPTURE_SUMS };

struct capture {
    unsigned tokens;   /* of the input: N */
    unsigned from, to; /* the layers, counted from 0, of which the mean is kept: from <= l < to */
    float *mean;       /* [to - from][N][N] probabilities: row i is what token i attends to */

    /* Of the last layer: */
    float *last;      /* [spec_head_tokens][heads][N] probabilities of the first tokens */
    float *projected; /* [N][3 D] query, key and value (of all tokens) */
    float *states;    /* [N][D] instead, where a token sees all: what it reads (global_token.h) */
    float *sums[CAPTURE_SUMS]; /* [K][D] each, of the K tokens that the head reads */

    float *logits; /* [labels] of a window alone; NULL: the input is one window */

    /* [layers][heads]; NULL: not asked for. Asked for, each head's attention is computed once more.
     */
    struct attention_stats *stats;
    struct attention_layout layout;

    /* Of a family with stages the above is kept for each window, of whose tokens every one is read:
     * those of the first stage, then those of the next. `last` is not kept, nor `mean` up here. */
    struct capture *windows;
};

/* What to keep. Each layer asked for costs another softmax of all its scores. */
struct capture_wish {
    unsigned from, to; /* as above; to < layers, but for a family with stages */
    bool stats;
    bool logits;
};

/* From the arena, capture_bytes of it. ERR_NO_MEMORY. */
enum err_code capture_open(struct capture *out, const struct spec *spec, unsigned tokens,
                           const struct capture_wish *wish, struct arena *arena, struct err *err);

/* What the arrays of a capture take: 4 (N (N (to - from) + K heads + 3 D) + 2 K D) bytes, D in
 * place of 3 D where a token sees all, and those of its logits. */
size_t capture_bytes(const struct spec *spec, unsigned tokens, const struct capture_wish *wish);

/* The mean of layer `layer`, [N][N]. */
static inline float *capture_mean(const struct capture *capture, size_t layer)
{
    return capture->mean + (layer - capture->from) * capture->tokens * capture->tokens;
}

/* Window `window` of an input's stage, which spec_at gave, in the order of patch_windows.h. */
struct capture *capture_window(const struct capture *capture, const struct spec *stage,
                               unsigned window);

/* Records layer `index`, whose block is `layer`, from workspace->qkv (not read of the last
 * layer of a token that sees all, but for statistics) and ->x, for every row that has a capture. */
void capture_layer(const struct spec *spec, struct workspace *workspace, const struct layer *layer,
                   unsigned index);

/* Whether a row of the batch wants statistics: these read every query and key of every layer. */
bool capture_judges(const struct workspace *workspace);

/* Records a sum of the last layer, [rows x K, D] in the workspace's stride. */
void capture_sum(const struct spec *spec, const struct workspace *workspace, enum capture_sum which,
                 const float *sum);

#endif
