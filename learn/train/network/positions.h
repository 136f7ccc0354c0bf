/* positions.h - learnt positions of a square grid of patches, resampled for another grid.
 *
 * Bicubic convolution with a = -0.75 and half-pixel centres, the border repeated: what PyTorch's
 * interpolate(mode="bicubic", align_corners=False) computes, by which Hugging Face's ViT takes a
 * model to another image size (Keys 1981; Dosovitskiy et al. 2021, section 3.2). Threads: pure.
 */
#ifndef ATTND_LEARN_TRAIN_NETWORK_POSITIONS_H
#define ATTND_LEARN_TRAIN_NETWORK_POSITIONS_H

#include <stddef.h>

/* out [to, to, width] from in [from, from, width]. */
void positions_resize(float *out, size_t to, const float *in, size_t from, size_t width);

#endif
