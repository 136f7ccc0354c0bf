/* tiny_network.h - a classifier of a few thousand random weights with inputs, as training opens it.
 *
 *     struct tiny_network tiny;
 *     tiny_network_open(&tiny, "bert", NULL);
 *     tiny_network_logits(&tiny, &tiny.parameters, logits);
 *     tiny_network_close(&tiny);
 *
 * Two layers of four heads, 32 wide, an MLP of 24 columns, three labels. A text has 9 tokens, an
 * image 10 or 11. Any failure fails the test. Threads: one.
 */
#ifndef ATTND_TESTS_SUPPORT_TINY_NETWORK_H
#define ATTND_TESTS_SUPPORT_TINY_NETWORK_H

#include "learn/train/network/network.h"

enum {
    TINY_LAYERS = 2,
    TINY_HEADS = 4,
    TINY_HIDDEN = 32,
    TINY_COLUMNS = 24,
    TINY_LABELS = 3,
    TINY_INPUTS = 4,
    TINY_TOKENS = 11
};

struct tiny_network {
    struct spec spec;
    struct parameters parameters;
    struct engine_input inputs[TINY_INPUTS];
    int32_t ids[TINY_INPUTS][TINY_TOKENS];
    float *patches;
};

/* Lists in `pruned` are borrowed; NULL: all heads are there. */
void tiny_network_open(struct tiny_network *tiny, const char *model_type,
                       const struct pruned_heads *pruned);
void tiny_network_close(struct tiny_network *tiny);

/* logits [TINY_INPUTS][TINY_LABELS] of all inputs by other parameters of the same inputs. */
void tiny_network_logits(const struct tiny_network *tiny, const struct parameters *parameters,
                         float *logits);

#endif
