#include "learn/train/network/network_state.h"

enum { PIECE_NUMBERS = 1 << 22, PIECE_ROWS = 64 }; /* at most so many logits, or so many rows */

enum err_code network_words_open(struct network *network, struct err *err)
{
    struct network_words *words = &network->words;
    const struct parameters_map *map = &network->parameters->map;
    const struct spec *spec = network->spec;
    if (network->parameters->head != HEAD_WORDS)
        return ERR_OK;
    const size_t most = network->tokens_max, piece = PIECE_NUMBERS / network->spec->vocab_size;
    const size_t rows = piece < PIECE_ROWS ? PIECE_ROWS : piece;
    words->rows = rows < most ? rows : most;
    words->logits = network_memory_matrix(network, words->rows, spec->vocab_size, err);
    words->logits.stride = spec->vocab_size; /* dense */
    if (spec->output_scale > 0)
        words->scaled = network_memory_rows(network, spec->hidden, err);
    words->output = (struct network_linear){.weight = map->output_weight,
                                            .bias = map->output_bias,
                                            .in = spec->hidden,
                                            .out = spec->vocab_size,
                                            .precision = PRECISION_F32,
                                            .learns_weight = true};
    return err->code != ERR_OK ? err->code : network_linear_open(network, &words->output, err);
}

void network_words_pack(struct network *network)
{
    if (network->parameters->head == HEAD_WORDS)
        network_linear_pack(network, &network->words.output);
}

static void scale(struct matrix y, struct matrix x, float factor, size_t rows)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < x.width; c++)
            y.x[r * y.stride + c] = x.x[r * x.stride + c] * factor;
}

void network_words_run(struct network *network, const struct network_judge *judge, bool learns)
{
    struct network_words *words = &network->words;
    const float factor = network->spec->output_scale;
    struct matrix states = network->head.normed, dstates = network->g;
    if (factor > 0) {
        scale(words->scaled, states, factor, network->tokens);
        states = words->scaled;
    }
    for (size_t first = 0, rows; first < network->tokens; first += rows) {
        const size_t left = network->tokens - first;
        rows = left < words->rows ? left : words->rows;
        struct matrix x = {states.x + first * states.stride, states.stride, states.width};
        struct matrix dx = {dstates.x + first * dstates.stride, dstates.stride, dstates.width};
        network_linear_forward(network, &words->output, words->logits, x, NULL, rows);
        judge->call(judge->context, words->logits.x, first, rows);
        if (learns)
            network_linear_backward(network, &words->output, &dx, words->logits, x, NULL, rows);
    }
    if (learns && factor > 0)
        scale(dstates, dstates, factor, network->tokens);
}
