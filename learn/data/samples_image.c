#include "engine/vision/image.h"
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
    char *bytes;
    size_t len;
    if (picture_read(&loader->pictures, item->input, &bytes, &len, err))
        return err->code;
    if (!image_decode(&image, bytes, len, &options, &loader->scratch, err) &&
        !shrink(&image, loader->pixels_max, &loader->scratch, err))
        keep(&image, loader->kept, &out->pixels, err);
    free(bytes);
    return err->code;
}

/* ---- prepare ---- */

static unsigned size_of(const struct samples *samples, const struct samples_view *view)
{
    return view->image_size != 0 ? view->image_size : samples->spec.image_size;
}

static unsigned patch_of(const struct samples *samples, const struct samples_view *view)
{
    return view->patch != 0 ? view->patch : samples->spec.patch;
}

unsigned samples_patches(const struct samples *samples, const struct samples_view *view)
{
    unsigned side = size_of(samples, view) / patch_of(samples, view);
    return side * side;
}

static unsigned scaled(unsigned side, unsigned from, unsigned to)
{
    return side == 0 ? 0 : (unsigned)fmax(1, round((double)side * to / from));
}

/* The model's own processing, ending at another size: what it resizes to and what it crops keep
 * their proportion. */
static struct preprocess preprocess_at(const struct samples *samples, unsigned size)
{
    struct preprocess out = samples->preprocess;
    unsigned from = samples->spec.image_size;
    out.resize_height = scaled(out.resize_height, from, size);
    out.resize_width = scaled(out.resize_width, from, size);
    out.shortest_edge = scaled(out.shortest_edge, from, size);
    out.crop_height = scaled(out.crop_height, from, size);
    out.crop_width = scaled(out.crop_width, from, size);
    return out;
}

static enum err_code change(struct augment_pixels *pixels, const struct augment *augment,
                            struct rng *rng, struct arena *scratch, struct err *err)
{
    size_t bytes = 2 * (size_t)pixels->width * pixels->height * pixels->channels;
    unsigned char *room = arena_alloc(scratch, bytes);
    if (room == NULL)
        return err_no_memory(err, bytes);
    struct augment_pixels before = *pixels;
    augment_apply(augment, &before, rng, room, pixels);
    return ERR_OK;
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

static enum err_code prepare(const struct samples *samples, struct augment_pixels pixels,
                             const struct samples_view *view, struct rng *rng,
                             struct arena *scratch, float *patches, struct err *err)
{
    struct preprocess preprocess = preprocess_at(samples, size_of(samples, view));
    struct image image, fitted;
    if ((rng != NULL && change(&pixels, &view->augment, rng, scratch, err)) ||
        to_rgb(&pixels, scratch, &image, err) ||
        preprocess_geometry(&preprocess, &image, NULL, scratch, &fitted, err))
        return err->code;
    preprocess_patches(&preprocess, &fitted, patch_of(samples, view), patches);
    return ERR_OK;
}

enum err_code samples_prepare_image(const struct samples *samples, const struct sample *sample,
                                    const struct samples_view *view, struct rng *rng,
                                    struct arena *arena, struct engine_input *out, struct err *err)
{
    const struct spec *spec = &samples->spec;
    unsigned size = size_of(samples, view), patch = patch_of(samples, view);
    unsigned count = samples_patches(samples, view);
    if (size < patch || size > IMAGE_SIDE_MAX)
        return err_set(err, ERR_UNUSABLE, "an image size of %u; it is from %u (a patch) to %d",
                       size, patch, IMAGE_SIDE_MAX);
    size_t numbers = (size_t)count * spec->channels * patch * patch;
    float *patches = arena_alloc(arena, numbers * sizeof *patches);
    if (patches == NULL)
        return err_no_memory(err, numbers * sizeof *patches);
    struct arena scratch;
    arena_init(&scratch);
    prepare(samples, sample->pixels, view, rng, &scratch, patches, err);
    arena_deinit(&scratch);
    *out = (struct engine_input){
        .kind = ENGINE_IMAGE, .tokens = count + spec->family->image_specials, .patches = patches};
    return err->code;
}
