#include "config/config_change.h"

#include "config/config_load.h"
#include "config/option.h"

#include <string.h>

/* The option's value in `from`, put into `to`. */
static enum err_code take_value(const struct cli_option *option, struct config *to,
                                const struct config *from, struct err *err)
{
    if (cli_option_is_real(option))
        return cli_option_set_real(option, to, cli_option_real(option, from), err);
    return cli_option_is_whole(option)
               ? cli_option_set_whole(option, to, cli_option_whole(option, from), err)
               : option_set_text(option, to, cli_option_text(option, from), err);
}

static bool is_changed(const struct cli_option *option, const struct config *a,
                       const struct config *b)
{
    if (option_is_models(option))
        return false;
    if (cli_option_is_whole(option))
        return cli_option_whole(option, a) != cli_option_whole(option, b);
    if (cli_option_is_real(option))
        return cli_option_real(option, a) != cli_option_real(option, b);
    return strcmp(cli_option_text(option, a), cli_option_text(option, b)) != 0;
}

enum err_code config_change_find(struct config_change *out, const struct config *old,
                                 struct config *next, struct arena *arena, struct err *err)
{
    const struct cli_option *end = option_table + OPTION_TOTAL;
    *out = (struct config_change){
        .live = arena_alloc_array(arena, OPTION_TOTAL, sizeof(const char *)),
        .restart = arena_alloc_array(arena, OPTION_TOTAL, sizeof(const char *)),
    };
    if (out->live == NULL || out->restart == NULL)
        return err_no_memory(err, OPTION_TOTAL * sizeof(const char *));
    for (const struct cli_option *option = option_table; option < end; option++)
        if (option->tag == OPTION_RESTART && is_changed(option, old, next)) {
            out->restart[out->restart_count++] = option_key(option);
            if (take_value(option, next, old, err))
                return err->code;
        }
    /* Compared with the queue in use, which may differ from the requested one. */
    const struct cli_option *inputs_max = option_find("inputs_max");
    if (!next->inputs_max_given && option_set_text(inputs_max, next, inputs_max->fallback, err))
        return err->code;
    if (next->inputs_max > next->queue_limit)
        next->inputs_max = next->queue_limit;
    for (const struct cli_option *option = option_table; option < end; option++)
        if (option->tag == OPTION_LIVE && is_changed(option, old, next))
            out->live[out->live_count++] = option_key(option);
    return ERR_OK;
}

enum err_code config_set_models(struct config *config, const struct config_model *models,
                                unsigned count, struct err *err)
{
    config->models = NULL;
    config->model_count = 0;
    for (unsigned i = 0; i < count && err->code == ERR_OK; i++)
        option_add_model(config, &models[i], err);
    return err->code;
}

enum err_code config_copy(struct config *out, const struct config *from, struct err *err)
{
    *out = (struct config){.inputs_max_given = from->inputs_max_given};
    arena_init(&out->arena);
    for (size_t i = 0; i < OPTION_TOTAL && err->code == ERR_OK; i++)
        if (!option_is_models(&option_table[i]))
            take_value(&option_table[i], out, from, err);
    if (err->code == ERR_OK)
        config_set_models(out, from->models, from->model_count, err);
    if (err->code != ERR_OK)
        config_deinit(out);
    return err->code;
}
