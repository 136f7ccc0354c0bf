#include "engine/vision/pixels.h"

#include <stdlib.h>

enum err_code image_create(struct image *out, unsigned width, unsigned height,
                           const struct image_options *options, struct arena *arena,
                           struct err *err)
{
    if (width == 0 || height == 0)
        return err_set(err, ERR_UNUSABLE, "the image has no pixels (%u x %u)", width, height);
    if (width > IMAGE_SIDE_MAX || height > IMAGE_SIDE_MAX)
        return err_set(err, ERR_UNUSABLE, "the image is %u x %u; the limit is %d pixels a side",
                       width, height, IMAGE_SIDE_MAX);
    size_t pixels = (size_t)width * height;
    if (pixels > options->pixels_max)
        return err_set(err, ERR_UNUSABLE, "the image is %u x %u; the limit is %zu pixels", width,
                       height, options->pixels_max);
    unsigned char *rgb = arena_alloc(arena, pixels * 3);
    if (rgb == NULL)
        return err_no_memory(err, pixels * 3);
    *out = (struct image){.width = width, .height = height, .rgb = rgb};
    return ERR_OK;
}

bool pixels_are_coloured(const struct image *image)
{
    const size_t count = (size_t)image->width * image->height;
    const size_t share = count / PIXELS_COLOURED_SHARE;
    const size_t enough = share > PIXELS_COLOURED_MIN ? share : PIXELS_COLOURED_MIN;
    size_t coloured = 0;
    for (size_t i = 0; i < count && coloured < enough; i++) {
        const int r = image->rgb[3 * i], g = image->rgb[3 * i + 1], b = image->rgb[3 * i + 2];
        coloured += abs(r - g) > PIXELS_CHROMA || abs(g - b) > PIXELS_CHROMA ||
                    abs(r - b) > PIXELS_CHROMA;
    }
    return coloured >= enough;
}
