/* engine_state.h - what is behind a struct engine_model. Private to engine/engine*.c; immutable
 * once open. */
#ifndef ATTND_ENGINE_ENGINE_STATE_H
#define ATTND_ENGINE_ENGINE_STATE_H

#include "engine/engine.h"
#include "engine/model/weights.h"
#include "engine/prepare/pipeline.h"

struct engine_model {
    struct spec spec;
    struct weights weights;
    struct pipeline pipeline;
    const struct kernels *kernels;
    const struct linear_backend *encoder; /* multiplies in the blocks */
    struct engine_info info;
    struct arena arena;
};

#endif
