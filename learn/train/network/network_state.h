/* network_state.h - the state that the parts of a network (network*.c) share: its memory, the
 * current micro-batch, and the matrices that the forward pass keeps for the backward pass; then
 * what the parts do for each other. Private to network*.c.
 *
 * Matrices of tokens have room for tokens_max rows; the batch says how many are in use. Threads:
 * the pool of the one caller.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_STATE_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_STATE_H

#include "engine/base/arena.h"
#include "engine/base/thread_pool.h"
#include "engine/model/patch_windows.h"
#include "engine/tensor/backward/attention_train.h"
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
 * With a global token (network_global.c) the last block has no query, key and value: the head reads
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
    struct matrix relative_rows;       /* [2 span, 3 D] of relative places: network_relative.c */
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

/* Relative positions: network_relative.c. Matrices are [2 span, D] unless noted. */
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

/* ---- network_memory.c ---- */

/* Memory of a network, all of it taken while it is opened. */

/* [tokens_max of the current stage, width], uninitialised, rows an odd number of cache lines apart
 * (operand.h). Without memory the result is all zero and the error is recorded in `err`. */
struct matrix network_memory_rows(struct network *network, size_t width, struct err *err);
/* The same without padding between the rows. */
struct matrix network_memory_dense(struct network *network, size_t width, struct err *err);

/* The same with another number of rows, an odd number of cache lines apart. */
struct matrix network_memory_matrix(struct network *network, size_t rows, size_t width,
                                    struct err *err);
/* Sets the shapes of the scratch to those of network->spec. Its memory suffices for all stages. */
void network_memory_shape(struct network *network);

/* Memory that the passes share: the batch's lists, scratch and the buffers of the products. */
enum err_code network_memory_open(struct network *network, struct err *err);

/* ---- network_linear.c ---- */

/* A linear layer in training: product.h's three products, with bias.
 *
 *     Y = X W^T + b        dX = dY W        dW += dY^T X        db += column sums of dY
 */

enum {
    NETWORK_PIECE_TOKENS = 1024 /* rows of dY at a time: the backward pass reads them four times */
};

/* Takes memory for the packed weights of `linear`, whose offsets and sizes are set. */
enum err_code network_linear_open(struct network *network, struct network_linear *linear,
                                  struct err *err);
/* Packs network->values. */
void network_linear_pack(struct network *network, struct network_linear *linear);

/* y = x W^T + b + residual (NULL: none). */
void network_linear_forward(struct network *network, const struct network_linear *linear,
                            struct matrix y, struct matrix x, const struct matrix *residual,
                            size_t rows);
/* Adds to the gradients of weight and bias; dx = dy W + residual (NULL: none), unless dx is NULL.
 * dx may be the residual. */
void network_linear_backward(struct network *network, const struct network_linear *linear,
                             const struct matrix *dx, struct matrix dy, struct matrix x,
                             const struct matrix *residual, size_t rows);

/* ---- network_rows.c ---- */

/* The steps of a network that work row by row, divided among the pool: norms, activations, dropout,
 * gather and scatter of the kept rows.
 *
 * Sums over rows (gradients of gammas, betas) are divided by columns. */

/* y = norm(x); y may be x. */
void network_rows_norm(struct network *network, const struct network_norm *norm, struct matrix y,
                       struct matrix x, size_t rows);
/* dx = norm'(dy; x) + residual (NULL: none), and the gradients of gamma and beta. dx is not dy. */
void network_rows_norm_backward(struct network *network, const struct network_norm *norm,
                                struct matrix dx, struct matrix dy, struct matrix x,
                                const struct matrix *residual, size_t rows);

/* y = act(x), dx = dy act'(x); dx may be dy. */
void network_rows_activate(struct network *network, struct matrix y, struct matrix x, size_t rows,
                           enum activation act);
void network_rows_activation(struct network *network, struct matrix dx, struct matrix dy,
                             struct matrix x, size_t rows, enum activation act);

/* A gated MLP: y [rows, F] = act(u) v with x = [u, v] [rows, 2 F], and dx from dy. dx is neither dy
 * nor x. */
void network_rows_gate(struct network *network, struct matrix y, struct matrix x, size_t rows,
                       enum activation act);
void network_rows_gate_backward(struct network *network, struct matrix dx, struct matrix dy,
                                struct matrix x, size_t rows, enum activation act);

/* Layer scale: y = x * s + residual (NULL: none) for each row, where s is the values at offset
 * `scale`; y may be x. Backward: ds += column sums of dy * x; dx = dy * s; dx may be dy. */
void network_rows_scale(struct network *network, size_t scale, struct matrix y, struct matrix x,
                        const struct matrix *residual, size_t rows);
void network_rows_scale_backward(struct network *network, size_t scale, bool learns,
                                 struct matrix dx, struct matrix dy, struct matrix x, size_t rows);

/* True if the micro-batch has dropout at this site. */
bool network_rows_drops(const struct network *network, enum network_site site);
/* The key of a site's mask; layer 0 for sites outside the blocks. */
uint32_t network_rows_key(const struct network *network, enum network_site site, unsigned layer);
/* y = D(x) + residual (NULL: none), with the site's mask; y may be x. Call it only where the
 * site drops. */
void network_rows_dropout(struct network *network, enum network_site site, unsigned layer,
                          struct matrix y, struct matrix x, const struct matrix *residual,
                          size_t rows);

/* In each image, which has `image` rows: y[i] = x[from[i]] or, backward, y[from[i]] = x[i]. */
void network_rows_move(struct network *network, struct matrix y, struct matrix x,
                       const unsigned *from, size_t image, bool is_backward);

/* y += x */
void network_rows_add(struct network *network, struct matrix y, struct matrix x, size_t rows);

/* y[i] = x[kept[i]], and x[kept[i]] += y[i]. */
void network_rows_gather(struct network *network, struct matrix y, struct matrix x);
void network_rows_scatter(struct network *network, struct matrix x, struct matrix y);

/* ---- network_rotary.c ---- */

/* Rotary positions (engine/tensor/rotary.h) in training: query and key of a block are rotated after
 * their product. Their gradients are rotated back before the product's backward pass, since the
 * transpose of a rotation is the rotation by the negative angle. For a family without rotary
 * positions these functions do nothing. */

/* Makes the tables of angles, for global and for local layers. */
enum err_code network_rotary_open(struct network *network, struct err *err);

/* Rotates query and key in the block's qkv_rows and query_rows, in place. */
void network_rotary_forward(struct network *network, const struct network_block *block);

/* Rotates dquery [queries, D] and columns D to 2 D of dqkv [T, 3 D] back, in place. dquery is the
 * first D columns of dqkv, except in the last block. */
void network_rotary_backward(struct network *network, const struct network_block *block,
                             struct matrix dquery, struct matrix dqkv);

/* ---- network_relative.c ---- */

/* Relative positions in training (model/config/disentangled.h). All layers share one normalised
 * table. Each block sends it through its query and key projections, with its own dropout mask
 * (pos_dropout of DisentangledSelfAttention). The backward pass ends in the projections and in the
 * table. The heads use the projected rows in network_attention.c. For a family without relative
 * positions these functions do nothing. */

/* _open takes memory for the table and its gradients, _open_block for a block's projected rows. */
enum err_code network_relative_open(struct network *network, struct err *err);
enum err_code network_relative_open_block(struct network *network, struct network_block *block,
                                          struct err *err);

/* Normalises the table; called after the values have changed. */
void network_relative_pack(struct network *network);

/* Projects the rows of a block; called before its attention. */
void network_relative_forward(struct network *network, const struct network_block *block);

/* Around the backward pass of a block's attention: _begin sets the rows' gradient to zero;
 * _backward takes it through the projections and adds to the table's gradient, which all blocks
 * share. */
void network_relative_begin(struct network *network);
void network_relative_backward(struct network *network, const struct network_block *block);

/* Adds the gradients of the table and its norm; called at the end of a backward pass. */
void network_relative_unpack(struct network *network);

/* ---- network_local.c ---- */

/* A head of local attention (engine/model/bias/reach.h) in training, forward and backward. Each
 * block of queries runs over the keys that it reaches, so that time grows with the sequence's
 * length times the reach. Results, dropout's mask included, are those of attention_train.h over the
 * whole sequence with a bias that masks the keys beyond the reach. The gradients of keys that
 * several blocks reach are summed. If all queries see the first key (global_token.h), a block's
 * keys and values are copied, with the first one in front.
 *
 * Threads: pure functions; scratch is the caller's. */

struct network_local {
    unsigned reach;                    /* above 0 */
    const struct attention_bias *band; /* reach_bias of it */
    bool has_global; /* all queries see the first key, too; the first query is not computed */
};

/* Floats of 64-byte aligned scratch for either pass, for sequences of at most tokens_max tokens. */
size_t network_local_scratch(unsigned reach, size_t tokens_max, size_t d, bool has_global);

/* `head` describes the whole sequence, without a bias; m counts its first queries. Otherwise as
 * attention_train_forward and _backward. */
double network_local_forward(const struct attention_train *head, struct network_local local,
                             float *out, size_t out_stride, float *scratch);
void network_local_backward(const struct attention_train *head, struct network_local local,
                            const float *dout, size_t dout_stride, float *dq, size_t dq_stride,
                            float *dk, float *dv, size_t dkv_stride, float *scratch);

/* ---- network_global.c ---- */

/* The global token, which attends to all tokens (engine/tensor/global_token.h), in training:
 * forward as there, with dropout on its probabilities, and backward. Each token's row is extended
 * by a one, X = [x, 1], and each row of a weight by its bias, W = [W, b]:
 *
 *     u_h = W_k,h^T q_h      P = softmax(u_h X^T / sqrt(d))     y_h = D(P) X     out_h = W_v,h y_h
 *
 * This is attention_train.h with H queries u_h and with X as keys and values. It gives du and, as
 * the sum of the key and the value gradients, dX. The weights' gradients are outer products:
 *
 *     dW_v,h += dout_h y_h^T     dW_k,h += q_h du_h^T     dq_h = W_k,h du_h     dW_q += dq X_0^T
 *
 * Always fp32. Each sequence is one task. The weights' gradients are summed over the sequences in
 * order, each row by one member of the pool. */

/* Takes scratch memory; does nothing for a family without a global token. */
enum err_code network_global_open(struct network *network, struct err *err);

/* Regularisers and dropout of a block's attention, as network_attention.c sets them. */
struct network_global_run {
    struct network *network;
    const struct network_block *block;
    float dropout, entropy, sparsity;
    uint32_t key;
    bool learns; /* the weights */
};

/* The first row of each sequence of block->context; adds to network->penalties [rows, heads]. */
void network_global_forward(const struct network_global_run *run);

/* The same rows of dcontext -> gradients of the weights, and dx [T, D], which is written. */
void network_global_backward(const struct network_global_run *run, struct matrix dcontext,
                             struct matrix dx);

/* ---- network_attention.c ---- */

/* The attention of a block over the sequences of a micro-batch. A task is one head of one sequence;
 * the members of the pool take tasks from a counter. */

/* Floats of scratch of one member. */
size_t network_attention_floats(const struct network *network);

/* For a family whose scores have a bias that all blocks share; else these do nothing. _open takes
 * memory for the bias and its gradient. _pack makes the bias from the values. _unpack adds the
 * bias's gradient to the gradient of those values and sets it to zero. */
enum err_code network_attention_open(struct network *network, struct err *err);
void network_attention_pack(struct network *network);
void network_attention_unpack(struct network *network);

/* The same for a block that has a bias of its own. */
enum err_code network_attention_open_block(struct network *network, struct network_block *block,
                                           struct err *err);
void network_attention_pack_block(struct network *network, struct network_block *block);
void network_attention_unpack_block(struct network *network, struct network_block *block);

/* qkv_rows, query_rows -> context; adds to network->penalty. */
void network_attention_forward(struct network *network, const struct network_block *block);

/* dcontext [queries, D] -> dquery [queries, D] and columns D to 3 D of dqkv [T, 3 D]. With a global
 * token also dglobal [T, D], its part of the gradient of the block's input n. Both regularisers are
 * weighted with `share`. */
void network_attention_backward(struct network *network, const struct network_block *block,
                                struct matrix dcontext, struct matrix dquery, struct matrix dqkv,
                                struct matrix dglobal, float share);

/* ---- network_cross.c ---- */

/* The attention of a decoder's block to the encoder's states, forward and backward (Vaswani et al.
 * 2017, section 3.1). */

/* block->cross of a decoder; of an encoder it stays NULL. `learns`: the block does. */
enum err_code network_cross_open(struct network *network, struct network_block *block, bool learns,
                                 struct err *err);
void network_cross_pack(struct network *network, struct network_block *block);

/* cross->n [T, D] and the encoder's states [S, W] -> cross->context [T, A] */
void network_cross_forward(struct network *network, struct network_block *block);
/* dcontext [T, A] -> dn [T, D], plus `residual` (NULL: none). The gradient of the states, in the
 * encoder's network->g, is set by the last block and added to by the others. */
void network_cross_backward(struct network *network, struct network_block *block, struct matrix dn,
                            struct matrix dcontext, const struct matrix *residual);

/* ---- network_block.c ---- */

/* One block of the encoder, forward and backward. Its equations stand at struct network_block. */

/* Offsets, sizes and packed weights of block `layer`; x and out are the caller's to set. */
enum err_code network_block_open(struct network *network, struct network_block *block,
                                 unsigned layer, struct err *err);
/* True if layer `layer` learns: its block is not below the frozen depth. */
bool network_block_learns(const struct network *network, unsigned layer);
void network_block_pack(struct network *network, struct network_block *block);

/* x -> out. The last block computes only the kept rows. */
void network_block_forward(struct network *network, struct network_block *block);

/* network->d: dL/dout in, dL/dx out. */
void network_block_backward(struct network *network, struct network_block *block, float share);

/* ---- network_stages.c ---- */

/* Stages in training (struct stack): selecting the current stage, moving rows into the windows of a
 * layer, and patch merging, forward and backward. For a family without stages these functions do
 * nothing.
 *
 * The network's spec, its sequences and the shapes of its scratch are those of the current stage,
 * so the code that uses them need not know of stages. Outside the blocks a sequence is an input. */

/* Makes the specs and window orders of all stages and selects the first stage. */
enum err_code network_stages_open(struct network *network, struct err *err);
/* Selects the stage of a layer; called while blocks are opened and packed. */
void network_stages_select(struct network *network, unsigned layer);
/* The merging in front of layer `layer`, whose stage is selected, if there is one. */
enum err_code network_stages_open_merging(struct network *network, unsigned layer, struct err *err);
void network_stages_pack_merging(struct network *network, unsigned layer);

/* Source row of each of a layer's rows (patch_windows_move); NULL: rows are not moved. */
const unsigned *network_stages_move(const struct network *network, unsigned layer);

/* Called before a layer's block. Computes the block's x from the `out` of the previous block; for
 * the first block, from its own `in`. */
void network_stages_enter(struct network *network, unsigned layer);
/* _leave is called after the last block: inputs become the sequences. _return goes back to the
 * windows of the last block. */
void network_stages_leave(struct network *network);
void network_stages_return(struct network *network);
/* Called after a block's backward pass. network->d, the gradient of the block's x, becomes that of
 * the previous block's out, or of the embeddings. */
void network_stages_backward(struct network *network, unsigned layer);

/* ---- network_embed.c ---- */

/* The embeddings of model/embed.h, forward and backward. */

enum err_code network_embed_open(struct network *network, struct err *err);
void network_embed_pack(struct network *network);

/* Ids, types and places of a text, the packed batch's tokens from `first` on. */
void network_embed_list(struct network *network, const struct engine_input *input, unsigned first);

/* The inputs of the batch, whose offsets are set -> x [T, D]. */
void network_embed_forward(struct network *network, const struct engine_input *const *inputs,
                           struct matrix x);
/* network->d is dL/dx; it and network->e are overwritten. */
void network_embed_backward(struct network *network);

/* ---- network_sentence.c ---- */

/* The pooling of an embedding in training: the modes of engine/model/sentence_pooling.h over all
 * tokens of a text, side by side. What stands behind it, Normalize, belongs to the loss
 * (ranking_loss.h), which compares by cosine. */

/* head.normed [tokens, D] -> head.logits[0] [inputs, modes D]; an input is one sequence. */
void network_sentence_pool(struct network *network);

/* dvectors [inputs, modes D], dense -> network->g [tokens, D], the gradient of head.normed. The
 * first of equal largest tokens gets the whole gradient of their maximum. */
void network_sentence_spread(struct network *network, const float *dvectors);

/* ---- network_head.c ---- */

/* The head on the encoder: the classifier of model/head.h, BERT's masked-language-model head, the
 * classifier of each token, or the pooling of an embedding.
 *
 *     classifier   logits = W_c D(act(W_p norm(x))) + b_c       (norm or pooler may be missing)
 *                  logits = W_c D(norm(pooling(norm(x)))) + b_c (a head that reads all tokens)
 *     MLM          logits = E norm(act(W_t x + b_t)) + b        E: the word embeddings
 *     tags         logits = W_c D(norm(x)) + b_c                a row for each kept token; or, of
 *                  ModernBERT, W_c D(norm(act(W_p norm(x)))) + b_c
 *     embedding    logits = pooling(norm(x))                    (network_sentence.c)
 *     states       D(norm(x)) of all tokens, in head.normed; backward from network->g
 */

enum err_code network_head_open(struct network *network, struct err *err);
void network_head_pack(struct network *network);

/* The kept rows of the last block's out -> head.logits[0], head.features. */
void network_head_forward(struct network *network);
/* dlogits (dense) -> network->d, the gradient of the last block's out. */
void network_head_backward(struct network *network, const float *dlogits);

/* ---- network_words.c ---- */

/* The output of a decoder: logits of the vocabulary for each token that it has read, a piece of the
 * tokens at a time. The logits of all tokens at once would be the largest matrix by far: 0.5 GB for
 * 2048 tokens and 58 000 words.
 *
 *     logits = (s states) W^T + b,   W: a weight of its own, or the words'
 *
 * b, the final_logits_bias of some checkpoints, is not learnt (transformers: a buffer). s is 1 or
 * spec->output_scale (Raffel et al. 2020). */

/* For a decoder; with other heads these do nothing. */
enum err_code network_words_open(struct network *network, struct err *err);
void network_words_pack(struct network *network);

/* Judges the logits of the decoder's states. With `learns` it also sets network->g to the gradient
 * of the states, and adds to the weight's gradient. */
void network_words_run(struct network *network, const struct network_judge *judge, bool learns);

#endif
