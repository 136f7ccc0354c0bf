#include "learn/train/network/network_state.h"

#include "engine/tensor/rotary.h"

enum err_code network_rotary_open(struct network *network, struct err *err)
{
    const struct spec *spec = network->spec;
    if (!spec->family->is_rotary)
        return ERR_OK;
    size_t tokens = spec_text_tokens(spec), width = spec->hidden / spec->heads;
    if (tokens > network->options.tokens_max)
        tokens = network->options.tokens_max;
    for (int i = 0; i < 2; i++) {
        float *table =
            arena_alloc_array(&network->arena, rotary_floats(tokens, width), sizeof *table);
        if (table == NULL)
            return err_no_memory(err, rotary_floats(tokens, width) * sizeof *table);
        rotary_fill(table, tokens, width, spec->rotary_base[i]);
        network->rotary[i] = table;
    }
    return ERR_OK;
}

/* One rotation pass: the first `heads` heads' columns of each row, by the position of its token. */
struct turning {
    const struct network *network;
    const float *table;
    struct matrix rows;
    const unsigned *tokens; /* [count] of the rows; NULL: 0, 1, 2, ... */
    size_t count, heads;
    float direction;
};

static void rotate_share(void *context, unsigned index, unsigned count)
{
    const struct turning *turning = context;
    const struct network *network = turning->network;
    size_t width = network->spec->hidden / network->spec->heads;
    size_t last = share_begin(turning->count, 1, index + 1, count);
    for (size_t r = share_begin(turning->count, 1, index, count); r < last; r++) {
        size_t token = turning->tokens != NULL ? turning->tokens[r] : r;
        network->kernels->rotate(turning->rows.x + r * turning->rows.stride,
                                 rotary_at(turning->table, network->places[token], width),
                                 turning->heads, width, turning->direction);
    }
}

/* Query and key are adjacent columns, except in the last block. */
static void rotate(struct network *network, const struct network_block *block, struct matrix query,
                   struct matrix qkv, float direction)
{
    size_t hidden = network->spec->hidden, heads = network->spec->heads;
    const float *table = network->rotary[spec_reach(network->spec, block->layer) > 0];
    if (table == NULL)
        return;
    struct turning turning = {network, table, qkv, NULL, network->tokens, 2 * heads, direction};
    if (!block->is_last) {
        thread_pool_run(network->pool, rotate_share, &turning);
        return;
    }
    turning.rows = matrix_columns(qkv, hidden, hidden);
    turning.heads = heads;
    thread_pool_run(network->pool, rotate_share, &turning);
    turning.rows = query;
    turning.tokens = network->kept;
    turning.count = network->kept_count;
    thread_pool_run(network->pool, rotate_share, &turning);
}

void network_rotary_forward(struct network *network, const struct network_block *block)
{
    rotate(network, block, block->query_rows, block->qkv_rows, 1);
}

void network_rotary_backward(struct network *network, const struct network_block *block,
                             struct matrix dquery, struct matrix dqkv)
{
    rotate(network, block, dquery, dqkv, -1);
}
