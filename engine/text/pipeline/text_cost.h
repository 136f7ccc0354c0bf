/* text_cost.h - upper bounds of what a text becomes and takes on its way through the steps, for
 * each of its bytes: texts of ASCII grow less, so they are counted apart.
 *
 *     struct text_cost cost = TEXT_COST_OF_TEXT;
 *     text_cost_step(&cost, growth);                    for each step that writes the text anew
 *     cost.size[TEXT_COST_ASCII]                        bytes that a byte of ASCII can become
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_TEXT_PIPELINE_TEXT_COST_H
#define ATTND_ENGINE_TEXT_PIPELINE_TEXT_COST_H

#include <stddef.h>

enum { TEXT_COST_ASCII, TEXT_COST_OTHER, TEXT_COST_KINDS };
enum { TEXT_COST_ALIGNED = 9, TEXT_COST_MAX = 1 << 20 };

struct text_cost {
    size_t size[TEXT_COST_KINDS];  /* bytes of text */
    size_t bytes[TEXT_COST_KINDS]; /* of memory */
};

/* aligned_of_text. */
#define TEXT_COST_OF_TEXT ((struct text_cost){{1, 1}, {TEXT_COST_ALIGNED, TEXT_COST_ALIGNED}})

/* A step that writes with an aligned_builder: twice the longer of both texts. */
static inline void text_cost_step(struct text_cost *cost, const size_t growth[TEXT_COST_KINDS])
{
    for (int kind = 0; kind < TEXT_COST_KINDS; kind++) {
        size_t size = cost->size[kind] * growth[kind];
        size = size < TEXT_COST_MAX ? size : TEXT_COST_MAX;
        cost->size[kind] = size;
        cost->bytes[kind] += 2 * TEXT_COST_ALIGNED * size;
    }
}

#endif
