/* peak.h - loops that do nothing but multiply and add, in registers: the most that a core can
 * compute in a number format. All other speeds are measured against it.
 *
 *     const struct peak_loop *loop = peak_best(PEAK_INT8);
 *     loop->run(1000000);    // 1000000 * loop->operations operations
 */
#ifndef ATTND_TESTS_BENCH_PEAK_H
#define ATTND_TESTS_BENCH_PEAK_H

#include <stdbool.h>
#include <stddef.h>

enum peak_type {
    PEAK_F32,
    PEAK_BF16,
    PEAK_INT8,
    PEAK_TYPES,                   /* precisions of models */
    PEAK_TILES_BF16 = PEAK_TYPES, /* by tile registers (AMX) */
    PEAK_TILES_INT8,
    PEAK_LOOPS
};

struct peak_loop {
    enum peak_type type;
    const char *name;    /* the instruction and its width */
    unsigned operations; /* of one round; a multiplication and its addition are two */
    bool (*runnable)(void);
    void (*run)(size_t rounds);
};

/* The widest loop of a type that this CPU can run; NULL if it has none. */
const struct peak_loop *peak_best(enum peak_type type);

/* "f32", "bf16", "int8"; of tiles the same */
const char *peak_type_name(enum peak_type type);

#endif
