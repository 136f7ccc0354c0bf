#include "learn/eval/explain/localisation.h"

#include "engine/base/file.h"
#include "engine/vision/image.h"

#include <math.h>
#include <stdlib.h>

enum { BYTES_MAX = 64 * 1024 * 1024, PIXELS_MAX = 64 * 1024 * 1024 };

/* ---- the mask ---- */

static enum err_code mark_pixels(const struct image *image, struct arena *arena,
                                 struct localisation_mask *out, struct err *err)
{
    size_t pixels = (size_t)image->width * image->height, count = 0;
    bool *marked = arena_alloc_array(arena, pixels, sizeof *marked);
    if (marked == NULL)
        return err_no_memory(err, pixels);
    for (size_t i = 0; i < pixels; i++) {
        const unsigned char *rgb = image->rgb + 3 * i;
        marked[i] = rgb[0] + rgb[1] + rgb[2] >= 3 * 128;
        count += marked[i];
    }
    *out = (struct localisation_mask){image->width, image->height, marked};
    return count > 0 ? ERR_OK : err_set(err, ERR_UNUSABLE, "the mask marks nothing");
}

static enum err_code read_mask(const char *path, unsigned width, unsigned height,
                               struct arena *arena, struct localisation_mask *out, struct err *err)
{
    const struct image_options options = {.pixels_max = PIXELS_MAX};
    struct image image;
    char *bytes;
    size_t len;
    if (file_read(&bytes, &len, path, BYTES_MAX, err))
        return err->code;
    image_decode(&image, bytes, len, &options, arena, err);
    free(bytes);
    if (err->code != ERR_OK)
        return err->code;
    if (image.width != width || image.height != height)
        return err_set(err, ERR_UNUSABLE, "the mask has %u x %u pixels, its image %u x %u",
                       image.width, image.height, width, height);
    return mark_pixels(&image, arena, out, err);
}

enum err_code localisation_read_mask(const char *path, unsigned width, unsigned height,
                                     struct arena *arena, struct localisation_mask *out,
                                     struct err *err)
{
    if (read_mask(path, width, height, arena, out, err))
        err_prefix(err, "%.200s: ", path);
    return err->code;
}

/* ---- its patches ---- */

/* Index of the part that contains `at`, if start .. start + length is cut into `count` equal parts;
 * -1: none. */
static int place(double at, double start, double length, unsigned count)
{
    double part = floor((at - start) / length * count);
    return part >= 0 && part < count ? (int)part : -1;
}

/* Marks the patches that contain the centre of a marked pixel. */
static void mark_by_pixels(const struct localisation_mask *mask, const struct patches_view *view,
                           bool *marked)
{
    for (unsigned y = 0; y < mask->height; y++)
        for (unsigned x = 0; x < mask->width; x++) {
            int row = place(y + 0.5, view->all.top, view->all.height, view->rows);
            int column = place(x + 0.5, view->all.left, view->all.width, view->columns);
            if (mask->marked[(size_t)y * mask->width + x] && row >= 0 && column >= 0)
                marked[(unsigned)row * view->columns + (unsigned)column] = true;
        }
}

static bool centre_is_marked(const struct localisation_mask *mask, const struct patches_view *view,
                             unsigned row, unsigned column)
{
    double x = view->all.left + (column + 0.5) * view->all.width / view->columns;
    double y = view->all.top + (row + 0.5) * view->all.height / view->rows;
    if (x < 0 || y < 0 || x >= mask->width || y >= mask->height)
        return false;
    return mask->marked[(size_t)y * mask->width + (size_t)x];
}

unsigned localisation_patches(const struct localisation_mask *mask, const struct patches_view *view,
                              bool *marked)
{
    unsigned count = 0;
    for (unsigned p = 0; p < view->rows * view->columns; p++)
        marked[p] = centre_is_marked(mask, view, p / view->columns, p % view->columns);
    mark_by_pixels(mask, view, marked);
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
