/* decoder.h - a decoder, one token at a time: the states of an encoder and the tokens so far -> the
 * logits of the next token (Vaswani et al. 2017, section 3.1; Raffel et al. 2020; Lewis et al.
 * 2020; Li et al. 2021, whose encoder is of images).
 *
 *     decoder_cache_place(&cache, &spec, source_tokens, beams * new_tokens, memory);  each request
 *     decoder_begin(&spec, &weights, &workspace, &cache, states, hidden);
 *     struct decoder_row row = {.cache = &cache, .token = start, .before = 0, .slots = slots};
 *     decoder_step(&spec, &weights, &workspace, &row, 1);
 *     ... workspace.logits [1, vocab_size] ...
 *
 * A step advances rows, the hypotheses of any mix of requests, in one packed batch: R rows of one
 * token each, so that weights are read once for all. Each layer is
 *
 *     a = x + W_o attention(x);   b = a + W_c attention(a, states);   out = b + mlp(b)
 *
 * with a norm before or after each sum (family/block_spec.h). Keys and values of the states are
 * computed once a request, those of a token once, when it is read.
 *
 * Keys and values of read tokens lie in the slots of their request's cache. A row names the slots
 * of its tokens, so hypotheses share those of a common beginning: beams are put into another order
 * by changing their lists of slots, and no key is copied. A slot that no list names may be used
 * again.
 *
 * A row's numbers do not depend on the rows that share its batch. Nothing is allocated in a step.
 *
 * Threads: spec and weights are shared; a workspace and a cache belong to one caller, which lends
 * the workspace a pool. Steps that share no cache may overlap, each with its own workspace.
 */
#ifndef ATTND_ENGINE_MODEL_DECODER_DECODER_H
#define ATTND_ENGINE_MODEL_DECODER_DECODER_H

#include "engine/model/spec.h"
#include "engine/model/weights.h"
#include "engine/model/workspace.h"

/* ---- what a request keeps: fp32 ---- */

struct decoder_cache {
    unsigned source_tokens, slots;
    float *source; /* [layers][source_tokens][2 A] keys and values of the encoder's states */
    float *tokens; /* [layers][slots][2 A] of read tokens */
};

/* Bytes of a cache; SIZE_MAX: too many to count. */
size_t decoder_cache_bytes(const struct spec *spec, size_t source_tokens, size_t slots);
/* memory: of decoder_cache_bytes, aligned for floats; it begins with `source` and stays yours.
 * source_tokens and slots: at least 1. */
void decoder_cache_place(struct decoder_cache *out, const struct spec *spec, unsigned source_tokens,
                         unsigned slots, void *memory);

/* ---- what a worker keeps ---- */

/* Largest sizes of a workspace. */
struct decoder_sizes {
    unsigned rows;          /* R, of a step */
    unsigned source_tokens; /* of a request */
    unsigned tokens;        /* that a row may have read, its newest included */
};

struct decoder_workspace {
    struct workspace block; /* matrices of R tokens */
    struct decoder_sizes sizes;
    const struct linear_backend *backend;
    float *query; /* [R, query_stride] of the attention to the states */
    size_t query_stride;
    float *scores; /* [R][heads][scores_step] attention of a layer */
    size_t scores_step;
    struct operand states; /* [source_tokens, spec_states] in the precision of the weights; data
                              NULL: they are read where they lie */
    float *projected;      /* [source_tokens, D] states, if spec->projects_states */
    float *logits;         /* [R, logits_stride] of the last step */
    size_t logits_stride;
};

/* `backend` multiplies in the blocks and the output: the weights'. The pool is borrowed; another of
 * at most its size may replace it (workspace_lend of `block`). Yours to close. ERR_NO_MEMORY. */
enum err_code decoder_workspace_open(struct decoder_workspace *out, const struct spec *spec,
                                     const struct linear_backend *backend,
                                     const struct decoder_sizes *sizes, struct thread_pool *pool,
                                     const struct kernels *kernels, struct err *err);
void decoder_workspace_close(struct decoder_workspace *workspace);
/* Upper bound of the bytes that decoder_workspace_open takes. */
size_t decoder_workspace_bytes(const struct spec *spec, const struct linear_backend *backend,
                               const struct decoder_sizes *sizes, unsigned threads);

/* ---- steps ---- */

/* One token that is read. */
struct decoder_row {
    struct decoder_cache *cache; /* of its request */
    int32_t token;               /* below vocab_size */
    unsigned before;             /* tokens that the row has read before it, below
                                    spec_text_tokens */
    const uint32_t *slots; /* [before + 1] of those tokens, the oldest first, and this token's,
                                    which the step fills; no other row of the step writes it */
    float *alignment; /* out: [layers][source tokens] attention to the states, mean over the heads;
                         NULL: not wanted */
};

/* Computes the keys and values of a request's source in all layers. states: [source_tokens, W] of
 * the encoder (HEAD_STATES), `stride` numbers from row to row. */
void decoder_begin(const struct spec *spec, const struct weights *weights,
                   struct decoder_workspace *workspace, struct decoder_cache *cache,
                   const float *states, size_t stride);

/* Reads a token of each row: workspace->logits[r] <- logits of row r's next token; and
 * workspace->block.x[r] its last state, behind a last norm. 1 <= count <= sizes.rows. */
void decoder_step(const struct spec *spec, const struct weights *weights,
                  struct decoder_workspace *workspace, const struct decoder_row *rows,
                  unsigned count);

#endif
