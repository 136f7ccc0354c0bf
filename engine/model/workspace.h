/* workspace.h - the memory of one worker for one model. All of it is taken by workspace_open: a run
 * allocates nothing. Threads: one at a time, with a pool that is lent to it.
 */
#ifndef ATTND_ENGINE_MODEL_WORKSPACE_H
#define ATTND_ENGINE_MODEL_WORKSPACE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/thread_pool.h"
#include "engine/model/patch_windows.h"
#include "engine/model/spec.h"
#include "engine/tensor/gemm/operand.h"
#include "engine/tensor/kernels.h"
#include "engine/tensor/linear/linear.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Neighbouring queries of one sequence, which attend to all of its tokens. */
struct query_block {
    unsigned first, count; /* tokens of the batch */
    unsigned out;          /* the first one's row in attention's output */
    unsigned sequence, sequence_tokens;
    unsigned kind; /* of the sequence, which its bias may depend on: attention_bias.h */
};

struct capture;

struct linear;

/* Which input a sequence of the batch is a window of. */
struct window_place {
    unsigned input, window, windows; /* the first input of a run is 0 */
};

struct workspace {
    const struct kernels *kernels;
    struct thread_pool *pool;
    unsigned pool_size_max; /* that scratch was taken for */
    unsigned tokens_max;    /* of a batch: T; every sequence has at least two, so rows <= T / 2 */

    unsigned rows;              /* sequences of the current batch */
    unsigned *offset;           /* [rows + 1]; sequence r is tokens offset[r] to offset[r + 1] */
    struct query_block *blocks; /* [block_count] the batch cut up for attention; fewer than T */
    unsigned block_count;
    atomic_uint *parts_left;   /* [block_count] tasks of a block not yet done; partners: the pool */
    unsigned tokens;           /* rows that the linear layers compute now */
    struct capture **captures; /* [rows] where a row's attention is kept, or NULL */
    struct window_place *places;       /* [rows] */
    const struct linear **classifiers; /* [inputs] zero-shot: of an input's own labels, or NULL */
    const float **evidence;            /* [inputs][labels] of n-grams, or NULL */
    float **answers;                   /* [inputs][labels] room for logits, or NULL */
    bool captured;                     /* one of the rows has a capture */

    /* NULL unless the model leaves tokens out (token_pruning.h). */
    float *received;  /* [pool, T] the most that a token is attended to, by the member's queries */
    unsigned *chosen; /* [T] tokens of a sequence that go on, from its offset on */

    /* fp32, rows `*_stride` numbers apart: an odd number of cache lines, see operand.h */
    size_t hidden_stride, qkv_stride, mlp_stride, gated_stride;
    float *x;              /* [T, D] the residual stream */
    float *y, *z;          /* [T, D] */
    float *embedded;       /* [N, E] a text before its projection, if there is one */
    float *qkv;            /* [T, 3 D]; NULL if it is kept in bf16 */
    uint16_t *qkv_bf16;    /* [T, 3 D] for bf16 attention, see attention_bf16.h; else NULL */
    bool attends_by_tiles; /* in bf16: by attention_amx, as the encoder's products are */
    float *context;        /* [T, D] attention's output */
    float *mlp;            /* [T, F]; [T, 2 F] before a gate */
    float *gated;          /* [T, F] behind the gate; NULL: there is none */

    /* What the linear layers read, in their precision; in fp32 the matrices above themselves. */
    struct operand normed;    /* [T, D] the norm's output: x (post-norm) or y (pre-norm) */
    struct operand attended;  /* [T, D] context */
    struct operand activated; /* [T, F] mlp or gated */

    /* Attention's; of a member's, those from relative_at on are for what a layer adds by distance:
     * the matrix of a block's scores, then what making it takes. */
    float *scratch; /* [pool, scratch_floats] */
    size_t relative_at, scratch_floats;
    /* First the probabilities of a block, last the matrices by distance of all heads. */
    float *capture_scratch; /* [pool, capture_scratch_floats] */
    size_t capture_block_floats, capture_relative_at, capture_scratch_floats;
    float *cls;         /* [rows, spec_features or the hidden size, whichever is more] */
    float *pooled;      /* [rows, spec_features] */
    bool takes_means;   /* else `means` stays zero */
    float *means;       /* [rows, D] token_mean.h */
    float *read[2];     /* [inputs, spec_row] what the classifiers read, pooled over windows, and
                         behind that the mean of the tokens */
    float *logits[2];   /* [inputs, labels], the second for a distillation head */
    float *mean_logits; /* [inputs, labels] what means say: the second's memory, which no model
                           with a classifier of means has */

    /* Of a family with stages (stages.h) this is the first one's; matrices above have its sizes. */
    struct patch_windows
        windows;    /* sequences are windows while the stage runs, images before and after */
    float *merging; /* [T, 2 D] four patches of the stage before, side by side */
    size_t merging_stride;
    struct operand merged;  /* what is multiplied to become x */
    struct workspace *next; /* the next stage's; NULL: this is the last */
    struct arena arena;
};

/* Of the last stage: what the head reads, and where it answers. */
static inline struct workspace *workspace_last(struct workspace *workspace)
{
    while (workspace->next != NULL)
        workspace = workspace->next;
    return workspace;
}

/* tokens_max: at least those of the longest sequence. `encoder` multiplies in the blocks. The pool
 * is borrowed; another of at most its size may take its place. Yours to close. */
enum err_code workspace_open(struct workspace *out, const struct spec *spec,
                             const struct linear_backend *encoder, unsigned tokens_max,
                             struct thread_pool *pool, const struct kernels *kernels,
                             struct err *err);
/* Upper bound of what workspace_open takes, for an encoder of that precision. */
size_t workspace_bytes(const struct spec *spec, enum precision precision, unsigned tokens_max,
                       unsigned threads);
/* Whether query, key and value are kept in bf16: if the encoder writes it and attention can
 * multiply it. Half the memory, and twice the speed. */
bool workspace_attends_in_bf16(const struct spec *spec, const struct linear_backend *encoder);
/* Another pool to run on, of at most the size that scratch was taken for. */
void workspace_lend(struct workspace *workspace, struct thread_pool *pool);
void workspace_close(struct workspace *workspace);

#endif
