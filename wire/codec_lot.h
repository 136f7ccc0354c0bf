/* codec_lot.h - a lot (lot.h) -> a call with an input for each of its wafers, which is answered as
 * one with `inputs` is.
 *
 *     if (!codec_lot_measure(&lot, &limits, &bytes, &err) && ... bytes are there ...)
 *         codec_lot_parse(&call, &lot, &arena, &err);
 *
 * A wafer's id is that of its input. The lot's name and the wafer's id are its context's members
 * `lot` and `wafer`, unless the call has these already. A wafer that cannot be drawn is an input
 * that cannot be used; so is, behind the last, the missing end of a file that is cut off there.
 *
 * Threads: no state; the arena and the structs are the caller's.
 */
#ifndef ATTND_WIRE_CODEC_LOT_H
#define ATTND_WIRE_CODEC_LOT_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "wire/call.h"

struct lot;

struct codec_lot_limits {
    unsigned inputs_max;
    size_t pixels_max; /* of all wafers together */
};

/* Reading may stop after this many wafers: one more than inputs_max, so that codec_lot_measure
 * refuses the lot by its limit. */
unsigned codec_lot_wafers_max(unsigned inputs_max);

/* *bytes: upper bound of what codec_lot_parse takes. ERR_UNUSABLE: no wafer; ERR_TOO_LARGE: more
 * than the limits. */
enum err_code codec_lot_measure(const struct lot *lot, const struct codec_lot_limits *limits,
                                size_t *bytes, struct err *err);

/* Puts the wafers into a call whose options are read (codec_parse_option). It does not point into
 * the lot. */
enum err_code codec_lot_parse(struct predict_call *call, const struct lot *lot, struct arena *arena,
                              struct err *err);

#endif
