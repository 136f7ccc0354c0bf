#include "engine/text/pipeline/members.h"

#include "engine/base/doc.h"

#include <string.h>

struct visit {
    const char *path;
    const char *const *known;
};

static enum err_code check_member(void *context, const char *key, const struct json_t *value,
                                  struct err *err)
{
    const struct visit *visit = context;
    (void)value;
    for (const char *const *name = visit->known; *name != NULL; name++)
        if (strcmp(key, *name) == 0)
            return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, "%s.%s is not supported", visit->path, key);
}

enum err_code members_check(const struct json_t *object, const char *path, const char *const *known,
                            struct err *err)
{
    struct visit visit = {path, known};
    if (object == NULL || strcmp(doc_type_name(object), "an object") != 0)
        return err_set(err, ERR_UNSUPPORTED, "%s: expected an object, found %s", path,
                       object == NULL ? "nothing" : doc_type_name(object));
    return doc_each_member(object, check_member, &visit, err);
}

enum err_code members_type(const char **out, const struct json_t *object, const char *path,
                           struct err *err)
{
    *out = NULL;
    if (doc_get_string(object, path, "type", out, err))
        return err->code;
    return *out != NULL ? ERR_OK : err_set(err, ERR_UNSUPPORTED, "%s.type is missing", path);
}

bool members_has_type(const struct json_t *json, const char *type)
{
    const char *found = doc_as_string(doc_member(json, "type"));
    return found != NULL && strcmp(found, type) == 0;
}

enum err_code members_unknown_type(const char *type, const char *path, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED, "%s.type '%s' is not supported", path, type);
}
