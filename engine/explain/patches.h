/* patches.h - the relevance of tokens as relevance of patches, boxes and a heat map of an image.
 *
 * Threads: pure functions.
 */
#ifndef ATTND_ENGINE_EXPLAIN_PATCHES_H
#define ATTND_ENGINE_EXPLAIN_PATCHES_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/base/interrupt.h"
#include "engine/explain/explanation.h"
#include "engine/model/spec.h"
#include "engine/vision/preprocess.h"

/* For an image of width x height, read through `preprocess`. */
struct patches_view patches_view(const struct spec *spec, const struct preprocess *preprocess,
                                 unsigned width, unsigned height);

/* out[p], row by row: the tokens in front of the patches left out, the rest summing to one; all
 * alike if they have none. relevance [tokens], out [patches]. */
void patches_fold(const struct spec *spec, const float *relevance, float *out);

/* The most relevant patches first; those that lie outside of the image are left out. out has room
 * for boxes_max. Returns their number. */
unsigned patches_top(const struct patches_view *view, const float *relevance, unsigned boxes_max,
                     struct patch_box *out);

/* A PNG in RGBA of the image's own size, to be laid over it: relevance is interpolated between the
 * centres of the patches and divided by its maximum, which gives the place on the ramp of ramp.def
 * and the opacity; where the model saw nothing it is transparent. *png is yours to free.
 * ERR_TOO_LARGE names the limit; ERR_NO_MEMORY; what the interrupt (NULL: none) returns, which is
 * checked for each row. */
enum err_code patches_overlay(const struct patches_view *view, const float *relevance,
                              struct interrupt *interrupt, char **png, size_t *len,
                              struct err *err);

#endif
