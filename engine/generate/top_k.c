#include "engine/generate/top_k.h"

#include <assert.h>

enum { HEAP_FACTOR = 64, INSERTION_MAX = 16 };

static bool before(const struct top_k_item *a, const struct top_k_item *b)
{
    return a->value > b->value;
}

static void swap(struct top_k_item *a, struct top_k_item *b)
{
    struct top_k_item kept = *a;
    *a = *b;
    *b = kept;
}

/* ---- a heap whose first item comes last in the order ---- */

/* Fills the hole at `at` of count >= 1 places, whose subtrees are heaps: the later child moves up
 * until a leaf is free, then the item rises from there. */
static void heap_fill(struct top_k_item *heap, size_t count, size_t at, struct top_k_item added)
{
    const size_t top = at;
    size_t child = at;
    while (child < (count - 1) / 2) {
        child = 2 * (child + 1);
        child -= before(&heap[child], &heap[child - 1]);
        heap[at] = heap[child];
        at = child;
    }
    if (count % 2 == 0 && child == (count - 2) / 2) {
        child = 2 * child + 1;
        heap[at] = heap[child];
        at = child;
    }
    for (; at > top && before(&heap[(at - 1) / 2], &added); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = added;
}

static void heap_make(struct top_k_item *heap, size_t count)
{
    for (size_t at = count / 2; at > 0; at--)
        heap_fill(heap, count, at - 1, heap[at - 1]);
}

static void heap_sort(struct top_k_item *heap, size_t count)
{
    for (; count > 1; count--) {
        struct top_k_item last = heap[count - 1];
        heap[count - 1] = heap[0];
        heap_fill(heap, count - 1, 0, last);
    }
}

/* Moves the first k in the order to items[0 .. k), as a heap. */
static void heap_select(struct top_k_item *items, size_t k, size_t count)
{
    heap_make(items, k);
    for (size_t i = k; i < count; i++)
        if (before(&items[i], &items[0])) {
            struct top_k_item added = items[i];
            items[i] = items[0];
            heap_fill(items, k, 0, added);
        }
}

/* ---- partitions ---- */

static unsigned depth_max(size_t count)
{
    unsigned log = 0;
    for (; count > 1; count /= 2)
        log++;
    return 2 * log;
}

/* Puts the median of a, b and c at `to`. */
static void median_to(struct top_k_item *to, struct top_k_item *a, struct top_k_item *b,
                      struct top_k_item *c)
{
    if (before(a, b))
        swap(to, before(b, c) ? b : before(a, c) ? c : a);
    else
        swap(to, before(a, c) ? a : before(b, c) ? c : b);
}

/* Parts items[0 .. count), count > 3, about a median; returns where the second part begins. */
static size_t partition(struct top_k_item *items, size_t count)
{
    struct top_k_item *pivot = items, *first = items + 1, *last = items + count;
    median_to(items, items + 1, items + count / 2, items + count - 1);
    for (;; first++) {
        while (before(first, pivot))
            first++;
        last--;
        while (before(pivot, last))
            last--;
        if (first >= last)
            return (size_t)(first - items);
        swap(first, last);
    }
}

static void insertion_sort(struct top_k_item *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct top_k_item added = items[i];
        size_t to = i;
        for (; to > 0 && before(&added, &items[to - 1]); to--)
            items[to] = items[to - 1];
        items[to] = added;
    }
}

/* The item whose place is `nth` moves there, those before it in the order to its left. */
static void select_nth(struct top_k_item *items, size_t count, size_t nth)
{
    for (unsigned depth = depth_max(count); count > 3; depth--) {
        if (depth == 0) {
            heap_select(items, nth + 1, count);
            swap(items, items + nth);
            return;
        }
        size_t cut = partition(items, count);
        if (cut <= nth) {
            items += cut;
            count -= cut;
            nth -= cut;
        } else {
            count = cut;
        }
    }
    insertion_sort(items, count);
}

/* Parts until no part is longer than INSERTION_MAX: an insertion sort then ends it. */
static void sort_coarsely(struct top_k_item *items, size_t count, unsigned depth)
{
    for (; count > INSERTION_MAX; depth--) {
        if (depth == 0) {
            heap_select(items, count, count);
            heap_sort(items, count);
            return;
        }
        size_t cut = partition(items, count);
        sort_coarsely(items + cut, count - cut, depth - 1);
        count = cut;
    }
}

/* ---- the search ---- */

static bool fits_heap(size_t k, size_t n)
{
    return k <= n / HEAP_FACTOR;
}

size_t top_k_room(size_t k, size_t n)
{
    return fits_heap(k, n) ? k : n;
}

void top_k_begin(struct top_k *top, struct top_k_item *items, size_t k, size_t n)
{
    assert(k >= 1 && k <= n);
    *top = (struct top_k){.items = items, .k = k, .is_heap = fits_heap(k, n)};
}

void top_k_add(struct top_k *top, float value, uint32_t index)
{
    struct top_k_item added = {value, index};
    if (!top_k_takes_all(top)) {
        if (value > top_k_bound(top))
            heap_fill(top->items, top->k, 0, added);
        return;
    }
    top->items[top->count++] = added;
    if (top->is_heap && top->count == top->k)
        heap_make(top->items, top->k);
}

void top_k_end(struct top_k *top)
{
    if (top->is_heap) {
        heap_sort(top->items, top->k);
        return;
    }
    select_nth(top->items, top->count, top->k - 1);
    sort_coarsely(top->items, top->k - 1, depth_max(top->k - 1));
    insertion_sort(top->items, top->k - 1);
}
