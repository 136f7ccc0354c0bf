#include "tests/bench/index_lines.h"

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/rng.h"
#include "engine/base/thread_pool.h"
#include "engine/index/index_build.h"
#include "engine/tensor/dot.h"
#include "tests/bench/stopwatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 1000 * 1000, SIZE = 384, CLUSTERS = 2000, QUERIES = 100, K = 10 };

/* How far the vectors of a cluster are from its middle, in the middle's own length. */
static const float spread = 0.6F;

struct lines {
    float *centres, *rows, *queries; /* [.., SIZE]; rows and queries of length 1 */
    size_t *nearest;                 /* [QUERIES, K] by fp32 */
    struct index *index;
    struct thread_pool *pool;
    double times[QUERIES];
    double plain_ms; /* the shortest product of all rows with one query in fp32, one thread */
};

/* Not inlined: gcc 12 takes the end of a loop of known length for an error. */
static __attribute__((noipa)) float product(const float *a, const float *b, size_t n)
{
    return dot(a, b, n);
}

/* Numbers that are about normal: sums of four uniform ones. */
static void random_row(uint64_t seed, float *out)
{
    for (size_t i = 0; i < SIZE; i++) {
        const uint64_t bits = rng_mix(seed * SIZE + i);
        out[i] = -2;
        for (unsigned part = 0; part < 64; part += 16)
            out[i] += (float)(bits >> part & 0xFFFF) / 0x1p16F;
    }
}

static void clustered_row(const struct lines *lines, uint64_t seed, float *out)
{
    const float *centre = lines->centres + rng_mix(~seed) % CLUSTERS * SIZE;
    random_row(seed, out);
    for (size_t i = 0; i < SIZE; i++)
        out[i] = centre[i] + spread * out[i];
    const float length = sqrtf(product(out, out, SIZE));
    for (size_t i = 0; i < SIZE; i++)
        out[i] /= length;
}

/* The first K of all rows by the products in fp32. */
static void find_plainly(struct lines *lines, size_t query, float *scores)
{
    const float *vector = lines->queries + query * SIZE;
    size_t *best = lines->nearest + query * K;
    const uint64_t begin = clock_now_ns();
    for (size_t r = 0; r < ROWS; r++)
        scores[r] = product(lines->rows + r * SIZE, vector, SIZE);
    const double ms = clock_ms_between(begin, clock_now_ns());
    lines->plain_ms = query == 0 || ms < lines->plain_ms ? ms : lines->plain_ms;
    size_t count = 0;
    for (size_t r = 0; r < ROWS; r++) {
        size_t at = count;
        if (count == K && scores[r] <= scores[best[K - 1]])
            continue;
        count += count < K;
        at -= at == K;
        for (; at > 0 && scores[r] > scores[best[at - 1]]; at--)
            best[at] = best[at - 1];
        best[at] = r;
    }
}

static enum err_code make(struct lines *lines, struct err *err)
{
    float *scores = malloc(ROWS * sizeof *scores);
    lines->centres = malloc((size_t)CLUSTERS * SIZE * sizeof(float));
    lines->rows = malloc((size_t)ROWS * SIZE * sizeof(float));
    lines->queries = malloc((size_t)QUERIES * SIZE * sizeof(float));
    lines->nearest = malloc((size_t)QUERIES * K * sizeof(size_t));
    if (scores == NULL || lines->centres == NULL || lines->rows == NULL || lines->queries == NULL ||
        lines->nearest == NULL) {
        free(scores);
        return err_no_memory(err, (size_t)ROWS * SIZE * sizeof(float));
    }
    for (size_t i = 0; i < CLUSTERS; i++)
        random_row(i, lines->centres + i * SIZE);
    for (size_t i = 0; i < ROWS; i++)
        clustered_row(lines, CLUSTERS + i, lines->rows + i * SIZE);
    for (size_t i = 0; i < QUERIES; i++) {
        clustered_row(lines, CLUSTERS + ROWS + i, lines->queries + i * SIZE);
        find_plainly(lines, i, scores);
    }
    free(scores);
    return ERR_OK;
}

static enum err_code build(const struct lines *lines, enum index_element element, const char *path,
                           FILE *file, struct err *err)
{
    const struct index_info info = {.element = element, .dimensions = SIZE};
    const uint64_t begin = clock_now_ns();
    struct index_build *made;
    size_t bytes;
    if (index_build_open(&made, &info, ROWS, err))
        return err->code;
    for (size_t i = 0; i < ROWS && err->code == ERR_OK; i++) {
        char id[16];
        const struct index_record record = {id, "Edge-Ring", "lot-17.stdf#W03"};
        snprintf(id, sizeof id, "die-%zu", i);
        index_build_add(made, lines->rows + i * SIZE, &record, err);
    }
    const uint64_t built = clock_now_ns();
    if (err->code == ERR_OK && index_build_write(made, path, &bytes, err) == ERR_OK)
        fprintf(file, "index   %-5s  built in %.1f s, written in %.1f s, %.0f MB",
                index_element_names[element], clock_ms_between(begin, built) / 1e3,
                clock_ms_between(built, clock_now_ns()) / 1e3, (double)bytes / 1e6);
    index_build_close(made);
    return err->code;
}

/* Share of the K nearest by fp32 that the searches find. */
static double search(struct lines *lines, struct err *err)
{
    struct arena arena;
    size_t hits = 0;
    arena_init(&arena);
    for (size_t q = 0; q < QUERIES && err->code == ERR_OK; q++) {
        struct index_found found = {0};
        const uint64_t begin = clock_now_ns();
        index_search(lines->index, lines->queries + q * SIZE, K, lines->pool, NULL, &arena, &found,
                     err);
        lines->times[q] = clock_ms_between(begin, clock_now_ns());
        for (unsigned i = 0; i < found.count; i++)
            for (size_t k = 0; k < K; k++)
                hits += found.hits[i].row == lines->nearest[q * K + k];
        arena_deinit(&arena);
    }
    return (double)hits / (QUERIES * K);
}

static enum err_code measure(struct lines *lines, enum index_element element, const char *path,
                             unsigned threads, FILE *file, struct err *err)
{
    const uint64_t begin = clock_now_ns();
    if (index_open(&lines->index, path, err))
        return err->code;
    fprintf(file, ", opened in %.1f s\n", clock_ms_between(begin, clock_now_ns()) / 1e3);
    for (unsigned t = 1; t <= threads && err->code == ERR_OK; t++) {
        if (thread_pool_open(&lines->pool, t, err))
            break;
        const double recall = search(lines, err);
        const struct stopwatch time = stopwatch_summary(lines->times, QUERIES);
        fprintf(file,
                "index   %-5s  %u threads: a search in %.1f ms (shortest %.1f), recall@%d %.4f\n",
                index_element_names[element], t, time.median_ms, time.minimum_ms, K, recall);
        thread_pool_close(lines->pool);
    }
    index_close(lines->index);
    return err->code;
}

enum err_code index_lines_print(const char *folder, unsigned threads, FILE *file, struct err *err)
{
    struct lines *lines = calloc(1, sizeof *lines);
    char path[512];
    if (lines == NULL)
        return err_no_memory(err, sizeof *lines);
    snprintf(path, sizeof path, "%s/bench.index", folder);
    fprintf(stderr, "index: %d vectors of %d numbers\n", ROWS, SIZE);
    if (!make(lines, err))
        fprintf(file, "index   fp32   1 thread: all products in %.1f ms (the shortest)\n",
                lines->plain_ms);
    for (enum index_element e = 0; e < INDEX_ELEMENTS && err->code == ERR_OK; e++)
        if (!build(lines, e, path, file, err))
            measure(lines, e, path, threads, file, err);
    unlink(path);
    free(lines->centres);
    free(lines->rows);
    free(lines->queries);
    free(lines->nearest);
    free(lines);
    return err->code;
}
