/* config_load.c - see config_load.h. Sources are applied from weakest to strongest: the table's
 * defaults, the file, the environment, the flags; each later one overwrites, except that models add
 * up. `given` remembers which options any source named, because the default of inputs_max follows a
 * smaller queue_limit, while a value that was written down above it is a mistake worth an error.
 *
 * Flags are walked twice: once to learn the action and the file, once to apply values after the
 * file and the environment. */
#include "config/config_load.h"

#include "config/config_file.h"
#include "config/option.h"
#include "engine/base/nearest.h"

#include <ctype.h>
#include <string.h>

struct loader {
    struct config *config;
    enum config_action action;
    const char *file; /* --config, else ATTND_CONFIG, else NULL */
    bool given[OPTION_TOTAL];
};

/* ---- flags ----------------------------------------------------------------- */

static const struct {
    const char *flag;
    enum config_action action;
} switches[] = {
    {"--check-config", CONFIG_CHECK},
    {"--print-config", CONFIG_PRINT},
    {"--help", CONFIG_HELP},
    {"--version", CONFIG_VERSION},
};

enum { SWITCHES = sizeof switches / sizeof switches[0] };

static const char config_flag[] = "--config";

/* One argument taken apart: "--queue-limit", "5". */
struct flag {
    char name[OPTION_NAME_BYTES];
    const struct option *option; /* NULL: --config or a switch */
    const char *value;           /* NULL for a switch */
};

static const struct option *option_of_flag(const char *name)
{
    char flag[OPTION_NAME_BYTES];
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        option_flag(&option_table[i], flag);
        if (strcmp(flag, name) == 0)
            return &option_table[i];
    }
    return NULL;
}

static int switch_of_flag(const char *name)
{
    for (int i = 0; i < (int)SWITCHES; i++)
        if (strcmp(switches[i].flag, name) == 0)
            return i;
    return -1;
}

static enum err_code unknown_flag(const char *name, struct err *err)
{
    char flags[OPTION_TOTAL][OPTION_NAME_BYTES];
    const char *known[OPTION_TOTAL + SWITCHES + 1];
    char printable[OPTION_NAME_BYTES + 1];
    size_t count = 0;
    for (; count < OPTION_TOTAL; count++) {
        option_flag(&option_table[count], flags[count]);
        known[count] = flags[count];
    }
    for (size_t i = 0; i < SWITCHES; i++)
        known[count++] = switches[i].flag;
    known[count++] = config_flag;
    const char *nearest = nearest_name(name, known, count);
    option_printable(name, printable);
    if (nearest != NULL)
        return err_set(err, ERR_UNUSABLE, "%s: unknown flag; did you mean %s?", printable, nearest);
    return err_set(err, ERR_UNUSABLE, "%s: unknown flag; --help lists them", printable);
}

/* Reads the flag at argv[*at] and moves *at past it and its value. */
static enum err_code next_flag(struct flag *flag, int argc, char *const *argv, int *at,
                               struct err *err)
{
    const char *argument = argv[(*at)++];
    size_t len = strcspn(argument, "=");
    *flag = (struct flag){.value = argument[len] == '=' ? argument + len + 1 : NULL};
    if (strncmp(argument, "--", 2) != 0)
        return err_set(err, ERR_UNUSABLE, "unexpected argument %d; options begin with --", *at - 1);
    if (len >= sizeof flag->name)
        return err_set(err, ERR_UNUSABLE, "unexpected argument %d; --help lists the options",
                       *at - 1);
    memcpy(flag->name, argument, len);
    flag->option = option_of_flag(flag->name);
    bool is_switch = switch_of_flag(flag->name) >= 0;
    if (flag->option == NULL && !is_switch && strcmp(flag->name, config_flag) != 0)
        return unknown_flag(flag->name, err);
    if (is_switch && flag->value != NULL)
        return err_set(err, ERR_UNUSABLE, "%s: takes no value", flag->name);
    if (is_switch || flag->value != NULL)
        return ERR_OK;
    if (*at >= argc)
        return err_set(err, ERR_UNUSABLE, "%s: needs a value", flag->name);
    flag->value = argv[(*at)++];
    return ERR_OK;
}

/* First walk: names are checked, values are not. --help and --version end it, so that they work
 * whatever else is wrong behind them. */
static enum err_code scan_flags(struct loader *loader, int argc, char *const *argv, struct err *err)
{
    struct flag flag;
    for (int at = 1; at < argc;) {
        if (next_flag(&flag, argc, argv, &at, err))
            return err->code;
        if (flag.option == NULL && flag.value != NULL)
            loader->file = flag.value;
        if (flag.value != NULL)
            continue;
        enum config_action action = switches[switch_of_flag(flag.name)].action;
        if (loader->action < action) /* printing includes checking */
            loader->action = action;
        if (action == CONFIG_HELP || action == CONFIG_VERSION)
            return ERR_OK;
    }
    return ERR_OK;
}

static enum err_code apply_flags(struct loader *loader, int argc, char *const *argv,
                                 struct err *err)
{
    struct flag flag;
    for (int at = 1; at < argc;) {
        if (next_flag(&flag, argc, argv, &at, err))
            return err->code;
        if (flag.option == NULL)
            continue;
        loader->given[option_index(flag.option)] = true;
        if (flag.option->type == OPTION_MODELS)
            option_add_model_text(loader->config, flag.value, strlen(flag.value), err);
        else
            option_set_text(flag.option, loader->config, flag.value, err);
        if (err->code)
            return err_prefix(err, "%s: ", flag.name);
    }
    return ERR_OK;
}

/* ---- environment ----------------------------------------------------------- */

static const char prefix[] = "ATTND_";
enum { PREFIX_LEN = sizeof prefix - 1 };

/* Variables that are not ours to refuse: what tests read, and the ones that Kubernetes and Docker
 * invent for a service called attnd or attnd-something (ATTND_SERVICE_HOST, ATTND_PORT=tcp://...,
 * ATTND_PORT_8080_TCP_ADDR, ...), which would otherwise keep a pod from starting. No option's name
 * holds SERVICE or PORT. */
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

static const struct option *option_of_variable(const char *name)
{
    char variable[OPTION_NAME_BYTES];
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        option_variable(&option_table[i], variable);
        if (strcmp(variable + PREFIX_LEN, name) == 0)
            return &option_table[i];
    }
    return NULL;
}

static enum err_code unknown_variable(const char *name, struct err *err)
{
    char variables[OPTION_TOTAL][OPTION_NAME_BYTES];
    const char *known[OPTION_TOTAL + 1];
    char printable[OPTION_NAME_BYTES + 1];
    size_t count = 0;
    for (; count < OPTION_TOTAL; count++) {
        option_variable(&option_table[count], variables[count]);
        known[count] = variables[count] + PREFIX_LEN;
    }
    known[count++] = "CONFIG";
    const char *nearest = nearest_name(name, known, count);
    option_printable(name, printable);
    if (nearest != NULL)
        return err_set(err, ERR_UNUSABLE, "%s%s: unknown variable; did you mean %s%s?", prefix,
                       printable, prefix, nearest);
    return err_set(err, ERR_UNUSABLE, "%s%s: unknown variable; --help lists them", prefix,
                   printable);
}

/* One ATTND_ variable. `scan`: only the file's name and unknown names; else only values. */
static enum err_code read_variable(struct loader *loader, const char *name, const char *value,
                                   bool scan, struct err *err)
{
    const struct option *option = option_of_variable(name);
    bool is_file = strcmp(name, "CONFIG") == 0;
    if (option == NULL && !is_file && !is_foreign(name, value))
        return unknown_variable(name, err);
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

/* ---- the whole ------------------------------------------------------------- */

static enum err_code set_defaults(struct config *config, struct err *err)
{
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        if (option_set_text(&option_table[i], config, option_table[i].value, err))
            return err_prefix(err, "default of %s: ", option_table[i].key);
    return ERR_OK;
}

static enum err_code settle_inputs_max(struct loader *loader, struct err *err)
{
    struct config *config = loader->config;
    config->inputs_max_given = loader->given[option_index(option_find("inputs_max"))];
    if (config->inputs_max <= config->queue_limit)
        return ERR_OK;
    if (config->inputs_max_given)
        return err_set(
            err, ERR_UNUSABLE,
            "inputs_max (%u) must not be above queue_limit (%u), or such a request could "
            "never be queued",
            config->inputs_max, config->queue_limit);
    config->inputs_max = config->queue_limit;
    return ERR_OK;
}

static enum err_code settle_request_pixels_max(struct loader *loader, struct err *err)
{
    struct config *config = loader->config;
    if (config->request_pixels_max >= config->image_pixels_max)
        return ERR_OK;
    if (loader->given[option_index(option_find("request_pixels_max"))])
        return err_set(err, ERR_UNUSABLE,
                       "request_pixels_max (%zu) must not be below image_pixels_max (%zu), or such "
                       "an image could never be sent",
                       config->request_pixels_max, config->image_pixels_max);
    config->request_pixels_max = config->image_pixels_max;
    return ERR_OK;
}

static enum err_code load(struct loader *loader, int argc, char *const *argv,
                          char *const *environment, struct err *err)
{
    if (set_defaults(loader->config, err) || scan_flags(loader, argc, argv, err))
        return err->code;
    if (loader->action == CONFIG_HELP || loader->action == CONFIG_VERSION)
        return ERR_OK;
    const char *flag_file = loader->file;
    if (read_environment(loader, environment, true, err))
        return err->code;
    if (flag_file != NULL)
        loader->file = flag_file;
    if (loader->file != NULL && config_file_read(loader->config, loader->given, loader->file, err))
        return err->code;
    if (read_environment(loader, environment, false, err) || apply_flags(loader, argc, argv, err))
        return err->code;
    if (settle_inputs_max(loader, err))
        return err->code;
    return settle_request_pixels_max(loader, err);
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
            ERR_UNUSABLE; /* whatever the file's trouble was, the configuration is unusable */
    return err->code;
}

void config_deinit(struct config *config)
{
    arena_deinit(&config->arena);
    *config = (struct config){0};
}
