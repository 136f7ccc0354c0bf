#include "learn/data/samples_form.h"

#include <string.h>

enum { CLS_AND_SEP = 2 };

/* Picks `wanted` of `count` windows, ascending: at random, each choice as likely (Knuth, selection
 * sampling), or spread evenly with both ends. */
static void pick(unsigned *picked, unsigned wanted, unsigned count, struct rng *rng)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < count && rng != NULL; i++)
        if (rng_below(rng, count - i) < wanted - taken)
            picked[taken++] = i;
    for (; taken < wanted; taken++)
        picked[taken] = wanted > 1 ? taken * (count - 1) / (wanted - 1) : 0;
}

enum err_code samples_cut_windows(const struct samples *samples, const struct windows_shape *shape,
                                  unsigned windows_max, const int32_t *pieces, unsigned count,
                                  struct rng *rng, struct arena *arena, struct engine_input *out,
                                  struct err *err)
{
    const struct tokenizer_specials *specials = &samples->pipeline.tokenizer->specials;
    const unsigned all = windows_count(shape, count), each = shape->room + CLS_AND_SEP;
    const unsigned windows = all < windows_max ? all : windows_max;
    int32_t *ids = arena_alloc_array(arena, (size_t)windows * each, sizeof *ids);
    unsigned *offset = arena_alloc_array(arena, windows + 1, sizeof *offset);
    unsigned *first = arena_alloc_array(arena, windows, sizeof *first);
    if (ids == NULL || offset == NULL || first == NULL)
        return err_no_memory(err, (size_t)windows * each * sizeof *ids);
    pick(first, windows, all, rng);
    for (unsigned i = 0; i < windows; i++) {
        int32_t *window = ids + i * each;
        first[i] = windows_first(shape, count, first[i], all);
        offset[i] = i * each;
        window[0] = specials->cls;
        memcpy(window + 1, pieces + first[i], shape->room * sizeof *window);
        window[each - 1] = specials->sep;
    }
    offset[windows] = windows * each;
    *out = (struct engine_input){.kind = ENGINE_TEXT,
                                 .tokens = windows * each,
                                 .truncated = false, /* it is a sample of the whole */
                                 .ids = ids,
                                 .windows = windows,
                                 .window_offset = offset,
                                 .window_first = first};
    return ERR_OK;
}
