/* rng_streams.h - the purposes (rng_for) of the random streams of a training run: the streams are
 * independent, so one more draw in one place changes nothing in another. */
#ifndef ATTND_LEARN_TRAIN_NETWORK_RNG_STREAMS_H
#define ATTND_LEARN_TRAIN_NETWORK_RNG_STREAMS_H

enum rng_stream {
    STREAM_INIT = 1,
    STREAM_SPLIT,
    STREAM_ORDER,
    STREAM_DRAW,
    STREAM_AUGMENT,
    STREAM_DROPOUT,
};

#endif
