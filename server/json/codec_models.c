/* codec_models.c - see codec_models.h. */
#include "server/json/codec_models.h"

#include "server/json/codec_feedback.h"
#include "server/json/codec_rollout.h"
#include "server/observe/drift.h"
#include "server/observe/label_shares.h"
#include "server/serve/reloader.h"
#include "wire/answer.h"
#include "wire/codec_dump.h"

#include <jansson.h>

/* Adds the members of `more` that the object lacks. jansson's own function does not report a member
 * that could not be added. */
static int add_missing(json_t *object, json_t *more)
{
    const char *key;
    json_t *value;
    int failed = more == NULL;
    json_object_foreach(more, key, value)
    {
        if (json_object_get(object, key) == NULL)
            failed |= json_object_set_nocheck(object, key, value);
    }
    return failed;
}

/* {"label", "score", "ood", "count"}, of a regression {"value", "count"}. The figures are null
 * while the window holds too few. */
static json_t *drift_json(const struct drift_figures *drift)
{
    if (drift == NULL)
        return json_null();
    json_t *object = json_object();
    int failed = 0;
    for (enum drift_kind kind = 0; kind < DRIFT_KINDS; kind++)
        if (drift_figures_have(drift, kind))
            failed |= codec_add(object, drift_kind_name(kind),
                                drift->has_psi ? json_real(drift->psi[kind]) : json_null());
    failed |= codec_add(object, "count", json_integer((json_int_t)drift->count));
    return codec_whole(object, failed);
}

static json_t *shares_json(const double *shares, const struct engine_info *info)
{
    json_t *object = json_object();
    int failed = 0;
    for (unsigned c = 0; c < info->label_count; c++)
        failed |= codec_add(object, info->labels[c], json_real(shares[c]));
    return codec_whole(object, failed);
}

/* {"count", "expected", "estimated"}: null while there are too few inputs. */
static json_t *label_shares_json(const struct label_shares_figures *figures,
                                 const struct engine_info *info)
{
    if (figures == NULL)
        return json_null();
    json_t *object = json_object();
    int failed = codec_add(object, "count", json_integer((json_int_t)figures->count));
    failed |= codec_add(object, "expected", shares_json(figures->expected, info));
    failed |=
        codec_add(object, "estimated",
                  figures->has_estimate ? shares_json(figures->estimated, info) : json_null());
    return codec_whole(object, failed);
}

/* {"rows", "dimensions", "similarity", "public"} */
static json_t *index_json(const struct model_row *row)
{
    if (row->index == NULL)
        return json_null();
    return json_pack("{s:I, s:I, s:s, s:b}", "rows", (json_int_t)row->index->rows, "dimensions",
                     (json_int_t)row->index->dimensions, "similarity",
                     index_similarity_names[row->index->similarity], "public",
                     row->has_public_index);
}

static json_t *row_json(const struct model_row *row)
{
    json_t *object = json_object(), *model = answer_model(row->info);
    json_t *digest = row->digest != NULL ? json_string(row->digest) : json_null();
    int failed = codec_add(object, "name", json_string(row->name));
    failed |= codec_add(object, "version", json_string(row->version));
    failed |= codec_add(object, "digest", digest);
    failed |= codec_add(object, "default", json_boolean(row->is_default));
    failed |= add_missing(object, model);
    failed |= codec_add(object, "inputs_max", json_integer((json_int_t)row->inputs_max));
    failed |= codec_add(object, "body_bytes_max", json_integer((json_int_t)row->body_bytes_max));
    if (row->info->kind == ENGINE_IMAGE) {
        failed |=
            codec_add(object, "image_pixels_max", json_integer((json_int_t)row->image_pixels_max));
        failed |= codec_add(object, "request_pixels_max",
                            json_integer((json_int_t)row->request_pixels_max));
    }
    if (row->accuracy != NULL)
        failed |= codec_add(object, "accuracy",
                            codec_feedback_accuracy(row->accuracy, row->with_confusion));
    if (row->versions != NULL)
        failed |= codec_add(object, "versions",
                            codec_rollout_versions(row->versions, row->version_count));
    if (row->with_label_shares)
        failed |=
            codec_add(object, "label_shares", label_shares_json(row->label_shares, row->info));
    failed |= codec_add(object, "drift", drift_json(row->drift));
    failed |= codec_add(object, "index", index_json(row));
    json_decref(model);
    return codec_whole(object, failed);
}

const char *codec_encode_models(const struct model_row *rows, unsigned count, struct arena *arena,
                                size_t *len)
{
    json_t *array = json_array(), *reply = json_object();
    int failed = array == NULL;
    for (unsigned i = 0; i < count; i++)
        failed |= json_array_append_new(array, row_json(&rows[i]));
    failed |= codec_add(reply, "models", array);
    return codec_finish(codec_whole(reply, failed), "", arena, len);
}

const char *codec_encode_model(const struct model_row *row, struct arena *arena, size_t *len)
{
    return codec_finish(row_json(row), "", arena, len);
}

/* ---- a reload ---- */

static json_t *texts(const char *const *list, unsigned count)
{
    json_t *array = json_array();
    int failed = array == NULL;
    for (unsigned i = 0; i < count; i++)
        failed |= json_array_append_new(array, json_string(list[i]));
    return codec_whole(array, failed);
}

const char *codec_encode_reload(const struct reload_result *result, struct arena *arena,
                                size_t *len)
{
    json_t *reply = json_object();
    int failed = codec_add(reply, "generation", json_integer((json_int_t)result->generation));
    failed |= codec_add(reply, "changed", texts(result->changed, result->changed_count));
    if (result->restart_count > 0)
        failed |= codec_add(reply, "restart", texts(result->restart, result->restart_count));
    return codec_finish(codec_whole(reply, failed), "", arena, len);
}
