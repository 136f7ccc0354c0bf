/* The arguments of mallopt and malloc_trim. Both stand in this file and only write their arguments
 * down. */
#include "server/bounds/memory.h"
#include "tests/support/suite.h"

#include <malloc.h>
#include <stdint.h>

static struct {
    int heaps, mmap_from, trim_from;
    unsigned trims;
    size_t trim_pad;
} asked;

int mallopt(int parameter, int value)
{
    if (parameter == M_ARENA_MAX)
        asked.heaps = value;
    if (parameter == M_MMAP_THRESHOLD)
        asked.mmap_from = value;
    if (parameter == M_TRIM_THRESHOLD)
        asked.trim_from = value;
    return 1;
}

int malloc_trim(size_t pad)
{
    asked.trims++;
    asked.trim_pad = pad;
    return 1;
}

START_TEST(the_heap_gives_large_blocks_back)
{
    memory_tune_heap();
    ck_assert_int_eq(asked.heaps, MEMORY_HEAPS);
    ck_assert_int_eq(asked.mmap_from, 1024 * 1024);
    ck_assert_int_eq(asked.trim_from, MEMORY_HEAP_SPARE_BYTES);
}
END_TEST

START_TEST(the_heap_is_trimmed_after_a_large_request)
{
    const size_t large = 8 * 1024 * 1024;
    struct memory memory;
    struct err err = {0};
    memory_init(&memory, 8 * large, 0, 0);
    for (size_t bytes = large - 1; bytes <= large + 1; bytes++) {
        asked.trims = 0;
        asked.trim_pad = 7;
        ck_assert_int_eq(memory_take(&memory, bytes, MEMORY_LARGE, &err), ERR_OK);
        memory_give(&memory, bytes);
        ck_assert_uint_eq(asked.trims, bytes >= large);
        ck_assert_uint_eq(asked.trim_pad, bytes >= large ? 0 : 7);
        ck_assert_uint_eq(memory_taken(&memory), 0);
    }
}
END_TEST

START_TEST(products_with_nothing_are_nothing)
{
    volatile size_t nothing = 0, one = 1, much = SIZE_MAX;
    ck_assert_uint_eq(memory_product(much, nothing), 0);
    ck_assert_uint_eq(memory_product(nothing, much), 0);
    ck_assert_uint_eq(memory_product(much, one), SIZE_MAX);
    ck_assert_uint_eq(memory_product(much / 2, 2 * one), SIZE_MAX - 1);
    ck_assert_uint_eq(memory_product(much / 2 + 1, 2 * one), SIZE_MAX);
}
END_TEST

START_TEST(an_eighth_is_for_the_small_but_sixty_four_megabytes_at_most)
{
    static const size_t cases[][2] = {{800, 100}, {807, 100}, {808, 101}, {0, 0}};
    const size_t most = (size_t)64 << 20;
    struct memory memory;
    for (int i = 0; i < 4; i++) {
        memory_init(&memory, 1000 + cases[i][0], 1000, 0);
        ck_assert_uint_eq(memory.small_bytes, cases[i][1]);
        ck_assert_uint_eq(memory.pool_bytes, cases[i][0]);
    }
    memory_init(&memory, 8 * most + 8, 0, 0);
    ck_assert_uint_eq(memory.small_bytes, most);
    memory_init(&memory, 8 * most - 8, 0, 0);
    ck_assert_uint_eq(memory.small_bytes, most - 1);
}
END_TEST

SUITE("memory_heap", an_eighth_is_for_the_small_but_sixty_four_megabytes_at_most,
      the_heap_gives_large_blocks_back, the_heap_is_trimmed_after_a_large_request,
      products_with_nothing_are_nothing)
