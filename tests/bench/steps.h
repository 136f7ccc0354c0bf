/* steps.h - a co-process that takes training steps, for tests/bench/train_peer.py: whole ones, from
 * prepared inputs to changed weights (forward, loss, backward, clipping, AdamW, packing).
 *
 *     f32 vit 64          ->  milliseconds of one step over 64 images, and its mean loss
 *     bf16 bert 16        the same over 16 texts of 256 tokens
 *
 * Inputs are given by formulas that both sides know: token t of text r is
 * 1000 + (7919 (256 r + t)) mod 20000, number (c, y, x) of image r is ((7919 i) mod 255) / 127.5 -
 * 1 with i the flat index in [rows, 3, size, size]; the label of row r is r mod labels.
 */
#ifndef ATTND_TESTS_BENCH_STEPS_H
#define ATTND_TESTS_BENCH_STEPS_H

#include "engine/base/err.h"

#include <stdio.h>

struct steps_options {
    const char *bert, *vit; /* checkpoint directories */
    unsigned threads;
};

enum err_code steps_run(const struct steps_options *options, FILE *in, FILE *out, struct err *err);

#endif
