/* loader.c - see loader.h.
 *
 * The plan is a list of chunks of about 256 KB, sorted by their place in the files. The members of
 * a pool take them from one counter, so that a file is read from front to back. A chunk of a table
 * is read into its place. A chunk of a matrix is read into the member's buffer, which stays in the
 * second-level cache until linear_fill has repacked it.
 *
 * A matrix may be a stack of several tensors (query, key, value), and linear_fill needs whole
 * groups of LINEAR_FILL_ROWS rows of the stack. So a chunk of a matrix is counted in rows of the
 * stack, and read_rows reads it from all tensors that it crosses. Its place is that of its first
 * number.
 *
 * Errors are the same in every run: chunks are taken in order, and a chunk that was taken is
 * finished. So if one fails, every earlier one has been taken too. Of the members' first errors,
 * that of the earliest chunk is reported.
 *
 * BERT-base fp32, 438 MB in the page cache, exec to ready on a shared Zen 5 of two cores, minima of
 * 8 alternating runs (2026-11): 347 ms with one thread and zeroed 4 KB pages, 169 ms with this. A
 * virtual machine whose host reclaims free memory pays 10 us more for each 4 KB.
 */
#include "engine/model/loader.h"

#include "engine/base/pages.h"
#include "engine/base/thread_pool.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { CHUNK_FLOATS = 64 * 1024 };

/* The destination of tensors: a table in memory or the rows of a linear. */
struct load_target {
    float *table;
    uint16_t *halves;      /* a table that keeps the file's 16 bits a number */
    struct linear *linear; /* NULL for both */
    const struct tensor_info *parts[LOADER_PARTS_MAX];
    const struct tensor_info *scale; /* factors of the linear's outputs; NULL: none */
    size_t multiplied;               /* number of first outputs that have `factor` */
    float factor;
};

struct load_chunk {
    uint64_t offset; /* offset of its first byte in the file */
    unsigned file;
    unsigned target;
    size_t first, count; /* numbers of the table, or rows of the linear */
};

/* One member of the pool. */
struct lane {
    float *buffer; /* [buffer_floats], then a number for each row of a matrix's chunk */
    struct err err;
    size_t failed; /* index of the chunk of `err` */
};

struct run {
    const struct loader *loader;
    struct lane *lanes;
    atomic_size_t next; /* the next chunk; partners: the other lanes */
};

void loader_init(struct loader *loader, const struct checkpoint *checkpoint)
{
    *loader = (struct loader){.checkpoint = checkpoint};
}

void loader_deinit(struct loader *loader)
{
    free(loader->targets);
    free(loader->chunks);
    *loader = (struct loader){0};
}

/* ---- the plan ---- */

/* Makes room for one more item in an array of count items; NULL if there is no memory. */
static void *grow(void *items, size_t count, size_t *max, size_t size)
{
    if (count < *max)
        return items;
    size_t wanted = *max > 0 ? *max * 2 : 64;
    void *grown = wanted < SIZE_MAX / size ? realloc(items, wanted * size) : NULL;
    if (grown != NULL)
        *max = wanted;
    return grown;
}

static enum err_code add_target(struct loader *loader, const struct load_target *target,
                                struct err *err)
{
    struct load_target *grown =
        grow(loader->targets, loader->target_count, &loader->target_max, sizeof *loader->targets);
    if (grown == NULL)
        return err_no_memory(err, loader->target_count * sizeof *grown);
    loader->targets = grown;
    loader->targets[loader->target_count++] = *target;
    return ERR_OK;
}

/* Adds a chunk of the newest target, which begins at number `from` of the tensor. */
static enum err_code add_chunk(struct loader *loader, const struct tensor_info *info, size_t from,
                               size_t first, size_t count, struct err *err)
{
    struct load_chunk *grown =
        grow(loader->chunks, loader->chunk_count, &loader->chunk_max, sizeof *loader->chunks);
    if (grown == NULL)
        return err_no_memory(err, loader->chunk_count * sizeof *grown);
    loader->chunks = grown;
    loader->chunks[loader->chunk_count++] = (struct load_chunk){
        .offset = info->offset + from * (info->bytes / info->count),
        .file = checkpoint_file_of(loader->checkpoint, info),
        .target = (unsigned)loader->target_count - 1,
        .first = first,
        .count = count,
    };
    return ERR_OK;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Adds a table, whose target has its place. */
static enum err_code add_table(struct loader *loader, const struct tensor_info *info,
                               const struct load_target *target, struct err *err)
{
    if (add_target(loader, target, err))
        return err->code;
    for (size_t first = 0; first < info->count; first += CHUNK_FLOATS)
        if (add_chunk(loader, info, first, first, smaller(info->count - first, CHUNK_FLOATS), err))
            return err->code;
    return ERR_OK;
}

enum err_code loader_add_table(struct loader *loader, const struct tensor_info *info, float *out,
                               struct err *err)
{
    return add_table(loader, info, &(struct load_target){.table = out, .parts = {info}}, err);
}

enum err_code loader_add_halves(struct loader *loader, const struct tensor_info *info,
                                uint16_t *out, struct err *err)
{
    return add_table(loader, info, &(struct load_target){.halves = out, .parts = {info}}, err);
}

/* Returns the rows of a chunk: about CHUNK_FLOATS numbers, in whole groups, at least one group. */
static size_t chunk_rows(const struct linear *linear)
{
    size_t groups = CHUNK_FLOATS / LINEAR_FILL_ROWS / linear->in;
    return smaller(groups > 0 ? groups * LINEAR_FILL_ROWS : LINEAR_FILL_ROWS, linear->out);
}

/* Returns the part that holds row *row of the stack; *row becomes the row inside the part. */
static const struct tensor_info *find_part(const struct load_target *target, size_t *row)
{
    unsigned part = 0;
    for (; *row >= target->parts[part]->count / target->linear->in; part++)
        *row -= target->parts[part]->count / target->linear->in;
    return target->parts[part];
}

enum err_code loader_add_matrix(struct loader *loader, struct linear *linear,
                                const struct tensor_info *const *parts, unsigned part_count,
                                struct err *err)
{
    struct load_target target = {.linear = linear};
    size_t numbers = 0, rows = chunk_rows(linear), floats = rows * linear->in + rows;
    assert(part_count <= LOADER_PARTS_MAX);
    for (unsigned i = 0; i < part_count; i++) {
        target.parts[i] = parts[i];
        numbers += parts[i]->count;
    }
    assert(numbers == linear->in * linear->out);
    if (floats > loader->buffer_floats)
        loader->buffer_floats = floats;
    if (add_target(loader, &target, err))
        return err->code;
    for (size_t first = 0; first < linear->out; first += rows) {
        size_t row = first, count = smaller(linear->out - first, rows);
        const struct tensor_info *info = find_part(&target, &row);
        if (add_chunk(loader, info, row * linear->in, first, count, err))
            return err->code;
    }
    return ERR_OK;
}

static struct load_target *target_of(struct loader *loader, const struct linear *linear)
{
    size_t i = loader->target_count;
    do {
        assert(i > 0);
        i--;
    } while (loader->targets[i].linear != linear);
    return &loader->targets[i];
}

void loader_scale(struct loader *loader, const struct linear *linear,
                  const struct tensor_info *scale)
{
    assert(scale->count == linear->out);
    target_of(loader, linear)->scale = scale;
}

void loader_multiply(struct loader *loader, const struct linear *linear, size_t outputs,
                     float factor)
{
    struct load_target *target = target_of(loader, linear);
    assert(outputs <= linear->out);
    target->multiplied = outputs;
    target->factor = factor;
}

/* ---- the run ---- */

static int compare_chunks(const void *left, const void *right)
{
    const struct load_chunk *a = left, *b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->target > b->target) - (a->target < b->target); /* a tensor that is bound twice */
}

static enum err_code read_rows(const struct checkpoint *checkpoint,
                               const struct load_target *target, const struct load_chunk *chunk,
                               float *buffer, struct err *err)
{
    size_t in = target->linear->in;
    for (size_t done = 0; done < chunk->count;) {
        size_t row = chunk->first + done;
        const struct tensor_info *info = find_part(target, &row);
        size_t rows = smaller(info->count / in - row, chunk->count - done);
        if (checkpoint_read_f32(checkpoint, info, row * in, rows * in, buffer + done * in, err))
            return err->code;
        done += rows;
    }
    return ERR_OK;
}

static void multiply(float *x, float by, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

/* Multiplies each row of a chunk by its number of the scale, which is read behind them. */
static enum err_code scale_rows(const struct checkpoint *checkpoint,
                                const struct load_target *target, const struct load_chunk *chunk,
                                float *buffer, struct err *err)
{
    size_t in = target->linear->in;
    float *scale = buffer + chunk->count * in;
    if (target->scale == NULL)
        return ERR_OK;
    if (checkpoint_read_f32(checkpoint, target->scale, chunk->first, chunk->count, scale, err))
        return err->code;
    for (size_t r = 0; r < chunk->count; r++)
        multiply(buffer + r * in, scale[r], in);
    return ERR_OK;
}

/* Scales the biases, which are separate tables, after everything is read. */
static enum err_code scale_bias(const struct loader *loader, const struct load_target *target,
                                struct err *err)
{
    float scale;
    multiply(target->linear->bias, target->factor, target->multiplied);
    for (size_t c = 0; target->scale != NULL && c < target->linear->out; c++) {
        if (checkpoint_read_f32(loader->checkpoint, target->scale, c, 1, &scale, err))
            return err->code;
        target->linear->bias[c] *= scale;
    }
    return ERR_OK;
}

static enum err_code load_chunk(const struct loader *loader, const struct load_chunk *chunk,
                                struct lane *lane)
{
    const struct load_target *target = &loader->targets[chunk->target];
    if (target->halves != NULL)
        return checkpoint_read_halves(loader->checkpoint, target->parts[0], chunk->first,
                                      chunk->count, target->halves + chunk->first, &lane->err);
    if (target->linear == NULL)
        return checkpoint_read_f32(loader->checkpoint, target->parts[0], chunk->first, chunk->count,
                                   target->table + chunk->first, &lane->err);
    if (read_rows(loader->checkpoint, target, chunk, lane->buffer, &lane->err) ||
        scale_rows(loader->checkpoint, target, chunk, lane->buffer, &lane->err))
        return lane->err.code;
    if (chunk->first < target->multiplied)
        multiply(lane->buffer, target->factor,
                 smaller(target->multiplied - chunk->first, chunk->count) * target->linear->in);
    linear_fill(target->linear, chunk->first, chunk->count, lane->buffer);
    return ERR_OK;
}

static void run_lane(void *context, unsigned index, unsigned count)
{
    (void)count;
    struct run *run = context;
    const struct loader *loader = run->loader;
    struct lane *lane = &run->lanes[index];
    for (;;) {
        size_t taken = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
        if (taken >= loader->chunk_count)
            return;
        if (load_chunk(loader, &loader->chunks[taken], lane)) {
            lane->failed = taken;
            atomic_store_explicit(&run->next, loader->chunk_count, memory_order_relaxed);
            return;
        }
    }
}

static enum err_code first_error(const struct lane *lanes, unsigned count, struct err *err)
{
    const struct lane *first = NULL;
    for (unsigned i = 0; i < count; i++)
        if (lanes[i].err.code != ERR_OK && (first == NULL || lanes[i].failed < first->failed))
            first = &lanes[i];
    if (first != NULL)
        *err = first->err;
    return err->code;
}

static enum err_code run_lanes(struct loader *loader, unsigned threads, struct err *err)
{
    struct thread_pool *pool = NULL;
    struct lane *lanes = calloc(threads, sizeof *lanes);
    float *buffers = pages_alloc(threads * loader->buffer_floats * sizeof *buffers);
    if (lanes == NULL || buffers == NULL) {
        err_no_memory(err, threads * (sizeof *lanes + loader->buffer_floats * sizeof *buffers));
    } else if (!thread_pool_open(&pool, threads, err)) {
        struct run run = {.loader = loader, .lanes = lanes};
        for (unsigned i = 0; i < threads; i++)
            lanes[i].buffer = buffers + i * loader->buffer_floats;
        thread_pool_run(pool, run_lane, &run);
        first_error(lanes, threads, err);
    }
    thread_pool_close(pool);
    free(buffers);
    free(lanes);
    return err->code;
}

enum err_code loader_run(struct loader *loader, unsigned threads, struct err *err)
{
    if (loader->chunk_count == 0)
        return ERR_OK;
    qsort(loader->chunks, loader->chunk_count, sizeof *loader->chunks, compare_chunks);
    threads = threads < loader->chunk_count ? threads : (unsigned)loader->chunk_count;
    if (run_lanes(loader, threads, err))
        return err->code;
    for (size_t i = 0; i < loader->target_count; i++) {
        if (loader->targets[i].linear != NULL && scale_bias(loader, &loader->targets[i], err))
            return err->code;
    }
    return ERR_OK;
}
