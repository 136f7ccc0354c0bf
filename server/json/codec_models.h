/* codec_models.h - what is served, as JSON: GET /models and the reply to a reload.
 *
 * Threads: no state; the arena and the structs are the caller's.
 */
#ifndef ATTND_SERVER_JSON_CODEC_MODELS_H
#define ATTND_SERVER_JSON_CODEC_MODELS_H

#include "engine/base/arena.h"
#include "engine/engine.h"
#include "engine/index/index.h"

#include <stdbool.h>
#include <stddef.h>

struct drift_figures;
struct feedback_accuracy;
struct label_shares_figures;
struct reload_result;
struct version_row;

/* {"generation", "changed": [...], "restart": [...]?}: POST /admin/reload. */
const char *codec_encode_reload(const struct reload_result *result, struct arena *arena,
                                size_t *len);

/* One row of GET /models. */
struct model_row {
    const char *name, *version, *digest; /* digest NULL: not yet known */
    const struct engine_info *info;
    bool is_default;
    /* Limits of a request, the same for all models. */
    size_t inputs_max, body_bytes_max, image_pixels_max, request_pixels_max;
    const struct feedback_accuracy *accuracy; /* NULL: no labels are taken */
    bool with_confusion;                      /* of the accuracy */
    const struct index_info *index;           /* of past inputs; NULL: it has none */
    bool has_public_index;                    /* who may predict may search it */
    const struct version_row *versions;       /* [version_count] NULL: not asked for */
    unsigned version_count;
    const struct drift_figures *drift;               /* NULL: the model has no reference */
    bool with_label_shares;                          /* else they are not asked for */
    const struct label_shares_figures *label_shares; /* NULL: the model is none that has them */
};
/* {"models": [...]} and one model alone. */
const char *codec_encode_models(const struct model_row *rows, unsigned count, struct arena *arena,
                                size_t *len);
const char *codec_encode_model(const struct model_row *row, struct arena *arena, size_t *len);

#endif
