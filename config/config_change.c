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

enum err_code config_change_find(struct config_change *out, const struct config *old,
                                 struct config *next, struct arena *arena, struct err *err)
{
    *out = (struct config_change){
        .live = arena_alloc_array(arena, OPTION_TOTAL, sizeof(const char *)),
        .restart = arena_alloc_array(arena, OPTION_TOTAL, sizeof(const char *)),
    };
    if (out->live == NULL || out->restart == NULL)
        return err_no_memory(err, OPTION_TOTAL * sizeof(const char *));
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option *option = &option_table[i];
        if (option->type == OPTION_MODELS || is_same(option, old, next))
            continue;
        if (option->reload == OPTION_LIVE)
            out->live[out->live_count++] = option->key;
        else
            out->restart[out->restart_count++] = option->key;
        if (option->reload == OPTION_RESTART && take_value(option, next, old, err))
            return err->code;
    }
    if (next->inputs_max > next->queue_limit) /* which may be the old one again */
        next->inputs_max = next->queue_limit;
    return ERR_OK;
}

enum err_code config_copy(struct config *out, const struct config *from, struct err *err)
{
    *out = (struct config){0};
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
