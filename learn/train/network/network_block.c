/* network_block.c - see network_state.h.
 *
 * Backward, the gradient of a sum goes to both its terms, so that network->d walks down the
 * residual stream while each branch is computed beside it:
 *
 *     post-norm   e = norm'(d)     mlp(e) + e -> d     e = norm'(d)     attention(e) + e -> d
 *     pre-norm    mlp(d) -> e      norm'(e) + d -> d   attention(d) -> e   norm'(e) + d -> d
 *
 * A decoder's attention to the states is one branch more between the two.
 *
 * In the last block the residual stream has only the kept rows: x and n are gathered for the
 * queries and the sum, and the gradient is added to the rows they were gathered from. Keys and
 * values are a product over all rows. This saves a tenth of a training step of six layers. */
#include "learn/train/network/network_state.h"

/* ---- open ---- */

bool network_block_learns(const struct network *network, unsigned layer)
{
    return spec_block(network->spec, layer) + 1 >= network->options.frozen_depth;
}

/* A lower layer that shares this block's weights, which are packed once, for that layer; NULL:
 * there is none. */
static const struct network_block *twin_of(const struct network *network,
                                           const struct network_block *block)
{
    const struct spec *spec = network->spec;
    for (unsigned i = 0; i < block->layer; i++)
        if (spec_block(spec, i) == spec_block(spec, block->layer))
            return &network->blocks[i];
    return NULL;
}

static enum err_code open_linear(struct network *network, const struct network_block *block,
                                 struct network_linear *linear, size_t weight, size_t bias,
                                 size_t in, size_t out, struct err *err)
{
    bool is_learnt = network_block_learns(network, block->layer);
    *linear = (struct network_linear){.weight = weight,
                                      .bias = bias,
                                      .in = in,
                                      .out = out,
                                      .precision = network->options.precision,
                                      .learns_weight = is_learnt,
                                      .learns_bias = is_learnt};
    return network_linear_open(network, linear, err);
}

static const struct parameters_layer *map_of(const struct network *network, unsigned layer)
{
    return &network->parameters->map.layers[spec_block(network->spec, layer)];
}

/* False for the last layer of a family with a global token: the head reads no other token. */
static bool has_qkv(const struct network *network, const struct network_block *block)
{
    return !block->is_last || !spec_has_global(network->spec);
}

static enum err_code open_qkv(struct network *network, struct network_block *block, struct err *err)
{
    const struct parameters_layer *layer = map_of(network, block->layer);
    size_t weight = layer->qkv_weight, bias = layer->qkv_bias;
    size_t hidden = network->spec->hidden, attended = block->attended;
    if (!has_qkv(network, block) || (!block->is_last && twin_of(network, block) != NULL))
        return ERR_OK;
    if (!block->is_last)
        return open_linear(network, block, &block->qkv, weight, bias, hidden, 3 * attended, err);
    if (open_linear(network, block, &block->query, weight, bias, hidden, attended, err))
        return err->code;
    return open_linear(network, block, &block->key_value, weight + attended * hidden,
                       bias != SIZE_MAX ? bias + attended : SIZE_MAX, hidden, 2 * attended, err);
}

/* Output width of the MLP's first product. */
static size_t mlp_columns(const struct network *network)
{
    return (network->spec->is_gated ? 2 : 1) * (size_t)network->spec->intermediate;
}

/* True if n is x: in a post-norm block, and in a pre-norm block without an attention norm. */
static bool reads_x(const struct network *network, const struct network_block *block)
{
    return network->spec->family->block.norm == NORM_AFTER ||
           block->attention_norm.gamma == SIZE_MAX;
}

static enum err_code open_matrices(struct network *network, struct network_block *block,
                                   struct err *err)
{
    size_t hidden = network->spec->hidden, intermediate = network->spec->intermediate;
    size_t attended = block->attended;
    bool norm_after = network->spec->family->block.norm == NORM_AFTER;
    block->qkv_rows = network_memory_rows(network, 3 * attended, err);
    block->query_rows = block->is_last ? network_memory_rows(network, attended, err)
                                       : matrix_columns(block->qkv_rows, 0, attended);
    block->n = reads_x(network, block) ? block->x : network_memory_rows(network, hidden, err);
    block->kept_x = block->x;
    block->kept_n = block->n;
    if (block->is_last) {
        block->kept_x = network_memory_rows(network, hidden, err);
        block->kept_n =
            reads_x(network, block) ? block->kept_x : network_memory_rows(network, hidden, err);
    }
    block->context = network_memory_rows(network, attended, err);
    block->a = network_memory_rows(network, hidden, err);
    block->h = network_memory_rows(network, hidden, err);
    block->u = network_memory_rows(network, mlp_columns(network), err);
    block->activated = network_memory_rows(network, intermediate, err);
    block->out = network_memory_rows(network, hidden, err);
    if (block->attention_scale != SIZE_MAX)
        block->branches[0] = network_memory_rows(network, hidden, err);
    if (block->mlp_scale != SIZE_MAX)
        block->branches[1] = network_memory_rows(network, hidden, err);
    block->m = norm_after ? network_memory_rows(network, hidden, err) : block->out;
    return err->code;
}

/* All linear layers but query, key and value, which the last layer computes separately. A block
 * with a twin copies the twin's when they are packed. */
static enum err_code open_others(struct network *network, struct network_block *block,
                                 struct err *err)
{
    const struct parameters_layer *map = map_of(network, block->layer);
    size_t hidden = network->spec->hidden, intermediate = network->spec->intermediate;
    if (twin_of(network, block) != NULL)
        return ERR_OK;
    if (open_linear(network, block, &block->attention_out, map->out_weight, map->out_bias,
                    block->attended, hidden, err) ||
        open_linear(network, block, &block->mlp_in, map->mlp_in_weight, map->mlp_in_bias, hidden,
                    mlp_columns(network), err))
        return err->code;
    return open_linear(network, block, &block->mlp_out, map->mlp_out_weight, map->mlp_out_bias,
                       intermediate, hidden, err);
}

enum err_code network_block_open(struct network *network, struct network_block *block,
                                 unsigned layer, struct err *err)
{
    const struct parameters_layer *map = map_of(network, layer);
    block->layer = layer;
    block->heads = spec_heads(network->spec, layer);
    block->attended = spec_attended(network->spec, layer);
    const bool keeps_all =
        network->parameters->head == HEAD_STATES || network->parameters->head == HEAD_WORDS;
    block->is_last = layer + 1 == network->spec->layers && !keeps_all;
    bool is_learnt = network_block_learns(network, layer);
    const float eps = network->spec->norm_eps;
    block->attention_scale = map->attention_scale;
    block->mlp_scale = map->mlp_scale;
    block->attention_norm =
        (struct network_norm){map->attention_gamma, map->attention_beta, is_learnt, eps};
    block->mlp_norm = (struct network_norm){map->mlp_gamma, map->mlp_beta, is_learnt, eps};
    if (open_qkv(network, block, err) || network_attention_open_block(network, block, err) ||
        network_relative_open_block(network, block, err) || open_others(network, block, err) ||
        network_cross_open(network, block, is_learnt, err))
        return err->code;
    return open_matrices(network, block, err);
}

void network_block_pack(struct network *network, struct network_block *block)
{
    network_attention_pack_block(network, block);
    network_cross_pack(network, block);
    if (block->is_last && has_qkv(network, block)) {
        network_linear_pack(network, &block->query);
        network_linear_pack(network, &block->key_value);
    }
    const struct network_block *twin = twin_of(network, block);
    if (twin != NULL) {
        block->qkv = twin->qkv;
        block->attention_out = twin->attention_out;
        block->mlp_in = twin->mlp_in;
        block->mlp_out = twin->mlp_out;
        return;
    }
    if (!block->is_last)
        network_linear_pack(network, &block->qkv);
    network_linear_pack(network, &block->attention_out);
    network_linear_pack(network, &block->mlp_in);
    network_linear_pack(network, &block->mlp_out);
}

/* ---- forward ---- */

static size_t rows_of(const struct network *network, const struct network_block *block)
{
    return block->is_last ? network->kept_count : network->tokens;
}

static void project_qkv(struct network *network, struct network_block *block)
{
    size_t attended = block->attended;
    if (!block->is_last) {
        network_linear_forward(network, &block->qkv, block->qkv_rows, block->n, NULL,
                               network->tokens);
        return;
    }
    network_rows_gather(network, block->kept_x, block->x);
    if (block->kept_n.x != block->kept_x.x)
        network_rows_gather(network, block->kept_n, block->n);
    if (!has_qkv(network, block))
        return;
    network_linear_forward(network, &block->key_value,
                           matrix_columns(block->qkv_rows, attended, 2 * attended), block->n, NULL,
                           network->tokens);
    network_linear_forward(network, &block->query, block->query_rows, block->kept_n, NULL,
                           network->kept_count);
}

/* Offset of a branch's layer scale (SIZE_MAX: none); *branch is the matrix that keeps the branch's
 * output before the scale. */
static size_t scale_of(const struct network_block *block, enum network_site site,
                       struct matrix *branch)
{
    bool is_mlp = site == NETWORK_SITE_MLP_OUT;
    *branch = block->branches[is_mlp];
    if (site == NETWORK_SITE_CROSS_OUT)
        return SIZE_MAX;
    return is_mlp ? block->mlp_scale : block->attention_scale;
}

/* y = residual + s D(x W^T + b) */
static void add_scaled_branch(struct network *network, const struct network_block *block,
                              enum network_site site, const struct network_linear *linear,
                              struct matrix y, struct matrix x, struct matrix residual)
{
    size_t rows = rows_of(network, block);
    struct matrix branch;
    size_t scale = scale_of(block, site, &branch);
    network_linear_forward(network, linear, branch, x, NULL, rows);
    if (network_rows_drops(network, site))
        network_rows_dropout(network, site, block->layer, branch, branch, NULL, rows);
    network_rows_scale(network, scale, y, branch, &residual, rows);
}

/* y = residual + D(x W^T + b) */
static void add_branch(struct network *network, const struct network_block *block,
                       enum network_site site, const struct network_linear *linear, struct matrix y,
                       struct matrix x, struct matrix residual)
{
    size_t rows = rows_of(network, block);
    bool drops = network_rows_drops(network, site);
    struct matrix branch;
    if (scale_of(block, site, &branch) != SIZE_MAX) {
        add_scaled_branch(network, block, site, linear, y, x, residual);
        return;
    }
    network_linear_forward(network, linear, y, x, drops ? NULL : &residual, rows);
    if (drops)
        network_rows_dropout(network, site, block->layer, y, y, &residual, rows);
}

/* activated = D(act(u)), or for a gated MLP D(gate(u)). */
static void activate(struct network *network, struct network_block *block)
{
    const struct spec *spec = network->spec;
    size_t rows = rows_of(network, block);
    if (spec->is_gated)
        network_rows_gate(network, block->activated, block->u, rows, spec_gate(spec));
    else
        network_rows_activate(network, block->activated, block->u, rows, spec->activation);
    if (network_rows_drops(network, NETWORK_SITE_ACTIVATED))
        network_rows_dropout(network, NETWORK_SITE_ACTIVATED, block->layer, block->activated,
                             block->activated, NULL, rows);
}

/* Computes the attention to the states from block->a. Returns what the MLP's norm reads. */
static struct matrix add_cross(struct network *network, struct network_block *block,
                               bool norm_after)
{
    struct network_cross *cross = block->cross;
    if (cross == NULL)
        return block->a;
    network_rows_norm(network, norm_after ? &block->attention_norm : &cross->norm, cross->n,
                      block->a, network->tokens);
    network_cross_forward(network, block);
    add_branch(network, block, NETWORK_SITE_CROSS_OUT, &cross->out, cross->sum, cross->context,
               norm_after ? cross->n : block->a);
    return cross->sum;
}

/* The norm in front of the MLP. */
static const struct network_norm *inner_norm(const struct network_block *block, bool norm_after)
{
    if (!norm_after)
        return &block->mlp_norm;
    return block->cross != NULL ? &block->cross->norm : &block->attention_norm;
}

void network_block_forward(struct network *network, struct network_block *block)
{
    bool norm_after = network->spec->family->block.norm == NORM_AFTER;
    size_t rows = rows_of(network, block);
    if (!reads_x(network, block))
        network_rows_norm(network, &block->attention_norm, block->n, block->x, network->tokens);
    project_qkv(network, block);
    network_rotary_forward(network, block);
    network_relative_forward(network, block);
    network_attention_forward(network, block);
    add_branch(network, block, NETWORK_SITE_ATTENTION_OUT, &block->attention_out, block->a,
               block->context, block->kept_x);
    const struct matrix sum = add_cross(network, block, norm_after);
    network_rows_norm(network, inner_norm(block, norm_after), block->h, sum, rows);
    network_linear_forward(network, &block->mlp_in, block->u, block->h, NULL, rows);
    activate(network, block);
    add_branch(network, block, NETWORK_SITE_MLP_OUT, &block->mlp_out, block->m, block->activated,
               norm_after ? block->h : sum);
    if (norm_after)
        network_rows_norm(network, &block->mlp_norm, block->out, block->m, rows);
}

/* ---- backward ---- */

/* Backward of y = s D(x W^T + b): dx from dy. May overwrite network->f. */
static void branch_backward(struct network *network, const struct network_block *block,
                            enum network_site site, const struct network_linear *linear,
                            struct matrix dx, struct matrix dy, struct matrix x)
{
    size_t rows = rows_of(network, block);
    struct matrix branch;
    size_t scale = scale_of(block, site, &branch);
    if (scale != SIZE_MAX) {
        network_rows_scale_backward(network, scale, network_block_learns(network, block->layer),
                                    network->f, dy, branch, rows);
        dy = network->f;
    }
    if (network_rows_drops(network, site)) {
        network_rows_dropout(network, site, block->layer, network->f, dy, NULL, rows);
        dy = network->f;
    }
    network_linear_backward(network, linear, &dx, dy, x, NULL, rows);
}

/* dh = the MLP's input gradient from dy, plus residual (NULL: none). */
static void mlp_backward(struct network *network, struct network_block *block, struct matrix dh,
                         struct matrix dy, const struct matrix *residual)
{
    size_t rows = rows_of(network, block);
    branch_backward(network, block, NETWORK_SITE_MLP_OUT, &block->mlp_out, network->du, dy,
                    block->activated);
    struct matrix du = network->du;
    if (network_rows_drops(network, NETWORK_SITE_ACTIVATED))
        network_rows_dropout(network, NETWORK_SITE_ACTIVATED, block->layer, du, du, NULL, rows);
    if (network->spec->is_gated) {
        du = network->dgate;
        network_rows_gate_backward(network, du, network->du, block->u, rows,
                                   spec_gate(network->spec));
    } else {
        network_rows_activation(network, du, du, block->u, rows, network->spec->activation);
    }
    network_linear_backward(network, &block->mlp_in, &dh, du, block->h, residual, rows);
}

/* dn [T, D] from dqkv; if n is x, plus da, the residual stream's gradient. The global token's part
 * of dn is in network->f; in the last block it is in dn already. */
static void qkv_backward(struct network *network, struct network_block *block, struct matrix dn,
                         struct matrix da)
{
    size_t attended = block->attended;
    const struct matrix *residual = reads_x(network, block) ? &da : NULL;
    if (!block->is_last) {
        network_linear_backward(network, &block->qkv, &dn, network->dqkv, block->n, residual,
                                network->tokens);
        if (spec_has_global(network->spec))
            network_rows_add(network, dn, network->f, network->tokens);
        return;
    }
    if (!has_qkv(network, block)) {
        network_rows_scatter(network, dn, da);
        return;
    }
    network_linear_backward(network, &block->key_value, &dn,
                            matrix_columns(network->dqkv, attended, 2 * attended), block->n, NULL,
                            network->tokens);
    network_linear_backward(network, &block->query, &network->f, network->dquery, block->kept_n,
                            residual, network->kept_count);
    network_rows_scatter(network, dn, network->f);
}

/* The gradient of a context, which may be wider than a token. */
static struct matrix dcontext_of(const struct network *network, const struct network_block *block)
{
    return block->attended > network->spec->hidden ? network->dcontext : network->g;
}

/* dn = the gradient of what the attention to the states reads, from dsum, plus residual (NULL:
 * none). */
static void cross_backward(struct network *network, struct network_block *block, struct matrix dn,
                           struct matrix dsum, const struct matrix *residual)
{
    const struct matrix dcontext = dcontext_of(network, block);
    branch_backward(network, block, NETWORK_SITE_CROSS_OUT, &block->cross->out, dcontext, dsum,
                    block->cross->context);
    network_cross_backward(network, block, dn, dcontext, residual);
}

/* dn [T, D] from da [rows, D]; dn is not da. */
static void attention_backward(struct network *network, struct network_block *block,
                               struct matrix dn, struct matrix da, float share)
{
    struct matrix dquery =
        block->is_last ? network->dquery : matrix_columns(network->dqkv, 0, block->attended);
    const struct matrix dcontext = dcontext_of(network, block);
    branch_backward(network, block, NETWORK_SITE_ATTENTION_OUT, &block->attention_out, dcontext, da,
                    block->context);
    network_relative_begin(network);
    network_attention_backward(network, block, dcontext, dquery, network->dqkv,
                               has_qkv(network, block) ? network->f : dn, share);
    network_relative_backward(network, block);
    network_rotary_backward(network, block, dquery, network->dqkv);
    qkv_backward(network, block, dn, da);
}

static void norm_after_backward(struct network *network, struct network_block *block, float share)
{
    size_t rows = rows_of(network, block);
    struct matrix d = network->d, e = network->e;
    network_rows_norm_backward(network, &block->mlp_norm, e, d, block->m, NULL, rows);
    mlp_backward(network, block, d, e, &e);
    if (block->cross != NULL) {
        network_rows_norm_backward(network, &block->cross->norm, e, d, block->cross->sum, NULL,
                                   rows);
        cross_backward(network, block, d, e, &e);
    }
    network_rows_norm_backward(network, &block->attention_norm, e, d, block->a, NULL, rows);
    attention_backward(network, block, d, e, share);
}

static void norm_before_backward(struct network *network, struct network_block *block, float share)
{
    size_t rows = rows_of(network, block);
    struct matrix d = network->d, e = network->e, g = network->g;
    mlp_backward(network, block, e, d, NULL);
    network_rows_norm_backward(network, &block->mlp_norm, d, e,
                               block->cross != NULL ? block->cross->sum : block->a, &d, rows);
    if (block->cross != NULL) {
        cross_backward(network, block, e, d, NULL);
        network_rows_norm_backward(network, &block->cross->norm, d, e, block->a, &d, rows);
    }
    attention_backward(network, block, e, d, share);
    if (reads_x(network, block)) {
        network->d = e;
        network->e = d;
        return;
    }
    if (!block->is_last) {
        network_rows_norm_backward(network, &block->attention_norm, d, e, block->x, &d, rows);
        return;
    }
    network_rows_norm_backward(network, &block->attention_norm, g, e, block->x, NULL,
                               network->tokens);
    network_rows_scatter(network, g, d);
    network->g = d;
    network->d = g;
}

void network_block_backward(struct network *network, struct network_block *block, float share)
{
    if (network->spec->family->block.norm == NORM_AFTER)
        norm_after_backward(network, block, share);
    else
        norm_before_backward(network, block, share);
    network_attention_unpack_block(network, block);
}
