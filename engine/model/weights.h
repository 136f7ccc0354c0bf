/* weights.h - the tensors of a checkpoint, bound to the fields that the encoder reads.
 *
 * Every tensor is bound by name from the family's row, with the shape that the spec requires. A
 * missing one, or one of another shape or dtype, is refused by name before anything is read. Then
 * the loader reads them all: the weights are held once, in the layout of the backend, with layer
 * scales folded in. Positions of another grid than the images' are interpolated last.
 *
 * Threads: immutable after weights_open.
 */
#ifndef ATTND_ENGINE_MODEL_WEIGHTS_H
#define ATTND_ENGINE_MODEL_WEIGHTS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/format/checkpoint.h"
#include "engine/model/spec.h"
#include "engine/tensor/attention_io.h"
#include "engine/tensor/gemm/relative_scores.h"
#include "engine/tensor/global_token.h"
#include "engine/tensor/linear/linear.h"

#include <stddef.h>

struct norm {
    float *gamma, *beta; /* [D] each */
};

/* y = norm(x) as the family normalises, for `rows` rows of `width` numbers, whose strides are
 * numbers: a layer norm or an RMS norm, which has no beta. y may be x. */
static inline void norm_apply(const struct kernels *kernels, const struct spec *spec,
                              const struct norm *norm, float *y, size_t y_stride, const float *x,
                              size_t x_stride, size_t rows, size_t width, float eps)
{
    if (spec->family->block.has_rms_norms)
        kernels->rms_norm(y, y_stride, x, x_stride, norm->gamma, rows, width, eps);
    else
        kernels->layer_norm(y, y_stride, x, x_stride, norm->gamma, norm->beta, rows, width, eps);
}

/* One block. A block without attention_norm has NULL in it. Of a decoder, whose attention is
 * decode_attention (kernels.h), 1 / sqrt(d) is in the weights of the queries. */
struct layer {
    struct norm attention_norm, mlp_norm;
    unsigned heads, attended;         /* H and A, spec_attended: D unless heads were pruned */
    struct linear qkv;                /* [3 A, D]: query, key and value as one product */
    struct linear attention_out;      /* [D, A] */
    struct norm cross_norm;           /* a decoder's attention to the encoder's states */
    struct linear cross_query;        /* [A, D] */
    struct linear cross_kv;           /* [2 A, spec_states]: key and value as one product */
    struct linear cross_out;          /* [D, A] */
    struct linear mlp_in;             /* [F, D]; [2 F, D] for a gated MLP */
    struct linear mlp_out;            /* [D, F] */
    struct norm merge_norm;           /* [4 D] behind a stage's last block */
    struct linear merge;              /* [2 D, 4 D] */
    struct attention_bias bias;       /* bias of the scores; empty in most families */
    float *bias_table;                /* the learnt table behind it: window_bias.h, or the layer's
                                         own relative_bias.h */
    struct relative_scores relative;  /* terms of relative positions, if any */
    const float *rotary;              /* rotary.h, for the layer's base; NULL: not rotary */
    unsigned reach;                   /* spec_reach; then the bias is reach.h's */
    struct global_projections global; /* projections of a global token */
};

/* The word embedding [vocab_size, E], the largest table: with the 16 bits a number that the
 * checkpoint has, or in fp32. The numbers are the same. */
struct word_table {
    float *f32;    /* else NULL */
    uint16_t *f16; /* else NULL */
    uint16_t *bf16;
};

/* Fields that the family does not have stay zero. */
struct weights {
    struct word_table word;
    float *position;                 /* [positions, E] or [patches + specials, D]; NULL: none */
    float *registers;                /* [registers, D] */
    float *token_type;               /* [token_types, E] */
    struct linear embedding_project; /* [D, E] */
    struct linear states_project;    /* [D, W] of a decoder */
    float *relative_bias;            /* [buckets, heads]; layers[].bias is made from it */
    float *relative_places;          /* [2 span, D]; layers[].relative is made from it */
    struct norm relative_norm;       /* norm of its rows */
    float *cls_token, *distillation_token; /* [D] */
    struct norm embedding_norm, final_norm, pooled_norm, head_norm;
    struct linear patch;      /* [D, channels patch patch] */
    struct layer *layers;     /* [spec_blocks]; layer i computes with layers[spec_block(spec, i)] */
    struct linear pooler;     /* [D, D] */
    struct linear projection; /* [P, D] */
    /* [labels, D or 2 D]; for a zero-shot model [labels, P], of its labels (engine_labels.c) */
    struct linear classifier, distillation_classifier;
    struct linear mean_classifier; /* [labels, D] head_parts.h; out is 0: there is none */
    struct linear output;          /* [vocab_size, D] of a decoder */

    size_t parameters;    /* numbers bound */
    const char **unbound; /* tensors of the checkpoint that nothing binds, sorted */
    unsigned unbound_count;
    struct arena arena; /* holds everything above except the linears' own memory */
};

/* Makes the checks of weights_open, and reads no data: the head is one that is served, and every
 * tensor exists with its shape and a dtype that can be read. ERR_UNSUPPORTED names the tensor. */
enum err_code weights_check(const struct spec *spec, const struct checkpoint *checkpoint,
                            struct err *err);

/* Binds and reads every tensor, with `threads` threads (at least 1). `encoder` multiplies in the
 * blocks; `other`, in fp32, in patch embedding, pooler and classifier. ERR_UNSUPPORTED names the
 * tensor. Yours to close. */
enum err_code weights_open(struct weights *out, const struct spec *spec,
                           const struct checkpoint *checkpoint,
                           const struct linear_backend *encoder, const struct linear_backend *other,
                           unsigned threads, struct err *err);
/* The same for a decoder. `source` is its encoder's, whose word embedding it borrows if they share
 * it, and which has to live as long. The output layer is multiplied by `encoder`, too. */
enum err_code weights_open_target(struct weights *out, const struct spec *spec,
                                  const struct weights *source, const struct checkpoint *checkpoint,
                                  const struct linear_backend *encoder,
                                  const struct linear_backend *other, unsigned threads,
                                  struct err *err);
void weights_close(struct weights *weights, const struct spec *spec);

/* Writes the numbers [first, first + count) of the table to out[count]. Threads: any number. */
void word_table_read(const struct word_table *table, size_t first, size_t count, float *out);

/* Bytes of all weights in memory. */
size_t weights_bytes(const struct weights *weights, const struct spec *spec);

#endif
