#include "learn/eval/report/html_image.h"

#include "engine/vision/png.h"
#include "engine/vision/resize.h"
#include "learn/eval/report/html.h"

#include <stdint.h>
#include <stdlib.h>

enum { SIDE_MAX = 128, PIXELS_MAX = 64 * 1024 * 1024 };

static unsigned shrunk(unsigned side, unsigned longest)
{
    unsigned small = (unsigned)((uint64_t)side * SIDE_MAX / longest);
    return small > 0 ? small : 1;
}

enum err_code html_image(FILE *file, struct pictures *pictures, const char *path,
                         struct html_image *shown, struct err *err)
{
    const struct image_options options = {.pixels_max = PIXELS_MAX};
    struct arena arena;
    struct image image, small;
    char *png;
    size_t len;
    arena_init(&arena);
    if (picture_read(pictures, path, &options, &arena, &image, err))
        goto out;
    const unsigned longest = image.width > image.height ? image.width : image.height;
    small = image;
    if (longest > SIDE_MAX &&
        resize_rgb(&image, shrunk(image.width, longest), shrunk(image.height, longest),
                   RESAMPLE_BILINEAR, &arena, &small, err))
        goto out;
    if (png_encode(&png, &len, &small, err))
        goto out;
    html_image_png(file, png, len);
    free(png);
    *shown = (struct html_image){small.width, small.height};
out:
    arena_deinit(&arena);
    return err->code;
}

void html_image_png(FILE *file, const char *png, size_t len)
{
    fputs("<img alt=\"\" src=\"", file);
    html_data_uri(file, "image/png", png, len);
    fputs("\">", file);
}
