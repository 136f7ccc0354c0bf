/* positions.h - learnt positions of a square grid of patches, resampled for another grid: bicubic
 * with half-pixel centres (Keys 1981; Dosovitskiy et al. 2021, section 3.2), equal to PyTorch's
 * interpolate(mode="bicubic", align_corners=False) in Hugging Face's vision models.
 *
 *     positions_resize(out, 5, in, 7, hidden, family->positions_antialiased);
 *
 *   plain        a = -0.75, four neighbours, the border repeated            ViT, DeiT, DINOv2
 *   antialiased  a = -0.5, a step of the kernel as wide as a step of the coarser grid, weights
 *                renormalised inside the border (antialias=True)      DINOv2 with registers
 *
 * Threads: pure.
 */
#ifndef ATTND_ENGINE_MODEL_POSITIONS_H
#define ATTND_ENGINE_MODEL_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>

/* out [to, to, width] from in [from, from, width]. */
void positions_resize(float *out, size_t to, const float *in, size_t from, size_t width,
                      bool antialiased);

#endif
