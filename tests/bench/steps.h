/* steps.h - a co-process that takes training steps, for tests/bench/train_peer.py: whole ones, from
 * prepared inputs to changed weights (forward, loss, backward, clipping, AdamW, packing).
 *
 *     f32 64 DIR/vit      ->  milliseconds of one step over 64 images, its mean loss, and the tokens
 *                             of an input
 *     bf16 16 DIR/bert        the same over 16 texts
 *
 * The line ends in the checkpoint's directory. A line like the one before goes on with its model.
 * Inputs are given by formulas that both sides know. Texts have N tokens, 256 or the longest that
 * the model reads; of V words, token t of text r is F + (7919 (N r + t)) mod min(20000, V / 2) with
 * F = min(1000, V / 4), which leaves out special tokens at both ends. Number (c, y, x) of image r
 * is ((7919 i) mod 255) / 127.5 - 1 with i the flat index in [rows, 3, size, size]. The label of
 * row r is r mod labels.
 */
#ifndef ATTND_TESTS_BENCH_STEPS_H
#define ATTND_TESTS_BENCH_STEPS_H

#include "engine/base/err.h"

#include <stdio.h>

/* Answers until the end of `in`, or until a line that cannot be answered, with so many threads. */
enum err_code steps_run(unsigned threads, FILE *in, FILE *out, struct err *err);

#endif
