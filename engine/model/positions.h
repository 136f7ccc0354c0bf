/* positions.h - tables of positions that are made, not read.
 *
 * Learnt positions of a grid of patches, resampled for another grid: bicubic
 * with half-pixel centres (Keys 1981; Dosovitskiy et al. 2021, section 3.2), equal to PyTorch's
 * interpolate(mode="bicubic", align_corners=False) in Hugging Face's vision models.
 *
 *     positions_resize(out, (struct extent){3, 20}, in, (struct extent){7, 7}, hidden,
 *                      family->positions_antialiased);
 *
 *   plain        a = -0.75, four neighbours, the border repeated            ViT, DeiT, DINOv2
 *   antialiased  a = -0.5, a step of the kernel as wide as a step of the coarser grid, weights
 *                renormalised inside the border (antialias=True)      DINOv2 with registers
 *
 * Sines and cosines of positions in a text (Vaswani et al. 2017, section 3.5), all sines before the
 * cosines, h = half the width:
 *
 *   plain    sin(p / 10000^(2 i / width)), cos(...)            Marian and Pegasus
 *   fairseq  sin(p 10000^(-i / (h - 1))), cos(...) in fp32, one row of zeros     M2M100, TrOCR
 *
 * Threads: pure.
 */
#ifndef ATTND_ENGINE_MODEL_POSITIONS_H
#define ATTND_ENGINE_MODEL_POSITIONS_H

#include "engine/vision/region.h"

/* out [to.height, to.width, width] from in [from.height, from.width, width]. */
void positions_resize(float *out, struct extent to, const float *in, struct extent from,
                      size_t width, bool antialiased);

/* out [count, width], row p of position p. An odd width has one sine more. */
void positions_sines(float *out, size_t count, size_t width);
/* The same as fairseq computes it; row `zero`, of the padding, is zero, and so is the last number
 * of an odd width. */
void positions_sines_fairseq(float *out, size_t count, size_t width, size_t zero);

#endif
