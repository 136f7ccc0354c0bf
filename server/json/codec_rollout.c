#include "server/json/codec_rollout.h"

#include "engine/base/doc.h"
#include "engine/statistics/statistics.h"
#include "wire/codec_check.h"
#include "wire/codec_dump.h"
#include "wire/limits.h"

#include <jansson.h>

#include <string.h>

/* ---- reading ---- */

static enum err_code read_share(const json_t *root, const char *key, bool *has, double *out,
                                struct err *err)
{
    *has = doc_member(root, key) != NULL;
    if (doc_get_number(root, "$", key, out, err))
        return err->code;
    if (!(*out >= 0 && *out <= 1))
        return err_set(err, ERR_UNUSABLE, "$.%s: %.9g is no share; from 0 to 1", key, *out);
    return ERR_OK;
}

/* A member that the action does not take is an error. */
static enum err_code read_members(struct rollout_call *call, const json_t *root,
                                  struct arena *arena, struct err *err)
{
    static const struct codec_names *const known[] = {[ROLLOUT_LOAD] = &codec_names_load,
                                                      [ROLLOUT_SHARES] = &codec_names_shares,
                                                      [ROLLOUT_PROMOTE] = &codec_names_promote,
                                                      [ROLLOUT_ROLLBACK] = NULL,
                                                      [ROLLOUT_UNLOAD] = NULL};
    struct rollout_change *change = &call->change;
    const struct codec_names *names = known[change->action];
    if (names == NULL && json_object_size(root) > 0)
        return err_set(err, ERR_UNUSABLE, "$: expected no members");
    if (names != NULL && codec_check_members(root, "$", names, err))
        return err->code;
    if (codec_check_text(root, "$", "name", LIMIT_MODEL_NAME_BYTES, arena, &change->name, err) ||
        codec_check_text(root, "$", "dir", LIMIT_DIRECTORY_BYTES, arena, &change->dir, err) ||
        codec_check_text(root, "$", "dtype", LIMIT_MODEL_NAME_BYTES, arena, &change->dtype, err) ||
        codec_check_text(root, "$", "reason", LIMIT_REASON_BYTES, arena, &change->reason, err) ||
        read_share(root, "split", &change->has_split, &change->split, err) ||
        read_share(root, "shadow", &change->has_shadow, &change->shadow, err) ||
        doc_get_bool(root, "$", "force", &call->force, err))
        return err->code;
    const bool is_load = change->action == ROLLOUT_LOAD;
    if (is_load && (change->name == NULL || change->dir == NULL))
        return err_set(err, ERR_UNUSABLE,
                       "$: expected \"%s\", found none; send {\"name\": the model's name, \"dir\": "
                       "its directory below models_root}",
                       change->name == NULL ? "name" : "dir");
    if (change->action == ROLLOUT_SHARES && !change->has_split && !change->has_shadow)
        return err_set(err, ERR_UNUSABLE, "$: expected \"split\", \"shadow\" or both, found none");
    if (call->force && (change->reason == NULL || change->reason[0] == '\0'))
        return err_set(err, ERR_UNUSABLE,
                       "$: expected a \"reason\" beside \"force\", for the audit log");
    return ERR_OK;
}

enum err_code codec_rollout_parse(struct rollout_call *call, const char *body, size_t len,
                                  struct arena *arena, struct err *err)
{
    struct doc_limits limits = doc_limits_request;
    json_t *root = NULL;
    limits.depth_max = LIMIT_JSON_DEPTH;
    if (len == 0)
        root = json_object();
    else if (doc_parse(&root, body, len, &limits, err) == ERR_OK && !json_is_object(root))
        err_set(err, ERR_UNUSABLE, "$: expected an object, found %s", doc_type_name(root));
    if (err->code == ERR_OK)
        read_members(call, root, arena, err);
    doc_free(root);
    return err->code;
}

/* ---- telling ---- */

/* null of none. */
static json_t *share_json(uint64_t hits, uint64_t count)
{
    const struct interval interval = wilson_interval(hits, count);
    if (count == 0)
        return json_null();
    json_t *object = json_object();
    int failed = codec_add(object, "value", json_real((double)hits / (double)count));
    failed |= codec_add(object, "low", json_real(interval.low));
    failed |= codec_add(object, "high", json_real(interval.high));
    failed |= codec_add(object, "n", json_integer((json_int_t)count));
    return codec_whole(object, failed);
}

/* A shadow against what was answered, on the same inputs. */
static json_t *paired_json(const struct feedback_paired *paired)
{
    const uint64_t n = paired->both + paired->answer_only + paired->shadow_only + paired->neither;
    if (n == 0)
        return json_null();
    json_t *object = json_object();
    int failed = codec_add(object, "n", json_integer((json_int_t)n));
    failed |= codec_add(object, "both_right", json_integer((json_int_t)paired->both));
    failed |= codec_add(object, "only_answer_right", json_integer((json_int_t)paired->answer_only));
    failed |= codec_add(object, "only_shadow_right", json_integer((json_int_t)paired->shadow_only));
    failed |= codec_add(object, "both_wrong", json_integer((json_int_t)paired->neither));
    failed |= codec_add(object, "mcnemar_p",
                        json_real(mcnemar_p(paired->answer_only, paired->shadow_only)));
    return codec_whole(object, failed);
}

static json_t *row_json(const struct version_row *row)
{
    json_t *object = json_object();
    int failed = codec_add(object, "version", json_string(row->version));
    failed |=
        codec_add(object, "digest", row->digest != NULL ? json_string(row->digest) : json_null());
    failed |= codec_add(object, "role", json_string(row->role));
    failed |= codec_add(object, "share", json_real(row->share));
    failed |= codec_add(object, "shadow", json_real(row->shadow));
    failed |= codec_add(object, "predictions", json_integer((json_int_t)row->predictions));
    failed |= codec_add(object, "agreement", share_json(row->agrees, row->agrees + row->disagrees));
    failed |= codec_add(object, "skipped", json_integer((json_int_t)row->skipped));
    failed |= codec_add(object, "failed", json_integer((json_int_t)row->failed));
    failed |= codec_add(object, "waiting", json_integer((json_int_t)row->waiting));
    failed |= codec_add(object, "accuracy", share_json(row->accuracy.right, row->accuracy.count));
    failed |= codec_add(object, "compared", paired_json(&row->paired));
    return codec_whole(object, failed);
}

json_t *codec_rollout_versions(const struct version_row *rows, unsigned count)
{
    json_t *array = json_array();
    int failed = array == NULL;
    for (unsigned i = 0; i < count; i++)
        failed |= json_array_append_new(array, row_json(&rows[i]));
    return codec_whole(array, failed);
}

const char *codec_rollout_encode(const struct rollout_told *told, struct arena *arena, size_t *len)
{
    json_t *reply = json_object();
    int failed = codec_add(reply, "generation", json_integer((json_int_t)told->generation));
    failed |= codec_add(reply, "name", json_string(told->name));
    failed |= codec_add(reply, "version", json_string(told->version));
    failed |= codec_add(reply, "versions", codec_rollout_versions(told->rows, told->row_count));
    return codec_finish(codec_whole(reply, failed), "", arena, len);
}
