#include "learn/train/network/network_distances.h"

#include <math.h>
#include <string.h>

static size_t width_of(const struct network *network)
{
    return network->spec->hidden / network->spec->heads;
}

bool network_distances_exist(const struct network *network)
{
    return network->spec->disentangled.span > 0;
}

size_t network_distances_floats(const struct network *network, size_t tokens)
{
    size_t rows = 2 * (size_t)network->spec->disentangled.span;
    if (!network_distances_exist(network))
        return 0;
    return simd_round_up(2 * simd_round_up(tokens * tokens) +
                         relative_train_scratch(tokens, rows, width_of(network)));
}

static struct relative_train head_of(const struct network *network,
                                     const struct network_block *block, unsigned head,
                                     const struct attention_train *one)
{
    const struct spec *spec = network->spec;
    const struct disentangled *disentangled = &spec->disentangled;
    const float *rows = block->relative_rows.x + head * width_of(network);
    return (struct relative_train){
        .gemm = gemm_best(PRECISION_F32),
        .q = one->q,
        .q_stride = one->q_stride,
        .m = one->m,
        .k = one->k,
        .k_stride = one->kv_stride,
        .n = one->n,
        .d = one->d,
        .kr = disentangled->content_to_position ? rows + spec->hidden : NULL,
        .qr = disentangled->position_to_content ? rows : NULL,
        .r_stride = block->relative_rows.stride,
        .row_of = network->relative.row_of + spec_text_tokens(spec) - 1,
        .divisor = sqrtf((float)(one->d * one->terms)),
    };
}

struct network_distances network_distances_add(const struct network *network,
                                               const struct network_block *block, unsigned head,
                                               struct attention_train *one,
                                               struct attention_bias *bias, float *scratch)
{
    size_t numbers = one->n * one->m;
    struct network_distances by = {.head = head_of(network, block, head, one), .matrix = scratch};
    by.dmatrix = by.matrix + simd_round_up(numbers);
    by.scratch = by.dmatrix + simd_round_up(numbers);
    memset(by.dmatrix, 0, numbers * sizeof *by.dmatrix);
    relative_train_forward(&by.head, by.matrix, by.scratch);
    *bias = (struct attention_bias){.at = by.matrix, .key_step = (ptrdiff_t)one->m};
    one->bias = bias;
    return by;
}

void network_distances_backward(const struct network *network, const struct network_distances *by,
                                unsigned head, float *dq, size_t dq_stride, float *dk,
                                size_t dk_stride)
{
    float *dqr = network->relative.drows.x + head * width_of(network);
    relative_train_backward(&by->head, by->dmatrix, dq, dq_stride, dk, dk_stride,
                            dqr + network->spec->hidden, dqr, by->scratch);
}
