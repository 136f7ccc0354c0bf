/* preprocess.h - RGB pixels -> the normalised inputs of a vision transformer, by
 * preprocessor_config.json or processor_config.json: resize, centre crop, rescale, normalise, as
 * the image processors of transformers 4.57 do it over PIL (ViTImageProcessor, DeiTImageProcessor,
 * BeitImageProcessor, BitImageProcessor, CLIPImageProcessor, SiglipImageProcessor). Their fast
 * classes (ViTImageProcessorFast and so on) have their own rules: they crop, and accept other
 * sizes.
 *
 *     preprocess_open(&preprocess, "models/wafer-vit", "ViT", extent_square(224), &err);
 *     preprocess_geometry(&preprocess, &image, &arena, &fitted, &err);
 *     preprocess_patches(&preprocess, &fitted, (struct extent){16, 8}, patches);
 *
 * Threads: a struct preprocess is immutable after open.
 */
#ifndef ATTND_ENGINE_VISION_PREPROCESS_H
#define ATTND_ENGINE_VISION_PREPROCESS_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "engine/vision/pixels.h"
#include "engine/vision/region.h"
#include "engine/vision/resize.h"

struct preprocess {
    bool do_resize, do_center_crop, do_rescale, do_normalize;
    unsigned resize_height, resize_width; /* both 0: by shortest_edge */
    unsigned shortest_edge;               /* 0: by height and width */
    unsigned crop_height, crop_width;
    /* A crop larger than the image gets a margin. If it is odd, a fast class puts the larger half
     * behind the image, a slow class before it. */
    bool pads_more_behind;
    enum resample resample;
    /* If an image is shrunk, a pixel is the mean of the filter's and of resize_lines.c's, the best
     * of the methods tried there. preprocess_open sets false. */
    bool keeps_lines;
    double rescale_factor;
    float mean[3], std[3];
};

/* Finds the file of DIR that configures the preprocessing; *name NULL: there is none. ERR_IO. */
enum err_code preprocess_file(const char *dir, const char **name, struct err *err);

/* Reads that file. If it names no class, `family_class` counts ("ViT": ViTImageProcessor).
 * `image_size` (from config.json) is the model's input size: ERR_UNSUPPORTED if the result has
 * another size, or if the file is missing. Error texts start with the file's name. */
enum err_code preprocess_open(struct preprocess *out, const char *dir, const char *family_class,
                              struct extent image_size, struct err *err);

/* Returns the size that every image becomes. Errors as preprocess_open. */
enum err_code preprocess_size(const char *dir, const char *family_class, struct extent *image_size,
                              struct err *err);

/* Rescale and normalise, for one channel and every value of a byte. */
void preprocess_table(const struct preprocess *preprocess, size_t channel, float table[256]);

/* Resizes and crops only: 8-bit RGB [height, width, 3] in the arena. ERR_UNUSABLE for an
 * image so thin that its resized length would exceed IMAGE_SIDE_MAX; or the interrupt's error
 * (NULL: no interrupt). */
enum err_code preprocess_geometry(const struct preprocess *preprocess, const struct image *image,
                                  struct interrupt *interrupt, struct arena *arena,
                                  struct image *out, struct err *err);

/* Upper bound of what preprocess_geometry takes for a width x height image, its result included. */
size_t preprocess_bytes(const struct preprocess *preprocess, unsigned width, unsigned height);

/* Returns the part of a width x height image that the model sees after preprocess_geometry. A crop
 * makes it smaller than the image, a crop that pads larger. */
struct image_region preprocess_view(const struct preprocess *preprocess, unsigned width,
                                    unsigned height);

/* Rescale and normalise geometry's pixels, and lay them out as patches: patch p (row by row) is
 * out[p, channel, y, x], the order of a flattened convolution kernel; out is
 * [extent_parts of both, 3 x a patch's pixels]. Pixels right of and below the last whole patch are
 * left out, as a convolution leaves them. */
void preprocess_patches(const struct preprocess *preprocess, const struct image *image,
                        struct extent patch, float *out);

#endif
