#include "config/config_change.h"

#include "config/config_load.h"
#include "config/option.h"

#include <string.h>

static bool is_same(const struct option *option, const struct config *a, const struct config *b)
{
    if (option_is_number(option))
        return option_number(option, a) == option_number(option, b);
    return strcmp(option_text(option, a), option_text(option, b)) == 0;
}

/* The option's value in `from`, put into `to`. */
static enum err_code take_value(const struct option *option, struct config *to,
                                const struct config *from, struct err *err)
{
    return option_is_number(option)
               ? option_set_number(option, to, option_number(option, from), err)
               : option_set_text(option, to, option_text(option, from), err);
}

static bool is_changed(const struct option *option, const struct config *old,
                       const struct config *next)
{
    return option->type != OPTION_MODELS && !is_same(option, old, next);
}

static enum err_code keep_what_waits(struct config_change *out, const struct config *old,
                                     struct config *next, struct err *err)
{
    for (const struct option *option = option_table; option < option_table + OPTION_TOTAL; option++)
        if (option->reload == OPTION_RESTART && is_changed(option, old, next)) {
            out->restart[out->restart_count++] = option->key;
            if (take_value(option, next, old, err))
                return err->code;
        }
    return ERR_OK;
}

/* By the queue that there is, which may not be the one that was asked for. */
static enum err_code fit_inputs(struct config *next, struct err *err)
{
    const struct option *option = option_find("inputs_max");
    if (!next->inputs_max_given && option_set_text(option, next, option->value, err))
        return err->code;
    if (next->inputs_max > next->queue_limit)
        next->inputs_max = next->queue_limit;
    return ERR_OK;
}

enum err_code config_change_find(struct config_change *out, const struct config *old,
                                 struct config *next, struct arena *arena, struct err *err)
{
    *out = (struct config_change){
        .live = arena_alloc_array(arena, OPTION_TOTAL, sizeof(const char *)),
        .restart = arena_alloc_array(arena, OPTION_TOTAL, sizeof(const char *)),
    };
    if (out->live == NULL || out->restart == NULL)
        return err_no_memory(err, OPTION_TOTAL * sizeof(const char *));
    if (keep_what_waits(out, old, next, err) || fit_inputs(next, err))
        return err->code;
    for (const struct option *option = option_table; option < option_table + OPTION_TOTAL; option++)
        if (option->reload == OPTION_LIVE && is_changed(option, old, next))
            out->live[out->live_count++] = option->key;
    return ERR_OK;
}

enum err_code config_copy(struct config *out, const struct config *from, struct err *err)
{
    *out = (struct config){.inputs_max_given = from->inputs_max_given};
    arena_init(&out->arena);
    for (size_t i = 0; i < OPTION_TOTAL && err->code == ERR_OK; i++)
        if (option_table[i].type != OPTION_MODELS)
            take_value(&option_table[i], out, from, err);
    for (unsigned i = 0; i < from->model_count && err->code == ERR_OK; i++)
        option_add_model(out, &from->models[i], err);
    if (err->code != ERR_OK)
        config_deinit(out);
    return err->code;
}
