/* workspace.h - the memory of one worker for one model. workspace_open takes all of it: a run
 * allocates nothing. Threads: one at a time, with a borrowed pool.
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
    unsigned out;          /* row of the first one in attention's output */
    unsigned sequence, sequence_tokens;
    unsigned kind; /* kind of the sequence, on which its bias may depend: attention_io.h */
};

struct capture;

struct linear;

enum { HEAD_SPARSE_TOKENS = 16 }; /* of which the logits of the vocabulary are held at a time */

/* The input of which a sequence of the batch is a window. */
struct window_place {
    unsigned input, window, windows; /* the first input of a run is 0 */
    unsigned skipped;                /* first tokens that an embedding does not pool */
    const unsigned *masks;           /* [mask_count] fill: masked tokens of the window */
    unsigned mask_count;
    const struct input_part *lines; /* [line_count] embedding: its answers are their vectors; NULL:
                                       they are tokens' states */
    unsigned line_count;
    unsigned row; /* of the input's rows, the first that a head of tokens writes for the window */
};

/* Scratch for attention. Each member of the pool has a part of its own: what is kept of a block of
 * queries, the scratch of attention itself, then that of relative positions (DeBERTa's): matrices
 * of the block's scores, and the scratch to compute one. */
struct member_scratch {
    float *floats;                     /* [pool, each] */
    size_t rows_at, relative_at, each; /* the second and the third begin; a part's floats */
};

/* A model has it that leaves tokens out (struct token_pruning); in others both are NULL. */
struct token_choice {
    float *received;  /* [pool, T] largest attention to a token, by the member's queries */
    unsigned *chosen; /* [T] tokens of a sequence that stay, from its offset on */
};

/* A stage has it (struct stack); in a family without stages all is zero. */
struct stage_workspace {
    struct patch_windows windows; /* sequences are windows while the stage runs, and images before
                                     and after */
    float *merging;               /* [T, 2 D] four patches of the stage before, side by side */
    size_t merging_stride;
    struct operand merged;  /* the operand of the product that gives x */
    struct workspace *next; /* the next stage; NULL: this is the last */
};

/* In a family with stages it is of one stage, whose sizes the matrices have. */
struct workspace {
    const struct kernels *kernels;
    struct thread_pool *pool;
    unsigned pool_size_max; /* largest pool that scratch was taken for */
    unsigned tokens_max;    /* T, tokens of a batch; a sequence has at least two: rows <= T / 2 */

    /* Called between two layers, with a pool that rests; NULL: nothing is. It may use other
     * workspaces on the pool. */
    void (*between)(void *context);
    void *between_context;

    unsigned rows;              /* sequences of the current batch */
    unsigned *offset;           /* [rows + 1]; sequence r is tokens offset[r] to offset[r + 1] */
    struct query_block *blocks; /* [block_count] the batch cut up for attention; fewer than T */
    unsigned block_count;
    unsigned kept;             /* as in attention_plan, which cut them */
    atomic_uint *parts_left;   /* [block_count] tasks of a block not yet done; partners: the pool */
    unsigned tokens;           /* rows that the linear layers compute now */
    struct capture **captures; /* [rows] a row's capture, or NULL */
    struct window_place *places;       /* [rows] */
    const struct linear **classifiers; /* [inputs] zero-shot: for an input's own labels, or NULL */
    const float **evidence;            /* [inputs][labels] evidence of n-grams, or NULL */
    float **answers;                   /* [inputs] room for logits [labels], or for the rows of a
                                          head of tokens; NULL: not wanted */
    bool captured;                     /* one of the rows has a capture */

    struct token_choice pruning;

    /* fp32, rows `*_stride` numbers apart: an odd number of cache lines, see operand.h */
    size_t mlp_rows; /* most rows of the three matrices of the MLP */
    size_t hidden_stride, qkv_stride, context_stride, mlp_stride, gated_stride;
    float *x;              /* [T, D] the residual stream */
    float *y, *z;          /* [T, D] */
    float *embedded;       /* [N, E] a text before its projection, if there is one */
    float *qkv;            /* [T, 3 A], A of spec_heads_width; NULL if it is kept in bf16 */
    uint16_t *qkv_bf16;    /* [T, 3 A] for bf16 attention, see attention_bf16.h; else NULL */
    bool attends_by_tiles; /* like the encoder's products: in bf16 by attention_amx, in fp32 by
                              attention_parts.h where that is faster */
    float *context;        /* [T, A] attention's output */
    float *mlp;            /* [mlp_rows, F]; [., 2 F] before a gate. It lies in the memory of qkv,
                              which is used no more then, unless it is an operand */
    float *gated;          /* [mlp_rows, F] behind the gate; NULL: there is none */

    /* Operands of the linear layers, in their precision; in fp32 they are the matrices above. */
    struct operand normed;    /* [T, D] the norm's output: x (post-norm) or y (pre-norm) */
    struct operand projected; /* [T, D] the same for qkv: the same memory, but where qkv is
                                 multiplied in another precision (workspace_backend) */
    struct operand attended;  /* [T, A] context */
    struct operand activated; /* [mlp_rows, F] mlp or gated */

    struct member_scratch scratch;         /* keeps nothing; a matrix of one head */
    struct member_scratch capture_scratch; /* keeps probabilities; a matrix of each head. Not
                                              zeroed: only explanations use its pages */

    float *cls;         /* [rows, larger of spec_features and the hidden size] */
    float *pooled;      /* [rows, spec_features] */
    float *sentence;    /* [sentence_scratch] of an embedding */
    float *vocabulary;  /* [HEAD_SPARSE_TOKENS, vocabulary] of sparse weights */
    bool takes_means;   /* else `means` stays zero */
    float *means;       /* [rows, D] token_mean.h */
    float *read[2];     /* [inputs, spec_row] inputs of the classifiers, pooled over windows, and
                         behind them the mean of the tokens */
    float *logits[2];   /* [inputs, labels], the second for a distillation head */
    float *mean_logits; /* [inputs, labels] logits of means, in the second's memory: no model with
                           a classifier of means has a distillation head */

    struct stage_workspace stage;
    struct arena arena;
};

/* Returns the workspace of the last stage, which has the head's inputs and outputs. */
static inline struct workspace *workspace_last(struct workspace *workspace)
{
    while (workspace->stage.next != NULL)
        workspace = workspace->stage.next;
    return workspace;
}

/* tokens_max: at least the tokens of the longest sequence. `encoder` multiplies in the blocks. The
 * pool is borrowed; another of at most its size may replace it. Yours to close. */
enum err_code workspace_open(struct workspace *out, const struct spec *spec,
                             const struct linear_backend *encoder, unsigned tokens_max,
                             struct thread_pool *pool, const struct kernels *kernels,
                             struct err *err);
/* Upper bound of the bytes that workspace_open takes. */
size_t workspace_bytes(const struct spec *spec, const struct linear_backend *encoder,
                       unsigned tokens_max, unsigned threads);
/* Returns what multiplies the linear layer `field` of a block: `encoder`. A vector in int8 has its
 * query, key, value and the MLP's second product in bf16 if this CPU multiplies that natively, or
 * `encoder` is the oracle: they cost it most of its nearest neighbours. Of the ten nearest of 384
 * crash reports and 384 failed builds MiniLM keeps 0.964 and 0.967 in bytes alone, 0.982 and 0.982
 * so. A label needs it less: 15 of 25 937 wafer maps get another one in bytes. */
const struct linear_backend *workspace_backend(const struct spec *spec,
                                               const struct linear_backend *encoder,
                                               enum tensor_field field);

/* Returns true if query, key and value are kept in bf16: the encoder writes it and attention can
 * multiply it. Half the memory, and twice the speed. A decoder keeps them in fp32. */
bool workspace_attends_in_bf16(const struct spec *spec, const struct linear_backend *encoder);
/* Sets another pool to run on, of at most the size that scratch was taken for. */
void workspace_lend(struct workspace *workspace, struct thread_pool *pool);
void workspace_close(struct workspace *workspace);

static inline void workspace_rest(const struct workspace *workspace)
{
    if (workspace->between != NULL)
        workspace->between(workspace->between_context);
}

#endif
