/* top_k.h - the k largest of n numbers, the largest first, in the order in which torch.topk returns
 * them on a CPU, equal ones too.
 *
 * PyTorch (topk_impl_loop of ATen) calls std::partial_sort if 64 k <= n, else std::nth_element and
 * std::sort, and these decide which of equal numbers are taken. What they do is fixed by the C++
 * library of PyTorch's own wheels: a heap of k (Williams 1964), and introselect and introsort
 * (Musser 1997) with the median of three and insertion sort below 16. A heap needs no memory for
 * the numbers that pass by:
 *
 *     top_k_begin(&top, items, k, n);                     items: [top_k_room(k, n)]
 *     for (uint32_t i = 0; i < n; i++)
 *         if (x[i] > top_k_bound(&top))                   or without the question
 *             top_k_add(&top, x[i], i);
 *     top_k_end(&top);                                    ... items[0 .. k)
 *
 * No number is a NaN. Threads: one at a time.
 */
#ifndef ATTND_ENGINE_GENERATE_TOP_K_H
#define ATTND_ENGINE_GENERATE_TOP_K_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct top_k_item {
    float value;
    uint32_t index;
};

struct top_k {
    struct top_k_item *items;
    size_t k, count; /* count: items in use */
    bool is_heap;    /* at most k items, the smallest first once there are k */
};

/* Items that a search for k of n numbers needs, 1 <= k <= n. */
size_t top_k_room(size_t k, size_t n);

void top_k_begin(struct top_k *top, struct top_k_item *items, size_t k, size_t n);
/* The numbers come in the order of their indices. */
void top_k_add(struct top_k *top, float value, uint32_t index);
/* Sorts; all n numbers must have come, but for those that were not above the bound. */
void top_k_end(struct top_k *top);

/* True if every number must come, whatever it is. */
static inline bool top_k_takes_all(const struct top_k *top)
{
    return !top->is_heap || top->count < top->k;
}

/* A number that is not above this changes nothing; not for top_k_takes_all. */
static inline float top_k_bound(const struct top_k *top)
{
    return top->items[0].value;
}

#endif
