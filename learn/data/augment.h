/* augment.h - data augmentation: random changes of an image that keep its label.
 *
 *     struct augment augment = {.mirror = 0.5f, .turn = 1, .shift = 0.05f, .die_noise = 0.02f};
 *     augment_apply(&augment, &pixels, &rng, room, &changed);
 *
 * It works on 8-bit pixels at their own size, before any resize, so that a die stays one pixel. A
 * wafer map has three grey values: no die (0), pass and fail. die_* change only wafer maps; noise,
 * brightness and contrast change only other images (SEM, photographs). The same rng gives the same
 * result.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef ATTND_LEARN_DATA_AUGMENT_H
#define ATTND_LEARN_DATA_AUGMENT_H

#include "engine/base/rng.h"

#include <stdbool.h>
#include <stddef.h>

/* Every rate is from 0 (off: nothing is drawn) to 1. */
struct augment {
    float mirror;    /* probability of exchanging left and right */
    float turn;      /* with this probability one of 0, 1, 2, 3 quarter turns, all as likely */
    float spin;      /* with this probability by any angle, die by die about the middle, all angles
                        as likely; the wafer's outline stays */
    float shift;     /* in x and in y up to this share of the side, in whole pixels, uniform; what
                        comes in is 0 */
    float die_noise; /* a die changes between pass and fail; the image's probability is uniform
                        from 0 to this */
    float die_dropout; /* a fail becomes a pass; drawn in the same way */
    float noise;       /* Gaussian, its deviation uniform from 0 to this share of white */
    float brightness;  /* grey + b x 255, b uniform within plus and minus this */
    float contrast;    /* (grey - mean) x c + mean, c uniform within 1 plus and minus this */
};

/* 8-bit pixels, [height, width, channels]; channels 1 or 3. */
struct augment_pixels {
    unsigned width, height, channels;
    const unsigned char *values;
    unsigned char pass, fail; /* a wafer map's grey values; both 0: it is no wafer map */
};

/* Sets pass and fail. A wafer map has one channel and the value 0 plus exactly two other values, of
 * which the smaller is pass (WM-811K's 0, 127, 255), or just two of WM-811K's three: a map without
 * a fail, without a pass or without a corner. Any other image is no map, also one with one value.
 */
void augment_detect_map(struct augment_pixels *pixels);

/* `room` must have width x height x channels bytes, twice as many if spin is not 0, and must not be
 * the source. `out` lies in it; after a quarter turn width and height are exchanged. The order of
 * random draws, each only if its rate is not 0, is: spin, mirror, turn, shift x and y, then die
 * noise and die dropout, or brightness, contrast and noise. Cost: one pass for the spin, one for
 * the other geometry, one for the rest. */
void augment_apply(const struct augment *augment, const struct augment_pixels *in, struct rng *rng,
                   unsigned char *room, struct augment_pixels *out);

#endif
