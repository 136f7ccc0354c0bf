/* stage_config.h - config.json's stages: depths and num_heads, a number for each stage; embed_dim,
 * the width of the first; window_size. Defaults are SwinConfig's.
 *
 * Threads: no state.
 */
#ifndef ATTND_ENGINE_MODEL_CONFIG_STAGE_CONFIG_H
#define ATTND_ENGINE_MODEL_CONFIG_STAGE_CONFIG_H

#include "engine/base/err.h"

struct json_t;

enum { STAGES_MAX = 8 };

struct stage_config {
    unsigned count, window;
    unsigned depths[STAGES_MAX], heads[STAGES_MAX]; /* [count] */
    unsigned widths[STAGES_MAX];                    /* each twice that of the stage before */
};

/* ERR_UNSUPPORTED or ERR_UNUSABLE, with the member's name, for lists of other lengths, numbers out
 * of bounds, and a width that its heads do not divide. */
enum err_code stage_config_read(struct stage_config *out, const struct json_t *config,
                                struct err *err);

#endif
