#include "learn/train/network/network_state.h"

#include "engine/base/rng.h"
#include "engine/tensor/backward/attention_train.h"
#include "engine/tensor/dot.h"

#include <math.h>
#include <string.h>

enum { SEQUENCES = 16 /* whose factors of outer products are kept until they are added */ };

/* Values that one sequence keeps for the gradients of the weights. */
struct kept {
    float *query, *dquery; /* [D] */
    float *y, *du;         /* [H, stride] */
};

/* Scratch of one member of the pool. */
struct room {
    float *x, *dx; /* [N, stride]; each row of x ends with a one */
    float *u, *dy; /* [H, stride] */
    float *attention;
};

struct pass {
    const struct network_global_run *run;
    struct matrix dcontext, dx;
    unsigned first, last; /* sequences */
};

/* ---- scratch ---- */

static size_t longest(const struct network *network)
{
    size_t tokens = spec_text_tokens(network->spec), most = network->options.tokens_max;
    return tokens < most ? tokens : most;
}

/* Floats from one row of D + 1 numbers to the next. */
static size_t stride_of(const struct network *network)
{
    return operand_stride((size_t)network->spec->hidden + 1, sizeof(float)) / sizeof(float);
}

static size_t kept_floats(const struct network *network)
{
    return 2 * ((size_t)network->spec->heads + 1) * stride_of(network);
}

static size_t room_floats(const struct network *network)
{
    const struct spec *spec = network->spec;
    size_t rows = longest(network) + spec->heads;
    return 2 * rows * stride_of(network) +
           attention_train_scratch(spec->heads, longest(network), (size_t)spec->hidden + 1);
}

enum err_code network_global_open(struct network *network, struct err *err)
{
    if (!spec_has_global(network->spec))
        return ERR_OK;
    size_t line = SIMD_WIDTH, floats = (room_floats(network) + line - 1) / line * line;
    size_t kept = SEQUENCES * kept_floats(network);
    network->global_floats = floats;
    network->global_scratch = arena_alloc_array(&network->arena, floats * network->options.threads,
                                                sizeof *network->global_scratch);
    network->global_kept = arena_alloc_array(&network->arena, kept, sizeof *network->global_kept);
    if (network->global_scratch == NULL || network->global_kept == NULL)
        return err_no_memory(err, (floats + kept) * sizeof(float));
    return ERR_OK;
}

static struct kept kept_of(const struct network *network, unsigned slot)
{
    size_t stride = stride_of(network), heads = network->spec->heads;
    struct kept kept = {.query = network->global_kept + slot * kept_floats(network)};
    kept.dquery = kept.query + stride;
    kept.y = kept.dquery + stride;
    kept.du = kept.y + heads * stride;
    return kept;
}

static struct room room_of(const struct network *network, unsigned member)
{
    size_t stride = stride_of(network), heads = network->spec->heads, n = longest(network);
    struct room room = {.x = network->global_scratch + member * network->global_floats};
    room.dx = room.x + n * stride;
    room.u = room.dx + n * stride;
    room.dy = room.u + heads * stride;
    room.attention = room.dy + heads * stride;
    return room;
}

/* ---- products with rows of a weight and their biases ---- */

/* Offsets of the block's tensors, in the values and in the gradient. */
static const struct parameters_layer *map_of(const struct pass *pass)
{
    const struct network *network = pass->run->network;
    return &network->parameters->map.layers[spec_block(network->spec, pass->run->block->layer)];
}

/* Row e of [W, b] times x [D + 1]. */
static float times_row(const struct network *network, struct parameters_linear linear, size_t e,
                       const float *x)
{
    size_t hidden = network->spec->hidden;
    return dot(network->values + linear.weight + e * hidden, x, hidden) +
           network->values[linear.bias + e] * x[hidden];
}

/* sum [D + 1] += scale times row e of [W, b]. */
static void add_row(const struct network *network, struct parameters_linear linear, size_t e,
                    float scale, float *sum)
{
    size_t hidden = network->spec->hidden;
    add_scaled(sum, scale, network->values + linear.weight + e * hidden, hidden);
    sum[hidden] += scale * network->values[linear.bias + e];
}

/* The gradient of row e += scale x [D + 1]. */
static void add_outer(const struct network *network, struct parameters_linear linear, size_t e,
                      float scale, const float *x)
{
    size_t hidden = network->spec->hidden;
    add_scaled(network->gradient + linear.weight + e * hidden, scale, x, hidden);
    network->gradient[linear.bias + e] += scale * x[hidden];
}

/* sums [H, stride]: row h is scale times the sum over head h's rows e of x[e] [W, b]_e. */
static void sum_heads(const struct network *network, struct parameters_linear linear,
                      const float *x, float scale, float *sums)
{
    size_t stride = stride_of(network), hidden = network->spec->hidden;
    size_t width = hidden / network->spec->heads;
    memset(sums, 0, network->spec->heads * stride * sizeof *sums);
    for (size_t e = 0; e < hidden; e++)
        add_row(network, linear, e, scale * x[e], sums + e / width * stride);
}

/* ---- a sequence ---- */

/* attention_train divides scores by sqrt(D + 1), not by sqrt(d). */
static float scale_of(const struct spec *spec)
{
    size_t hidden = spec->hidden;
    return sqrtf((float)(hidden + 1) / (float)(hidden / spec->heads));
}

static unsigned tokens_of(const struct network *network, unsigned sequence)
{
    return network->offset[sequence + 1] - network->offset[sequence];
}

/* Fills X of the sequence, q and u. */
static void begin(const struct pass *pass, unsigned sequence, const struct room *room,
                  const struct kept *kept)
{
    const struct network *network = pass->run->network;
    const struct matrix *n = &pass->run->block->n;
    size_t hidden = network->spec->hidden, stride = stride_of(network);
    for (size_t t = 0; t < tokens_of(network, sequence); t++) {
        float *row = room->x + t * stride;
        memcpy(row, n->x + (network->offset[sequence] + t) * n->stride, hidden * sizeof *row);
        row[hidden] = 1;
    }
    for (size_t e = 0; e < hidden; e++)
        kept->query[e] = times_row(network, map_of(pass)->global_query, e, room->x);
    sum_heads(network, map_of(pass)->global_key, kept->query, scale_of(network->spec), room->u);
}

static struct attention_train attention_of(const struct pass *pass, unsigned sequence,
                                           const struct room *room)
{
    const struct network_global_run *run = pass->run;
    const struct network *network = run->network;
    const uint32_t own = rng_hash(run->key, UINT32_MAX); /* no head of a sequence has it */
    return (struct attention_train){.kernels = network->kernels,
                                    .backward = network->backward,
                                    .gemm = gemm_best(PRECISION_F32),
                                    .q = room->u,
                                    .q_stride = stride_of(network),
                                    .m = network->spec->heads,
                                    .k = room->x,
                                    .v = room->x,
                                    .kv_stride = stride_of(network),
                                    .n = tokens_of(network, sequence),
                                    .d = (size_t)network->spec->hidden + 1,
                                    .dropout = run->dropout,
                                    .key = rng_hash(own, sequence),
                                    .entropy = run->entropy,
                                    .sparsity = run->sparsity};
}

/* The row of a sequence's first query in block->context and its gradient. */
static size_t query_row(const struct pass *pass, unsigned sequence)
{
    const struct network *network = pass->run->network;
    return pass->run->block->is_last ? network->kept_first[sequence] : network->offset[sequence];
}

static void forward_sequence(const struct pass *pass, unsigned sequence, const struct room *room)
{
    const struct network *network = pass->run->network;
    const struct matrix *context = &pass->run->block->context;
    const struct kept kept = {.query = room->dx}; /* not used yet */
    float *y = room->dy, *out = context->x + query_row(pass, sequence) * context->stride;
    size_t stride = stride_of(network), hidden = network->spec->hidden;
    size_t heads = network->spec->heads, width = hidden / heads;
    begin(pass, sequence, room, &kept);
    const struct attention_train head = attention_of(pass, sequence, room);
    network->penalties[sequence * heads] +=
        attention_train_forward(&head, y, stride, room->attention);
    for (size_t e = 0; e < hidden; e++)
        out[e] = times_row(network, map_of(pass)->global_value, e, y + e / width * stride);
}

/* Writes dx of the sequence: dX without its last column, and for the first token also the gradient
 * through q. */
static void give_inputs(const struct pass *pass, unsigned sequence, const struct room *room,
                        const struct kept *kept)
{
    const struct network *network = pass->run->network;
    size_t stride = stride_of(network), hidden = network->spec->hidden;
    for (size_t e = 0; e < hidden; e++)
        add_row(network, map_of(pass)->global_query, e, kept->dquery[e], room->dx);
    for (size_t t = 0; t < tokens_of(network, sequence); t++)
        memcpy(pass->dx.x + (network->offset[sequence] + t) * pass->dx.stride,
               room->dx + t * stride, hidden * sizeof *room->dx);
}

static void backward_sequence(const struct pass *pass, unsigned sequence, const struct room *room)
{
    const struct network *network = pass->run->network;
    const struct kept kept = kept_of(network, sequence - pass->first);
    const float *dout = pass->dcontext.x + query_row(pass, sequence) * pass->dcontext.stride;
    size_t stride = stride_of(network), hidden = network->spec->hidden;
    size_t heads = network->spec->heads, width = hidden / heads;
    begin(pass, sequence, room, &kept);
    const struct attention_train head = attention_of(pass, sequence, room);
    attention_train_forward(&head, kept.y, stride, room->attention);
    sum_heads(network, map_of(pass)->global_value, dout, 1, room->dy);
    memset(room->dx, 0, head.n * stride * sizeof *room->dx);
    attention_train_backward(&head, room->dy, stride, kept.du, stride, room->dx, room->dx, stride,
                             room->attention);
    for (size_t h = 0; h < heads; h++)
        for (size_t c = 0; c <= hidden; c++)
            kept.du[h * stride + c] *= scale_of(network->spec);
    for (size_t e = 0; e < hidden; e++)
        kept.dquery[e] =
            times_row(network, map_of(pass)->global_key, e, kept.du + e / width * stride);
    give_inputs(pass, sequence, room, &kept);
}

/* ---- passes ---- */

static void forward_share(void *context, unsigned index, unsigned count)
{
    const struct pass *pass = context;
    const struct room room = room_of(pass->run->network, index);
    for (unsigned r = pass->first + index; r < pass->last; r += count)
        forward_sequence(pass, r, &room);
}

void network_global_forward(const struct network_global_run *run)
{
    struct pass pass = {.run = run, .last = run->network->rows};
    thread_pool_run(run->network->pool, forward_share, &pass);
}

static void backward_share(void *context, unsigned index, unsigned count)
{
    const struct pass *pass = context;
    const struct room room = room_of(pass->run->network, index);
    for (unsigned r = pass->first + index; r < pass->last; r += count)
        backward_sequence(pass, r, &room);
}

/* Each member of the pool adds to its own rows of the weights. */
static void weights_share(void *context, unsigned index, unsigned count)
{
    const struct pass *pass = context;
    const struct network *network = pass->run->network;
    const struct parameters_layer *map = map_of(pass);
    const struct matrix *n = &pass->run->block->n;
    size_t hidden = network->spec->hidden, width = hidden / network->spec->heads;
    size_t stride = stride_of(network);
    for (unsigned r = pass->first; r < pass->last; r++) {
        const struct kept kept = kept_of(network, r - pass->first);
        const float *dout = pass->dcontext.x + query_row(pass, r) * pass->dcontext.stride;
        const float *first = n->x + network->offset[r] * n->stride;
        for (size_t e = hidden * index / count; e < hidden * (index + 1) / count; e++) {
            size_t head = e / width * stride;
            add_outer(network, map->global_value, e, dout[e], kept.y + head);
            add_outer(network, map->global_key, e, kept.query[e], kept.du + head);
            add_scaled(network->gradient + map->global_query.weight + e * hidden, kept.dquery[e],
                       first, hidden);
            network->gradient[map->global_query.bias + e] += kept.dquery[e];
        }
    }
}

void network_global_backward(const struct network_global_run *run, struct matrix dcontext,
                             struct matrix dx)
{
    struct network *network = run->network;
    struct pass pass = {.run = run, .dcontext = dcontext, .dx = dx};
    for (; pass.first < network->rows; pass.first = pass.last) {
        unsigned left = network->rows - pass.first;
        pass.last = pass.first + (left < SEQUENCES ? left : SEQUENCES);
        thread_pool_run(network->pool, backward_share, &pass);
        if (run->learns)
            thread_pool_run(network->pool, weights_share, &pass);
    }
}
