/* selftest_state.h - the cases of a self-test as selftest_file.c reads and selftest.c runs them.
 * Private to both.
 *
 *     const struct selftest_case *item = &selftest->cases[i];
 *     item->scores[k].label, item->scores[k].value                what must come out
 *
 * Threads: immutable once read.
 */
#ifndef ATTND_ENGINE_SELFTEST_STATE_H
#define ATTND_ENGINE_SELFTEST_STATE_H

#include "engine/base/arena.h"
#include "engine/selftest.h"

struct selftest_score {
    const char *label;
    double value;
};

struct selftest_case {
    struct engine_source source;   /* bytes NULL: of image_file */
    const char *image_file;        /* the path; NULL: none */
    struct selftest_score *scores; /* [score_count] */
    unsigned score_count;
    const char *label; /* NULL: none must win */
};

struct selftest {
    double tolerance, tolerance_bf16, tolerance_int8;
    struct selftest_case *cases; /* [count] */
    unsigned count;
    size_t file_bytes;
    struct arena arena; /* holds all of it */
};

/* Fills in all but the arena, which is open, from the bytes of a file. */
enum err_code selftest_parse(struct selftest *out, const char *dir, const char *bytes, size_t len,
                             struct err *err);

#endif
