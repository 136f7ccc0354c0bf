#include "engine/model/config/config_parts.h"

#include "engine/base/doc.h"

#include <math.h>
#include <string.h>

enum { GLOBAL, LOCAL, KINDS = ROTARY_KINDS };

enum { EVERY_MAX = 1024, LOCAL_MIN = 2, LOCAL_MAX = 65536 };

/* The two kinds of layers: names in transformers 5, and keys of their bases in transformers 4. */
static const char *const layer_types[KINDS] = {"full_attention", "sliding_attention"};
static const char *const base_keys[KINDS] = {"global_rope_theta", "local_rope_theta"};

/* ---- the bases ---- */

static enum err_code check_base(const char *path, const char *key, double base, struct err *err)
{
    if (isfinite(base) && base >= 1)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "%s.%s %g is not supported (supported: at least 1)", path,
                   key, base);
}

/* Reads the bases. A null local base means the global one. */
static enum err_code read_bases(double base[KINDS], const struct json_t *config, struct err *err)
{
    base[GLOBAL] = 160000;
    base[LOCAL] = 10000;
    if (doc_get_number(config, "$", base_keys[GLOBAL], &base[GLOBAL], err))
        return err->code;
    if (doc_has_null(config, base_keys[LOCAL]))
        base[LOCAL] = base[GLOBAL];
    if (doc_get_number(config, "$", base_keys[LOCAL], &base[LOCAL], err) ||
        check_base("$", base_keys[GLOBAL], base[GLOBAL], err))
        return err->code;
    return check_base("$", base_keys[LOCAL], base[LOCAL], err);
}

/* An object that configures the angles. Supported: a base, and the default type. */
struct turning {
    const char *path;
    double base; /* 0: absent */
};

static enum err_code read_turning_member(void *context, const char *key, const struct json_t *value,
                                         struct err *err)
{
    struct turning *turning = context;
    const char *text = doc_as_string(value);
    if (strcmp(doc_type_name(value), "null") == 0)
        return ERR_OK;
    if (strcmp(key, "rope_type") == 0 || strcmp(key, "type") == 0) {
        if (text != NULL && strcmp(text, "default") == 0)
            return ERR_OK;
        return err_set(err, ERR_UNSUPPORTED, "%s.%s '%s' is not supported (supported: default)",
                       turning->path, key, printable_name(text != NULL ? text : "").text);
    }
    if (strcmp(key, "rope_theta") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s.%s is not supported (supported: rope_type, rope_theta)", turning->path,
                       printable_name(key).text);
    if (!doc_as_number(value, &turning->base))
        return err_set(err, ERR_UNUSABLE, "%s.%s: expected a number, found %s", turning->path, key,
                       doc_type_name(value));
    return check_base(turning->path, key, turning->base, err);
}

/* Returns a member that is an object; NULL if absent or null. */
static enum err_code get_object(const struct json_t *parent, const char *path, const char *key,
                                const struct json_t **out, struct err *err)
{
    *out = doc_member(parent, key);
    if (*out == NULL || strcmp(doc_type_name(*out), "an object") == 0)
        return ERR_OK;
    return err_set(err, ERR_UNUSABLE, "%s.%s: expected an object, found %s", path, key,
                   doc_type_name(*out));
}

/* Reads one kind's parameters in the form of transformers 5. If both forms have a base, they must
 * be equal. */
static enum err_code read_kind(double *base, const struct json_t *config, int kind,
                               const struct json_t *parameters, struct err *err)
{
    static const char *const paths[KINDS] = {"$.rope_parameters.full_attention",
                                             "$.rope_parameters.sliding_attention"};
    struct turning turning = {.path = paths[kind]};
    const struct json_t *object;
    if (get_object(parameters, "$.rope_parameters", layer_types[kind], &object, err) ||
        doc_each_member(object, read_turning_member, &turning, err))
        return err->code;
    if (turning.base > 0 && doc_member(config, base_keys[kind]) != NULL && turning.base != *base)
        return err_set(err, ERR_UNSUPPORTED, "%s.rope_theta %g is not %s %g", turning.path,
                       turning.base, base_keys[kind], *base);
    if (turning.base > 0)
        *base = turning.base;
    return ERR_OK;
}

static enum err_code check_parameter(void *context, const char *key, const struct json_t *value,
                                     struct err *err)
{
    (void)context;
    (void)value;
    for (int kind = 0; kind < KINDS; kind++)
        if (strcmp(key, layer_types[kind]) == 0)
            return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED,
                   "$.rope_parameters.%s is not supported (supported: full_attention, "
                   "sliding_attention)",
                   printable_name(key).text);
}

static enum err_code read_parameters(double base[KINDS], const struct json_t *config,
                                     struct err *err)
{
    const struct json_t *parameters, *scaling;
    struct turning scaled = {.path = "$.rope_scaling"};
    if (get_object(config, "$", "rope_scaling", &scaling, err) ||
        get_object(config, "$", "rope_parameters", &parameters, err) ||
        doc_each_member(scaling, read_turning_member, &scaled, err))
        return err->code;
    if (scaled.base > 0)
        return err_set(err, ERR_UNSUPPORTED, "$.rope_scaling.rope_theta is not supported");
    if (doc_each_member(parameters, check_parameter, NULL, err) ||
        read_kind(&base[GLOBAL], config, GLOBAL, parameters, err))
        return err->code;
    return read_kind(&base[LOCAL], config, LOCAL, parameters, err);
}

/* ---- which layers are local ---- */

static int type_of(const struct json_t *types, unsigned layer)
{
    const char *type = doc_as_string(doc_array_item(types, layer));
    for (int kind = 0; type != NULL && kind < KINDS; kind++)
        if (strcmp(type, layer_types[kind]) == 0)
            return kind;
    return KINDS;
}

/* Reads layer_types, which takes precedence: global_attn_every_n_layers is from transformers 4. */
static enum err_code read_layer_types(unsigned *reaches, const struct json_t *types,
                                      unsigned layers, unsigned reach, struct err *err)
{
    if (doc_array_count(types) != layers)
        return err_set(err, ERR_UNSUPPORTED,
                       "$.layer_types: expected an array of %u strings, for as many layers",
                       layers);
    for (unsigned i = 0; i < layers; i++) {
        int kind = type_of(types, i);
        if (kind == KINDS)
            return err_set(err, ERR_UNSUPPORTED,
                           "$.layer_types[%u] is not supported (supported: full_attention, "
                           "sliding_attention)",
                           i);
        reaches[i] = kind == LOCAL ? reach : 0;
    }
    return ERR_OK;
}

enum err_code rotary_config_read(struct rotary_config *out, const struct json_t *config,
                                 unsigned layers, struct arena *arena, struct err *err)
{
    *out = (struct rotary_config){0};
    if (read_bases(out->base, config, err) || read_parameters(out->base, config, err))
        return err->code;
    const struct json_t *types = doc_member(config, "layer_types");
    long long every = 3, window = 128;
    if (doc_get_integer(config, "$", "global_attn_every_n_layers", 1, EVERY_MAX, &every, err) ||
        doc_get_integer(config, "$", "local_attention", LOCAL_MIN, LOCAL_MAX, &window, err))
        return err->code;
    unsigned *reaches = arena_alloc_array(arena, layers, sizeof *reaches);
    if (reaches == NULL)
        return err_no_memory(err, layers * sizeof *reaches);
    out->reaches = reaches;
    if (types != NULL)
        return read_layer_types(reaches, types, layers, (unsigned)window / 2, err);
    for (unsigned i = 0; i < layers; i++)
        reaches[i] = i % (unsigned)every != 0 ? (unsigned)window / 2 : 0;
    return ERR_OK;
}
