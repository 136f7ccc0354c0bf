/* codec_reply.c - replies -> JSON text in the exchange's arena. engine/answer.c makes the objects
 * of a prediction, a problem and a model; this file adds the members that only a server has.
 *
 * Digits. One jansson dump prints all reals with the same precision. Nine digits are right for
 * scores (fp32 survives them) and for milliseconds, but not for a context, which is returned to the
 * client unchanged: codec.c has made a text of it, which is put in front of the closing brace.
 *
 * Memory. Trees live for the length of a call, the text as long as the arena. */
#include "server/protocol/codec.h"

#include "engine/answer.h"
#include "engine/base/utf8.h"
#include "server/observe/drift.h"
#include "server/observe/label_shares.h"
#include "server/protocol/codec_dump.h"
#include "server/protocol/codec_feedback.h"
#include "server/protocol/codec_rollout.h"
#include "server/protocol/problem.h"
#include "server/protocol/protocol.h"
#include "server/serve/reloader.h"

#include <jansson.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Drops the object, which may be NULL. */
/* ---- the reply to a predict call ---- */

static json_t *milliseconds(double ms)
{
    return json_real(isfinite(ms) ? round(ms * 1000.0) / 1000.0 : 0.0);
}

static json_t *timing_json(const struct predict_call *call, const struct protocol_timing *timing)
{
    json_t *object = json_object();
    int failed = codec_add(object, "queue", milliseconds(timing->queue_ms));
    failed |= codec_add(object, "prepare", milliseconds(timing->prepare_ms));
    failed |= codec_add(object, "inference", milliseconds(timing->inference_ms));
    if (call->explain)
        failed |= codec_add(object, "explain", milliseconds(timing->explain_ms));
    failed |= codec_add(object, "total", milliseconds(timing->total_ms));
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

/* ",\"context\":{...}"; "" if there is none; NULL if there is no memory. */
static const char *context_tail(const struct predict_call *call, struct arena *arena)
{
    return call->context != NULL ? arena_format(arena, ",\"context\":%s", call->context) : "";
}

/* One of several: a row that failed becomes a problem and does not affect the others. */
static json_t *item_json(const struct predict_call *call, const struct row *row,
                         const struct predict_item *item)
{
    json_t *object = row->err.code != ERR_OK ? problem_document(&row->err, NULL)
                                             : answer_prediction(&row->answer, call->top_k);
    int failed = object == NULL;
    if (item->id != NULL)
        failed |= codec_add(object, "id", json_string(item->id));
    if (item->context != NULL)
        failed |= codec_add(object, "context", json_loads(item->context, 0, NULL));
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *results_json(const struct predict_call *call, const struct row *rows)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < call->item_count; i++) {
        if (json_array_append_new(array, item_json(call, &rows[i], &call->items[i])) == 0)
            continue;
        json_decref(array);
        return NULL;
    }
    return array;
}

/* The members of the only result, or "results". */
static int add_results(json_t *reply, const struct predict_call *call, const struct row *rows)
{
    if (call->envelope)
        return codec_add(reply, "results", results_json(call, rows));
    json_t *result = answer_prediction(&rows[0].answer, call->top_k);
    int failed = result == NULL || json_object_update(reply, result) != 0;
    json_decref(result);
    return failed;
}

const char *codec_encode_reply(const struct predict_call *call, const char *id,
                               const struct row *rows, const struct protocol_timing *timing,
                               struct arena *arena, size_t *len)
{
    const char *tail = context_tail(call, arena);
    json_t *reply = json_object();
    int failed = tail == NULL || reply == NULL;
    if (id != NULL && utf8_is_valid(id, strlen(id)))
        failed |= codec_add(reply, "id", json_string(id));
    failed |= add_results(reply, call, rows);
    failed |= codec_add(reply, "timing_ms", timing_json(call, timing));
    if (!failed)
        return codec_finish(reply, tail, arena, len);
    json_decref(reply);
    return NULL;
}

/* ---- problems and models ---- */

const char *codec_encode_problem(const struct err *err, const char *instance, struct arena *arena,
                                 size_t *len)
{
    return codec_finish(problem_document(err, instance), "", arena, len);
}

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

/* {"label", "score", "ood", "count"}: the figures are null while the window holds too few. */
static json_t *drift_json(const struct drift_figures *drift)
{
    if (drift == NULL)
        return json_null();
    json_t *object = json_object();
    int failed = 0;
    for (enum drift_kind kind = 0; kind < DRIFT_KINDS; kind++)
        failed |= codec_add(object, drift_kind_name(kind),
                            drift->has_psi ? json_real(drift->psi[kind]) : json_null());
    failed |= codec_add(object, "count", json_integer((json_int_t)drift->count));
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *shares_json(const double *shares, const struct engine_info *info)
{
    json_t *object = json_object();
    int failed = 0;
    for (unsigned c = 0; c < info->label_count; c++)
        failed |= codec_add(object, info->labels[c], json_real(shares[c]));
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
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
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
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
    json_decref(model);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

const char *codec_encode_models(const struct model_row *rows, unsigned count, struct arena *arena,
                                size_t *len)
{
    json_t *array = json_array(), *reply = json_object();
    int failed = array == NULL;
    for (unsigned i = 0; i < count; i++)
        failed |= json_array_append_new(array, row_json(&rows[i]));
    failed |= codec_add(reply, "models", array);
    if (!failed)
        return codec_finish(reply, "", arena, len);
    json_decref(reply);
    return NULL;
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
    if (!failed)
        return array;
    json_decref(array);
    return NULL;
}

const char *codec_encode_reload(const struct reload_result *result, struct arena *arena,
                                size_t *len)
{
    json_t *reply = json_object();
    int failed = codec_add(reply, "generation", json_integer((json_int_t)result->generation));
    failed |= codec_add(reply, "changed", texts(result->changed, result->changed_count));
    if (result->restart_count > 0)
        failed |= codec_add(reply, "restart", texts(result->restart, result->restart_count));
    if (!failed)
        return codec_finish(reply, "", arena, len);
    json_decref(reply);
    return NULL;
}
