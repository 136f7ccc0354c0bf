/* stream.h - loops that do nothing but touch memory in order: the most that a core can move. */
#ifndef ATTND_TESTS_BENCH_STREAM_H
#define ATTND_TESTS_BENCH_STREAM_H

#include <stddef.h>

enum { STREAM_STEP_BYTES = 512 }; /* bytes are a multiple of this, 64-byte aligned */

struct stream_loops {
    const char *name;
    void (*read)(float *data, size_t bytes);   /* moves `bytes` */
    void (*update)(float *data, size_t bytes); /* reads and writes each number: 2 x bytes */
};

/* The widest loops that this CPU can run. */
const struct stream_loops *stream_best(void);

#endif
