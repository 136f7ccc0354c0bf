/* region.h - a part of an image; part of engine.h's interface. Threads: plain data. */
#ifndef ATTND_ENGINE_VISION_REGION_H
#define ATTND_ENGINE_VISION_REGION_H

/* In the image's own pixels; it may reach beyond the image. */
struct image_region {
    double left, top, width, height;
};

#endif
