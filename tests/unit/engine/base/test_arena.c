#include "engine/base/arena.h"
#include "tests/support/suite.h"

#include <malloc.h>
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
            if (piece[i][k] != (i & 0xFF))
                ck_abort_msg("byte %d of piece %d", k, i);
    arena_deinit(&arena);
}
END_TEST

START_TEST(arena_refuses_products_that_overflow)
{
    struct arena arena;
    arena_init(&arena);
    ck_assert_ptr_null(arena_alloc_array(&arena, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(arena_alloc_array(&arena, SIZE_MAX / 2 + 1, 2)); /* would be nothing */
    ck_assert_ptr_null(arena_alloc_array(&arena, SIZE_MAX / 4 + 2, 4)); /* would be four bytes */
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX - 8));
    arena_deinit(&arena);
}
END_TEST

/* One look behind many allocations is enough. */
START_TEST(arena_remembers_that_one_of_its_allocations_failed)
{
    struct arena arena;
    arena_init(&arena);
    arena_alloc_array(&arena, 3, 8);
    ck_assert(!arena.failed);
    arena_alloc_array(&arena, SIZE_MAX / 2, 3);
    ck_assert(arena.failed);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 8));
    ck_assert(arena.failed);
    arena_deinit(&arena);
    ck_assert(!arena.failed);
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
                if (array[k] != 0)
                    ck_abort_msg("byte %zu of array %zu", k, i);
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

/* A block is 16 KB with a header of one alignment. A piece up to half of it shares a block. A
 * larger piece stands apart, behind the newest block, which goes on being filled. */
START_TEST(arena_fills_a_block_and_goes_on_with_it_behind_a_large_piece)
{
    enum { UNIT = ARENA_ALIGNMENT, HALF = 8192, ROOM = 2 * HALF - UNIT };
    struct arena arena;
    arena_init(&arena);
    char *first = arena_alloc(&arena, 1);
    ck_assert_ptr_eq(arena_alloc(&arena, UNIT), first + UNIT);
    ck_assert_ptr_eq(arena_alloc(&arena, UNIT + 1), first + 2 * UNIT);
    ck_assert_ptr_eq(arena_alloc(&arena, HALF), first + 4 * UNIT);
    char *large = arena_alloc(&arena, HALF + 1);
    char *larger = arena_alloc(&arena, 100000);
    ck_assert(large < first || large >= first + ROOM);
    ck_assert(larger < first || larger >= first + ROOM);
    memset(larger, 1, 100000);
    ck_assert_ptr_eq(arena_alloc(&arena, 0), first + 4 * UNIT + HALF);
    ck_assert_ptr_eq(arena_alloc(&arena, ROOM - HALF - 5 * UNIT), first + 5 * UNIT + HALF);
    char *second = arena_alloc(&arena, 1); /* the first block is full to its last byte */
    ck_assert(second < first || second >= first + ROOM);
    ck_assert_ptr_eq(arena_alloc(&arena, HALF), second + UNIT);
    char *third = arena_alloc(&arena, HALF); /* a half that finds no room begins a block */
    ck_assert(third < second || third >= second + ROOM);
    ck_assert_ptr_eq(arena_alloc(&arena, 1), third + HALF);
    arena_deinit(&arena);
}
END_TEST

START_TEST(arena_counts_its_bytes_in_whole_lines)
{
    static const size_t sizes[][2] = {{0, 64},   {1, 64},      {64, 64},
                                      {65, 128}, {8192, 8192}, {8193, 8256}};
    struct arena arena;
    size_t sum = 0;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_ptr_nonnull(arena_alloc(&arena, sizes[i][0]));
        sum += sizes[i][1];
        ck_assert_uint_eq(arena.bytes, sum);
    }
    ck_assert_ptr_nonnull(arena_alloc_array(&arena, 13, 5));
    ck_assert_uint_eq(arena.bytes, sum + 128);
    arena_deinit(&arena);
    ck_assert_uint_eq(arena.bytes, 0);
    ck_assert_ptr_null(arena.blocks);
}
END_TEST

START_TEST(arena_copies_end_with_a_nul_and_are_bounded)
{
    struct arena arena;
    mallopt(M_PERTURB, 0x5A); /* memory is not all zeros */
    arena_init(&arena);
    ck_assert_ptr_null(arena_copy(&arena, "", SIZE_MAX));
    ck_assert_uint_eq(arena.bytes, 0);
    ck_assert_mem_eq(arena_copy(&arena, "a\0b", 3), "a\0b", 4);
    char text[200];
    memset(text, 'x', sizeof text);
    text[127] = '\0';
    ck_assert_str_eq(arena_format(&arena, "%s!", text) + 127, "!");
    ck_assert_str_eq(arena_format(&arena, "%s", ""), "");
    size_t before = arena.bytes;
    ck_assert_mem_eq(arena_copy(&arena, text, ARENA_ALIGNMENT), text, ARENA_ALIGNMENT);
    ck_assert_uint_eq(arena.bytes, before + 2 * ARENA_ALIGNMENT);
    mallopt(M_PERTURB, 0);
    arena_deinit(&arena);
}
END_TEST

SUITE("arena", arena_makes_arrays_of_zeros_from_used_memory, arena_gives_arrays_of_nothing,
      arena_returns_aligned_memory_of_every_size, arena_allocations_do_not_overlap,
      arena_refuses_products_that_overflow, arena_remembers_that_one_of_its_allocations_failed,
      arena_formats_text, arena_fills_a_block_and_goes_on_with_it_behind_a_large_piece,
      arena_counts_its_bytes_in_whole_lines, arena_copies_end_with_a_nul_and_are_bounded)
