/* preprocess.c - see preprocess.h. A crop is not a step after the resize: only its part of the
 * resized image is computed. Normalisation has 256 possible inputs a channel, so it is a table. Its
 * entries are rounded as in the reference: pixel x factor in double, then single precision.
 */
#include "engine/vision/preprocess.h"

#include "engine/vision/resize.h"

#include <assert.h>
#include <string.h>

/* transformers' rescale and normalize. */
void preprocess_table(const struct preprocess *preprocess, size_t channel, float table[256])
{
    for (int value = 0; value < 256; value++) {
        float number = (float)value;
        if (preprocess->do_rescale)
            number = (float)((double)value * preprocess->rescale_factor);
        if (preprocess->do_normalize)
            number = (number - preprocess->mean[channel]) / preprocess->std[channel];
        table[value] = number;
    }
}

/* Computes the size before the crop. transformers' get_resize_output_image_size computes the longer
 * side as int(edge * longer / shorter), one product and one division in double. */
static enum err_code resized_size(const struct preprocess *preprocess, const struct image *image,
                                  unsigned *height, unsigned *width, struct err *err)
{
    *height = preprocess->do_resize ? preprocess->resize_height : image->height;
    *width = preprocess->do_resize ? preprocess->resize_width : image->width;
    if (!preprocess->do_resize || preprocess->shortest_edge == 0)
        return ERR_OK;
    bool upright = image->width <= image->height;
    unsigned shorter = upright ? image->width : image->height;
    unsigned longer = upright ? image->height : image->width;
    double edge = preprocess->shortest_edge, length = edge * longer / shorter;
    if (length > IMAGE_SIDE_MAX)
        return err_set(err, ERR_UNUSABLE,
                       "the image is %u x %u: too thin for a shortest edge of %u pixels (the limit "
                       "is %d a side)",
                       image->width, image->height, preprocess->shortest_edge, IMAGE_SIDE_MAX);
    *height = upright ? (unsigned)length : preprocess->shortest_edge;
    *width = upright ? preprocess->shortest_edge : (unsigned)length;
    return ERR_OK;
}

/* One direction of transformers' center_crop: the pixels that are kept, and their place in a crop
 * that is larger than the image. */
struct crop_span {
    unsigned from, to, count;
};

static struct crop_span crop_span(const struct preprocess *preprocess, unsigned side, unsigned crop)
{
    if (crop <= side)
        return (struct crop_span){.from = (side - crop) / 2, .count = crop};
    return (struct crop_span){.to = (crop - side + !preprocess->pads_more_behind) / 2,
                              .count = side};
}

enum err_code preprocess_geometry(const struct preprocess *preprocess, const struct image *image,
                                  struct interrupt *interrupt, struct arena *arena,
                                  struct image *out, struct err *err)
{
    unsigned height, width;
    if (resized_size(preprocess, image, &height, &width, err))
        return err->code;
    bool crop = preprocess->do_center_crop;
    struct image crop_size = {.width = crop ? preprocess->crop_width : width,
                              .height = crop ? preprocess->crop_height : height};
    struct crop_span rows = crop_span(preprocess, height, crop_size.height);
    struct crop_span columns = crop_span(preprocess, width, crop_size.width);
    struct resize_window window = {
        .left = columns.from, .top = rows.from, .width = columns.count, .height = rows.count};
    if (resize_rgb_window(image, width, height, window, preprocess->resample, interrupt, arena, out,
                          err))
        return err->code;
    if (preprocess->keeps_lines && resize_lines_applies(image, width, height)) {
        struct image lines;
        if (resize_lines(image, width, height, window, interrupt, arena, &lines, err))
            return err->code;
        for (size_t i = 0; i < (size_t)out->width * out->height * 3; i++) /* the mean of both */
            out->rgb[i] = (unsigned char)((out->rgb[i] + lines.rgb[i] + 1) / 2);
    }
    if (out->width == crop_size.width && out->height == crop_size.height)
        return ERR_OK;
    /* The part stands in the middle of a black image. */
    struct image part = *out;
    size_t bytes = (size_t)crop_size.width * crop_size.height * 3;
    *out = crop_size;
    out->rgb = arena_alloc_array(arena, bytes / 3, 3);
    if (out->rgb == NULL)
        return err_no_memory(err, bytes);
    for (size_t y = 0; y < part.height; y++)
        memcpy(out->rgb + ((rows.to + y) * out->width + columns.to) * 3,
               part.rgb + y * part.width * 3, (size_t)part.width * 3);
    return ERR_OK;
}

size_t preprocess_bytes(const struct preprocess *preprocess, unsigned width, unsigned height)
{
    struct image image = {.width = width, .height = height};
    struct err ignored = {0};
    unsigned resized_height, resized_width;
    if (width == 0 || height == 0 ||
        resized_size(preprocess, &image, &resized_height, &resized_width, &ignored))
        return 0; /* refused before any memory is taken */
    bool crop = preprocess->do_center_crop;
    unsigned crop_width = crop ? preprocess->crop_width : resized_width;
    unsigned crop_height = crop ? preprocess->crop_height : resized_height;
    struct resize_window window = {.width = crop_width < resized_width ? crop_width : resized_width,
                                   .height =
                                       crop_height < resized_height ? crop_height : resized_height};
    const bool keeps =
        preprocess->keeps_lines && resize_lines_applies(&image, resized_width, resized_height);
    const size_t lines =
        keeps ? resize_lines_bytes(&image, resized_width, resized_height, window) : 0;
    return resize_bytes(&image, resized_width, resized_height, window, preprocess->resample) +
           lines + (size_t)crop_width * crop_height * 3;
}

/* Computes one direction of the view: its start and its length, in pixels of the image. */
static void view_span(const struct preprocess *preprocess, unsigned side, unsigned resized,
                      unsigned crop, double *start, double *length)
{
    struct crop_span span = crop_span(preprocess, resized, crop);
    double scale = (double)side / resized;
    *start = ((double)span.from - span.to) * scale;
    *length = crop * scale;
}

struct image_region preprocess_view(const struct preprocess *preprocess, unsigned width,
                                    unsigned height)
{
    struct image image = {.width = width, .height = height};
    struct err ignored = {0};
    unsigned rows = height, columns = width;
    bool crop = preprocess->do_center_crop;
    struct image_region view;
    resized_size(preprocess, &image, &rows, &columns, &ignored);
    view_span(preprocess, width, columns, crop ? preprocess->crop_width : columns, &view.left,
              &view.width);
    view_span(preprocess, height, rows, crop ? preprocess->crop_height : rows, &view.top,
              &view.height);
    return view;
}

/* Writes one patch: out[channel, y, x] of the rectangle whose first pixel is `corner`. */
static void write_patch(const unsigned char *corner, size_t stride, struct extent patch,
                        float tables[3][256], float *out)
{
    for (size_t c = 0; c < 3; c++)
        for (size_t y = 0; y < patch.height; y++)
            for (size_t x = 0; x < patch.width; x++)
                *out++ = tables[c][corner[y * stride + x * 3 + c]];
}

void preprocess_patches(const struct preprocess *preprocess, const struct image *image,
                        struct extent patch, float *out)
{
    assert(patch.height > 0 && patch.width > 0);
    float tables[3][256];
    for (size_t c = 0; c < 3; c++)
        preprocess_table(preprocess, c, tables[c]);
    const size_t stride = (size_t)image->width * 3;
    const struct extent grid = extent_parts((struct extent){image->height, image->width}, patch);
    for (size_t row = 0; row < grid.height; row++)
        for (size_t column = 0; column < grid.width; column++) {
            const unsigned char *corner =
                image->rgb + row * patch.height * stride + column * patch.width * 3;
            write_patch(corner, stride, patch, tables, out);
            out += 3 * extent_area(patch);
        }
}
