/* index_search.c - see index.h.
 *
 * A score of a row r and a query q, larger if nearer, from the product p = scale (q . v):
 *
 *     cosine, dot    p, of rows and a query of length 1 if it is a cosine
 *     euclidean      2 p - |r|^2, which has the order of -|q - r|
 *     manhattan      -sum_i |q_i - scale v_i|
 *
 * The query is rounded to 16 bits for the products with all rows, and not for those that are scored
 * again. */
#include "engine/base/interrupt.h"
#include "engine/base/thread_pool.h"
#include "engine/index/index_dot.h"
#include "engine/index/index_file.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { BLOCK_ROWS = 256 };

/* The best rows so far, best first. */
struct best {
    struct index_hit *hits; /* [room] */
    unsigned count, room;
};

struct search {
    const struct index *index;
    const float *query;     /* [dimensions], of length 1 for a cosine */
    const int16_t *rounded; /* [dimensions] query / step */
    float step;
    index_dot *dot;
    struct best *best; /* [members] */
    struct interrupt *interrupt;
    struct err *err;
    atomic_bool is_stopped; /* set by member 0, which asks the interrupt; partner: scan */
};

/* ---- the best ---- */

/* A total order, so that the answer is the same whatever the threads. */
static bool is_better(const struct index_hit *a, const struct index_hit *b)
{
    return a->score > b->score || (a->score == b->score && a->row < b->row);
}

static void keep(struct best *best, struct index_hit hit)
{
    unsigned at = best->count;
    if (at == best->room && !is_better(&hit, &best->hits[at - 1]))
        return;
    best->count += at < best->room;
    at -= at == best->room;
    for (; at > 0 && is_better(&hit, &best->hits[at - 1]); at--)
        best->hits[at] = best->hits[at - 1];
    best->hits[at] = hit;
}

/* ---- all rows ---- */

static float order_of(const struct index *index, size_t row, float product)
{
    const float length = index->length[row];
    return index->info.similarity == INDEX_EUCLIDEAN ? 2 * product - length * length : product;
}

static float distance(const float *query, const int8_t *row, float scale, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabsf(query[i] - scale * (float)row[i]);
    return sum;
}

static void scan_block(const struct search *search, struct best *best, size_t first, size_t count)
{
    const struct index *index = search->index;
    const size_t n = index->info.dimensions;
    const int8_t *rows = index->upper + first * n;
    int32_t sums[BLOCK_ROWS];
    if (index->info.similarity != INDEX_MANHATTAN)
        search->dot(sums, search->rounded, rows, count, n);
    for (size_t i = 0; i < count; i++) {
        const size_t row = first + i;
        const float scale = index->coarse[row];
        const float score = index->info.similarity == INDEX_MANHATTAN
                                ? -distance(search->query, rows + i * n, scale, n)
                                : order_of(index, row, (float)sums[i] * search->step * scale);
        keep(best, (struct index_hit){row, score});
    }
}

/* A pool's task. */
static void scan(void *context, unsigned member, unsigned count)
{
    struct search *search = context;
    const size_t rows = search->index->info.rows;
    const size_t first = rows * member / count, last = rows * (member + 1) / count;
    for (size_t at = first; at < last && !atomic_load(&search->is_stopped); at += BLOCK_ROWS) {
        scan_block(search, &search->best[member], at,
                   last - at < BLOCK_ROWS ? last - at : BLOCK_ROWS);
        if (member == 0 && interrupt_look(search->interrupt, search->err))
            atomic_store(&search->is_stopped, true);
    }
}

/* ---- the best again ---- */

/* By the whole numbers, and in the similarity's own measure. */
static float score_of(const struct search *search, size_t row)
{
    const struct index *index = search->index;
    const size_t n = index->info.dimensions;
    const int8_t *upper = index->upper + row * n;
    const int8_t *lower = index->lower != NULL ? index->lower + row * n : NULL;
    const double scale = (double)(lower != NULL ? index->fine : index->coarse)[row];
    double product = 0, squares = 0, far = 0;
    for (size_t i = 0; i < n; i++) {
        const double q = (double)search->query[i];
        const double v = scale * (lower != NULL ? 256 * upper[i] + lower[i] : upper[i]);
        product += q * v;
        squares += (q - v) * (q - v);
        far += fabs(q - v);
    }
    switch (index->info.similarity) {
    case INDEX_COSINE:
        return (float)fmin(1, fmax(-1, product));
    case INDEX_EUCLIDEAN:
        return (float)-sqrt(squares);
    case INDEX_MANHATTAN:
        return (float)-far;
    default:
        return (float)product;
    }
}

/* ---- the query ---- */

static void round_query(struct search *search, float *query, int16_t *rounded)
{
    const size_t n = search->index->info.dimensions;
    double squares = 0;
    float top = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)query[i] * (double)query[i];
    for (size_t i = 0; search->index->info.similarity == INDEX_COSINE && squares > 0 && i < n; i++)
        query[i] = (float)((double)query[i] / sqrt(squares));
    for (size_t i = 0; i < n; i++)
        top = fmaxf(top, fabsf(query[i]));
    search->step = top / (float)index_dot_top(n);
    for (size_t i = 0; i < n; i++)
        rounded[i] = (int16_t)(search->step > 0 ? lrintf(query[i] / search->step) : 0);
    search->query = query;
    search->rounded = rounded;
}

static unsigned room_of(const struct index *index, unsigned k)
{
    const unsigned room = index->lower != NULL ? k * INDEX_RESCORED : k;
    return room < index->info.rows ? room : (unsigned)index->info.rows;
}

size_t index_search_bytes(const struct index *index, unsigned k, unsigned threads)
{
    const size_t n = index->info.dimensions, lists = threads + 1;
    return n * (sizeof(float) + sizeof(int16_t)) + lists * sizeof(struct best) +
           lists * (room_of(index, k) * sizeof(struct index_hit) + ARENA_ALIGNMENT) +
           4 * (size_t)ARENA_ALIGNMENT;
}

enum err_code index_search(const struct index *index, const float *query, unsigned k,
                           struct thread_pool *pool, struct interrupt *interrupt,
                           struct arena *arena, struct index_found *out, struct err *err)
{
    const size_t n = index->info.dimensions;
    const unsigned members = pool != NULL ? thread_pool_size(pool) : 1, room = room_of(index, k);
    struct search search = {
        .index = index, .dot = index_dot_best(), .interrupt = interrupt, .err = err};
    float *copy = arena_alloc(arena, n * sizeof *copy);
    int16_t *rounded = arena_alloc(arena, n * sizeof *rounded);
    struct best all = {.room = room};
    assert(k >= 1 && k <= INDEX_NEIGHBOURS_MAX);
    search.best = arena_alloc_array(arena, members, sizeof *search.best);
    all.hits = arena_alloc(arena, room * sizeof *all.hits);
    bool has_room = copy != NULL && rounded != NULL && search.best != NULL && all.hits != NULL;
    for (unsigned m = 0; m < members && has_room; m++) {
        search.best[m] =
            (struct best){.hits = arena_alloc(arena, room * sizeof *all.hits), .room = room};
        has_room = search.best[m].hits != NULL;
    }
    if (!has_room)
        return err_no_memory(err, index_search_bytes(index, k, members));
    memcpy(copy, query, n * sizeof *copy);
    round_query(&search, copy, rounded);
    if (pool != NULL)
        thread_pool_run(pool, scan, &search);
    else
        scan(&search, 0, 1);
    if (err->code != ERR_OK)
        return err->code;
    /* first the best of all by the coarse scores, then these by their own */
    for (unsigned m = 0; m < members; m++)
        for (unsigned i = 0; i < search.best[m].count; i++)
            keep(&all, search.best[m].hits[i]);
    *out = (struct index_found){.hits = search.best[0].hits};
    struct best final = {.hits = out->hits, .room = k < room ? k : room};
    for (unsigned i = 0; i < all.count; i++)
        keep(&final, (struct index_hit){all.hits[i].row, score_of(&search, all.hits[i].row)});
    out->count = final.count;
    return ERR_OK;
}
