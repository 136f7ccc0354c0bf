/* loader.h - reads the tensors of a checkpoint into their places, by several threads.
 *
 *     loader_init(&loader, checkpoint);
 *     loader_add_table(&loader, info, table, &err);              // into memory, unchanged
 *     loader_add_halves(&loader, info, halves, &err);            // the same, of 16 bits a number
 *     loader_add_matrix(&loader, &linear, parts, 3, &err);       // into a linear, row by row
 *     loader_scale(&loader, &linear, scale);                     // whose outputs are multiplied
 *     loader_multiply(&loader, &linear, 64, 0.5f);               // the first 64 by one number
 *     loader_run(&loader, threads, &err);
 *     loader_deinit(&loader);
 *
 * Adding only records what to read: names and shapes are checked before the first byte is read. The
 * room needed beside the destinations is a few hundred kilobytes a thread.
 *
 * Threads: one at a time; loader_run has a pool of its own.
 */
#ifndef ATTND_ENGINE_MODEL_LOADER_H
#define ATTND_ENGINE_MODEL_LOADER_H

#include "engine/base/err.h"
#include "engine/format/checkpoint.h"
#include "engine/tensor/linear/linear.h"

#include <stddef.h>
#include <stdint.h>

enum { LOADER_PARTS_MAX = 3 };

struct loader {
    const struct checkpoint *checkpoint;
    struct load_target *targets;
    size_t target_count, target_max;
    struct load_chunk *chunks;
    size_t chunk_count, chunk_max;
    size_t buffer_floats; /* floats of the largest chunk of a matrix */
};

void loader_init(struct loader *loader, const struct checkpoint *checkpoint);
void loader_deinit(struct loader *loader);

/* Plans to read the whole tensor into out[info->count]. */
enum err_code loader_add_table(struct loader *loader, const struct tensor_info *info, float *out,
                               struct err *err);

/* The same for a tensor of DTYPE_F16 or DTYPE_BF16, in its own 16 bits a number. */
enum err_code loader_add_halves(struct loader *loader, const struct tensor_info *info,
                                uint16_t *out, struct err *err);

/* Plans to fill an allocated linear with the rows of parts[0], then parts[1], ... and to open it.
 * Together the parts have exactly its rows. */
enum err_code loader_add_matrix(struct loader *loader, struct linear *linear,
                                const struct tensor_info *const *parts, unsigned part_count,
                                struct err *err);

/* Multiplies output c of a planned linear by number c of `scale`: its weights when they are read
 * and its bias at the end. The result is that of a layer scale after it, free at run time. An int8
 * product has a scale for each output, so its weights are rounded as without. */
void loader_scale(struct loader *loader, const struct linear *linear,
                  const struct tensor_info *scale);

/* Multiplies the first `outputs` outputs of a planned linear by one number, in the same way. */
void loader_multiply(struct loader *loader, const struct linear *linear, size_t outputs,
                     float factor);

/* Reads everything that was added and opens the linears. Of several errors the first one in the
 * order of the checkpoint's files is reported, whichever occurred first. */
enum err_code loader_run(struct loader *loader, unsigned threads, struct err *err);

#endif
