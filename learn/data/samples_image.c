#include "engine/vision/resize.h"
#include "learn/data/samples_form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DECODED_PIXELS_MAX = 64 * 1024 * 1024 };

/* ---- load ---- */

static bool is_grey(const struct image *image)
{
    const unsigned char *rgb = image->rgb;
    for (size_t left = (size_t)image->width * image->height; left > 0; left--, rgb += 3)
        if (rgb[0] != rgb[1] || rgb[0] != rgb[2])
            return false;
    return true;
}

/* By areas (a box filter), so that no detail is lost to chance. */
static enum err_code shrink(struct image *image, size_t pixels_max, struct arena *scratch,
                            struct err *err)
{
    size_t pixels = (size_t)image->width * image->height;
    if (pixels <= pixels_max)
        return ERR_OK;
    double scale = sqrt((double)pixels_max / (double)pixels);
    unsigned width = (unsigned)fmax(1, floor(image->width * scale));
    unsigned height = (unsigned)fmax(1, floor(image->height * scale));
    struct image small;
    if (resize_rgb(image, width, height, RESAMPLE_BOX, scratch, &small, err))
        return err->code;
    *image = small;
    return ERR_OK;
}

static enum err_code keep(const struct image *image, struct arena *arena,
                          struct augment_pixels *out, struct err *err)
{
    size_t pixels = (size_t)image->width * image->height;
    unsigned channels = is_grey(image) ? 1 : 3;
    unsigned char *values = arena_alloc(arena, pixels * channels);
    if (values == NULL)
        return err_no_memory(err, pixels * channels);
    if (channels == 3)
        memcpy(values, image->rgb, pixels * 3);
    else
        for (size_t i = 0; i < pixels; i++)
            values[i] = image->rgb[3 * i];
    *out = (struct augment_pixels){
        .width = image->width, .height = image->height, .channels = channels, .values = values};
    augment_detect_map(out);
    return ERR_OK;
}

enum err_code samples_load_image(struct samples_loader *loader, const struct dataset_item *item,
                                 struct sample *out, struct err *err)
{
    struct image_options options = {.pixels_max = DECODED_PIXELS_MAX,
                                    .grey16_minmax = loader->samples->spec.grey16_minmax};
    struct image image;
    if (picture_read(&loader->pictures, item->input, &options, &loader->scratch, &image, err) ||
        shrink(&image, loader->pixels_max, &loader->scratch, err))
        return err->code;
    out->digest = loader->pictures.digest;
    out->contrast = loader->pictures.contrast;
    return keep(&image, loader->kept, &out->pixels, err);
}

/* ---- prepare ---- */

static struct extent size_of(const struct samples *samples, const struct samples_view *view)
{
    return view->image_size.height != 0 ? view->image_size : samples->spec.image_size;
}

static struct extent patch_of(const struct samples *samples, const struct samples_view *view)
{
    return view->patch.height != 0 ? view->patch : samples->spec.patch;
}

unsigned samples_patches(const struct samples *samples, const struct samples_view *view)
{
    return (unsigned)extent_area(extent_parts(size_of(samples, view), patch_of(samples, view)));
}

static enum err_code to_rgb(const struct augment_pixels *pixels, struct arena *scratch,
                            struct image *out, struct err *err)
{
    size_t count = (size_t)pixels->width * pixels->height;
    *out = (struct image){.width = pixels->width, .height = pixels->height};
    out->rgb = arena_alloc(scratch, count * 3);
    if (out->rgb == NULL)
        return err_no_memory(err, count * 3);
    if (pixels->channels == 3)
        memcpy(out->rgb, pixels->values, count * 3);
    else
        for (size_t i = 0; i < count; i++)
            memset(out->rgb + 3 * i, pixels->values[i], 3);
    return ERR_OK;
}

enum err_code samples_prepare_image(const struct samples *samples, const struct sample *sample,
                                    const struct samples_view *view, struct rng *rng,
                                    struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct pipeline_size size = {size_of(samples, view), patch_of(samples, view), 1};
    const struct extent sides = size.image_size, patch = size.patch;
    struct augment_pixels pixels = sample->pixels;
    struct image image;
    struct arena scratch;
    if (sides.height < patch.height || sides.width < patch.width || sides.height > IMAGE_SIDE_MAX ||
        sides.width > IMAGE_SIDE_MAX)
        return err_set(err, ERR_UNUSABLE, "an image size of %s; it is from %s (a patch) to %d",
                       extent_text(sides).text, extent_text(patch).text, IMAGE_SIDE_MAX);
    arena_init(&scratch);
    if (rng != NULL) {
        size_t bytes = 2 * (size_t)pixels.width * pixels.height * pixels.channels;
        unsigned char *room = arena_alloc(&scratch, bytes);
        if (room == NULL) {
            err_no_memory(err, bytes);
            goto out;
        }
        augment_apply(&view->augment, &sample->pixels, rng, room, &pixels);
    }
    if (!to_rgb(&pixels, &scratch, &image, err))
        pipeline_patches(&samples->pipeline, &image, &size, NULL, &scratch, arena, out, err);
out:
    arena_deinit(&scratch);
    return err->code;
}
