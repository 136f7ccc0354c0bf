/* codec_fit.h - the body of POST /admin/fits, and what its routes tell of fits.
 *
 *     {"name": "wafer-vit", "version"?, "loss_max"?: 2, "prior"?: "natural" or "equal",
 *      "target_precision"?: 0.95, "shadow"?: 1, "reason"?}
 *
 * Threads: no state; the arena is the caller's.
 */
#ifndef ATTND_SERVER_JSON_CODEC_FIT_H
#define ATTND_SERVER_JSON_CODEC_FIT_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "server/fits/fits.h"

#include <stddef.h>

/* The strings are the arena's; the key is not set. ERR_MALFORMED, ERR_UNUSABLE with the place,
 * ERR_NO_MEMORY. */
enum err_code codec_fit_parse(struct fits_call *out, const char *body, size_t len,
                              struct arena *arena, struct err *err);

/* Most bytes that parsing takes, and most that a reply about `count` fits takes. */
enum { CODEC_FIT_BYTES = 512 * 1024 };
size_t codec_fit_bytes(unsigned count);

/* {"fit", "name", ...}; NULL if there is no memory. */
const char *codec_fit_encode(const struct fits_row *row, struct arena *arena, size_t *len);
/* {"fits": [...]} */
const char *codec_fit_encode_list(const struct fits_row *rows, unsigned count, struct arena *arena,
                                  size_t *len);

#endif
