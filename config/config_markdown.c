#include "config/config_print.h"

#include "config/option.h"

static void print_limits(FILE *file, const struct option *option)
{
    if (option->type == OPTION_MODELS)
        fprintf(file, "at most %zu", option->max);
    else if (option_is_number(option))
        fprintf(file, "%zu to %zu", option->min, option->max);
    for (const char *at = option->choices; *at != '\0'; at++)
        fputs(*at == '|' ? ", " : (const char[]){*at, '\0'}, file);
}

void config_markdown(FILE *file)
{
    fputs("| key | default | limits | reload | |\n|---|---|---|---|---|\n", file);
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct option *option = &option_table[i];
        fprintf(file, "| `%s` | `%s` | ", option->key,
                option->type == OPTION_MODELS ? "[]" : option->value);
        print_limits(file, option);
        fprintf(file, " | %s | %s |\n", option->reload == OPTION_LIVE ? "live" : "restart",
                option->sentence);
    }
}
