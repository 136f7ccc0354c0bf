#include "engine/base/pages.h"
#include "tests/support/suite.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

START_TEST(pages_are_aligned_and_writable_at_every_size)
{
    static const size_t sizes[] = {
        0, 1, 64, 65, 4096, PAGES_HUGE_BYTES - 1, PAGES_HUGE_BYTES, 2 * PAGES_HUGE_BYTES + 77};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *memory = pages_alloc(sizes[i]);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % (sizes[i] < PAGES_HUGE_BYTES ? 64 : PAGES_HUGE_BYTES),
                          0);
        memset(memory, 0xA5, sizes[i]);
        free(memory);
    }
}
END_TEST

START_TEST(pages_refuse_sizes_that_overflow)
{
    ck_assert_ptr_null(pages_alloc(SIZE_MAX));
    ck_assert_ptr_null(pages_alloc(SIZE_MAX - 100));
    ck_assert_ptr_null(pages_alloc(SIZE_MAX / 2 + 1));
}
END_TEST

/* The flags of the mapping that holds the address: "hg" for memory advised to use huge pages. */
static bool is_advised(const void *memory)
{
    char line[512];
    unsigned long first, last;
    bool inside = false, advised = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2)
            inside = (uintptr_t)memory >= first && (uintptr_t)memory < last;
        if (inside && strncmp(line, "VmFlags:", 8) == 0)
            advised = strstr(line, " hg") != NULL;
    }
    fclose(maps);
    return advised;
}

START_TEST(pages_asks_for_the_huge_pages_that_fit_and_for_no_more)
{
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0)
        suite_skip("this kernel has no transparent huge pages");
    char *memory = pages_alloc(2 * PAGES_HUGE_BYTES + 8192);
    ck_assert_ptr_nonnull(memory);
    ck_assert(is_advised(memory));
    ck_assert(is_advised(memory + PAGES_HUGE_BYTES));
    ck_assert(!is_advised(memory + 2 * (size_t)PAGES_HUGE_BYTES));
    free(memory);
}
END_TEST

/* False where nothing is mapped. */
static bool is_mapped(void *memory)
{
    unsigned char resident;
    return mincore((void *)((uintptr_t)memory / 4096 * 4096), 1, &resident) == 0;
}

START_TEST(pages_shared_keep_what_each_holds)
{
    enum { COUNT = 40 };
    unsigned char *shares[COUNT];
    size_t sizes[COUNT];
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            sizes[i] = (i * 7919 + round * 104729) % 300000 * (i % 9 == 0 ? 20 : 1);
            shares[i] = pages_share(sizes[i]);
            ck_assert_ptr_nonnull(shares[i]);
            ck_assert_uint_eq((uintptr_t)shares[i] % 64, 0);
            memset(shares[i], (int)i, sizes[i]);
        }
        for (size_t i = 0; i < COUNT; i += 2) { /* a page is returned alone */
            pages_return(shares[i], sizes[i]);
            shares[i] = pages_share(sizes[i]);
            memset(shares[i], (int)i, sizes[i]);
        }
        for (size_t i = 0; i < COUNT; i++)
            for (size_t k = 0; k < sizes[i]; k++)
                if (shares[i][k] != i)
                    ck_abort_msg("share %zu, byte %zu: %u", i, k, shares[i][k]);
        for (size_t i = 0; i < COUNT; i++)
            pages_return(shares[i], sizes[i]);
    }
    pages_return(NULL, 5);
}
END_TEST

START_TEST(pages_shared_go_back_to_the_system)
{
    const size_t bytes = 3 * (size_t)PAGES_HUGE_BYTES;
    char *first = pages_share(bytes), *second = pages_share(100);
    unsigned char resident = 1;
    ck_assert_ptr_eq(second, first + bytes);
    memset(first, 1, bytes);
    memset(second, 1, 100);
    pages_return(first, bytes);
    ck_assert_int_eq(mincore(first, 1, &resident), 0);
    ck_assert_int_eq(resident & 1, 0);
    ck_assert_int_eq(second[99], 1);
    pages_return(second, 100);
    ck_assert(!is_mapped(first));
    ck_assert(!is_mapped(second));
}
END_TEST

START_TEST(pages_shared_refuse_sizes_that_overflow)
{
    ck_assert_ptr_null(pages_share(SIZE_MAX));
    ck_assert_ptr_null(pages_share(SIZE_MAX / 2 + 1));
    ck_assert_ptr_null(pages_share(SIZE_MAX / 2 - 100));
}
END_TEST

SUITE("pages", pages_are_aligned_and_writable_at_every_size, pages_refuse_sizes_that_overflow,
      pages_asks_for_the_huge_pages_that_fit_and_for_no_more, pages_shared_keep_what_each_holds,
      pages_shared_go_back_to_the_system, pages_shared_refuse_sizes_that_overflow)
