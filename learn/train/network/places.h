/* places.h - what the random streams of a training run are for (rng_for's purpose): each has its
 * numbers to itself, so that one more draw in one place changes nothing in another. */
#ifndef ATTND_LEARN_TRAIN_NETWORK_PLACES_H
#define ATTND_LEARN_TRAIN_NETWORK_PLACES_H

enum place {
    PLACE_INIT = 1,
    PLACE_SPLIT,
    PLACE_ORDER,
    PLACE_DRAW,
    PLACE_AUGMENT,
    PLACE_DROPOUT,
};

#endif
