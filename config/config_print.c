#include "config/config_print.h"

#include "config/option.h"
#include "engine/base/doc_string.h"

#include <string.h>

static void print_string(FILE *file, const char *text)
{
    doc_string_write(file, text, strlen(text));
}

static void print_models(const struct config *config, FILE *file)
{
    fputc('[', file);
    for (unsigned i = 0; i < config->model_count; i++) {
        const struct config_model *model = &config->models[i];
        fputs(i == 0 ? "\n        {\"name\": " : ",\n        {\"name\": ", file);
        print_string(file, model->name);
        fputs(", \"dir\": ", file);
        print_string(file, model->dir);
        fputs(", \"dtype\": ", file);
        print_string(file, model->dtype != NULL ? model->dtype : "f32");
        if (model->split > 0)
            fprintf(file, ", \"split\": %.15g", model->split);
        if (model->shadow > 0)
            fprintf(file, ", \"shadow\": %.15g", model->shadow);
        if (model->index != NULL) {
            fputs(", \"index\": ", file);
            print_string(file, model->index);
            fputs(model->is_public ? ", \"public\": true" : "", file);
        }
        fputc('}', file);
    }
    fputs(config->model_count > 0 ? "\n    ]" : "]", file);
}

void config_print(const struct config *config, FILE *file)
{
    for (size_t i = 0; i < OPTION_TOTAL; i++) {
        const struct cli_option *option = &option_table[i];
        fprintf(file, "%s\n    \"%s\": ", i == 0 ? "{" : ",", option_key(option));
        if (option_is_models(option))
            print_models(config, file);
        else if (cli_option_is_whole(option))
            fprintf(file, "%zu", cli_option_whole(option, config));
        else if (cli_option_is_real(option))
            fprintf(file, "%.15g", cli_option_real(option, config));
        else
            print_string(file, cli_option_text(option, config));
    }
    fputs("\n}\n", file);
}

void config_help(FILE *file)
{
    cli_help(&option_cli, file);
}
