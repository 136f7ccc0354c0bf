#include "server/json/codec_fit.h"

#include "engine/base/doc.h"
#include "wire/codec_check.h"
#include "wire/codec_dump.h"
#include "wire/limits.h"

#include <jansson.h>

#include <string.h>

/* ---- reading ---- */

static enum err_code read_number(const json_t *root, const char *key, double max, double *out,
                                 struct err *err)
{
    if (doc_get_number(root, "$", key, out, err))
        return err->code;
    if (*out >= 0 && *out <= max)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "$.%s: %.9g is not from 0 to %g", key, *out, max);
}

static enum err_code read_members(struct fits_call *call, const json_t *root, struct arena *arena,
                                  struct err *err)
{
    const double least = 1e-9; /* attnd-fit's */
    const char *prior = "natural";
    if (codec_check_text(root, "$", "name", LIMIT_MODEL_NAME_BYTES, arena, &call->name, err) ||
        codec_check_text(root, "$", "version", FITS_VERSION_BYTES, arena, &call->version, err) ||
        codec_check_text(root, "$", "reason", LIMIT_REASON_BYTES, arena, &call->reason, err) ||
        read_number(root, "loss_max", 100, &call->loss_max, err) ||
        read_number(root, "target_precision", 1, &call->target_precision, err) ||
        read_number(root, "shadow", 1, &call->shadow, err) ||
        doc_get_string(root, "$", "prior", &prior, err))
        return err->code;
    call->is_prior_equal = strcmp(prior, "equal") == 0;
    if (!call->is_prior_equal && strcmp(prior, "natural") != 0)
        return err_set(err, ERR_UNUSABLE, "$.prior: expected \"natural\" or \"equal\"");
    if (call->name == NULL)
        return err_set(err, ERR_UNUSABLE, "$: expected \"name\", found none");
    if (call->target_precision < least)
        return err_set(err, ERR_UNUSABLE, "$.target_precision: expected more than 0");
    return ERR_OK;
}

enum err_code codec_fit_parse(struct fits_call *out, const char *body, size_t len,
                              struct arena *arena, struct err *err)
{
    struct doc_limits limits = doc_limits_request;
    json_t *root = NULL;
    limits.depth_max = LIMIT_JSON_DEPTH;
    *out = (struct fits_call){.loss_max = 2, .target_precision = 0.95, .shadow = 1};
    if (doc_parse(&root, body, len, &limits, err) == ERR_OK && !json_is_object(root))
        err_set(err, ERR_UNUSABLE, "$: expected an object, found %s", doc_type_name(root));
    if (err->code == ERR_OK && codec_check_members(root, "$", &codec_names_fit, err) == ERR_OK)
        read_members(out, root, arena, err);
    doc_free(root);
    return err->code;
}

/* ---- telling ---- */

static json_t *text_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

/* The text is JSON that this server wrote itself. */
static json_t *json_or_null(const char *text)
{
    return text != NULL ? json_loads(text, 0, NULL) : json_null();
}

static json_t *row_json(const struct fits_row *row)
{
    json_t *object = json_object();
    int failed = codec_add(object, "fit", json_integer((json_int_t)row->number));
    failed |= codec_add(object, "name", json_string(row->name));
    failed |= codec_add(object, "from_version", json_string(row->from_version));
    failed |= codec_add(object, "version", json_string(row->version));
    failed |= codec_add(object, "state", json_string(fits_state_name(row->state)));
    failed |= codec_add(object, "step", text_or_null(row->step));
    failed |= codec_add(object, "done", json_integer((json_int_t)row->done));
    failed |= codec_add(object, "total", json_integer((json_int_t)row->total));
    failed |= codec_add(object, "labels", json_or_null(row->labels));
    failed |= codec_add(object, "created", json_string(row->created));
    failed |= codec_add(object, "finished", text_or_null(row->finished));
    failed |= codec_add(object, "seconds", json_real(row->seconds));
    if (row->detail != NULL)
        failed |= codec_add(object, "detail", json_string(row->detail));
    if (row->report != NULL)
        failed |= codec_add(object, "report", json_or_null(row->report));
    failed |= codec_add(object, "dir", json_string(row->dir));
    return codec_whole(object, failed);
}

/* The tree of a text takes several times as much. */
size_t codec_fit_bytes(unsigned count)
{
    enum { TIMES = 16 };
    return CODEC_FIT_BYTES + TIMES * count * fits_row_bytes();
}

const char *codec_fit_encode(const struct fits_row *row, struct arena *arena, size_t *len)
{
    return codec_finish(row_json(row), "", arena, len);
}

const char *codec_fit_encode_list(const struct fits_row *rows, unsigned count, struct arena *arena,
                                  size_t *len)
{
    json_t *reply = json_object(), *list = json_array();
    int failed = list == NULL;
    for (unsigned i = 0; i < count; i++)
        failed |= json_array_append_new(list, row_json(&rows[i]));
    failed |= codec_add(reply, "fits", list);
    return codec_finish(codec_whole(reply, failed), "", arena, len);
}
