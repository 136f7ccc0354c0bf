/* linear.h - the linear layer: Y = act(X W^T + b) (+ R), the shape of nearly all arithmetic here.
 *
 *     X [rows, in]   W [out, in]   b [out]   Y, R [rows, out]
 *
 *     linear_alloc(&linear, backend, in, out, &err);
 *     linear_fill(&linear, 0, out, weight);          in any number of pieces
 *     memcpy(linear.bias, bias, ...);
 *     linear_run(&linear, kernels, pool, &(struct linear_io){...});
 *
 * The weights are passed once, at load, in the checkpoint's layout; a backend keeps them in its own
 * layout and precision. A run is cut into blocks of rows and columns, which the members of the pool
 * share out by lanes.h: each has some columns of all rows, or of many rows some rows with all their
 * columns. A row's result does not depend on the number of rows in the batch.
 *
 * Threads: a linear is immutable after the last fill; runs may overlap, each with its own pool.
 */
#ifndef ATTND_ENGINE_TENSOR_LINEAR_LINEAR_H
#define ATTND_ENGINE_TENSOR_LINEAR_LINEAR_H

#include "engine/base/err.h"
#include "engine/base/thread_pool.h"
#include "engine/tensor/gemm/gemm.h"
#include "engine/tensor/gemm/operand.h"
#include "engine/tensor/kernels.h"

#include <stdbool.h>
#include <stddef.h>

enum { LINEAR_FILL_ROWS = 32, LINEAR_ROWS_A_MEMBER = 128 };

struct linear;

struct linear_io {
    struct operand x; /* [rows, in] as linear_operand makes it; fp32 that is not in parts may lie
                         anywhere */
    size_t rows;
    float *y;         /* [rows, out] */
    uint16_t *y_bf16; /* instead of y, rounded; only by our own products */
    size_t y_stride;
    const float *residual; /* [rows, out] or NULL; not y: some backends write y first */
    size_t residual_stride;
    enum activation act;
    unsigned parts; /* equal parts of the columns, each shared out in the same way, so that a member
                       has the same heads of query, key and value; 0: one. Without effect if members
                       have rows of their own */
};

/* Rows [first_row, last_row) and columns [first_column, last_column) of a run. */
struct linear_block {
    size_t first_row, last_row, first_column, last_column;
};

/* One way to multiply in one precision. */
struct linear_backend {
    const char *name;
    enum precision precision;
    const struct gemm *gemm; /* our own products: use this variant; NULL: the best one */
    size_t row_block;        /* most rows of a block; 0: no limit */
    size_t column_block;     /* columns of a block are multiples of it; 0: a share a member */
    enum err_code (*alloc)(struct linear *linear, struct err *err);
    void (*fill)(struct linear *linear, size_t first, size_t rows, const float *weight);
    void (*run)(const struct linear *linear, const struct kernels *kernels,
                const struct linear_io *io, const struct linear_block *block);
    /* Writes the weights of one output column with the values that are multiplied: [in]. */
    void (*unpack)(const struct linear *linear, size_t column, float *weight);
    void (*close)(struct linear *linear);
};

extern const struct linear_backend linear_native[PRECISION_COUNT];
extern const struct linear_backend linear_scalar[PRECISION_COUNT]; /* the same in plain loops */
extern const struct linear_backend linear_tiles[PRECISION_COUNT];
extern const struct linear_backend linear_openblas;
extern const struct linear_backend linear_reference; /* the oracle: naive, double accumulators */

struct linear {
    const struct linear_backend *backend;
    size_t in, out;
    float *bias;        /* [out], owned */
    void *weights;      /* the backend's, owned */
    const char *kernel; /* the variant in use: "avx512-vnni"; NULL if the backend does not say */
    size_t bytes;       /* size of the weights as held */
};

/* Returns the backend of that name for a precision; "auto" and NULL give the fastest one. NULL for
 * an unknown name or one that cannot multiply in this precision. */
const struct linear_backend *linear_backend_find(const char *name, enum precision precision);
/* The same in fp32 for rows that lie in memory as they are. */
const struct linear_backend *linear_backend_find_plain(const char *name);
/* True if rows of fp32 have to be in parts (operand.h). */
static inline bool linear_reads_parts(const struct linear_backend *backend)
{
    return backend->gemm != NULL && backend->gemm->cut != NULL;
}
/* Numbers of a row of `in` weights as the backend holds them: zeros fill its last step. */
size_t linear_held_row(const struct linear_backend *backend, size_t in);
/* Zeroed room for `rows` rows of `width` numbers, as the backend reads them. ERR_NO_MEMORY. */
enum err_code linear_operand(struct operand *out, struct arena *arena,
                             const struct linear_backend *backend, size_t rows, size_t width,
                             struct err *err);
/* "auto, native, openblas, reference": for error texts and help. */
const char *linear_backend_names(void);

/* Takes room for weights and a bias of zeros. ERR_NO_MEMORY. */
enum err_code linear_alloc(struct linear *linear, const struct linear_backend *backend, size_t in,
                           size_t out, struct err *err);

/* Writes rows [first, first + rows) of W, row-major. first, and the end unless it is the matrix's,
 * are multiples of LINEAR_FILL_ROWS. Any thread, ranges that do not overlap. */
void linear_fill(struct linear *linear, size_t first, size_t rows, const float *weight);

void linear_close(struct linear *linear); /* also after a failed alloc; idempotent */

/* Compares products of a filled linear, for few and many rows, with naive sums over a sample of
 * its columns: some OpenBLAS releases have shipped wrong small-matrix kernels. ERR_INTERNAL if they
 * disagree. */
enum err_code linear_self_test(const struct linear *linear, const struct kernels *kernels,
                               struct err *err);

/* True if each member of a pool has rows of its own in a product of so many rows. What reads the
 * result by rows then finds it in its own cache. Each member reads all weights, which takes no
 * longer than multiplying them with LINEAR_ROWS_A_MEMBER rows. */
static inline bool linear_shares_rows(size_t rows, unsigned members)
{
    return members > 1 && rows / LINEAR_ROWS_A_MEMBER >= members;
}

void linear_run(const struct linear *linear, const struct kernels *kernels,
                struct thread_pool *pool, const struct linear_io *io);

#endif
