/* network_rows.c - see network_state.h. Each step is a `pass`: its matrices and a function over a
 * range of rows, which the members of the pool call for their shares.
 *
 * Dropout sites, as Hugging Face's classes have them (modeling_bert.py, modeling_distilbert.py,
 * modeling_vit.py, modeling_deit.py, and so on; "roberta" stands for XLM-R, ELECTRA, MPNet and
 * Longformer too; "bert" stands for DeBERTa too):
 *
 *     site            bert  distilbert  roberta  albert  modernbert  vit, deit, beit  dinov2  swin
 *     embeddings       x        x          x       x         x              x           x      x
 *     attention        x        x          x       x         x              x           x      x
 *     attention_out    x        -          x       x         a              x           x      a
 *     activated        -        -          -       -         x              -           -      -
 *     mlp_out          x        x          x       -         -              x           -      x
 *     pooler           -        -          x       -         -              -           -      -
 *     classifier       x        x          x       x         x              -           -      -
 *
 *     relative         DeBERTa only: the relative positions, once for each layer
 *     states           T5 only: behind the last norm of each side
 *
 * Encoders and decoders of texts drop out at embeddings, attention, attention_out, activated and
 * mlp_out, and decoders likewise in the attention to the states (cross, cross_out).
 *
 *     embeddings       after the norm or the positions, before a projection
 *     attention        on the probabilities
 *     ..._out          before the residual sum (a: at the attention's rate)
 *     activated        after the gate
 *     classifier       after pooler, activation and norm
 *
 * A layer scale follows the dropout. Stochastic depth (drop_path_rate) is not supported.
 */
#include "learn/train/network/network_state.h"

#include "engine/base/rng.h"

#include <string.h>

enum {
    COLUMNS_UNIT = 16,
    PURPOSE = 0x44524F50 /* of the random numbers: "DROP" */
};

struct pass {
    struct network *network;
    void (*rows)(const struct pass *pass, size_t first, size_t last);
    const struct network_norm *norm;
    struct matrix y, x, dy;
    const struct matrix *residual;
    size_t count;
    enum activation act;
    size_t scale;
    uint32_t key;
    float rate;
    const unsigned *from;
    size_t image;
    bool is_backward;
};

static float *row_of(struct matrix matrix, size_t row)
{
    return matrix.x + row * matrix.stride;
}

static void run_share(void *context, unsigned index, unsigned count)
{
    const struct pass *pass = context;
    size_t first = share_begin(pass->count, 1, index, count);
    size_t last = share_begin(pass->count, 1, index + 1, count);
    if (first < last)
        pass->rows(pass, first, last);
}

static void run(struct pass pass)
{
    thread_pool_run(pass.network->pool, run_share, &pass);
}

/* ---- norms ---- */

static const float *beta_of(const struct network *network, const struct network_norm *norm)
{
    return norm->beta != SIZE_MAX ? network->values + norm->beta : network->no_beta;
}

static float *dbeta_of(const struct network *network, const struct network_norm *norm)
{
    return norm->beta != SIZE_MAX ? network->gradient + norm->beta : network->no_dbeta;
}

static void norm_rows(const struct pass *pass, size_t first, size_t last)
{
    const struct network *network = pass->network;
    if (network->spec->family->block.has_rms_norms) {
        network->kernels->rms_norm(row_of(pass->y, first), pass->y.stride, row_of(pass->x, first),
                                   pass->x.stride, network->values + pass->norm->gamma,
                                   last - first, pass->x.width, pass->norm->eps);
        return;
    }
    network->kernels->layer_norm(row_of(pass->y, first), pass->y.stride, row_of(pass->x, first),
                                 pass->x.stride, network->values + pass->norm->gamma,
                                 beta_of(network, pass->norm), last - first, pass->x.width,
                                 pass->norm->eps);
}

void network_rows_norm(struct network *network, const struct network_norm *norm, struct matrix y,
                       struct matrix x, size_t rows)
{
    run((struct pass){network, norm_rows, .norm = norm, .y = y, .x = x, .count = rows});
}

static void norm_backward_rows(const struct pass *pass, size_t first, size_t last)
{
    const struct network *network = pass->network;
    const struct matrix *residual = pass->residual;
    const bool is_rms = network->spec->family->block.has_rms_norms;
    (is_rms ? network->backward->rms_norm : network->backward->layer_norm)(
        row_of(pass->y, first), pass->y.stride, network->stats + 2 * first, row_of(pass->dy, first),
        pass->dy.stride, row_of(pass->x, first), pass->x.stride,
        network->values + pass->norm->gamma, residual != NULL ? row_of(*residual, first) : NULL,
        residual != NULL ? residual->stride : 0, last - first, pass->x.width, pass->norm->eps);
}

static void norm_columns(void *context, unsigned index, unsigned count)
{
    const struct pass *pass = context;
    const struct network *network = pass->network;
    size_t first = share_begin(pass->x.width, COLUMNS_UNIT, index, count);
    size_t last = share_begin(pass->x.width, COLUMNS_UNIT, index + 1, count);
    if (first < last)
        network->backward->layer_norm_columns(
            network->gradient + pass->norm->gamma, dbeta_of(network, pass->norm), pass->dy.x,
            pass->dy.stride, pass->x.x, pass->x.stride, network->stats, pass->count, first, last);
}

void network_rows_norm_backward(struct network *network, const struct network_norm *norm,
                                struct matrix dx, struct matrix dy, struct matrix x,
                                const struct matrix *residual, size_t rows)
{
    struct pass pass = {network, norm_backward_rows, .norm = norm,         .y = dx,
                        .x = x,  .dy = dy,           .residual = residual, .count = rows};
    run(pass);
    if (norm->learns)
        thread_pool_run(network->pool, norm_columns, &pass);
}

/* ---- activations ---- */

static void activate_rows(const struct pass *pass, size_t first, size_t last)
{
    for (size_t r = first; r < last; r++)
        pass->network->backward->activate(row_of(pass->y, r), row_of(pass->x, r), pass->x.width,
                                          pass->act);
}

void network_rows_activate(struct network *network, struct matrix y, struct matrix x, size_t rows,
                           enum activation act)
{
    run((struct pass){network, activate_rows, .y = y, .x = x, .count = rows, .act = act});
}

static void activation_rows(const struct pass *pass, size_t first, size_t last)
{
    for (size_t r = first; r < last; r++)
        pass->network->backward->activation(row_of(pass->y, r), row_of(pass->dy, r),
                                            row_of(pass->x, r), pass->x.width, pass->act);
}

void network_rows_activation(struct network *network, struct matrix dx, struct matrix dy,
                             struct matrix x, size_t rows, enum activation act)
{
    run((struct pass){network, activation_rows, .y = dx, .x = x, .dy = dy, .count = rows,
                      .act = act});
}

static void gate_rows(const struct pass *pass, size_t first, size_t last)
{
    for (size_t r = first; r < last; r++)
        pass->network->kernels->gate(row_of(pass->y, r), row_of(pass->x, r), pass->y.width,
                                     pass->act);
}

void network_rows_gate(struct network *network, struct matrix y, struct matrix x, size_t rows,
                       enum activation act)
{
    run((struct pass){network, gate_rows, .y = y, .x = x, .count = rows, .act = act});
}

static void gate_backward_rows(const struct pass *pass, size_t first, size_t last)
{
    for (size_t r = first; r < last; r++)
        pass->network->backward->gate(row_of(pass->y, r), row_of(pass->dy, r), row_of(pass->x, r),
                                      pass->dy.width, pass->act);
}

void network_rows_gate_backward(struct network *network, struct matrix dx, struct matrix dy,
                                struct matrix x, size_t rows, enum activation act)
{
    run((struct pass){network, gate_backward_rows, .y = dx, .x = x, .dy = dy, .count = rows,
                      .act = act});
}

/* ---- layer scale ---- */

static void scale_rows(const struct pass *pass, size_t first, size_t last)
{
    const float *scale = pass->network->values + pass->scale;
    for (size_t r = first; r < last; r++) {
        const float *x = row_of(pass->x, r);
        float *y = row_of(pass->y, r);
        const float *residual = pass->residual != NULL ? row_of(*pass->residual, r) : NULL;
        for (size_t c = 0; c < pass->x.width; c++)
            y[c] = x[c] * scale[c] + (residual != NULL ? residual[c] : 0);
    }
}

void network_rows_scale(struct network *network, size_t scale, struct matrix y, struct matrix x,
                        const struct matrix *residual, size_t rows)
{
    run((struct pass){network, scale_rows, .y = y, .x = x, .residual = residual, .count = rows,
                      .scale = scale});
}

static void scale_columns(void *context, unsigned index, unsigned count)
{
    const struct pass *pass = context;
    float *gradient = pass->network->gradient + pass->scale;
    size_t first = share_begin(pass->x.width, COLUMNS_UNIT, index, count);
    size_t last = share_begin(pass->x.width, COLUMNS_UNIT, index + 1, count);
    for (size_t r = 0; r < pass->count; r++) {
        const float *x = row_of(pass->x, r), *dy = row_of(pass->dy, r);
        for (size_t c = first; c < last; c++)
            gradient[c] += dy[c] * x[c];
    }
}

void network_rows_scale_backward(struct network *network, size_t scale, bool learns,
                                 struct matrix dx, struct matrix dy, struct matrix x, size_t rows)
{
    struct pass pass = {.network = network, .x = x, .dy = dy, .count = rows, .scale = scale};
    if (learns)
        thread_pool_run(network->pool, scale_columns, &pass);
    network_rows_scale(network, scale, dx, dy, NULL, rows);
}

/* ---- dropout ---- */

static float rate_of(const struct network *network, enum network_site site)
{
    bool is_attention =
        site == NETWORK_SITE_ATTENTION || site == NETWORK_SITE_CROSS ||
        (site == NETWORK_SITE_ATTENTION_OUT && network->spec->family->block.drops_out_as_attention);
    return is_attention ? network->options.attention_dropout : network->options.hidden_dropout;
}

bool network_rows_drops(const struct network *network, enum network_site site)
{
    const struct family *family = network->spec->family;
    if (!network->dropping)
        return false;
    if ((site == NETWORK_SITE_ATTENTION_OUT && !family->block.drops_attention_out) ||
        (site == NETWORK_SITE_MLP_OUT && family->block.keeps_mlp_out) ||
        (site == NETWORK_SITE_ACTIVATED && !family->block.drops_activated) ||
        (site == NETWORK_SITE_CROSS_OUT && !family->block.drops_attention_out) ||
        (site == NETWORK_SITE_STATES && !family->drops_states) ||
        (site == NETWORK_SITE_POOLER && !family->drops_features) ||
        (site == NETWORK_SITE_RELATIVE && family->tensors[TENSOR_RELATIVE_PLACES] == NULL) ||
        (site == NETWORK_SITE_CLASSIFIER && !family->drops_classifier))
        return false;
    return rate_of(network, site) > 0;
}

uint32_t network_rows_key(const struct network *network, enum network_site site, unsigned layer)
{
    struct rng rng = rng_for(network->dropout, PURPOSE, layer * NETWORK_SITE_COUNT + site);
    return (uint32_t)rng_next(&rng);
}

static void dropout_rows(const struct pass *pass, size_t first, size_t last)
{
    size_t width = pass->x.width;
    for (size_t r = first; r < last; r++) {
        const float *x = row_of(pass->x, r);
        float *y = row_of(pass->y, r);
        const float *residual = pass->residual != NULL ? row_of(*pass->residual, r) : NULL;
        pass->network->backward->dropout(y, x, width, pass->key, (uint32_t)(r * width), pass->rate);
        for (size_t i = 0; residual != NULL && i < width; i++)
            y[i] += residual[i];
    }
}

void network_rows_dropout(struct network *network, enum network_site site, unsigned layer,
                          struct matrix y, struct matrix x, const struct matrix *residual,
                          size_t rows)
{
    run((struct pass){network, dropout_rows, .y = y, .x = x, .residual = residual, .count = rows,
                      .key = network_rows_key(network, site, layer),
                      .rate = rate_of(network, site)});
}

/* ---- moved rows ---- */

static void move_rows(const struct pass *pass, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        const size_t other = i - i % pass->image + pass->from[i % pass->image];
        memcpy(row_of(pass->y, pass->is_backward ? other : i),
               row_of(pass->x, pass->is_backward ? i : other), pass->x.width * sizeof *pass->x.x);
    }
}

void network_rows_move(struct network *network, struct matrix y, struct matrix x,
                       const unsigned *from, size_t image, bool is_backward)
{
    run((struct pass){network, move_rows, .y = y, .x = x, .count = network->tokens, .from = from,
                      .image = image, .is_backward = is_backward});
}

/* ---- sums ---- */

static void add_rows(const struct pass *pass, size_t first, size_t last)
{
    for (size_t r = first; r < last; r++) {
        float *y = row_of(pass->y, r);
        const float *x = row_of(pass->x, r);
        for (size_t c = 0; c < pass->x.width; c++)
            y[c] += x[c];
    }
}

void network_rows_add(struct network *network, struct matrix y, struct matrix x, size_t rows)
{
    run((struct pass){network, add_rows, .y = y, .x = x, .count = rows});
}

/* ---- kept rows ---- */

static void gather_rows(const struct pass *pass, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++)
        memcpy(row_of(pass->y, i), row_of(pass->x, pass->network->kept[i]),
               pass->x.width * sizeof *pass->x.x);
}

void network_rows_gather(struct network *network, struct matrix y, struct matrix x)
{
    run((struct pass){network, gather_rows, .y = y, .x = x, .count = network->kept_count});
}

static void scatter_rows(const struct pass *pass, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        float *x = row_of(pass->x, pass->network->kept[i]);
        const float *y = row_of(pass->y, i);
        for (size_t c = 0; c < pass->x.width; c++)
            x[c] += y[c];
    }
}

void network_rows_scatter(struct network *network, struct matrix x, struct matrix y)
{
    run((struct pass){network, scatter_rows, .y = y, .x = x, .count = network->kept_count});
}
