#include "engine/explain/patches.h"

#include "engine/vision/png.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- geometry ---- */

struct patches_view patches_view(const struct spec *spec, const struct preprocess *preprocess,
                                 unsigned width, unsigned height)
{
    const struct extent grid = extent_parts(spec->image_size, spec->patch);
    struct patches_view view = {.width = width,
                                .height = height,
                                .all = preprocess_view(preprocess, width, height),
                                .rows = grid.height,
                                .columns = grid.width};
    /* Pixels behind the last whole patch belong to no patch. */
    view.all.width *= (double)(grid.width * spec->patch.width) / spec->image_size.width;
    view.all.height *= (double)(grid.height * spec->patch.height) / spec->image_size.height;
    return view;
}

void patches_fold(const struct spec *spec, const float *relevance, float *out)
{
    const float *patches = relevance + spec_image_specials(spec);
    float total = 0;
    for (unsigned p = 0; p < spec->patches; p++)
        total += patches[p];
    for (unsigned p = 0; p < spec->patches; p++)
        out[p] = total > 0 ? patches[p] / total : 1.0f / (float)spec->patches;
}

/* ---- boxes ---- */

static unsigned clamp(double x, unsigned most)
{
    return x <= 0 ? 0 : x >= most ? most : (unsigned)x;
}

static struct patch_box box_of(const struct patches_view *view, unsigned patch, float relevance)
{
    double across = view->all.width / view->columns, down = view->all.height / view->rows;
    double left = view->all.left + patch % view->columns * across;
    double top = view->all.top + patch / view->columns * down;
    return (struct patch_box){.left = clamp(floor(left + 0.5), view->width),
                              .top = clamp(floor(top + 0.5), view->height),
                              .right = clamp(floor(left + across + 0.5), view->width),
                              .bottom = clamp(floor(top + down + 0.5), view->height),
                              .relevance = relevance};
}

unsigned patches_top(const struct patches_view *view, const float *relevance, unsigned boxes_max,
                     struct patch_box *out)
{
    unsigned count = 0;
    for (unsigned p = 0; p < view->rows * view->columns; p++) {
        struct patch_box box = box_of(view, p, relevance[p]);
        if (box.left >= box.right || box.top >= box.bottom)
            continue;
        unsigned at = count < boxes_max ? count++ : count;
        for (; at > 0 && out[at - 1].relevance < box.relevance; at--)
            if (at < boxes_max)
                out[at] = out[at - 1];
        if (at < boxes_max)
            out[at] = box;
    }
    return count;
}

/* ---- the heat map ---- */

enum { STEPS = 256 };

static const unsigned char ramp[][3] = {
#define RAMP(red, green, blue) {red, green, blue},
#include "engine/explain/ramp.def"
#undef RAMP
};
_Static_assert(sizeof ramp == 3 * STEPS, "a colour for each step");

/* A place between two neighbours of a row or column of patch centres. */
struct between {
    unsigned low, high;
    float share; /* weight of the higher one */
    bool outside;
};

static struct between between(double pixel, double start, double length, unsigned count)
{
    double at = (pixel + 0.5 - start) / length * count - 0.5;
    struct between out = {.outside = at < -0.5 || at > count - 0.5};
    double inside = at < 0 ? 0 : at > count - 1 ? count - 1 : at;
    out.low = (unsigned)inside;
    out.high = out.low + 1 < count ? out.low + 1 : out.low;
    out.share = (float)(inside - out.low);
    return out;
}

static float interpolate(const float *relevance, unsigned columns, struct between row,
                         struct between column)
{
    const float *upper = relevance + (size_t)row.low * columns;
    const float *lower = relevance + (size_t)row.high * columns;
    float above = upper[column.low] + column.share * (upper[column.high] - upper[column.low]);
    float below = lower[column.low] + column.share * (lower[column.high] - lower[column.low]);
    return above + row.share * (below - above);
}

static enum err_code paint(const struct patches_view *view, const float *relevance,
                           struct interrupt *interrupt, unsigned char *rgba, struct err *err)
{
    unsigned char colours[STEPS][4];
    float largest = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        double t = step / (double)(STEPS - 1);
        memcpy(colours[step], ramp[step], sizeof ramp[step]);
        colours[step][3] = (unsigned char)(255 * fmin(1, 0.15 + 0.75 * sqrt(t)) + 0.5);
    }
    for (unsigned p = 0; p < view->rows * view->columns; p++)
        largest = fmaxf(largest, relevance[p]);
    for (unsigned y = 0; y < view->height; y++) {
        struct between row = between(y, view->all.top, view->all.height, view->rows);
        if (interrupt_look(interrupt, err))
            return err->code;
        for (unsigned x = 0; x < view->width; x++, rgba += 4) {
            struct between column = between(x, view->all.left, view->all.width, view->columns);
            float t = interpolate(relevance, view->columns, row, column) / largest;
            const unsigned char *from = colours[(int)(t * (STEPS - 1) + 0.5f)];
            for (int c = 0; c < 4; c++)
                rgba[c] = row.outside || column.outside ? 0 : from[c];
        }
    }
    return ERR_OK;
}

enum err_code patches_overlay(const struct patches_view *view, const float *relevance,
                              struct interrupt *interrupt, char **png, size_t *len, struct err *err)
{
    size_t pixels = (size_t)view->width * view->height;
    if (pixels > OVERLAY_PIXELS_MAX)
        return err_set(err, ERR_TOO_LARGE,
                       "overlay: the image has %zu pixels; the limit of a heat map is %d", pixels,
                       OVERLAY_PIXELS_MAX);
    unsigned char *rgba = malloc(pixels * 4);
    if (rgba == NULL)
        return err_no_memory(err, pixels * 4);
    if (!paint(view, relevance, interrupt, rgba, err))
        png_encode_rgba(png, len, view->width, view->height, rgba, interrupt, err);
    free(rgba);
    return err->code;
}
