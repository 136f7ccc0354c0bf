#include "engine/model/config/precision_record.h"

#include <stdio.h>
#include <string.h>

/* "sha256:" and 64 lower-case digits. */
static bool is_digest(const char *text)
{
    static const char head[] = "sha256:";
    const size_t head_len = sizeof head - 1;
    return strlen(text) == PRECISION_DIGEST_BYTES - 1 && strncmp(text, head, head_len) == 0 &&
           strspn(text + head_len, "0123456789abcdef") == PRECISION_DIGEST_BYTES - 1 - head_len;
}

static enum err_code read_one(void *context, const char *key, const struct json_t *value,
                              struct err *err)
{
    struct precision_record *record = context;
    enum precision precision;
    long long inputs = 0, same_winner = -1;
    double points = 1e9;
    const char *digest = "";
    char path[32];
    snprintf(path, sizeof path, "$.agreement.%s", key);
    if (!precision_find(key, &precision) || precision == PRECISION_F32)
        return err_set(err, ERR_UNSUPPORTED, "$.agreement.%s is none of bf16 and int8", key);
    if (doc_check_members(value, path, "inputs, same_winner, macro_f1_points, digest", err) ||
        doc_get_integer(value, path, "inputs", 1, PRECISION_INPUTS_MAX, &inputs, err) ||
        doc_get_integer(value, path, "same_winner", 0, inputs, &same_winner, err) ||
        doc_get_number(value, path, "macro_f1_points", &points, err) ||
        doc_get_string(value, path, "digest", &digest, err))
        return err->code;
    if (inputs == 0 || same_winner < 0)
        return err_set(err, ERR_UNSUPPORTED, "%s must have \"inputs\" and \"same_winner\"", path);
    if (!(points >= -100 && points <= 100))
        return err_set(err, ERR_UNSUPPORTED, "%s.macro_f1_points must be from -100 to 100", path);
    if (!is_digest(digest))
        return err_set(err, ERR_UNSUPPORTED, "%s.digest must be \"sha256:\" and 64 digits", path);
    struct precision_agreement *out = &record->agreement[precision];
    *out = (struct precision_agreement){
        .inputs = (unsigned)inputs, .same_winner = (unsigned)same_winner, .f1_points = points};
    memcpy(out->digest, digest, sizeof out->digest);
    return ERR_OK;
}

enum err_code precision_record_read(struct precision_record *out, const struct json_t *object,
                                    struct err *err)
{
    const char *pin = NULL;
    const struct json_t *agreement = doc_member(object, "agreement");
    if (doc_get_string(object, "$", "dtype", &pin, err))
        return err->code;
    out->is_pinned = pin != NULL;
    if (pin != NULL && !precision_find(pin, &out->pinned))
        return err_set(err, ERR_UNSUPPORTED, "$.dtype must be \"f32\", \"bf16\" or \"int8\"");
    if (agreement != NULL && strcmp(doc_type_name(agreement), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED, "$.agreement: expected an object, found %s",
                       doc_type_name(agreement));
    return doc_each_member(agreement, read_one, out, err);
}
