/* config_load.c - see config_load.h. Sources are applied from weakest to strongest: the table's
 * defaults, the file, the environment, the flags; each later one overwrites, except that models add
 * up. `given` remembers which options any source named, because the default of inputs_max follows a
 * smaller queue_limit, while a value that was written down above it is a mistake worth an error.
 *
 * Flags are walked twice: once to learn the action and the file, once to apply values after the
 * file and the environment. */
#include "config/config_load.h"

#include "config/option.h"
#include "engine/base/doc.h"
#include "engine/base/nearest.h"

#include <jansson.h>

#include <ctype.h>
#include <string.h>

struct loader {
    struct config *config;
    enum config_action action;
    const char *file; /* --config, else ATTND_CONFIG, else NULL */
    bool given[OPTION_TOTAL];
};

/* ---- flags ----------------------------------------------------------------- */

/* First walk: names are checked, values are not. --help and --version end it, so that they work
 * even if a later flag is wrong. */
static enum err_code scan_flags(struct loader *loader, int argc, char *const *argv, struct err *err)
{
    static const enum config_action actions[OPTION_SWITCHES] = {
        [OPTION_CHECK_CONFIG] = CONFIG_CHECK, [OPTION_PRINT_CONFIG] = CONFIG_PRINT};
    for (int at = 1; at < argc;) {
        struct cli_argument argument;
        if (cli_next(&option_cli, argc, argv, &at, &argument, err))
            return err->code;
        if (argument.action != CLI_RUN) {
            loader->action = argument.action == CLI_HELP ? CONFIG_HELP : CONFIG_VERSION;
            return ERR_OK;
        }
        size_t index = option_index(argument.option);
        if (index == OPTION_TOTAL + OPTION_CONFIG) {
            if (cli_option_set(argument.option, loader->config, argument.value, err))
                return err_prefix(err, "--config: ");
            loader->file = argument.value;
        }
        if (index >= OPTION_TOTAL && loader->action < actions[index - OPTION_TOTAL])
            loader->action = actions[index - OPTION_TOTAL]; /* printing includes checking */
    }
    return ERR_OK;
}

static enum err_code apply_flags(struct loader *loader, int argc, char *const *argv,
                                 struct err *err)
{
    for (int at = 1; at < argc;) {
        struct cli_argument argument;
        char name[CLI_NAME_BYTES];
        if (cli_next(&option_cli, argc, argv, &at, &argument, err))
            return err->code;
        const struct cli_option *option = argument.option;
        if (option_index(option) >= OPTION_TOTAL)
            continue;
        loader->given[option_index(option)] = true;
        if (option_is_models(option)) /* the directory may hold blanks */
            option_add_model_text(loader->config, argument.value, strlen(argument.value), err);
        else
            option_set_text(option, loader->config, argument.value, err);
        if (err->code != ERR_OK) {
            cli_spell(option, name);
            return err_prefix(err, "--%s: ", name);
        }
    }
    return ERR_OK;
}

/* ---- environment ----------------------------------------------------------- */

static const char prefix[] = "ATTND_";
enum { PREFIX_LEN = sizeof prefix - 1 };

/* ATTND_ variables that are accepted and ignored: those that tests read, and those that Kubernetes
 * and Docker invent for a service called attnd or attnd-something (ATTND_SERVICE_HOST,
 * ATTND_PORT=tcp://..., ATTND_PORT_8080_TCP_ADDR, ...), which would otherwise keep a pod from
 * starting. No option's name holds SERVICE or PORT. */
static bool is_foreign(const char *name, const char *value)
{
    static const char *const ignored[] = {"CORPORA", "GOLDEN"};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (strcmp(name, ignored[i]) == 0)
            return true;
    const char *port = strstr(name, "PORT");
    if (strstr(name, "SERVICE_HOST") != NULL || strstr(name, "SERVICE_PORT") != NULL)
        return true;
    return port != NULL &&
           ((port[4] == '_' && isdigit((unsigned char)port[5])) || strstr(value, "://") != NULL);
}

/* Reads one ATTND_ variable. `scan`: only takes the file's name and refuses unknown names; else
 * only takes values. */
static enum err_code read_variable(struct loader *loader, const char *name, const char *value,
                                   bool scan, struct err *err)
{
    const struct cli_option *option = NULL;
    bool is_file = strcmp(name, "CONFIG") == 0;
    for (size_t i = 0; i < OPTION_TOTAL && option == NULL; i++) {
        char variable[CLI_NAME_BYTES];
        option_variable(&option_table[i], variable);
        if (strcmp(variable + PREFIX_LEN, name) == 0)
            option = &option_table[i];
    }
    if (option == NULL && !is_file && !is_foreign(name, value)) {
        char variables[OPTION_TOTAL][CLI_NAME_BYTES];
        const char *known[OPTION_TOTAL + 1];
        char printable[CLI_NAME_BYTES + 1];
        size_t count = 0;
        for (; count < OPTION_TOTAL; count++) {
            option_variable(&option_table[count], variables[count]);
            known[count] = variables[count] + PREFIX_LEN;
        }
        known[count++] = "CONFIG";
        const char *nearest = nearest_name(name, known, count);
        cli_printable(name, printable);
        if (nearest != NULL)
            return err_set(err, ERR_UNUSABLE, "%s%s: unknown variable; did you mean %s%s?", prefix,
                           printable, prefix, nearest);
        return err_set(err, ERR_UNUSABLE, "%s%s: unknown variable; --help lists them", prefix,
                       printable);
    }
    if (is_file && scan)
        loader->file = value;
    if (option == NULL || scan)
        return ERR_OK;
    loader->given[option_index(option)] = true;
    if (option_set_text(option, loader->config, value, err))
        return err_prefix(err, "%s%s: ", prefix, name);
    return ERR_OK;
}

static enum err_code read_environment(struct loader *loader, char *const *environment, bool scan,
                                      struct err *err)
{
    for (; *environment != NULL; environment++) {
        const char *name = *environment + PREFIX_LEN;
        size_t len = strcspn(*environment, "=");
        if (strncmp(*environment, prefix, PREFIX_LEN) != 0 || (*environment)[len] == '\0')
            continue;
        char *copy = arena_copy(&loader->config->arena, name, len - PREFIX_LEN);
        if (copy == NULL)
            return err_no_memory(err, len);
        if (read_variable(loader, copy, *environment + len + 1, scan, err))
            return err->code;
    }
    return ERR_OK;
}

/* ---- the file -------------------------------------------------------------- */

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
    static const char *const keys[] = {"name",  "dir",    "dtype", "index",
                                       "split", "shadow", "public"};
    struct config_model model = {0};
    const char **const texts[] = {&model.name, &model.dir, &model.dtype, &model.index};
    double *const shares[] = {&model.split, &model.shadow};
    enum { TEXTS = 4, SHARES = 2, KEYS = sizeof keys / sizeof keys[0] };
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
        if (i < TEXTS            ? doc_get_string(value, path, key, texts[i], err)
            : i < TEXTS + SHARES ? doc_get_number(value, path, key, shares[i - TEXTS], err)
                                 : doc_get_bool(value, path, key, &model.is_public, err))
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

static enum err_code read_value(const struct cli_option *option, struct config *config,
                                const json_t *root, struct err *err)
{
    const char *key = option_key(option), *text = NULL;
    if (cli_option_is_whole(option)) {
        long long number = (long long)cli_option_whole(option, config);
        if (doc_get_integer(root, "$", key, (long long)option->min, (long long)option->max, &number,
                            err))
            return err->code;
        return cli_option_set_whole(option, config, (size_t)number, err);
    }
    if (cli_option_is_real(option)) {
        double number = cli_option_real(option, config);
        if (doc_get_number(root, "$", key, &number, err))
            return err->code;
        cli_option_set_real(option, config, number, err);
    } else {
        if (doc_get_string(root, "$", key, &text, err) || text == NULL)
            return err->code;
        option_set_text(option, config, text, err);
    }
    return err->code != ERR_OK ? err_prefix(err, "$.%s: ", key) : ERR_OK;
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
        if (json_is_null(value)) /* null stands for no value */
            continue;
        given[option_index(option)] = true;
        if (option_is_models(option) ? read_models(config, value, err)
                                     : read_value(option, config, root, err))
            return err->code;
    }
    return ERR_OK;
}

/* Writes the file's members into config and marks given[option_index] for each. Errors begin with
 * the path as the operator wrote it and the JSON path. */
static enum err_code read_file(struct config *config, bool given[OPTION_TOTAL], const char *path,
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

/* ---- the whole ------------------------------------------------------------- */

/* A limit that nobody gave follows another one. */
static enum err_code settle_limits(struct loader *loader, struct err *err)
{
    struct config *config = loader->config;
    config->inputs_max_given = loader->given[option_index(option_find("inputs_max"))];
    if (config->inputs_max > config->queue_limit) {
        if (config->inputs_max_given)
            return err_set(
                err, ERR_UNUSABLE,
                "inputs_max (%u) must not be above queue_limit (%u), or such a request could "
                "never be queued",
                config->inputs_max, config->queue_limit);
        config->inputs_max = config->queue_limit;
    }
    if (config->request_pixels_max < config->image_pixels_max) {
        if (loader->given[option_index(option_find("request_pixels_max"))])
            return err_set(err, ERR_UNUSABLE,
                           "request_pixels_max (%zu) must not be below image_pixels_max (%zu), or "
                           "such an image could never be sent",
                           config->request_pixels_max, config->image_pixels_max);
        config->request_pixels_max = config->image_pixels_max;
    }
    return ERR_OK;
}

/* Found here and not when the second one is bound, so that --check-config finds it. */
static enum err_code check_admin(const struct config *config, struct err *err)
{
    if (config->admin_port != 0 && config->admin_port == config->listen_port &&
        strcmp(config->admin_address, config->listen_address) == 0)
        return err_set(err, ERR_UNUSABLE, "admin_listen must be another address than listen (%s)",
                       config->listen);
    return ERR_OK;
}

/* A certificate that nothing asks for would only seem to protect. */
static enum err_code check_tls(const struct config *config, struct err *err)
{
    const bool has_cert = config->tls_cert_file[0] != '\0';
    const bool has_key = config->tls_key_file[0] != '\0';
    if (has_cert != has_key)
        return err_set(err, ERR_UNUSABLE, "tls_cert_file and tls_key_file need each other");
    if (config->tls_client_ca_file[0] == '\0')
        return ERR_OK;
    if (!has_cert)
        return err_set(err, ERR_UNUSABLE, "tls_client_ca_file needs tls_cert_file");
    if (config->keys_file[0] == '\0')
        return err_set(err, ERR_UNUSABLE,
                       "tls_client_ca_file needs keys_file with lines cert:NAME, or clients would "
                       "be served without a certificate");
    return ERR_OK;
}

/* RFC 6454, section 6.2: a browser says "http://host", with its port unless it is the usual one,
 * and compares bytes; so what it would never say is a mistake. */
static enum err_code check_cors(const struct config *config, struct err *err)
{
    for (const char *at = config->cors_origins; *at != '\0';) {
        size_t len = strcspn(at, ",");
        size_t scheme = strncmp(at, "http://", 7) == 0    ? 7
                        : strncmp(at, "https://", 8) == 0 ? 8
                                                          : 0;
        static const char host[] = "abcdefghijklmnopqrstuvwxyz0123456789-._[]:";
        if (scheme == 0 || len == scheme || scheme + strspn(at + scheme, host) < len ||
            (at[len] == ',' && at[len + 1] == '\0'))
            return err_set(err, ERR_UNUSABLE,
                           "cors_origins: '%.*s' is not an origin; write http://HOST:PORT or "
                           "https://HOST in lower case and without a path, and a comma between two",
                           (int)(len < 80 ? len : 80), at);
        at += len + (at[len] == ',');
    }
    return ERR_OK;
}

/* Inputs are kept only where somebody said that they may be. */
static enum err_code check_keeping(const struct config *config, struct err *err)
{
    if (config->keep_inputs_bytes > 0 && config->state_dir[0] == '\0')
        return err_set(err, ERR_UNUSABLE,
                       "keep_inputs_bytes needs state_dir, where the inputs are kept");
    if (config->keep_inputs_share > 0 && config->keep_inputs_bytes == 0)
        return err_set(err, ERR_UNUSABLE,
                       "keep_inputs_share needs keep_inputs_bytes, without which none is kept");
    return ERR_OK;
}

static enum err_code load(struct loader *loader, int argc, char *const *argv,
                          char *const *environment, struct err *err)
{
    struct config *config = loader->config;
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        if (option_set_text(&option_table[i], config, option_table[i].fallback, err))
            return err_prefix(err, "default of %s: ", option_table[i].name);
    if (scan_flags(loader, argc, argv, err))
        return err->code;
    if (loader->action == CONFIG_HELP || loader->action == CONFIG_VERSION)
        return ERR_OK;
    const char *flag_file = loader->file;
    if (read_environment(loader, environment, true, err))
        return err->code;
    if (flag_file != NULL)
        loader->file = flag_file;
    if (loader->file != NULL && read_file(config, loader->given, loader->file, err))
        return err->code;
    if (read_environment(loader, environment, false, err) || apply_flags(loader, argc, argv, err))
        return err->code;
    if (check_tls(config, err) || check_admin(config, err) || check_cors(config, err) ||
        check_keeping(config, err))
        return err->code;
    return settle_limits(loader, err);
}

enum err_code config_load(struct config *out, enum config_action *action, int argc,
                          char *const *argv, char *const *environment, struct err *err)
{
    *out = (struct config){0};
    arena_init(&out->arena);
    struct loader loader = {.config = out, .action = CONFIG_SERVE};
    load(&loader, argc, argv, environment, err);
    *action = loader.action;
    if (err->code == ERR_OK)
        return ERR_OK;
    config_deinit(out);
    if (err->code != ERR_NO_MEMORY)
        err->code =
            ERR_UNUSABLE; /* whatever was wrong with the file, the configuration is unusable */
    return err->code;
}

void config_deinit(struct config *config)
{
    arena_deinit(&config->arena);
    *config = (struct config){0};
}
