#include "engine/base/arena.h"
#include "tests/support/suite.h"

#include <stdint.h>
#include <string.h>

START_TEST(arena_returns_aligned_memory_of_every_size)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t bytes = 0; bytes < 40000; bytes += 997) {
        char *memory = arena_alloc(&arena, bytes);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % ARENA_ALIGNMENT, 0);
        memset(memory, 0xA5, bytes);
    }
    arena_deinit(&arena);
}
END_TEST

START_TEST(arena_allocations_do_not_overlap)
{
    struct arena arena;
    arena_init(&arena);
    unsigned char *piece[300];
    for (int i = 0; i < 300; i++) {
        piece[i] = arena_alloc(&arena, (size_t)i * 61);
        memset(piece[i], i & 0xFF, (size_t)i * 61);
    }
    for (int i = 0; i < 300; i++)
        for (int k = 0; k < i * 61; k++)
            ck_assert_int_eq(piece[i][k], i & 0xFF);
    arena_deinit(&arena);
}
END_TEST

START_TEST(arena_refuses_products_that_overflow)
{
    struct arena arena;
    arena_init(&arena);
    ck_assert_ptr_null(arena_alloc_array(&arena, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX - 8));
    arena_deinit(&arena);
}
END_TEST

START_TEST(arena_makes_arrays_of_zeros_from_used_memory)
{
    struct arena arena;
    for (int round = 0; round < 3; round++) {
        static const size_t counts[] = {1, 100, 1000, 5000};
        arena_init(&arena);
        for (size_t i = 0; i < 4; i++) {
            unsigned char *array = arena_alloc_array(&arena, counts[i], 3);
            ck_assert_ptr_nonnull(array);
            for (size_t k = 0; k < counts[i] * 3; k++)
                ck_assert_int_eq(array[k], 0);
            memset(array, 0xA5, counts[i] * 3);
        }
        arena_deinit(&arena);
    }
}
END_TEST

START_TEST(arena_gives_arrays_of_nothing)
{
    struct arena arena;
    arena_init(&arena);
    ck_assert_ptr_nonnull(arena_alloc_array(&arena, 0, 8));
    ck_assert_ptr_nonnull(arena_alloc_array(&arena, SIZE_MAX, 0));
    ck_assert_ptr_ne(arena_alloc(&arena, 0), arena_alloc(&arena, 0));
    arena_deinit(&arena);
}
END_TEST

START_TEST(arena_formats_text)
{
    struct arena arena;
    arena_init(&arena);
    ck_assert_str_eq(arena_format(&arena, "%s.%d", "layer", 7), "layer.7");
    ck_assert_str_eq(arena_copy(&arena, "abcdef", 3), "abc");
    arena_deinit(&arena);
}
END_TEST

SUITE("arena", arena_makes_arrays_of_zeros_from_used_memory, arena_gives_arrays_of_nothing,
      arena_returns_aligned_memory_of_every_size, arena_allocations_do_not_overlap,
      arena_refuses_products_that_overflow, arena_formats_text)
