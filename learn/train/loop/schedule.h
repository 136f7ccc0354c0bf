/* schedule.h - the learning rate over a run: it rises linearly from 0 over the warm-up (Goyal et
 * al. 2017) and falls along half a cosine to its floor (Loshchilov and Hutter 2017, eq. 5, without
 * restarts). Threads: pure functions. */
#ifndef ATTND_LEARN_TRAIN_LOOP_SCHEDULE_H
#define ATTND_LEARN_TRAIN_LOOP_SCHEDULE_H

#include <stdint.h>

struct schedule {
    float peak, floor;    /* rates; floor <= peak */
    uint64_t warmup, end; /* steps; warmup < end */
};

/* The rate of `step`, counted from 0; the floor from step `end` on. */
float schedule_rate(const struct schedule *schedule, uint64_t step);

#endif
