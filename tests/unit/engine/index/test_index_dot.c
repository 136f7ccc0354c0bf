#include "engine/base/rng.h"
#include "engine/index/index_dot.h"
#include "tests/support/suite.h"

#include <stdlib.h>

enum { ROWS_MAX = 9, N_MAX = 200 };

/* Odd sizes, and the largest numbers that there may be. */
START_TEST(index_dot_agrees_with_whole_numbers)
{
    index_dot *const variants[] = {index_dot_plain, index_dot_best()};
    int16_t query[N_MAX];
    int8_t rows[ROWS_MAX * N_MAX];
    for (size_t n = 1; n <= N_MAX; n += n < 40 ? 1 : 53)
        for (size_t count = 1; count <= ROWS_MAX; count++) {
            const int32_t top = index_dot_top(n);
            int32_t sums[ROWS_MAX];
            for (size_t i = 0; i < n; i++)
                query[i] = (int16_t)(i % 3 == 0 ? -top : (int32_t)(rng_mix(i + n) % (uint64_t)top));
            for (size_t i = 0; i < count * n; i++)
                rows[i] = (int8_t)(i % 5 == 0 ? -128 : (int)(rng_mix(i * n) % 256) - 128);
            for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
                variants[v](sums, query, rows, count, n);
                for (size_t r = 0; r < count; r++) {
                    int64_t sum = 0;
                    for (size_t i = 0; i < n; i++)
                        sum += (int64_t)query[i] * rows[r * n + i];
                    ck_assert_int_eq(sums[r], sum);
                }
            }
        }
}
END_TEST

START_TEST(index_dot_does_not_leave_32_bits)
{
    enum { N = 16384 };
    int16_t *query = calloc(N, sizeof *query);
    int8_t *row = calloc(N, 1);
    int32_t sum;
    for (size_t i = 0; i < N; i++) {
        query[i] = (int16_t)-index_dot_top(N);
        row[i] = -128;
    }
    index_dot_best()(&sum, query, row, 1, N);
    ck_assert_int_eq(sum, (int64_t)128 * N * index_dot_top(N));
    free(query);
    free(row);
}
END_TEST

SUITE("index_dot", index_dot_agrees_with_whole_numbers, index_dot_does_not_leave_32_bits)
