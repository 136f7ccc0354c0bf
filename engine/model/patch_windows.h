/* patch_windows.h - the order of a stage's tokens: a window's patches lie side by side, so windows
 * are simply the sequences of a packed batch for attention (Liu et al. 2021, section 3.2).
 *
 *     patch_windows_open(&windows, &spec_of_stage, &arena, &err);
 *     from = patch_windows_move(&windows, layer);   // row r of a layer is row from[r] before it
 *
 * Row r of an image is patch r % w^2 of window r / w^2, both counted row by row. With a shift of s,
 * the image is first rolled by s patches to the left and up: patches that leave come in on the
 * other side (torch.roll). A stage begins and ends in the order of the grid.
 *
 * Threads: immutable after patch_windows_open.
 */
#ifndef ATTND_ENGINE_MODEL_PATCH_WINDOWS_H
#define ATTND_ENGINE_MODEL_PATCH_WINDOWS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/model/spec.h"

/* Tables of rows, each [patches]; NULL: no row moves. */
struct patch_windows {
    unsigned first, end;    /* the stage's layers */
    unsigned *enter;        /* grid -> windows */
    unsigned *shift, *back; /* windows -> shifted windows, and back */
    unsigned *leave;        /* windows of the last layer -> grid */
};

/* Returns the patch of the grid in row `row` of an image. */
unsigned patch_windows_cell(const struct spec *spec, unsigned shift, unsigned row);

/* Returns the kind of sequence `sequence` of a batch, which selects its matrix of the bias
 * (window_bias.h); all windows of an image follow each other. 0 if sequences are whole. */
unsigned patch_windows_kind(const struct spec *spec, unsigned sequence);

/* Makes the tables of a stage (a spec from spec_at), in the arena. ERR_NO_MEMORY. */
enum err_code patch_windows_open(struct patch_windows *out, const struct spec *spec,
                                 struct arena *arena, struct err *err);

/* Returns the source of each row of layer `layer`; NULL: no row moves, as with tables of zeros. */
const unsigned *patch_windows_move(const struct patch_windows *windows, unsigned layer);

/* Returns the image's row, in the order that `leave` reads, of part `part` of merged patch `patch`:
 * above left, below left, above right, below right (SwinPatchMerging). */
unsigned patch_windows_merged(const struct spec *spec, const struct patch_windows *windows,
                              unsigned patch, unsigned part);

#endif
