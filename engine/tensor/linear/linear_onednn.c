/* linear_onednn.c - products by oneDNN 2.6, in fp32 and bf16. It multiplies by tiles (AMX) where
 * the CPU has them, which our own products do not. int8 stays native: 2.6 has no scale for each row
 * of the activations.
 *
 * Weights: a block of 128 output columns is one matrix, in the layout that oneDNN asks for. Blocks
 * are filled as rows of W and turned into that layout in place by open. oneDNN packs only where the
 * rows of X and Y lie close together (for strided ones it has a product that packs the weights in
 * every run, at 0.9 of the speed); therefore
 *
 *     X   the packed matrix has as many rows as an operand's rows are long, those beyond `in` being
 *         zero: an operand is multiplied with its padding, where it lies. Rows that are any other
 *         distance apart are copied, some at a time.
 *     Y   goes to the stack, 64 KB, and from there through our epilogue, which thus sees all shapes
 *         of bias, activation and residual without a primitive for each.
 *
 * Primitives know the number of rows: there is one for 1, 2, 4, ... 128 rows, made by alloc, and a
 * block of rows is the sum of some of them (197 = 128 + 64 + 4 + 1). Nothing is compiled by a run.
 * oneDNN's own cache shares the code between linears of the same shape.
 *
 * Memory: `execute` makes six small allocations and the arguments three; they are freed at once.
 * Without memory for them, the product is computed in plain loops.
 */
#include "engine/base/pages.h"
#include "engine/tensor/linear/linear.h"
#include "engine/tensor/linear/onednn.h"

#if !ONEDNN_IS_BUILT

static enum err_code onednn_alloc(struct linear *linear, struct err *err)
{
    (void)linear;
    return err_set(
        err, ERR_UNSUPPORTED,
        "this build has no linear backend 'onednn', which needs the headers of oneDNN 2.6 "
        "(Debian 12's libdnnl-dev) when it is built; choose another backend");
}

#define ROW(number, function) {.name = "onednn", .precision = number, .alloc = function}

#else

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMN_BLOCK = 128,
    ROW_BLOCK = 256,
    BUCKETS = 8,
    ROWS_MAX = 1 << (BUCKETS - 1), /* of one execution */
    SCRATCHPAD_BYTES = 64 << 10,   /* 640 bytes are asked for with AVX-512 */
    GATHERED_BYTES = 128 << 10,
};

/* All products of blocks of one width. */
struct product {
    size_t columns;
    size_t bytes;              /* of a block of weights, while it is filled and after */
    dnnl_memory_desc_t filled; /* [row, columns], a column's numbers in sequence */
    dnnl_memory_desc_t packed; /* in oneDNN's own layout */
    dnnl_memory_desc_t scratch[BUCKETS], x[BUCKETS], y[BUCKETS];
    dnnl_primitive_t primitive[BUCKETS]; /* for 1 << i rows */
};

struct onednn {
    struct onednn_library dnnl;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    size_t row;                 /* numbers of an operand's row, padding included */
    struct product products[2]; /* of 128 columns; of fewer, for the last block */
    size_t blocks;
    char *slots;            /* [blocks] weights */
    dnnl_memory_t *weights; /* [blocks] the same for oneDNN */
    char kernel[64];
};

static enum err_code fail(const struct linear *linear, dnnl_status_t status, struct err *err)
{
    const struct onednn *onednn = linear->weights;
    enum err_code code = status == dnnl_out_of_memory   ? ERR_NO_MEMORY
                         : status == dnnl_unimplemented ? ERR_UNSUPPORTED
                                                        : ERR_INTERNAL;
    return err_set(err, code, "oneDNN cannot multiply a %zu x %zu matrix in %s on this CPU: %s",
                   linear->out, linear->in, precision_name(linear->backend->precision),
                   onednn->dnnl.status2str(status));
}

/* ---- load ---- */

static dnnl_data_type_t type_of(const struct linear *linear)
{
    return linear->backend->precision == PRECISION_BF16 ? dnnl_bf16 : dnnl_f32;
}

static dnnl_status_t describe(const struct onednn_library *dnnl, dnnl_memory_desc_t *out,
                              size_t rows, size_t columns, dnnl_data_type_t type,
                              dnnl_format_tag_t tag)
{
    const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    return dnnl->memory_desc_init_by_tag(out, 2, dims, type, tag);
}

/* Takes the choices of oneDNN for `rows` rows: the weights' layout, if it was free to choose, and
 * its memory. */
static dnnl_status_t take_choices(struct onednn *onednn, struct product *product, unsigned bucket,
                                  const_dnnl_primitive_desc_t desc)
{
    const struct onednn_library *dnnl = &onednn->dnnl;
    const char *kernel;
    product->packed = *dnnl->primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    product->scratch[bucket] = *dnnl->primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    if (product->packed.format_kind != dnnl_blocked ||
        dnnl->memory_desc_get_size(&product->scratch[bucket]) > SCRATCHPAD_BYTES)
        return dnnl_unimplemented;
    dnnl_status_t status = dnnl->primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &kernel);
    if (status == dnnl_success)
        snprintf(onednn->kernel, sizeof onednn->kernel, "onednn %s", kernel);
    return status;
}

static dnnl_status_t make_primitive(struct onednn *onednn, struct product *product, unsigned bucket,
                                    const_dnnl_primitive_attr_t attr)
{
    const struct onednn_library *dnnl = &onednn->dnnl;
    dnnl_matmul_desc_t operation;
    dnnl_primitive_desc_t desc;
    dnnl_status_t status = dnnl->matmul_desc_init(&operation, &product->x[bucket], &product->packed,
                                                  NULL, &product->y[bucket]);
    if (status == dnnl_success)
        status = dnnl->primitive_desc_create(&desc, &operation, attr, onednn->engine, NULL);
    if (status != dnnl_success)
        return status;
    status = take_choices(onednn, product, bucket, desc);
    if (status == dnnl_success)
        status = dnnl->primitive_create(&product->primitive[bucket], desc);
    dnnl->primitive_desc_destroy(desc);
    return status;
}

/* The largest first: its layout of the weights is then that of all. */
static dnnl_status_t make_primitives(struct onednn *onednn, struct product *product,
                                     dnnl_data_type_t type)
{
    const struct onednn_library *dnnl = &onednn->dnnl;
    dnnl_primitive_attr_t attr;
    dnnl_status_t status = dnnl->primitive_attr_create(&attr);
    if (status != dnnl_success)
        return status;
    status = dnnl->primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    for (unsigned i = BUCKETS; i-- > 0 && status == dnnl_success;) {
        status = describe(dnnl, &product->x[i], 1u << i, onednn->row, type, dnnl_ab);
        if (status == dnnl_success)
            status = describe(dnnl, &product->y[i], 1u << i, product->columns, dnnl_f32, dnnl_ab);
        if (status == dnnl_success)
            status = make_primitive(onednn, product, i, attr);
    }
    dnnl->primitive_attr_destroy(attr);
    return status;
}

static dnnl_status_t make_product(struct onednn *onednn, struct product *product, size_t columns,
                                  dnnl_data_type_t type)
{
    const struct onednn_library *dnnl = &onednn->dnnl;
    product->columns = columns;
    dnnl_status_t status =
        describe(dnnl, &product->packed, onednn->row, columns, type, dnnl_format_tag_any);
    if (status == dnnl_success)
        status = describe(dnnl, &product->filled, onednn->row, columns, type, dnnl_ba);
    if (status == dnnl_success)
        status = make_primitives(onednn, product, type);
    if (status != dnnl_success)
        return status;
    size_t filled = dnnl->memory_desc_get_size(&product->filled);
    size_t packed = dnnl->memory_desc_get_size(&product->packed);
    product->bytes = ((filled > packed ? filled : packed) + 63) / 64 * 64;
    return status;
}

static const struct product *product_of(const struct linear *linear, size_t block)
{
    const struct onednn *onednn = linear->weights;
    return &onednn->products[linear->out - block * COLUMN_BLOCK < COLUMN_BLOCK];
}

static char *slot(const struct onednn *onednn, size_t block)
{
    return onednn->slots + block * onednn->products[0].bytes;
}

/* Zeroed: an operand's padding is multiplied by zeros. */
static enum err_code alloc_slots(struct linear *linear, struct err *err)
{
    struct onednn *onednn = linear->weights;
    onednn->blocks = (linear->out + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
    linear->bytes = (onednn->blocks - 1) * onednn->products[0].bytes +
                    product_of(linear, onednn->blocks - 1)->bytes;
    onednn->weights = calloc(onednn->blocks, sizeof *onednn->weights);
    onednn->slots = pages_alloc(linear->bytes);
    if (onednn->weights == NULL || onednn->slots == NULL)
        return err_no_memory(err, linear->bytes);
    memset(onednn->slots, 0, linear->bytes);
    return ERR_OK;
}

static enum err_code make_products(struct linear *linear, struct err *err)
{
    struct onednn *onednn = linear->weights;
    const struct onednn_library *dnnl = &onednn->dnnl;
    size_t rest = linear->out % COLUMN_BLOCK;
    dnnl_status_t status = dnnl->engine_create(&onednn->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl->stream_create(&onednn->stream, onednn->engine, dnnl_stream_default_flags);
    if (status == dnnl_success && linear->out >= COLUMN_BLOCK)
        status = make_product(onednn, &onednn->products[0], COLUMN_BLOCK, type_of(linear));
    if (status == dnnl_success && rest > 0)
        status = make_product(onednn, &onednn->products[1], rest, type_of(linear));
    return status == dnnl_success ? ERR_OK : fail(linear, status, err);
}

static enum err_code onednn_alloc(struct linear *linear, struct err *err)
{
    size_t bytes = precision_bytes(linear->backend->precision);
    if (linear->in > GATHERED_BYTES / bytes || operand_stride(linear->in, bytes) > GATHERED_BYTES ||
        linear->out > SIZE_MAX / 2 / GATHERED_BYTES)
        return err_set(err, ERR_UNSUPPORTED,
                       "a %zu x %zu matrix is larger than the linear backend 'onednn' takes (rows "
                       "of %d bytes)",
                       linear->out, linear->in, GATHERED_BYTES);
    struct onednn *onednn = calloc(1, sizeof *onednn);
    if (onednn == NULL)
        return err_no_memory(err, sizeof *onednn);
    linear->weights = onednn;
    onednn->row = operand_stride(linear->in, bytes) / bytes;
    if (onednn_library_open(&onednn->dnnl, err) || make_products(linear, err) ||
        alloc_slots(linear, err))
        return err->code;
    linear->kernel = onednn->kernel;
    return ERR_OK;
}

static void onednn_fill(struct linear *linear, size_t first, size_t rows, const float *weight)
{
    const struct onednn *onednn = linear->weights;
    const struct kernels *kernels = kernels_best();
    size_t stride = onednn->row * precision_bytes(linear->backend->precision);
    struct operand out = {.precision = linear->backend->precision, .stride = stride};
    for (size_t r = 0; r < rows; r++) {
        out.data = slot(onednn, (first + r) / COLUMN_BLOCK);
        operand_store(&out, kernels, (first + r) % COLUMN_BLOCK, weight + r * linear->in,
                      linear->in);
    }
}

/* from -> to, between two layouts of one block. */
static dnnl_status_t reorder(const struct onednn *onednn, const struct product *product,
                             dnnl_memory_t from, dnnl_memory_t to)
{
    const struct onednn_library *dnnl = &onednn->dnnl;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive = NULL;
    dnnl_status_t status = dnnl->reorder_primitive_desc_create(
        &desc, &product->filled, onednn->engine, &product->packed, onednn->engine, NULL);
    if (status != dnnl_success)
        return status;
    status = dnnl->primitive_create(&primitive, desc);
    if (status == dnnl_success)
        status = dnnl->primitive_execute(primitive, onednn->stream, 2, args);
    dnnl->primitive_desc_destroy(desc);
    if (primitive != NULL)
        dnnl->primitive_destroy(primitive);
    return status;
}

/* A block as it was filled -> as oneDNN reads it, through `room`. */
static dnnl_status_t pack(struct linear *linear, size_t block, char *room)
{
    struct onednn *onednn = linear->weights;
    const struct onednn_library *dnnl = &onednn->dnnl;
    const struct product *product = product_of(linear, block);
    char *weights = slot(onednn, block);
    dnnl_memory_t from = NULL, to = NULL;
    dnnl_status_t status = dnnl->memory_create(&from, &product->filled, onednn->engine, weights);
    if (status == dnnl_success)
        status = dnnl->memory_create(&to, &product->packed, onednn->engine, room);
    if (status == dnnl_success)
        status = reorder(onednn, product, from, to);
    if (status == dnnl_success) {
        memcpy(weights, room, dnnl->memory_desc_get_size(&product->packed));
        status =
            dnnl->memory_create(&onednn->weights[block], &product->packed, onednn->engine, weights);
    }
    if (from != NULL)
        dnnl->memory_destroy(from);
    if (to != NULL)
        dnnl->memory_destroy(to);
    return status;
}

static enum err_code onednn_open(struct linear *linear, struct err *err)
{
    const struct onednn *onednn = linear->weights;
    size_t bytes = product_of(linear, 0)->bytes;
    char *room = aligned_alloc(64, bytes);
    if (room == NULL)
        return err_no_memory(err, bytes);
    dnnl_status_t status = dnnl_success;
    for (size_t block = 0; block < onednn->blocks && status == dnnl_success; block++)
        status = pack(linear, block, room);
    free(room);
    return status == dnnl_success ? ERR_OK : fail(linear, status, err);
}

static void onednn_close(struct linear *linear)
{
    struct onednn *onednn = linear->weights;
    const struct onednn_library *dnnl = &onednn->dnnl;
    for (size_t i = 0; onednn->weights != NULL && i < onednn->blocks; i++)
        if (onednn->weights[i] != NULL)
            dnnl->memory_destroy(onednn->weights[i]);
    for (size_t i = 0; i < 2 * BUCKETS; i++)
        if (onednn->products[i / BUCKETS].primitive[i % BUCKETS] != NULL)
            dnnl->primitive_destroy(onednn->products[i / BUCKETS].primitive[i % BUCKETS]);
    if (onednn->stream != NULL)
        dnnl->stream_destroy(onednn->stream);
    if (onednn->engine != NULL)
        dnnl->engine_destroy(onednn->engine);
    onednn_library_close(&onednn->dnnl);
    free(onednn->weights);
    free(onednn->slots);
    free(onednn);
}

/* ---- single weights ---- */

static float number(enum precision precision, const void *numbers, size_t i)
{
    if (precision == PRECISION_F32)
        return ((const float *)numbers)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)numbers)[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The offset of W[column, k] in a packed block: "Understanding Memory Formats" of oneDNN's
 * guide. */
static size_t position(const dnnl_memory_desc_t *desc, size_t k, size_t column)
{
    const dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;
    size_t at[2] = {k, column}, offset = (size_t)desc->offset0, within = 1;
    for (int i = blocking->inner_nblks; i-- > 0;) {
        size_t *index = &at[blocking->inner_idxs[i]], size = (size_t)blocking->inner_blks[i];
        offset += *index % size * within;
        *index /= size;
        within *= size;
    }
    return offset + at[0] * (size_t)blocking->strides[0] + at[1] * (size_t)blocking->strides[1];
}

static void onednn_unpack(const struct linear *linear, size_t column, float *weight)
{
    const struct onednn *onednn = linear->weights;
    size_t block = column / COLUMN_BLOCK;
    const dnnl_memory_desc_t *desc = &product_of(linear, block)->packed;
    for (size_t k = 0; k < linear->in; k++)
        weight[k] = number(linear->backend->precision, slot(onednn, block),
                           position(desc, k, column % COLUMN_BLOCK));
}

/* ---- run ---- */

/* One execution: sums[rows, columns] = x[rows, row] W^T of 1 << bucket rows and one block. */
struct execution {
    const struct linear *linear;
    const struct product *product;
    size_t block;
    unsigned bucket;
    const void *x; /* only read */
    float *sums;
};

static bool execute(const struct execution *run)
{
    const struct onednn *onednn = run->linear->weights;
    const struct onednn_library *dnnl = &onednn->dnnl;
    const struct product *product = run->product;
    unsigned bucket = run->bucket;
    _Alignas(64) char room[SCRATCHPAD_BYTES];
    dnnl_memory_t x = NULL, y = NULL, scratch = NULL;
    dnnl_engine_t engine = onednn->engine;
    bool done = dnnl->memory_create(&x, &product->x[bucket], engine, (void *)(size_t)run->x) == 0 &&
                dnnl->memory_create(&y, &product->y[bucket], engine, run->sums) == 0 &&
                dnnl->memory_create(&scratch, &product->scratch[bucket], engine, room) == 0;
    if (done) {
        const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, x},
                                        {DNNL_ARG_WEIGHTS, onednn->weights[run->block]},
                                        {DNNL_ARG_DST, y},
                                        {DNNL_ARG_SCRATCHPAD, scratch}};
        done = dnnl->primitive_execute(product->primitive[bucket], onednn->stream, 4, args) ==
               dnnl_success;
    }
    if (x != NULL)
        dnnl->memory_destroy(x);
    if (y != NULL)
        dnnl->memory_destroy(y);
    if (scratch != NULL)
        dnnl->memory_destroy(scratch);
    return done;
}

static void multiply_plainly(const struct execution *run)
{
    const struct onednn *onednn = run->linear->weights;
    enum precision precision = run->linear->backend->precision;
    const char *weights = slot(onednn, run->block);
    for (size_t r = 0; r < (size_t)1 << run->bucket; r++)
        for (size_t c = 0; c < run->product->columns; c++) {
            double sum = 0;
            for (size_t k = 0; k < run->linear->in; k++)
                sum += (double)number(precision, run->x, r * onednn->row + k) *
                       number(precision, weights, position(&run->product->packed, k, c));
            run->sums[r * run->product->columns + c] = (float)sum;
        }
}

/* The largest bucket of at most `rows` rows. */
static unsigned bucket_for(size_t rows)
{
    unsigned bucket = 0;
    while (bucket + 1 < BUCKETS && (size_t)2 << bucket <= rows)
        bucket++;
    return bucket;
}

static void finish(const struct execution *run, const struct kernels *kernels,
                   const struct linear_io *io, size_t row)
{
    size_t column = run->block * COLUMN_BLOCK;
    const float *residual = io->residual;
    if (residual != NULL)
        residual += row * io->residual_stride + column;
    struct epilogue epilogue = {.y = io->y + row * io->y_stride + column,
                                .y_stride = io->y_stride,
                                .sums = run->sums,
                                .sums_stride = run->product->columns,
                                .bias = run->linear->bias + column,
                                .residual = residual,
                                .residual_stride = io->residual_stride,
                                .rows = (size_t)1 << run->bucket,
                                .columns = run->product->columns,
                                .act = io->act};
    kernels->epilogue(&epilogue);
}

/* Rows of x as the packed weights want them: copied into `room`, its padding zero. */
static void gather(char *room, size_t stride, const struct operand *x, size_t row, size_t rows,
                   size_t bytes)
{
    const char *from = (const char *)x->data + row * x->stride;
    for (size_t r = 0; r < rows; r++) {
        memcpy(room + r * stride, from + r * x->stride, bytes);
        memset(room + r * stride + bytes, 0, stride - bytes);
    }
}

static void run_block(const struct linear *linear, const struct kernels *kernels,
                      const struct linear_io *io, size_t row, size_t last, size_t block)
{
    const struct onednn *onednn = linear->weights;
    size_t bytes = precision_bytes(io->x.precision), stride = onednn->row * bytes;
    bool in_place = io->x.stride == stride;
    size_t most = in_place ? ROWS_MAX : GATHERED_BYTES / stride;
    _Alignas(64) char gathered[GATHERED_BYTES];
    _Alignas(64) float sums[ROWS_MAX * COLUMN_BLOCK];
    struct execution run = {linear, product_of(linear, block), block, 0, gathered, sums};
    for (; row < last; row += (size_t)1 << run.bucket) {
        run.bucket = bucket_for(last - row < most ? last - row : most);
        if (in_place)
            run.x = (const char *)io->x.data + row * stride;
        else
            gather(gathered, stride, &io->x, row, (size_t)1 << run.bucket, linear->in * bytes);
        if (!execute(&run))
            multiply_plainly(&run);
        finish(&run, kernels, io, row);
    }
}

static void onednn_run(const struct linear *linear, const struct kernels *kernels,
                       const struct linear_io *io, const struct linear_block *block)
{
    for (size_t c = block->first_column; c < block->last_column; c += COLUMN_BLOCK)
        run_block(linear, kernels, io, block->first_row, block->last_row, c / COLUMN_BLOCK);
}

#define ROW(number, function)                                                                      \
    {                                                                                              \
        .name = "onednn", .precision = number, .row_block = ROW_BLOCK,                             \
        .column_block = COLUMN_BLOCK, .alloc = function, .fill = onednn_fill, .open = onednn_open, \
        .run = onednn_run, .unpack = onednn_unpack, .close = onednn_close                          \
    }

#endif

const struct linear_backend linear_onednn[PRECISION_INT8] = {
    [PRECISION_F32] = ROW(PRECISION_F32, onednn_alloc),
    [PRECISION_BF16] = ROW(PRECISION_BF16, onednn_alloc)};
