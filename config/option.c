/* option.c - see option.h. Defaults, variables and flags all arrive as text and go through
 * option_set_text, so a default outside its own limits fails every test. All strings and the list
 * of models live in the configuration's arena. */
#include "config/option.h"

#include "engine/base/utf8.h"
#include "engine/cli/shipped.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static enum err_code set_string(const char **field, struct config *config, const char *text,
                                size_t len, struct err *err)
{
    const char *copy = arena_copy(&config->arena, text, len);
    if (copy == NULL)
        return err_no_memory(err, len);
    *field = copy;
    return ERR_OK;
}

/* ---- addresses ------------------------------------------------------------- */

struct parsed_address {
    char host[INET6_ADDRSTRLEN];
    size_t port;
};

/* Numeric only: a name may resolve to another address later, and so expose a fab's server.
 * localhost is the only exception. */
static bool parse_address(const struct cli_option *option, struct parsed_address *out,
                          const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];
    const char *colon = strrchr(text, ':');
    if (colon == NULL)
        return false;
    size_t len = (size_t)(colon - text);
    const bool bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    if (bracketed)
        len -= 2;
    if (len >= INET6_ADDRSTRLEN)
        return false;
    memcpy(out->host, text + bracketed, len);
    out->host[len] = '\0';
    if (!bracketed && strcmp(out->host, "localhost") == 0)
        memcpy(out->host, "127.0.0.1", sizeof "127.0.0.1");
    return inet_pton(bracketed ? AF_INET6 : AF_INET, out->host, address) == 1 &&
           !cli_option_parse_whole(colon + 1, option->min, option->max, &out->port,
                                   &(struct err){0});
}

static enum err_code set_address(const struct cli_option *option, void *target, const char *text,
                                 struct err *err)
{
    struct config *config = target;
    struct parsed_address parsed;
    if (!parse_address(option, &parsed, text))
        return err_set(err, ERR_UNUSABLE,
                       "expected ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080, with a "
                       "numeric address and a port from %.0f to %.0f",
                       option->min, option->max);
    config->listen_port = (unsigned)parsed.port;
    if (set_string(&config->listen_address, config, parsed.host, strlen(parsed.host), err))
        return err->code;
    return set_string(&config->listen, config, text, strlen(text), err);
}

/* ---- models ---------------------------------------------------------------- */

/* A directory is printed by --print-config, so it must be a JSON string without escapes to undo. */
static bool is_directory_text(const char *dir)
{
    size_t len = strlen(dir);
    for (size_t at = 0; at < len;) {
        size_t bytes = utf8_character_bytes(dir + at, len - at);
        if (bytes == 0 || (unsigned char)dir[at] < 0x20 || dir[at] == 0x7F)
            return false;
        at += bytes;
    }
    return len > 0 && len <= 4096;
}

/* The first of a name answers, and a share is of its requests. */
static enum err_code check_shares(const struct config *config, const struct config_model *model,
                                  struct err *err)
{
    double sum = model->split;
    bool is_first = true;
    for (unsigned i = 0; i < config->model_count; i++)
        if (strcmp(config->models[i].name, model->name) == 0) {
            sum += config->models[i].split;
            is_first = false;
        }
    if (!(model->split >= 0 && model->split <= 1) || !(model->shadow >= 0 && model->shadow <= 1))
        return err_set(err, ERR_UNUSABLE, "model \"%s\": split and shadow are shares from 0 to 1",
                       model->name);
    if (is_first && model->shadow > 0)
        return err_set(err, ERR_UNUSABLE,
                       "model \"%s\": the first of a name answers and cannot be a shadow",
                       model->name);
    if (sum > 1 + 1e-9)
        return err_set(err, ERR_UNUSABLE,
                       "model \"%s\": the splits of its versions sum to %.9g, the limit is 1",
                       model->name, sum);
    return ERR_OK;
}

static enum err_code check_model(const struct config *config, const struct config_model *model,
                                 struct err *err)
{
    /* Names become URL paths and metric labels, so they need no escaping anywhere. */
    const char *name = model->name != NULL ? model->name : "";
    const size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789._-");
    if (len < 1 || len > 64 || name[len] != '\0' || strspn(name, ".") == len)
        return err_set(err, ERR_UNUSABLE,
                       "a model's name must be 1 to 64 of A-Z a-z 0-9 . _ - and not only dots");
    if (model->dir == NULL || !is_directory_text(model->dir))
        return err_set(err, ERR_UNUSABLE,
                       "model \"%s\": the directory must be 1 to 4096 bytes of UTF-8 without "
                       "control characters",
                       model->name);
    const char *dtypes = "f32|bf16|int8|auto";
    if (model->dtype != NULL && !cli_option_is_choice(dtypes, model->dtype))
        return err_set(err, ERR_UNUSABLE, "model \"%s\": dtype must be one of %s", model->name,
                       dtypes);
    if (model->index != NULL && !is_directory_text(model->index))
        return err_set(err, ERR_UNUSABLE,
                       "model \"%s\": the index must be 1 to 4096 bytes of UTF-8 without control "
                       "characters",
                       model->name);
    if (model->index == NULL && model->is_public)
        return err_set(err, ERR_UNUSABLE,
                       "model \"%s\": \"public\" is of an index, and there is none", model->name);
    for (unsigned i = 0; i < config->model_count; i++)
        if (strcmp(config->models[i].name, model->name) == 0 &&
            strcmp(config->models[i].dir, model->dir) == 0)
            return err_set(err, ERR_UNUSABLE,
                           "two models are named \"%s\" and have the same directory; each version "
                           "of a name needs a directory of its own",
                           model->name);
    return check_shares(config, model, err);
}

enum err_code option_add_model(struct config *config, const struct config_model *model,
                               struct err *err)
{
    if (check_model(config, model, err))
        return err->code;
    if (config->model_count >= CONFIG_MODELS_MAX)
        return err_set(err, ERR_UNUSABLE, "more than %d models", CONFIG_MODELS_MAX);
    if (config->models == NULL)
        config->models =
            arena_alloc_array(&config->arena, CONFIG_MODELS_MAX, sizeof *config->models);
    if (config->models == NULL)
        return err_no_memory(err, CONFIG_MODELS_MAX * sizeof *config->models);
    struct config_model copy = *model;
    char found[PATH_MAX];
    copy.dtype = NULL;
    /* A name that is not found stays: whoever opens it says what is wrong. */
    if (shipped_find(found, model->dir, &(struct err){0}) == ERR_OK)
        copy.dir = found;
    if (set_string(&copy.name, config, model->name, strlen(model->name), err) ||
        set_string(&copy.dir, config, copy.dir, strlen(copy.dir), err))
        return err->code;
    if (model->dtype != NULL &&
        set_string(&copy.dtype, config, model->dtype, strlen(model->dtype), err))
        return err->code;
    if (model->index != NULL &&
        set_string(&copy.index, config, model->index, strlen(model->index), err))
        return err->code;
    config->models[config->model_count++] = copy;
    return ERR_OK;
}

/* The last ",key=value" is cut off and read; any other comma is the directory's. False: there is
 * none, or it cannot be read. */
static bool take_suffix(struct config_model *model, char *dir, struct err *err)
{
    static const char *const keys[] = {",dtype=", ",index=", ",split=", ",shadow="};
    enum { TEXTS = 2, KEYS = 4 };
    char *comma = strrchr(dir, ','), *end;
    size_t i = 0;
    while (comma != NULL && i < KEYS && strncmp(comma, keys[i], strlen(keys[i])) != 0)
        i++;
    if (comma == NULL || i == KEYS)
        return false;
    const char *value = comma + strlen(keys[i]);
    *comma = '\0';
    if (i < TEXTS) {
        *(i == 0 ? &model->dtype : &model->index) = value;
        return true;
    }
    const double share = strtod(value, &end);
    *(i == TEXTS ? &model->split : &model->shadow) = share;
    if (end != value && *end == '\0')
        return true;
    err_set(err, ERR_UNUSABLE, "\"%s\" is no share; expected a number from 0 to 1", value);
    return false;
}

enum err_code option_add_model_text(struct config *config, const char *text, size_t len,
                                    struct err *err)
{
    char *name = arena_copy(&config->arena, text, len);
    if (name == NULL)
        return err_no_memory(err, len);
    char *equals = strchr(name, '=');
    if (equals == NULL)
        return err_set(err, ERR_UNUSABLE,
                       "expected NAME=DIR[,dtype=f32|bf16|int8|auto][,split=SHARE][,shadow=SHARE]"
                       "[,index=FILE], such as logs=models/logs");
    *equals = '\0';
    struct config_model model = {.name = name, .dir = equals + 1};
    while (take_suffix(&model, equals + 1, err))
        continue;
    return err->code != ERR_OK ? err->code : option_add_model(config, &model, err);
}

static enum err_code add_models(const struct cli_option *option, void *target, const char *text,
                                struct err *err)
{
    static const char space[] = " \t\r\n";
    (void)option;
    for (text += strspn(text, space); *text != '\0'; text += strspn(text, space)) {
        size_t len = strcspn(text, space);
        if (option_add_model_text(target, text, len, err))
            return err->code;
        text += len;
    }
    return ERR_OK;
}

/* ---- paths ----------------------------------------------------------------- */

static enum err_code set_path(const struct cli_option *option, void *target, const char *text,
                              struct err *err)
{
    if (text[0] != '\0' && !is_directory_text(text))
        return err_set(err, ERR_UNUSABLE,
                       "must be at most 4096 bytes of UTF-8 without control characters");
    *(const char **)((char *)target + option->offset) = text;
    return ERR_OK;
}

static enum err_code set_place(const struct cli_option *option, void *target, const char *text,
                               struct err *err)
{
    enum { PATH_BYTES_MAX = 107 }; /* the limit for sockets (unix(7)) */
    static const char prefix[] = "unix:";
    struct config *config = target;
    struct parsed_address parsed = {.port = 0};
    const bool is_path = strncmp(text, prefix, sizeof prefix - 1) == 0;
    const char *path = is_path ? text + sizeof prefix - 1 : "";
    const bool is_whole =
        is_path ? path[0] == '/' && strlen(path) <= PATH_BYTES_MAX && is_directory_text(path)
                : parse_address(option, &parsed, text);
    if (text[0] != '\0' && !is_whole)
        return err_set(err, ERR_UNUSABLE,
                       "expected ADDRESS:PORT, such as 127.0.0.1:8081, or unix:PATH, such as "
                       "unix:/run/attnd/admin.sock, an absolute path of at most 107 bytes");
    const char *address = is_path || text[0] == '\0' ? text : parsed.host;
    config->admin_port = (unsigned)parsed.port;
    if (set_string(&config->admin_address, config, address, strlen(address), err))
        return err->code;
    return set_string(&config->admin_listen, config, text, strlen(text), err);
}

/* ---- the rows -------------------------------------------------------------- */

#define FLAG_MODELS(key) "model" /* one at a time */
#define FLAG_ADDRESS(key) #key
#define FLAG_PLACE(key) #key
#define FLAG_COUNT(key) #key
#define FLAG_BYTES(key) #key
#define FLAG_MS(key) #key
#define FLAG_SHARE(key) #key
#define FLAG_WORD(key) #key
#define FLAG_PATH(key) #key
#define FLAG_URL(key) #key
#define FLAG_URLS(key) #key
#define VALUE_MODELS(choices_)                                                                     \
    .value = "NAME=DIR[,dtype=D][,split=S][,shadow=S][,index=F]", .apply = add_models
#define VALUE_ADDRESS(choices_) .value = "ADDRESS:PORT", .apply = set_address
#define VALUE_PLACE(choices_) .value = "ADDRESS:PORT|unix:PATH", .apply = set_place
#define VALUE_COUNT(choices_) .value = "N"
#define VALUE_BYTES(choices_) .value = "BYTES"
#define VALUE_MS(choices_) .value = "MS"
#define VALUE_SHARE(choices_) .value = "SHARE"
#define VALUE_WORD(choices_) .choices = choices_
#define VALUE_PATH(choices_) .value = "PATH", .apply = set_path
#define VALUE_URL(choices_) .value = "URL", .apply = set_path
#define VALUE_URLS(choices_) .value = "URL,URL...", .apply = set_path

const struct cli_option option_table[OPTION_TOTAL + OPTION_SWITCHES] = {
#define OPTION(key, type_, default_, min_, max_, choices_, reload_, sentence_)                     \
    {.name = FLAG_##type_(key),                                                                    \
     CLI_FIELD(struct config, key),                                                                \
     .fallback = default_,                                                                         \
     .min = min_,                                                                                  \
     .max = max_,                                                                                  \
     .tag = OPTION_##reload_,                                                                      \
     .help = sentence_,                                                                            \
     VALUE_##type_(choices_)},
#include "config/options.def"
#undef OPTION
    {.name = "config",
     .type = CLI_OTHER,
     .value = "FILE",
     .help = "read options from a JSON file (or from $ATTND_CONFIG)"},
    {.name = "check-config",
     .type = CLI_FLAG,
     .help = "check options, models and memory, then exit"},
    {.name = "print-config",
     .type = CLI_FLAG,
     .help = "print the effective configuration as JSON, then exit"},
};

const struct cli option_cli = {
    .program = "attnd",
    .usage = "attnd [--config FILE] [--model NAME=DIR]... [--OPTION VALUE]...",
    .summary = "Serves Hugging Face checkpoints of wafer-image and test-log models over HTTP.",
    .examples = "  attnd --model wafer-vit=wafer-vit --model logs=testlog-bert,dtype=int8\n"
                "  attnd --config /etc/attnd/attnd.json --check-config",
    .options = option_table,
    .option_count = OPTION_TOTAL + OPTION_SWITCHES,
    .epilogue =
        "Each option is also a key of the file (queue_limit) and a variable (ATTND_QUEUE_LIMIT);\n"
        "flags win over variables, variables over the file. Models of all three add up;\n"
        "ATTND_MODELS separates them by white space.\n"
        "Exit status: 0 after a clean stop, 1 on a failure, 2 on wrong use or an unusable model.\n",
};

bool option_is_models(const struct cli_option *option)
{
    return option->apply == add_models;
}

const char *option_key(const struct cli_option *option)
{
    return option_is_models(option) ? "models" : option->name;
}

const struct cli_option *option_find(const char *key)
{
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        if (strcmp(option_key(&option_table[i]), key) == 0)
            return &option_table[i];
    return NULL;
}

size_t option_index(const struct cli_option *option)
{
    return (size_t)(option - option_table);
}

void option_variable(const struct cli_option *option, char out[CLI_NAME_BYTES])
{
    int len = snprintf(out, CLI_NAME_BYTES, "ATTND_%s", option_key(option));
    assert(len < CLI_NAME_BYTES);
    for (int i = 0; i < len; i++)
        out[i] = (char)toupper((unsigned char)out[i]);
}

enum err_code option_set_text(const struct cli_option *option, struct config *config,
                              const char *text, struct err *err)
{
    const char *copy = arena_copy(&config->arena, text, strlen(text));
    if (copy == NULL)
        return err_no_memory(err, strlen(text));
    return cli_option_set(option, config, copy, err);
}
