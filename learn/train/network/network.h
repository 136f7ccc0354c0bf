/* network.h - the encoder in training: a forward pass that keeps everything for the backward pass,
 * and the backward pass, over one packed micro-batch (as engine.h packs them: sequences end to end,
 * no padding).
 *
 *     network_open(&network, &parameters, &options, &err);
 *     network_repack(network);                        after every change of the values
 *     network_forward(network, &batch);               -> network_logits(network)
 *     network_backward(network, dlogits);             gradient += dL/dparameters
 *
 * A model that writes texts (parameters_open_pair) is an encoder's network with a decoder's:
 *
 *     network_forward(network, &batch);               both sides; the second reads batch.targets
 *     network_words(network, &judge, true);           its logits, piece by piece, and their loss
 *     network_backward(network, NULL, 0);
 *
 * The blocks, their order and their names are those of engine/model/encoder.c; in the last block
 * only the tokens that the head reads are computed. Dropout is applied where Hugging Face applies
 * it: after the embeddings, on the attention probabilities, on each residual branch and before the
 * classifier. The table in network_rows.c lists the dropout sites of each family.
 *
 * Determinism: values and gradients do not depend on the number of threads.
 * Threads: one at a time; a network has a pool of its own.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_NETWORK_H
#define ATTND_LEARN_TRAIN_NETWORK_NETWORK_H

#include "engine/base/err.h"
#include "engine/base/thread_pool.h"
#include "engine/model/input.h"
#include "engine/tensor/gemm/operand.h"
#include "learn/train/network/parameters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct network;

struct network_options {
    unsigned threads;         /* at least 1 */
    enum precision precision; /* of the blocks' linear layers: f32 or bf16 */
    unsigned tokens_max;      /* of a micro-batch */
    float hidden_dropout, attention_dropout;
    float entropy, sparsity; /* attention_train.h; averaged, see network_state.h */
    unsigned frozen_depth;   /* gradients are neither computed nor needed for depths below it */
};

/* One micro-batch. An input may be a text in several windows, which are pooled as the spec says.
 * For MLM and tags, `kept` lists the tokens that are predicted (indices into the packed batch,
 * ascending). For a classifier kept_count is 0: the network keeps the family's head tokens. */
struct network_batch {
    const struct engine_input *const *inputs;
    unsigned rows;
    const struct engine_input *const *targets; /* [rows] of a pair: what its decoder reads */
    const unsigned *kept;
    unsigned kept_count;
    bool training;    /* dropout, and room kept for the backward pass */
    uint64_t dropout; /* training: a number for this micro-batch, from which the masks are drawn */
};

/* Takes all memory for micro-batches of up to tokens_max tokens. `parameters` is borrowed; the
 * gradient [parameters->numbers] is the network's and starts as zeros. */
enum err_code network_open(struct network **out, const struct parameters *parameters,
                           const struct network_options *options, struct err *err);
void network_close(struct network *network);

/* Packs the linear layers' weights from `values` [parameters->numbers]: the parameters' own, or a
 * moving average to be evaluated. All other weights are read from `values` itself, which is
 * borrowed until the next call. */
void network_repack(struct network *network, const float *values);

/* The inputs' tokens must sum to at most tokens_max, and so must those of a pair's targets. */
void network_forward(struct network *network, const struct network_batch *batch);

/* Logits of the last forward pass: [rows, labels] (for a distilled DeiT the mean of both heads), or
 * for MLM [kept_count, vocab_size], for tags [kept_count, labels]. */
const float *network_logits(const struct network *network);
/* A judge reads the logits [count, vocab_size] of the targets' tokens `first` and on, counted over
 * the batch, and leaves dL/dlogits in their place. */
struct network_judge {
    void (*call)(void *context, float *logits, size_t first, size_t count);
    void *context;
};

/* Computes all logits of a pair's last forward pass, in pieces that the judge gets in order. With
 * `learns` network_backward must follow. */
void network_words(struct network *network, const struct network_judge *judge, bool learns);

/* The input of a block's query and key projections in the last forward pass: [tokens, D], rows
 * *stride apart. */
const float *network_attention_input(const struct network *network, unsigned layer, size_t *stride);

/* gradient += dL/dvalues for the last forward pass (training), from dL/dlogits in its shape; of a
 * pair the judge has left them, and dlogits is NULL. The regulariser's part is weighted with
 * `share`: this micro-batch's share of the batch. */
void network_backward(struct network *network, const float *dlogits, float share);
float *network_gradient(struct network *network);
/* Its threads, for the optimiser. */
struct thread_pool *network_pool(struct network *network);

#endif
