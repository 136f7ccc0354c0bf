#include "engine/tensor/global_token.h"

#include "engine/tensor/dot.h"

#include <math.h>
#include <string.h>

/* The scratch: u of a block of heads, and the means sum_j p_j x_j, both in the stride of x. */
struct room {
    float *query; /* [D] queries of all heads */
    float *u, *means;
    float *kernels;
};

static size_t row_floats(size_t hidden)
{
    return simd_round_up(hidden) + SIMD_WIDTH;
}

size_t global_token_scratch(size_t heads, size_t hidden, size_t tokens)
{
    size_t block = heads < ATTENTION_QUERIES ? heads : ATTENTION_QUERIES;
    size_t attend = attention_scratch(hidden), rows = attention_mean_scratch(tokens, hidden);
    return simd_round_up((2 * block + 1) * row_floats(hidden) + (attend > rows ? attend : rows));
}

static struct room lay_out(const struct global_token *token, float *scratch)
{
    size_t heads = token->heads < ATTENTION_QUERIES ? token->heads : ATTENTION_QUERIES;
    struct room room = {.query = scratch};
    room.u = room.query + row_floats(token->hidden);
    room.means = room.u + heads * token->stride;
    room.kernels = room.means + heads * token->stride;
    return room;
}

/* query = W_q x_0 + b_q */
static void make_query(const struct global_token *token, float *query)
{
    const struct plain_linear *linear = &token->projections->query;
    size_t hidden = token->hidden;
    for (size_t i = 0; i < hidden; i++)
        query[i] = dot(linear->weight + i * hidden, token->x, hidden) + linear->bias[i];
}

/* Computes u of `count` heads from `head` on, times sqrt(H): the kernels divide scores by sqrt(D),
 * not by sqrt(d). */
static void make_keys(const struct global_token *token, size_t head, size_t count,
                      const struct room *room)
{
    size_t hidden = token->hidden, width = hidden / token->heads;
    const float scale = sqrtf((float)token->heads);
    for (size_t h = 0; h < count; h++) {
        float *u = room->u + h * token->stride;
        memset(u, 0, hidden * sizeof *u);
        for (size_t e = (head + h) * width; e < (head + h + 1) * width; e++)
            add_scaled(u, scale * room->query[e], token->projections->key.weight + e * hidden,
                       hidden);
    }
}

/* out = W_v means + b_v of those heads. */
static void project_values(const struct global_token *token, size_t head, size_t count,
                           const float *means, float *out)
{
    const struct plain_linear *linear = &token->projections->value;
    size_t hidden = token->hidden, width = hidden / token->heads;
    for (size_t h = 0; h < count; h++)
        for (size_t e = (head + h) * width; e < (head + h + 1) * width; e++)
            out[e] = dot(linear->weight + e * hidden, means + h * token->stride, hidden) +
                     linear->bias[e];
}

void global_token_attend(const struct global_token *token, float *out, float *scratch)
{
    const struct room room = lay_out(token, scratch);
    make_query(token, room.query);
    for (size_t head = 0; head < token->heads; head += ATTENTION_QUERIES) {
        size_t left = token->heads - head;
        size_t count = left < ATTENTION_QUERIES ? left : ATTENTION_QUERIES;
        make_keys(token, head, count, &room);
        token->kernels->attention(&(struct attention_io){.out = room.means,
                                                         .out_stride = token->stride,
                                                         .q = room.u,
                                                         .k = token->x,
                                                         .v = token->x,
                                                         .q_stride = token->stride,
                                                         .kv_stride = token->stride,
                                                         .count = count,
                                                         .n = token->tokens,
                                                         .d = token->hidden,
                                                         .scratch = room.kernels});
        project_values(token, head, count, room.means, out);
    }
}

void global_token_rows(const struct global_token *token, size_t head, size_t count, float *out,
                       float *scratch)
{
    const struct room room = lay_out(token, scratch);
    make_query(token, room.query);
    make_keys(token, head, count, &room);
    token->kernels->attention_mean(&(struct attention_io){.out = out,
                                                          .out_stride = token->tokens,
                                                          .q = room.u,
                                                          .k = token->x,
                                                          .q_stride = token->stride,
                                                          .kv_stride = token->stride,
                                                          .count = count,
                                                          .n = token->tokens,
                                                          .heads = 1,
                                                          .d = token->hidden,
                                                          .scratch = room.kernels});
}
