/* option.c - see option.h. Defaults, variables and flags all arrive as text and go through
 * option_set_text, so a default outside its own limits fails every test. Numbers are written
 * through the field's size, which the table takes from struct config itself: a row cannot disagree
 * with its field. All strings and the list of models live in the configuration's arena. */
#include "config/option.h"

#include "engine/base/utf8.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <string.h>

const struct option option_table[OPTION_TOTAL] = {
#define OPTION(key_, type_, default_, min_, max_, choices_, reload_, sentence_)                    \
    {.key = #key_,                                                                                 \
     .type = OPTION_##type_,                                                                       \
     .value = default_,                                                                            \
     .min = min_,                                                                                  \
     .max = max_,                                                                                  \
     .choices = choices_,                                                                          \
     .reload = OPTION_##reload_,                                                                   \
     .sentence = sentence_,                                                                        \
     .offset = offsetof(struct config, key_),                                                      \
     .size = sizeof(((struct config *)0)->key_)},
#include "config/options.def"
#undef OPTION
};

/* ---- names ----------------------------------------------------------------- */

const struct option *option_find(const char *key)
{
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        if (strcmp(option_table[i].key, key) == 0)
            return &option_table[i];
    return NULL;
}

size_t option_index(const struct option *option)
{
    return (size_t)(option - option_table);
}

bool option_is_number(const struct option *option)
{
    return option->type == OPTION_COUNT || option->type == OPTION_BYTES ||
           option->type == OPTION_MS;
}

/* prefix + key, each byte of the key passed through `spell`. */
static void spell_name(char out[OPTION_NAME_BYTES], const char *prefix, const char *key,
                       int (*spell)(int))
{
    size_t len = strlen(prefix);
    assert(len + strlen(key) < OPTION_NAME_BYTES);
    memcpy(out, prefix, len);
    for (; *key != '\0'; key++)
        out[len++] = (char)spell((unsigned char)*key);
    out[len] = '\0';
}

static int dash(int c)
{
    return c == '_' ? '-' : c;
}

void option_flag(const struct option *option, char out[OPTION_NAME_BYTES])
{
    spell_name(out, "--", option->type == OPTION_MODELS ? "model" : option->key, dash);
}

void option_variable(const struct option *option, char out[OPTION_NAME_BYTES])
{
    spell_name(out, "ATTND_", option->key, toupper);
}

const char *option_printable(const char *name, char out[OPTION_NAME_BYTES + 1])
{
    size_t len = 0;
    for (; len < OPTION_NAME_BYTES && name[len] != '\0'; len++)
        out[len] = name[len] >= 0x20 && name[len] < 0x7F ? name[len] : '?';
    out[len] = '\0';
    return out;
}

/* ---- numbers and words ----------------------------------------------------- */

static void *field_of(const struct option *option, struct config *config)
{
    return (char *)config + option->offset;
}

static enum err_code set_string(const char **field, struct config *config, const char *text,
                                size_t len, struct err *err)
{
    const char *copy = arena_copy(&config->arena, text, len);
    if (copy == NULL)
        return err_no_memory(err, len);
    *field = copy;
    return ERR_OK;
}

enum err_code option_set_number(const struct option *option, struct config *config, size_t number,
                                struct err *err)
{
    if (number < option->min || number > option->max)
        return err_set(err, ERR_UNUSABLE, "must be from %zu to %zu", option->min, option->max);
    if (option->size == sizeof(unsigned))
        *(unsigned *)field_of(option, config) = (unsigned)number;
    else
        *(size_t *)field_of(option, config) = number;
    return ERR_OK;
}

size_t option_number(const struct option *option, const struct config *config)
{
    const char *field = (const char *)config + option->offset;
    return option->size == sizeof(unsigned) ? *(const unsigned *)(const void *)field
                                            : *(const size_t *)(const void *)field;
}

const char *option_text(const struct option *option, const struct config *config)
{
    const char *field = (const char *)config + option->offset;
    return *(const char *const *)(const void *)field;
}

/* Decimal digits only; SIZE_MAX stands for anything larger. */
static bool parse_digits(const char *text, size_t len, size_t *out)
{
    *out = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        size_t digit = (size_t)(text[i] - '0');
        *out = *out > (SIZE_MAX - digit) / 10 ? SIZE_MAX : *out * 10 + digit;
    }
    return len > 0;
}

static enum err_code set_digits(const struct option *option, struct config *config,
                                const char *text, struct err *err)
{
    size_t number;
    if (!parse_digits(text, strlen(text), &number))
        return err_set(err, ERR_UNUSABLE, "expected a whole number from %zu to %zu", option->min,
                       option->max);
    return option_set_number(option, config, number, err);
}

static bool is_choice(const char *choices, const char *word, size_t len)
{
    for (const char *at = choices; *at != '\0';) {
        size_t choice_len = strcspn(at, "|");
        if (choice_len == len && memcmp(at, word, len) == 0)
            return true;
        at += choice_len + (at[choice_len] == '|');
    }
    return false;
}

static enum err_code set_word(const struct option *option, struct config *config, const char *text,
                              struct err *err)
{
    if (!is_choice(option->choices, text, strlen(text)))
        return err_set(err, ERR_UNUSABLE, "must be one of %s", option->choices);
    return set_string(field_of(option, config), config, text, strlen(text), err);
}

/* ---- addresses ------------------------------------------------------------- */

/* Numeric only: a name that resolves differently tomorrow must not decide who can reach a fab's
 * server. localhost is the one exception that everybody types. */
static bool parse_host(char host[INET6_ADDRSTRLEN], const char *text, size_t len)
{
    unsigned char address[sizeof(struct in6_addr)];
    bool bracketed = len >= 2 && text[0] == '[' && text[len - 1] == ']';
    if (bracketed) {
        text++;
        len -= 2;
    }
    if (len >= INET6_ADDRSTRLEN)
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    if (!bracketed && strcmp(host, "localhost") == 0)
        memcpy(host, "127.0.0.1", sizeof "127.0.0.1");
    return inet_pton(bracketed ? AF_INET6 : AF_INET, host, address) == 1;
}

static enum err_code set_address(const struct option *option, struct config *config,
                                 const char *text, struct err *err)
{
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN];
    size_t port;
    if (colon == NULL || !parse_host(host, text, (size_t)(colon - text)) ||
        !parse_digits(colon + 1, strlen(colon + 1), &port) || port > option->max)
        return err_set(err, ERR_UNUSABLE,
                       "expected ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080, with a "
                       "numeric address and a port from %zu to %zu",
                       option->min, option->max);
    config->listen_port = (unsigned)port;
    if (set_string(&config->listen_address, config, host, strlen(host), err))
        return err->code;
    return set_string(field_of(option, config), config, text, strlen(text), err);
}

/* ---- models ---------------------------------------------------------------- */

/* Names become URL paths and metric labels, so they need no escaping anywhere. */
static bool is_model_name(const char *name)
{
    size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
    return len >= 1 && len <= 64 && name[len] == '\0' && strspn(name, ".") < len;
}

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

static enum err_code check_model(const struct config *config, const struct config_model *model,
                                 struct err *err)
{
    if (model->name == NULL || !is_model_name(model->name))
        return err_set(err, ERR_UNUSABLE,
                       "a model's name must be 1 to 64 of A-Z a-z 0-9 . _ - and not only dots");
    if (model->dir == NULL || !is_directory_text(model->dir))
        return err_set(err, ERR_UNUSABLE,
                       "model \"%s\": the directory must be 1 to 4096 bytes of UTF-8 without "
                       "control characters",
                       model->name);
    const char *dtypes = "f32|bf16|int8";
    if (model->dtype != NULL && !is_choice(dtypes, model->dtype, strlen(model->dtype)))
        return err_set(err, ERR_UNUSABLE, "model \"%s\": dtype must be one of %s", model->name,
                       dtypes);
    for (unsigned i = 0; i < config->model_count; i++)
        if (strcmp(config->models[i].name, model->name) == 0)
            return err_set(err, ERR_UNUSABLE, "two models are named \"%s\"", model->name);
    return ERR_OK;
}

enum err_code option_add_model(struct config *config, const struct config_model *model,
                               struct err *err)
{
    size_t max = option_find("models")->max;
    if (check_model(config, model, err))
        return err->code;
    if (config->model_count >= max)
        return err_set(err, ERR_UNUSABLE, "more than %zu models", max);
    if (config->models == NULL)
        config->models = arena_alloc_array(&config->arena, max, sizeof *config->models);
    if (config->models == NULL)
        return err_no_memory(err, max * sizeof *config->models);
    struct config_model copy = {0};
    if (set_string(&copy.name, config, model->name, strlen(model->name), err) ||
        set_string(&copy.dir, config, model->dir, strlen(model->dir), err))
        return err->code;
    if (model->dtype != NULL &&
        set_string(&copy.dtype, config, model->dtype, strlen(model->dtype), err))
        return err->code;
    config->models[config->model_count++] = copy;
    return ERR_OK;
}

enum err_code option_add_model_text(struct config *config, const char *text, size_t len,
                                    struct err *err)
{
    char *name = arena_copy(&config->arena, text, len);
    if (name == NULL)
        return err_no_memory(err, len);
    char *equals = strchr(name, '=');
    if (equals == NULL)
        return err_set(err, ERR_UNUSABLE, "expected NAME=DIR[,dtype=f32|bf16|int8]");
    *equals = '\0';
    struct config_model model = {.name = name, .dir = equals + 1};
    char *dtype = strstr(equals + 1, ",dtype="); /* any other comma is the directory's */
    if (dtype != NULL) {
        *dtype = '\0';
        model.dtype = dtype + strlen(",dtype=");
    }
    return option_add_model(config, &model, err);
}

static enum err_code add_models(struct config *config, const char *text, struct err *err)
{
    static const char space[] = " \t\r\n";
    for (text += strspn(text, space); *text != '\0'; text += strspn(text, space)) {
        size_t len = strcspn(text, space);
        if (option_add_model_text(config, text, len, err))
            return err->code;
        text += len;
    }
    return ERR_OK;
}

enum err_code option_set_text(const struct option *option, struct config *config, const char *text,
                              struct err *err)
{
    switch (option->type) {
    case OPTION_ADDRESS:
        return set_address(option, config, text, err);
    case OPTION_MODELS:
        return add_models(config, text, err);
    case OPTION_WORD:
        return set_word(option, config, text, err);
    default:
        return set_digits(option, config, text, err);
    }
}
