#include "config/config_print.h"

#include "config/option.h"

void config_markdown(FILE *file)
{
    fputs("| key | default | limits | reload | |\n|---|---|---|---|---|\n", file);
    for (const struct cli_option *option = option_table; option < option_table + OPTION_TOTAL;
         option++) {
        const char *fallback = option_is_models(option) ? "[]" : option->fallback;
        const char *quote = fallback[0] != '\0' ? "`" : "";
        fprintf(file, "| `%s` | %s%s%s | ", option_key(option), quote, fallback, quote);
        if (option_is_models(option))
            fprintf(file, "at most %.0f", option->max);
        else if (cli_option_is_whole(option))
            fprintf(file, "%.0f to %.0f", option->min, option->max);
        else if (cli_option_is_real(option))
            fprintf(file, "%g to %g", option->min, option->max);
        for (const char *at = option->choices != NULL ? option->choices : ""; *at != '\0'; at++)
            fputs(*at == '|' ? ", " : (const char[]){*at, '\0'}, file);
        fprintf(file, " | %s | %s |\n", option->tag == OPTION_LIVE ? "live" : "restart",
                option->help);
    }
}
