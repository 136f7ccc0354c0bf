/* network_state.h - the state that the parts of a network (network*.c) share: its memory, the
 * current micro-batch, and the matrices that the forward pass keeps for the backward pass. Private
 * to network*.c.
 *
 * Matrices of tokens have room for tokens_max rows; the batch says how many are in use. Threads:
 * the pool of the one caller.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_STATE_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_STATE_H

#include "engine/base/arena.h"
#include "engine/base/thread_pool.h"
#include "engine/model/patch_windows.h"
#include "engine/tensor/backward/backward.h"
#include "engine/tensor/gemm/product.h"
#include "learn/train/network/network.h"

/* fp32, rows `stride` numbers apart. */
struct matrix {
    float *x;
    size_t stride, width;
};

/* Y = X W^T + b. The offsets are the parameters' (SIZE_MAX: no bias). */
struct network_linear {
    size_t weight, bias, in, out;
    enum precision precision;
    bool learns_weight, learns_bias;
    struct panels forward, backward; /* W^T and W, packed */
};

struct network_norm {
    size_t gamma, beta; /* offsets; SIZE_MAX: no beta, or no norm at all */
    bool learns;
    float eps;
};

/* The attention of a decoder's block to the encoder's states; matrices of T tokens of the decoder
 * and S of the encoder. It stands between the attention and the MLP:
 *
 *   post-norm  n = norm_1(a);  sum = n + D(attention(n, states) W_o);  h = norm_2(sum)
 *   pre-norm   n = norm_2(a);  sum = a + D(attention(n, states) W_o);  h = norm_3(sum)
 *
 * with the norms in the order of a checkpoint: the attention's, this one's, the MLP's. */
struct network_cross {
    struct network_norm norm;
    struct network_linear query, key_value, out;
    struct matrix n;              /* [T, D] */
    struct matrix query_rows;     /* [T, A] */
    struct matrix key_value_rows; /* [S, 2 A] */
    struct matrix context;        /* [T, A] */
    struct matrix sum;            /* [T, D] */
};

/* The output of a decoder. */
struct network_words {
    struct network_linear output;
    struct matrix scaled; /* [T, D] states times spec->output_scale, if that is not 1 */
    struct matrix logits; /* [rows, vocab_size] of a piece, dense */
    size_t rows;
};

/* One block. In the last block the query, the context and everything after it have only the rows
 * of the kept tokens.
 *
 *   post-norm  n = x;        a = x + D(attention(n) W_o); h = norm(a); m = h + D(act(h W_1) W_2);
 *              out = norm(m)
 *   pre-norm   n = norm(x);  a = x + D(attention(n) W_o); h = norm(a); out = a + D(act(h W_1) W_2)
 *
 * A pre-norm block without an attention norm has n = x.
 * With a global token (network_global.h) the last block has no query, key and value: the head reads
 * the first row of a sequence, which does not use them.
 *
 * A gated MLP has gate(h W_1) in place of act(h W_1). A layer scale multiplies each D(...), which
 * is then kept in `branches`.
 */
struct network_block {
    unsigned layer;
    unsigned heads, attended; /* H and A: spec_heads, spec_attended */
    bool is_last;
    struct network_norm attention_norm, mlp_norm;
    struct network_linear qkv;              /* not the last */
    struct network_linear query, key_value; /* the last */
    struct network_linear attention_out, mlp_in, mlp_out;
    struct network_cross *cross;       /* of a decoder; NULL: none */
    size_t attention_scale, mlp_scale; /* offsets; SIZE_MAX: no layer scale */
    struct attention_bias bias;        /* of the scores, a view of the table; at is NULL: none */
    float *bias_table, *dbias_table;   /* made of the values, and its gradient: window_bias.h,
                                         or relative_bias.h of UMT5 */
    struct matrix relative_rows;       /* [2 span, 3 D] of relative places: network_relative.h */
    unsigned reach;                    /* spec_reach; if above 0, with its bias: reach.h */
    struct attention_bias band;

    struct matrix in;             /* [T, D] x before its rows are moved into windows, or x itself */
    struct matrix x, n;           /* [T, D]; n may be x */
    struct matrix qkv_rows;       /* [T, 3 A]; in the last block the first A columns are not used */
    struct matrix query_rows;     /* [T, A]: columns of qkv_rows; the last block has its own */
    struct matrix kept_x, kept_n; /* [kept, D] rows of x and n; the last block's */
    struct matrix context;        /* [T, A] */
    struct matrix a, h;           /* [T, D] */
    struct matrix u, activated;   /* [T, F]; of a gated MLP u is [T, 2 F] */
    struct matrix branches[2];    /* [T, D] attention's and MLP's output before its layer scale */
    struct matrix m;              /* [T, D]; post-norm */
    struct matrix out;            /* [T, D]: the next block's in, unless patches are merged */
};

/* One stage (struct stack), and the patch merging in front of it; the first stage has none. */
struct network_stage {
    struct spec spec; /* spec_at's */
    struct patch_windows windows;
    unsigned tokens_max;
    struct network_norm norm;
    struct network_linear merge;
    struct matrix four, normed; /* [T, 2 D] four patches concatenated, before and after the norm */
    struct matrix dfour, dnormed; /* their gradients */
};

/* Buffers for the products of one precision. One product uses them at a time. */
struct network_buffers {
    struct rows operand, transposed;
    struct panels panels;
};

struct network_head {
    struct network_norm final_norm, pooled_norm, mlm_norm;
    struct network_norm norm;     /* after the pooler */
    struct network_linear pooler; /* MLM: the transform */
    struct network_linear classifier[2];
    struct network_linear decoder; /* its weight is the word embedding */
    bool has_norm, has_pooler;
    bool reads_all, has_pooled_norm, has_head_norm;
    unsigned classifiers;       /* 2: a distilled DeiT; 0: MLM */
    enum activation activation; /* the pooler's */

    struct matrix x;                  /* [kept, D] the last block's out */
    struct matrix normed;             /* [kept, D] after the final norm, or x */
    struct matrix dropped_features;   /* [rows, D] the pooler's input after dropout, if any */
    struct matrix u, pooled;          /* [rows, D] before and after the pooler's activation */
    struct matrix features_normed;    /* [rows, D] norm(pooled), or pooled */
    struct matrix means;              /* [rows, features] pooled from all tokens */
    struct matrix pooled_normed;      /* [rows, features] norm(means), or means */
    struct matrix dmeans, dnormed;    /* their gradients */
    struct matrix transformed;        /* [kept, D] MLM: after the transform's norm */
    struct matrix windows[2];         /* [inputs, D] pooled over windows */
    struct matrix dropped;            /* [inputs, D] */
    struct matrix read[2];            /* [inputs, D] each classifier's input: one of the above */
    struct matrix logits[2], dlogits; /* [inputs, labels] or [kept, vocab_size], dense */
    struct matrix features;           /* [inputs, D], dense */
};

/* Relative positions: network_relative.h. Matrices are [2 span, D] unless noted. */
struct network_relative {
    struct network_norm norm;
    struct matrix places, normed; /* the table, and the table after its norm: the blocks' input */
    struct matrix dropped;        /* the input of one block after dropout */
    struct matrix drows;          /* [2 span, 3 D] the gradient of a block's rows */
    struct matrix dplaces;        /* the gradient of one block's input, then of the table */
    struct matrix dnormed;        /* the sum of the blocks' gradients of `normed` */
    unsigned *row_of;             /* [2 N - 1] row of a distance, lowest distance first */
};

struct network {
    struct network *source, *target; /* the encoder of this decoder, or the other way round; NULL */
    const struct parameters *parameters;
    const struct spec *spec;      /* the parameters', or that of the current stage */
    struct network_stage *stages; /* [stage_count]; NULL: there are none */
    unsigned tokens_max;          /* of the current stage */
    struct network_options options;
    const struct kernels *kernels;
    const struct backward *backward;
    const struct gemm *gemm; /* of the attention */
    struct thread_pool *pool;
    const float *values;
    float *gradient;

    /* The micro-batch. A row is a sequence: an input, or one window of it. */
    unsigned inputs, rows, tokens, kept_count;
    unsigned *input_first; /* [inputs + 1] the rows of input i: input_first[i] to [i + 1] */
    unsigned *offset;      /* [rows + 1] sequence r is tokens offset[r] to offset[r + 1] */
    unsigned *kept;        /* [kept_count] tokens that the head reads, ascending */
    unsigned *kept_first;  /* [rows + 1] sequence r has kept[kept_first[r]] to [r + 1] */
    int32_t *ids;          /* [T] texts */
    uint8_t *types;        /* [T] texts */
    unsigned *places;      /* [T] images: index in the sequence; texts: row of the position table */
    bool dropping;
    uint64_t dropout;
    double penalty; /* mean over layers of a layer's mean over its heads and (kept) queries */

    struct network_linear patch;
    struct network_norm embedding_norm;
    struct matrix patches;                 /* [T, channels patch patch], zero for learnt tokens */
    struct matrix embedded;                /* [T, E] texts: before the norm */
    float *positions;                      /* [positions, E] computed; NULL: learnt, or none */
    struct network_linear project;         /* of the embeddings, in some texts */
    struct matrix unprojected;             /* [T, E] input of `project` */
    struct matrix dunprojected, dembedded; /* [T, E] */
    struct attention_bias bias;      /* of the scores, a view of the table; at is NULL: none */
    float *bias_table, *dbias_table; /* [bias_floats] made of the values, and its gradient */
    size_t bias_floats;
    struct network_relative relative;
    struct network_linear project_states; /* of a decoder, if spec->projects_states */
    struct matrix states, dstates;        /* [S, D] projected */
    const float *rotary[2]; /* rotary.h: of global layers and of local ones; NULL: none */
    struct network_block *blocks;
    struct network_head head;
    struct network_words words;

    /* Scratch of the passes. */
    struct network_buffers buffers[PRECISION_COUNT];
    struct matrix d, e, f, g;   /* [T, D] gradients; d is the residual stream's */
    struct matrix dqkv, dquery; /* [T, 3 D], [T, D]; a block uses the first 3 A and A columns */
    struct matrix dcontext;     /* [T, A] if A is above D; else blocks use g */
    struct matrix dkey_value;   /* [S, 2 A] of a decoder's attention to the states */
    struct matrix du;           /* [T, F] */
    struct matrix dgate;        /* [T, 2 F]; of a gated MLP */
    float *stats;               /* [T, 2] of a norm */
    float *no_beta, *no_dbeta;  /* [D or more] for norms without beta: zeros, and a gradient */
    double *penalties;          /* [rows heads] */
    float *attention_scratch;   /* [pool, attention_floats] */
    size_t attention_floats;
    float *global_scratch; /* [pool, global_floats]; network_global.c's, like global_kept */
    float *global_kept;
    size_t global_floats;
    struct arena arena;
};

/* The places where dropout is applied. Site and layer together name a mask. */
enum network_site {
    NETWORK_SITE_EMBEDDING,
    NETWORK_SITE_ATTENTION,
    NETWORK_SITE_ATTENTION_OUT,
    NETWORK_SITE_MLP_OUT,
    NETWORK_SITE_CLASSIFIER,
    NETWORK_SITE_COUNT,
    /* Added later. It takes the number of the embeddings' site in layer 1, which is not in use, so
     * that the masks of the other sites did not change. */
    NETWORK_SITE_POOLER = NETWORK_SITE_COUNT,
    /* In every layer it takes the number of the embeddings' site two layers above. */
    NETWORK_SITE_RELATIVE = 2 * NETWORK_SITE_COUNT,
    NETWORK_SITE_ACTIVATED = 1 << 20, /* in the MLP; beyond the numbers of all layers */
    /* These are beyond them, too, and a layer's are apart from any other's. */
    NETWORK_SITE_CROSS, /* as ATTENTION and ATTENTION_OUT, of the attention to the states */
    NETWORK_SITE_CROSS_OUT,
    NETWORK_SITE_STATES /* behind the last norm */
};

/* `width` columns of a matrix, from column `first` on. */
static inline struct matrix matrix_columns(struct matrix matrix, size_t first, size_t width)
{
    return (struct matrix){matrix.x + first, matrix.stride, width};
}

/* First item of share `index` of `count` about equal shares of n items, cut at multiples of `unit`.
 */
static inline size_t share_begin(size_t n, size_t unit, unsigned index, unsigned count)
{
    size_t units = (n + unit - 1) / unit, begin = units * index / count * unit;
    return begin < n ? begin : n;
}

#endif
