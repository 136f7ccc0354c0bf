/* relative_train.c - see relative_train.h. Both terms are computed alike. A matrix of tokens is
 * multiplied with a table of rows. The product of a token and a row is added to B where the token
 * meets the tokens at that row's distance. The matrix is the queries in the first term, the keys in
 * the second. */
#include "engine/tensor/backward/relative_train.h"

#include "engine/tensor/gemm/groups.h"
#include "engine/tensor/gemm/tiles.h"

#include <assert.h>
#include <string.h>

/* One term: `x` times `rows`, of which the sequence reaches `count`, from `lowest` on. */
struct term {
    const struct relative_train *head;
    bool is_by_query;
    const float *x; /* [tokens, d] */
    size_t x_stride, tokens;
    const float *rows; /* rows from `lowest` on */
    size_t lowest, count;
    struct tiles tiles;
    float *panels;  /* panels of the rows or of x */
    float *meeting; /* [tokens, stride] x . rows, and its gradient */
    float *made;    /* [rows_max of a tile, d] */
    size_t stride;
};

size_t relative_train_scratch(size_t tokens_max, size_t rows_max, size_t d)
{
    size_t longest = gemm_padded(tokens_max > rows_max ? tokens_max : rows_max);
    return GEMM_ROWS_MAX * (GEMM_COLUMNS + gemm_padded(d)) + longest * gemm_padded(d) +
           tokens_max * gemm_padded(rows_max);
}

static struct term term_of(const struct relative_train *head, bool is_by_query, float *scratch)
{
    size_t lowest = head->row_of[1 - (ptrdiff_t)head->n];
    size_t count = head->row_of[head->m - 1] - lowest + 1;
    size_t longest = gemm_padded(head->n > count ? head->n : count), width = gemm_padded(head->d);
    assert(head->m <= head->n && head->gemm->precision == PRECISION_F32);
    struct term term = {.head = head,
                        .is_by_query = is_by_query,
                        .x = is_by_query ? head->q : head->k,
                        .x_stride = is_by_query ? head->q_stride : head->k_stride,
                        .tokens = is_by_query ? head->m : head->n,
                        .rows = (is_by_query ? head->kr : head->qr) + lowest * head->r_stride,
                        .lowest = lowest,
                        .count = count,
                        .tiles = {head->gemm, scratch},
                        .stride = gemm_padded(count)};
    term.made = scratch + GEMM_ROWS_MAX * GEMM_COLUMNS;
    term.panels = term.made + GEMM_ROWS_MAX * width;
    term.meeting = term.panels + longest * width;
    return term;
}

/* Returns the index in `meeting` of the number for query i and key j. */
static size_t place_of(const struct term *term, size_t i, size_t j)
{
    size_t token = term->is_by_query ? i : j;
    return token * term->stride + term->head->row_of[(ptrdiff_t)i - (ptrdiff_t)j] - term->lowest;
}

/* ---- forward ---- */

static void add_term(const struct term *term, float *bias)
{
    const struct relative_train *head = term->head;
    const size_t d = head->d, rows_max = head->gemm->rows_max;
    const float scale = 1 / head->divisor;
    groups_to_panels_transposed(term->panels, d, term->rows, head->r_stride, d, term->count);
    for (size_t t = 0, rows; t < term->tokens; t += rows) {
        rows = term->tokens - t < rows_max ? term->tokens - t : rows_max;
        tiles_rows(&term->tiles, term->meeting + t * term->stride, term->stride,
                   term->x + t * term->x_stride, term->x_stride * sizeof(float), rows, term->panels,
                   d, term->count);
    }
    for (size_t j = 0; j < head->n; j++)
        for (size_t i = 0; i < head->m; i++)
            bias[j * head->m + i] += term->meeting[place_of(term, i, j)] * scale;
}

void relative_train_forward(const struct relative_train *head, float *bias, float *scratch)
{
    memset(bias, 0, head->n * head->m * sizeof *bias);
    for (int by_query = 0; by_query < 2; by_query++) {
        if ((by_query ? head->kr : head->qr) == NULL)
            continue;
        const struct term term = term_of(head, by_query, scratch);
        add_term(&term, bias);
    }
}

/* ---- backward ---- */

/* Computes the gradient of `meeting`. */
static void fold(const struct term *term, const float *dbias)
{
    const struct relative_train *head = term->head;
    const float scale = 1 / head->divisor;
    memset(term->meeting, 0, term->tokens * term->stride * sizeof *term->meeting);
    for (size_t j = 0; j < head->n; j++)
        for (size_t i = 0; i < head->m; i++)
            term->meeting[place_of(term, i, j)] += dbias[j * head->m + i] * scale;
}

/* dx += dmeeting rows; drows += dmeeting^T x */
static void term_backward(const struct term *term, float *dx, size_t dx_stride, float *drows)
{
    const struct relative_train *head = term->head;
    const size_t d = head->d, width = gemm_padded(d), rows_max = head->gemm->rows_max;
    groups_to_panels(term->panels, term->count, term->rows, head->r_stride, term->count, d);
    for (size_t t = 0, rows; t < term->tokens; t += rows) {
        rows = term->tokens - t < rows_max ? term->tokens - t : rows_max;
        tiles_rows(&term->tiles, term->made, width, term->meeting + t * term->stride,
                   term->stride * sizeof(float), rows, term->panels, term->count, d);
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < d; c++)
                dx[(t + r) * dx_stride + c] += term->made[r * width + c];
    }
    groups_to_panels(term->panels, term->tokens, term->x, term->x_stride, term->tokens, d);
    tiles_columns(&term->tiles, drows + term->lowest * head->r_stride, head->r_stride,
                  term->meeting, term->stride * sizeof(float), term->count, term->panels,
                  term->tokens, d);
}

void relative_train_backward(const struct relative_train *head, const float *dbias, float *dq,
                             size_t dq_stride, float *dk, size_t dk_stride, float *dkr, float *dqr,
                             float *scratch)
{
    for (int by_query = 0; by_query < 2; by_query++) {
        if ((by_query ? head->kr : head->qr) == NULL)
            continue;
        const struct term term = term_of(head, by_query, scratch);
        fold(&term, dbias);
        if (by_query)
            term_backward(&term, dq, dq_stride, dkr);
        else
            term_backward(&term, dk, dk_stride, dqr);
    }
}
