/* rng_streams.h - the purposes (rng_for) of the random streams of a training run. The streams are
 * independent: one more draw from one stream does not change another. */
#ifndef ATTND_LEARN_TRAIN_NETWORK_RNG_STREAMS_H
#define ATTND_LEARN_TRAIN_NETWORK_RNG_STREAMS_H

enum rng_stream {
    STREAM_INIT = 1,
    STREAM_SPLIT,
    STREAM_ORDER,
    STREAM_DRAW,
    STREAM_AUGMENT,
    STREAM_DROPOUT,
    STREAM_MATE,
};

#endif
