/* A search finds what a plain comparison with every row finds, in double precision. */
#include "engine/base/rng.h"
#include "engine/base/thread_pool.h"
#include "engine/index/index_build.h"
#include "tests/support/look_counter.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1500, DIMENSIONS = 37, QUERIES = 20, K = 10 };

struct fixture {
    struct tempdir dir;
    char path[128];
    float *rows; /* [ROWS, DIMENSIONS] */
    struct index *index;
    struct arena arena;
};

static void random_row(uint64_t seed, float *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++) /* about normal: a sum of four uniform numbers */
        for (unsigned s = out[i] = 0; s < 4; s++)
            out[i] += (float)(rng_mix(seed * 1000003 + i * 4 + s) >> 40) / 0x1p24F - 0.5F;
}

static void build(struct fixture *f, enum index_similarity similarity, enum index_element element)
{
    const struct index_info info = {.digest = "sha256:m",
                                    .model = "m",
                                    .similarity = similarity,
                                    .element = element,
                                    .dimensions = DIMENSIONS};
    struct index_build *made;
    struct err err = {0};
    size_t bytes;
    tempdir_open(&f->dir);
    arena_init(&f->arena);
    snprintf(f->path, sizeof f->path, "%s/a.index", f->dir.path);
    f->rows = calloc((size_t)ROWS * DIMENSIONS, sizeof *f->rows);
    ck_assert_msg(!index_build_open(&made, &info, ROWS, &err), "%s", err.text);
    for (unsigned r = 0; r < ROWS; r++) {
        char id[16];
        const struct index_record record = {id, r % 2 == 0 ? "even" : "", "a.jsonl"};
        snprintf(id, sizeof id, "%u", r);
        random_row(r, f->rows + (size_t)r * DIMENSIONS, DIMENSIONS);
        ck_assert_msg(!index_build_add(made, f->rows + (size_t)r * DIMENSIONS, &record, &err), "%s",
                      err.text);
    }
    ck_assert_msg(!index_build_write(made, f->path, &bytes, &err), "%s", err.text);
    index_build_close(made);
    ck_assert_msg(!index_open(&f->index, f->path, &err), "%s", err.text);
    ck_assert_uint_eq(index_describe(f->index)->bytes, bytes);
}

static void close_fixture(struct fixture *f)
{
    index_close(f->index);
    free(f->rows);
    arena_deinit(&f->arena);
    tempdir_close(&f->dir);
}

static double score_of(enum index_similarity similarity, const float *a, const float *b)
{
    double dot = 0, aa = 0, bb = 0, squares = 0, far = 0;
    for (unsigned i = 0; i < DIMENSIONS; i++) {
        const double x = (double)a[i], y = (double)b[i];
        dot += x * y;
        aa += x * x;
        bb += y * y;
        squares += (x - y) * (x - y);
        far += fabs(x - y);
    }
    return similarity == INDEX_COSINE      ? dot / sqrt(aa * bb)
           : similarity == INDEX_DOT       ? dot
           : similarity == INDEX_EUCLIDEAN ? -sqrt(squares)
                                           : -far;
}

struct scored {
    double score;
    size_t row;
};

static int by_score(const void *left, const void *right)
{
    const struct scored *a = left, *b = right;
    return a->score != b->score ? (a->score < b->score) - (a->score > b->score)
                                : (a->row > b->row) - (a->row < b->row);
}

static void oracle(const struct fixture *f, const float *query, struct scored *out)
{
    for (size_t r = 0; r < ROWS; r++)
        out[r] = (struct scored){
            score_of(index_describe(f->index)->similarity, query, f->rows + r * DIMENSIONS), r};
    qsort(out, ROWS, sizeof *out, by_score);
}

/* Share of the oracle's K that a search finds; each score is compared. */
static double recall(struct fixture *f, double tolerance)
{
    struct scored *right = calloc(ROWS, sizeof *right);
    unsigned hits = 0;
    for (unsigned q = 0; q < QUERIES; q++) {
        float query[DIMENSIONS];
        struct index_found found;
        struct err err = {0};
        random_row(1000000 + q, query, DIMENSIONS);
        oracle(f, query, right);
        ck_assert_int_eq(index_search(f->index, query, K, NULL, NULL, &f->arena, &found, &err),
                         ERR_OK);
        ck_assert_uint_eq(found.count, K);
        for (unsigned i = 0; i < K; i++) {
            const float *row = f->rows + found.hits[i].row * DIMENSIONS;
            const double score = score_of(index_describe(f->index)->similarity, query, row);
            ck_assert_double_eq_tol((double)found.hits[i].score, score, tolerance);
            ck_assert(i == 0 || found.hits[i].score <= found.hits[i - 1].score);
            for (unsigned j = 0; j < K; j++)
                hits += found.hits[i].row == right[j].row;
        }
    }
    free(right);
    return (double)hits / (QUERIES * K);
}

START_TEST(index_finds_what_a_plain_comparison_finds)
{
    static const double tolerances[] = {1e-4, 1e-3, 1e-3, 3e-3};
    for (enum index_similarity s = 0; s < INDEX_SIMILARITIES; s++) {
        struct fixture f;
        build(&f, s, INDEX_INT16);
        const double found = recall(&f, tolerances[s]);
        ck_assert_msg(found == 1, "%s: %g", index_similarity_names[s], found);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(index_of_bytes_finds_nearly_all)
{
    static const double tolerances[] = {0.01, 0.1, 0.05, 0.2};
    for (enum index_similarity s = 0; s < INDEX_SIMILARITIES; s++) {
        struct fixture f;
        build(&f, s, INDEX_INT8);
        const double found = recall(&f, tolerances[s]);
        ck_assert_msg(found >= 0.97, "%s: %g", index_similarity_names[s], found);
        close_fixture(&f);
    }
}
END_TEST

START_TEST(index_answers_the_same_with_any_number_of_threads)
{
    struct fixture f;
    struct thread_pool *pool;
    struct index_found alone, shared;
    struct err err = {0};
    build(&f, INDEX_COSINE, INDEX_INT16);
    ck_assert_int_eq(thread_pool_open(&pool, 3, &err), ERR_OK);
    index_search(f.index, f.rows, INDEX_NEIGHBOURS_MAX, NULL, NULL, &f.arena, &alone, &err);
    index_search(f.index, f.rows, INDEX_NEIGHBOURS_MAX, pool, NULL, &f.arena, &shared, &err);
    ck_assert_int_eq(err.code, ERR_OK);
    ck_assert_uint_eq(shared.count, alone.count);
    for (unsigned i = 0; i < alone.count; i++) {
        ck_assert_uint_eq(shared.hits[i].row, alone.hits[i].row);
        ck_assert(shared.hits[i].score == alone.hits[i].score);
    }
    ck_assert_uint_eq(alone.hits[0].row, 0);
    thread_pool_close(pool);
    close_fixture(&f);
}
END_TEST

START_TEST(index_search_takes_no_more_memory_than_it_says)
{
    struct fixture f;
    struct index_found found;
    struct err err = {0};
    build(&f, INDEX_DOT, INDEX_INT16);
    for (unsigned k = 1; k <= INDEX_NEIGHBOURS_MAX; k += 33) {
        const size_t before = f.arena.bytes;
        index_search(f.index, f.rows, k, NULL, NULL, &f.arena, &found, &err);
        ck_assert_uint_le(f.arena.bytes - before, index_search_bytes(f.index, k, 1));
    }
    close_fixture(&f);
}
END_TEST

START_TEST(index_search_ends_at_an_interrupt)
{
    struct fixture f;
    struct look_counter counter;
    struct index_found found;
    struct err err = {0};
    build(&f, INDEX_DOT, INDEX_INT8);
    ck_assert_int_eq(index_search(f.index, f.rows, 3, NULL, look_counter_init(&counter, 2),
                                  &f.arena, &found, &err),
                     ERR_DEADLINE);
    ck_assert_uint_eq(counter.looks, 2);
    close_fixture(&f);
}
END_TEST

/* A query of zeros has no direction: all rows score 0, and the first ones are found. */
START_TEST(index_takes_zeros)
{
    struct fixture f;
    const float zeros[DIMENSIONS] = {0};
    struct index_found found;
    struct err err = {0};
    build(&f, INDEX_COSINE, INDEX_INT16);
    ck_assert_int_eq(index_search(f.index, zeros, 3, NULL, NULL, &f.arena, &found, &err), ERR_OK);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(found.hits[i].row, i);
        ck_assert(found.hits[i].score == 0);
    }
    close_fixture(&f);
}
END_TEST

SUITE("index_search", index_finds_what_a_plain_comparison_finds, index_of_bytes_finds_nearly_all,
      index_answers_the_same_with_any_number_of_threads,
      index_search_takes_no_more_memory_than_it_says, index_search_ends_at_an_interrupt,
      index_takes_zeros)
