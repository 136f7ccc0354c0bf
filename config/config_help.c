#include "config/config_print.h"

#include "config/option.h"

#include <string.h>

enum { HELP_COLUMN = 30 };

static const char *value_name(const struct option *option)
{
    switch (option->type) {
    case OPTION_ADDRESS:
        return "ADDRESS:PORT";
    case OPTION_MODELS:
        return "NAME=DIR[,dtype=f32|bf16|int8]";
    case OPTION_BYTES:
        return "BYTES";
    case OPTION_MS:
        return "MS";
    case OPTION_WORD:
        return option->choices;
    default:
        return "N";
    }
}

static void print_row(FILE *file, const char *left, const char *sentence)
{
    if (strlen(left) < HELP_COLUMN)
        fprintf(file, "  %-*s%s", HELP_COLUMN, left, sentence);
    else
        fprintf(file, "  %s\n  %*s%s", left, HELP_COLUMN, "", sentence);
}

static void print_option(FILE *file, const struct option *option)
{
    char flag[OPTION_NAME_BYTES];
    char left[2 * OPTION_NAME_BYTES];
    option_flag(option, flag);
    snprintf(left, sizeof left, "%s %s", flag, value_name(option));
    if (option->type == OPTION_MODELS) {
        print_row(file, left,
                  "a model to serve (repeatable); the first of each kind is its default\n");
        return;
    }
    print_row(file, left, option->sentence);
    fprintf(file, " (default %s)\n", option->value);
}

void config_help(FILE *file)
{
    fputs("usage: attnd [--config FILE] [--model NAME=DIR]... [--OPTION VALUE]...\n"
          "\n"
          "Serves Hugging Face checkpoints of wafer-image and test-log models over HTTP.\n"
          "\n",
          file);
    for (size_t i = 0; i < OPTION_TOTAL; i++)
        print_option(file, &option_table[i]);
    fputc('\n', file);
    print_row(file, "--config FILE", "read options from a JSON file (or from $ATTND_CONFIG)\n");
    print_row(file, "--check-config", "check options, models and memory, then exit\n");
    print_row(file, "--print-config", "print the effective configuration as JSON, then exit\n");
    print_row(file, "--help", "print this, then exit\n");
    print_row(file, "--version", "print the version, then exit\n");
    fputs(
        "\n"
        "Each option is also a key of the file (queue_limit) and a variable (ATTND_QUEUE_LIMIT);\n"
        "flags win over variables, variables over the file. Models of all three add up;\n"
        "ATTND_MODELS separates them by white space.\n"
        "Exit status: 0 after a clean stop, 1 on a failure, 2 on wrong use or an unusable model.\n",
        file);
}
