#include "learn/eval/explain/explanations.h"

#include "engine/base/file.h"
#include "engine/vision/image.h"

#include <math.h>
#include <stdlib.h>

enum { BYTES_MAX = 64 * 1024 * 1024, PIXELS_MAX = 64 * 1024 * 1024 };

/* ---- the mask ---- */

enum err_code localisation_read_mask(const char *path, unsigned width, unsigned height,
                                     struct arena *arena, struct localisation_mask *out,
                                     struct err *err)
{
    const struct image_options options = {.pixels_max = PIXELS_MAX};
    struct image image;
    char *bytes;
    size_t len, count = 0;
    if (file_read(&bytes, &len, path, BYTES_MAX, err))
        goto out;
    image_decode(&image, bytes, len, &options, arena, err);
    free(bytes);
    if (err->code != ERR_OK)
        goto out;
    if (image.width != width || image.height != height) {
        err_set(err, ERR_UNUSABLE, "the mask has %u x %u pixels, its image %u x %u", image.width,
                image.height, width, height);
        goto out;
    }
    const size_t pixels = (size_t)width * height;
    bool *marked = arena_alloc_array(arena, pixels, sizeof *marked);
    if (marked == NULL) {
        err_no_memory(err, pixels);
        goto out;
    }
    for (size_t i = 0; i < pixels; i++) {
        const unsigned char *rgb = image.rgb + 3 * i;
        marked[i] = rgb[0] + rgb[1] + rgb[2] >= 3 * 128;
        count += marked[i];
    }
    *out = (struct localisation_mask){width, height, marked};
    if (count == 0)
        err_set(err, ERR_UNUSABLE, "the mask marks nothing");
out:
    return err->code != ERR_OK ? err_prefix(err, "%.200s: ", path) : ERR_OK;
}

/* ---- its patches ---- */

/* Index of the part that contains `at`, if start .. start + length is cut into `count` equal parts;
 * -1: none. */
static int place(double at, double start, double length, unsigned count)
{
    double part = floor((at - start) / length * count);
    return part >= 0 && part < count ? (int)part : -1;
}

unsigned localisation_patches(const struct localisation_mask *mask, const struct patches_view *view,
                              bool *marked)
{
    unsigned count = 0;
    for (unsigned p = 0; p < view->rows * view->columns; p++) { /* by the patch's own centre */
        double x = view->all.left + (p % view->columns + 0.5) * view->all.width / view->columns;
        double y = view->all.top + (p / view->columns + 0.5) * view->all.height / view->rows;
        marked[p] = x >= 0 && y >= 0 && x < mask->width && y < mask->height &&
                    mask->marked[(size_t)y * mask->width + (size_t)x];
    }
    for (unsigned y = 0; y < mask->height; y++) /* by the pixels' centres */
        for (unsigned x = 0; x < mask->width; x++) {
            int row = place(y + 0.5, view->all.top, view->all.height, view->rows);
            int column = place(x + 0.5, view->all.left, view->all.width, view->columns);
            if (mask->marked[(size_t)y * mask->width + x] && row >= 0 && column >= 0)
                marked[(unsigned)row * view->columns + (unsigned)column] = true;
        }
    for (unsigned p = 0; p < view->rows * view->columns; p++)
        count += marked[p];
    return count;
}

/* ---- figures ---- */

struct localisation localisation_measure(const unsigned *order, const bool *marked,
                                         unsigned marked_count)
{
    unsigned common = 0;
    for (unsigned i = 0; i < marked_count; i++)
        common += marked[order[i]];
    return (struct localisation){.pointed = marked[order[0]],
                                 .iou = (double)common / (2 * marked_count - common)};
}
