/* patches.h - converts the relevance of tokens to patches, boxes and a heat map of an image.
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

/* Returns the view of an image of width x height, read through `preprocess`. */
struct patches_view patches_view(const struct spec *spec, const struct preprocess *preprocess,
                                 unsigned width, unsigned height);

/* Writes out[p], row by row, which sums to one: the tokens in front of the patches are left out. If
 * the patches have no relevance, all get the same. relevance [tokens], out [patches]. */
void patches_fold(const struct spec *spec, const float *relevance, float *out);

/* Writes the boxes of the patches, most relevant first, without those outside of the image. out has
 * room for boxes_max. Returns their number. */
unsigned patches_top(const struct patches_view *view, const float *relevance, unsigned boxes_max,
                     struct patch_box *out);

/* Makes an RGBA PNG of the image's size, to lay over it. Relevance is interpolated between the
 * centres of the patches and divided by its maximum, which gives the place on the ramp of ramp.def
 * and the opacity. It is transparent where the model saw nothing. *png is yours to free.
 * ERR_TOO_LARGE names the limit; ERR_NO_MEMORY; the error of the interrupt (NULL: none), which is
 * checked for each row. */
enum err_code patches_overlay(const struct patches_view *view, const float *relevance,
                              struct interrupt *interrupt, char **png, size_t *len,
                              struct err *err);

#endif
