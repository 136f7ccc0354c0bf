#include "config/config_file.h"

#include "engine/base/doc.h"
#include "engine/base/nearest.h"

#include <jansson.h>

#include <string.h>

enum { FILE_BYTES_MAX = 1024 * 1024 }; /* 64 models with long directories take 300 KB */

static enum err_code unknown_key(const char *path, const char *key, const char *const *known,
                                 size_t count, struct err *err)
{
    char printable[CLI_NAME_BYTES + 1];
    const char *nearest = nearest_name(key, known, count);
    cli_printable(key, printable);
    if (nearest == NULL)
        return err_set(err, ERR_UNUSABLE, "%s.%s: unknown key", path, printable);
    return err_set(err, ERR_UNUSABLE, "%s.%s: unknown key; did you mean \"%s\"?", path, printable,
                   nearest);
}

static enum err_code read_model(struct config *config, json_t *value, const char *path,
                                struct err *err)
{
    static const char *const keys[] = {"name", "dir", "dtype", "split", "shadow"};
    struct config_model model = {0};
    const char **const texts[] = {&model.name, &model.dir, &model.dtype};
    double *const shares[] = {&model.split, &model.shadow};
    enum { TEXTS = 3, KEYS = sizeof keys / sizeof keys[0] };
    if (!json_is_object(value))
        return err_set(err, ERR_UNUSABLE, "%s: expected an object, found %s", path,
                       doc_type_name(value));
    for (void *at = json_object_iter(value); at != NULL; at = json_object_iter_next(value, at)) {
        const char *key = json_object_iter_key(at);
        size_t i = 0;
        while (i < KEYS && strcmp(keys[i], key) != 0)
            i++;
        if (i == KEYS)
            return unknown_key(path, key, keys, KEYS, err);
        if (i < TEXTS ? doc_get_string(value, path, key, texts[i], err)
                      : doc_get_number(value, path, key, shares[i - TEXTS], err))
            return err->code;
    }
    if (model.name == NULL || model.dir == NULL)
        return err_set(err, ERR_UNUSABLE, "%s: needs \"name\" and \"dir\"", path);
    if (option_add_model(config, &model, err))
        return err_prefix(err, "%s: ", path);
    return ERR_OK;
}

static enum err_code read_models(struct config *config, const json_t *value, struct err *err)
{
    if (!json_is_array(value))
        return err_set(err, ERR_UNUSABLE, "$.models: expected an array, found %s",
                       doc_type_name(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        char path[64];
        snprintf(path, sizeof path, "$.models[%zu]", i);
        if (read_model(config, json_array_get(value, i), path, err))
            return err->code;
    }
    return ERR_OK;
}

static enum err_code read_text(const struct cli_option *option, struct config *config,
                               const json_t *root, struct err *err)
{
    const char *text = NULL;
    if (doc_get_string(root, "$", option_key(option), &text, err) || text == NULL)
        return err->code;
    if (option_set_text(option, config, text, err))
        return err_prefix(err, "$.%s: ", option_key(option));
    return ERR_OK;
}

static enum err_code read_number(const struct cli_option *option, struct config *config,
                                 const json_t *root, struct err *err)
{
    long long number = (long long)cli_option_whole(option, config);
    if (doc_get_integer(root, "$", option_key(option), (long long)option->min,
                        (long long)option->max, &number, err))
        return err->code;
    return cli_option_set_whole(option, config, (size_t)number, err);
}

static enum err_code read_real(const struct cli_option *option, struct config *config,
                               const json_t *root, struct err *err)
{
    double number = cli_option_real(option, config);
    if (doc_get_number(root, "$", option_key(option), &number, err))
        return err->code;
    if (cli_option_set_real(option, config, number, err))
        return err_prefix(err, "$.%s: ", option_key(option));
    return ERR_OK;
}

static enum err_code read_members(struct config *config, bool given[OPTION_TOTAL], json_t *root,
                                  struct err *err)
{
    const char *keys[OPTION_TOTAL];
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        keys[i] = option_key(&option_table[i]);
    for (void *at = json_object_iter(root); at != NULL; at = json_object_iter_next(root, at)) {
        const struct cli_option *option = option_find(json_object_iter_key(at));
        const json_t *value = json_object_iter_value(at);
        if (option == NULL)
            return unknown_key("$", json_object_iter_key(at), keys, OPTION_TOTAL, err);
        if (json_is_null(value)) /* as if absent */
            continue;
        given[option_index(option)] = true;
        if (option_is_models(option))
            read_models(config, value, err);
        else if (cli_option_is_whole(option))
            read_number(option, config, root, err);
        else if (cli_option_is_real(option))
            read_real(option, config, root, err);
        else
            read_text(option, config, root, err);
        if (err->code)
            return err->code;
    }
    return ERR_OK;
}

enum err_code config_file_read(struct config *config, bool given[OPTION_TOTAL], const char *path,
                               struct err *err)
{
    json_t *root = NULL;
    if (!doc_parse_file(&root, path, FILE_BYTES_MAX, err) && !json_is_object(root))
        err_set(err, ERR_UNUSABLE, "$: expected an object, found %s", doc_type_name(root));
    if (!err->code)
        read_members(config, given, root, err);
    doc_free(root);
    if (err->code)
        err_prefix(err, "%s: ", path);
    return err->code;
}
