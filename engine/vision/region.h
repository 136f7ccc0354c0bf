/* region.h - a part of an image, and sizes: a height and a width, of an image or a patch in pixels,
 * of a grid in patches. Part of engine.h's interface. Threads: plain data. */
#ifndef ATTND_ENGINE_VISION_REGION_H
#define ATTND_ENGINE_VISION_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct extent {
    unsigned height, width;
};

static inline struct extent extent_square(unsigned side)
{
    return (struct extent){side, side};
}

static inline bool extent_is_square(struct extent extent)
{
    return extent.height == extent.width;
}

static inline bool extent_equals(struct extent a, struct extent b)
{
    return a.height == b.height && a.width == b.width;
}

static inline size_t extent_area(struct extent extent)
{
    return (size_t)extent.height * extent.width;
}

/* Returns how many whole parts fit, down and across. A part without pixels fits nowhere. */
static inline struct extent extent_parts(struct extent whole, struct extent part)
{
    return part.height == 0 || part.width == 0
               ? (struct extent){0, 0}
               : (struct extent){whole.height / part.height, whole.width / part.width};
}

struct extent_text {
    char text[24];
};

/* Returns "224" for a square, else "48 x 320": the height stands first, as in config.json. */
static inline struct extent_text extent_text(struct extent extent)
{
    struct extent_text out;
    if (extent_is_square(extent))
        snprintf(out.text, sizeof out.text, "%u", extent.height);
    else
        snprintf(out.text, sizeof out.text, "%u x %u", extent.height, extent.width);
    return out;
}

/* In the image's own pixels; it may reach beyond the image. */
struct image_region {
    double left, top, width, height;
};

#endif
