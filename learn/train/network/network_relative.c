#include "learn/train/network/network_state.h"

#include <string.h>

static size_t rows_of(const struct network *network)
{
    return 2 * (size_t)network->spec->disentangled.span;
}

static bool learns_table(const struct network *network)
{
    return network->options.frozen_depth == 0;
}

static bool drops(const struct network *network)
{
    return network_rows_drops(network, NETWORK_SITE_RELATIVE);
}

/* ---- open ---- */

static void clear(struct matrix matrix, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        memset(matrix.x + r * matrix.stride, 0, matrix.width * sizeof *matrix.x);
}

enum err_code network_relative_open(struct network *network, struct err *err)
{
    struct network_relative *relative = &network->relative;
    const struct parameters_map *map = &network->parameters->map;
    const size_t rows = rows_of(network), hidden = network->spec->hidden;
    const long tokens = spec_text_tokens(network->spec);
    if (rows == 0)
        return ERR_OK;
    relative->norm = (struct network_norm){map->relative_gamma, map->relative_beta,
                                           learns_table(network), network->spec->norm_eps};
    struct matrix *const matrices[] = {&relative->places, &relative->normed, &relative->dropped,
                                       &relative->dplaces, &relative->dnormed};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        *matrices[i] = network_memory_matrix(network, rows, hidden, err);
    relative->drows = network_memory_matrix(network, rows, 3 * hidden, err);
    relative->row_of =
        arena_alloc_array(&network->arena, 2 * (size_t)tokens, sizeof *relative->row_of);
    if (err->code == ERR_OK && relative->row_of == NULL)
        return err_no_memory(err, 2 * (size_t)tokens * sizeof *relative->row_of);
    for (long t = 1 - tokens; err->code == ERR_OK && t < tokens; t++)
        relative->row_of[t + tokens - 1] = disentangled_row(&network->spec->disentangled, t);
    if (err->code == ERR_OK)
        clear(relative->dnormed, rows);
    return err->code;
}

enum err_code network_relative_open_block(struct network *network, struct network_block *block,
                                          struct err *err)
{
    if (rows_of(network) > 0)
        block->relative_rows =
            network_memory_matrix(network, rows_of(network), 3 * network->spec->hidden, err);
    return err->code;
}

void network_relative_pack(struct network *network)
{
    const struct network_relative *relative = &network->relative;
    const float *table = network->values + network->parameters->map.relative_places;
    const size_t rows = rows_of(network), hidden = network->spec->hidden;
    if (rows == 0)
        return;
    for (size_t r = 0; r < rows; r++)
        memcpy(relative->places.x + r * relative->places.stride, table + r * hidden,
               hidden * sizeof *table);
    network_rows_norm(network, &relative->norm, relative->normed, relative->places, rows);
}

/* ---- a block ---- */

/* Input of a block's projections: the normalised table, with dropout if the micro-batch has it. */
static struct matrix read_places(struct network *network, const struct network_block *block)
{
    const struct network_relative *relative = &network->relative;
    if (!drops(network))
        return relative->normed;
    network_rows_dropout(network, NETWORK_SITE_RELATIVE, block->layer, relative->dropped,
                         relative->normed, NULL, rows_of(network));
    return relative->dropped;
}

/* The value columns of the product are not used: a third of a small product is wasted. */
void network_relative_forward(struct network *network, const struct network_block *block)
{
    const size_t rows = rows_of(network), hidden = network->spec->hidden;
    if (rows == 0)
        return;
    struct matrix places = read_places(network, block), out = block->relative_rows;
    if (!block->is_last) {
        network_linear_forward(network, &block->qkv, out, places, NULL, rows);
        return;
    }
    network_linear_forward(network, &block->query, matrix_columns(out, 0, hidden), places, NULL,
                           rows);
    network_linear_forward(network, &block->key_value, matrix_columns(out, hidden, 2 * hidden),
                           places, NULL, rows);
}

void network_relative_begin(struct network *network)
{
    if (rows_of(network) > 0)
        clear(network->relative.drows, rows_of(network));
}

/* Computes dplaces from drows and adds to the gradients of the projections. */
static void project_backward(struct network *network, const struct network_block *block)
{
    const struct network_relative *relative = &network->relative;
    const size_t rows = rows_of(network), hidden = network->spec->hidden;
    struct matrix places = read_places(network, block), drows = relative->drows;
    const struct matrix *dplaces = learns_table(network) ? &relative->dplaces : NULL;
    if (!block->is_last) {
        network_linear_backward(network, &block->qkv, dplaces, drows, places, NULL, rows);
        return;
    }
    network_linear_backward(network, &block->query, dplaces, matrix_columns(drows, 0, hidden),
                            places, NULL, rows);
    network_linear_backward(network, &block->key_value, dplaces,
                            matrix_columns(drows, hidden, 2 * hidden), places, dplaces, rows);
}

void network_relative_backward(struct network *network, const struct network_block *block)
{
    const struct network_relative *relative = &network->relative;
    const struct matrix *sum = &relative->dnormed;
    const size_t rows = rows_of(network);
    if (rows == 0)
        return;
    project_backward(network, block);
    if (!learns_table(network))
        return;
    struct matrix dplaces = relative->dplaces;
    if (drops(network))
        network_rows_dropout(network, NETWORK_SITE_RELATIVE, block->layer, dplaces, dplaces, NULL,
                             rows);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < sum->width; c++)
            sum->x[r * sum->stride + c] += dplaces.x[r * dplaces.stride + c];
}

void network_relative_unpack(struct network *network)
{
    const struct network_relative *relative = &network->relative;
    const size_t rows = rows_of(network), hidden = network->spec->hidden;
    if (rows == 0 || !learns_table(network))
        return;
    float *gradient = network->gradient + network->parameters->map.relative_places;
    network_rows_norm_backward(network, &relative->norm, relative->dplaces, relative->dnormed,
                               relative->places, NULL, rows);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < hidden; c++)
            gradient[r * hidden + c] += relative->dplaces.x[r * relative->dplaces.stride + c];
    clear(relative->dnormed, rows);
}
