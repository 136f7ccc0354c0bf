/* resize.h - antialiased separable resampling of 8-bit RGB, byte for byte PIL's Image.resize
 * (Pillow up to 12): fixed-point coefficients, horizontal pass first, rounding to 8 bits between.
 *
 *     resize_rgb(&image, 224, 224, RESAMPLE_BILINEAR, &arena, &small, &err);
 *
 * Threads: any number; no state is shared.
 */
#ifndef ATTND_ENGINE_VISION_RESIZE_H
#define ATTND_ENGINE_VISION_RESIZE_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/vision/pixels.h"

/* PIL's numbers, as preprocessor_config.json spells them. */
enum resample {
    RESAMPLE_NEAREST = 0,
    RESAMPLE_LANCZOS = 1,
    RESAMPLE_BILINEAR = 2,
    RESAMPLE_BICUBIC = 3,
    RESAMPLE_BOX = 4,
    RESAMPLE_HAMMING = 5,
};

/* A part of the resized image, inside it and not empty. */
struct resize_window {
    unsigned left, top, width, height;
};

/* out: [height, width, 3] in the arena. Sides are from 1 to IMAGE_SIDE_MAX. ERR_NO_MEMORY only. */
enum err_code resize_rgb(const struct image *image, unsigned width, unsigned height,
                         enum resample resample, struct arena *arena, struct image *out,
                         struct err *err);

/* The same for a window alone, at the window's cost: pixels outside a centre crop are not computed.
 * out: [window.height, window.width, 3]. The interrupt (or NULL) is checked for each row. */
enum err_code resize_rgb_window(const struct image *image, unsigned width, unsigned height,
                                struct resize_window window, enum resample resample,
                                struct interrupt *interrupt, struct arena *arena, struct image *out,
                                struct err *err);

/* Upper bound of the bytes that resize_rgb_window takes, its result included. */
size_t resize_bytes(const struct image *image, unsigned width, unsigned height,
                    struct resize_window window, enum resample resample);

/* A resampling for images that are shrunk, which keeps thin bright lines.
 *
 *     resize_lines(&image, 48, 48, window, NULL, &arena, &small, &err);
 *
 * A filter gives a pixel the mean of its square, and a line of one source pixel fades as the image
 * shrinks: at a third it keeps a third of its contrast, no more than noise. Here a pixel becomes,
 * channel by channel, the brightest of the lines through its square: the means of its rows, of its
 * columns and of its two diagonals. A line that crosses the square keeps its brightness at every
 * scale; a bright point is dimmed to one pixel's share of a line. Thin dark lines disappear.
 *
 * preprocess.h takes the mean of this and the filter. Measured on WM-811K's maps of 60 and more
 * dies across (1268 maps: 180 Scratch, 604 none, Loc, Edge-Loc), shrunk to 48 pixels, by a small
 * CNN, two seeds, three folds of maps that are no neighbours in the data; Scratch against the rest:
 *
 *                     of 80 dies and more         of 110 and more             all four
 *                     AP     recall at precision  AP     recall at precision  classes
 *                            0.8                         0.8                  mean AP
 *     bilinear        0.760  0.51                 0.725  0.29                 0.908
 *     these lines     0.801  0.62                 0.819  0.57                 0.884
 *     mean of both    0.831  0.72                 0.839  0.67                 0.916
 *
 * The square has a grid of samples, which are source pixels. It has ceil(source / target) columns,
 * so that no source column is left out, rows likewise, and on a diagonal the larger number. Sample
 * k of n of output x is source pixel floor((x + (k + 1/2) / n) source / target). Cost: each source
 * pixel is read at most four times, and each diagonal's samples once.
 *
 * Threads: any number; no state is shared.
 */

/* Returns true if it applies to this size: neither side grows, and at least one shrinks. */
bool resize_lines_applies(const struct image *image, unsigned width, unsigned height);

/* Makes a window of the resized image, like resize_rgb_window. The interrupt (or NULL) is checked
 * for each row of samples. ERR_NO_MEMORY, or the interrupt's error. */
enum err_code resize_lines(const struct image *image, unsigned width, unsigned height,
                           struct resize_window window, struct interrupt *interrupt,
                           struct arena *arena, struct image *out, struct err *err);

/* Upper bound of the bytes that resize_lines takes, its result included. */
size_t resize_lines_bytes(const struct image *image, unsigned width, unsigned height,
                          struct resize_window window);

#endif
