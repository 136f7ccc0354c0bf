/* stage_config.h - the stages of a family that has them: layers of one width over one grid of
 * patches. The grid of a stage has half as many patches across as the stage before, and its layers
 * are twice as wide (Liu et al. 2021, section 3.1). Threads: plain data, pure functions.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_STAGE_CONFIG_H
#define ATTND_ENGINE_MODEL_CONFIG_STAGE_CONFIG_H

#include "engine/base/err.h"

struct json_t;

enum { STAGES_MAX = 8 };

struct stage_config {
    unsigned count;
    unsigned window; /* patches on a side of attention's window */
    struct stage {
        unsigned first, end; /* its layers: first <= l < end */
        unsigned hidden, heads, intermediate;
    } stage[STAGES_MAX]; /* [count] */
};

/* Reads depths and num_heads, a number for each stage; embed_dim, the width of the first;
 * window_size. Defaults are SwinConfig's. Leaves `intermediate` to the caller. ERR_UNSUPPORTED or
 * ERR_UNUSABLE, with the member's name, for lists of other lengths, numbers out of bounds, and a
 * width that its heads do not divide. */
enum err_code stage_config_read(struct stage_config *out, const struct json_t *config,
                                struct err *err);

#endif
