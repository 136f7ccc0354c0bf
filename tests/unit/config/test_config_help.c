#include "config/config_print.h"
#include "config/option.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static char *page;

static void print_page(void)
{
    size_t len;
    FILE *file = open_memstream(&page, &len);
    ck_assert_ptr_nonnull(file);
    config_help(file);
    fclose(file);
}

START_TEST(config_help_begins_with_the_usage_and_the_first_options)
{
    static const char head[] =
        "usage: attnd [--config FILE] [--model NAME=DIR]... [--OPTION VALUE]...\n"
        "\n"
        "Serves Hugging Face checkpoints of wafer-image and test-log models over HTTP.\n"
        "\n"
        "  attnd --model wafer-vit=wafer-vit --model logs=testlog-bert,dtype=int8\n"
        "  attnd --config /etc/attnd/attnd.json --check-config\n"
        "\n"
        "  --listen ADDRESS:PORT     address and port to serve on; port 0 picks a free one "
        "(default\n"
        "                            127.0.0.1:8080)\n"
        "  --model NAME=DIR[,dtype=D][,split=S][,shadow=S][,index=F]\n"
        "                            models to serve; in the file a list of {\"name\", \"dir\", "
        "\"dtype\", \"split\",\n"
        "                            \"shadow\", \"index\", \"public\"}; the first of each kind is "
        "the default, and\n"
        "                            entries of one name are its versions\n";
    print_page();
    ck_assert_int_eq(strncmp(page, head, strlen(head)), 0);
    free(page);
}
END_TEST

START_TEST(config_help_ends_with_the_other_arguments_and_the_exit_status)
{
    static const char tail[] =
        "\n"
        "  --config FILE             read options from a JSON file (or from $ATTND_CONFIG)\n"
        "  --check-config            check options, models and memory, then exit\n"
        "  --print-config            print the effective configuration as JSON, then exit\n"
        "  --help                    Prints this page.\n"
        "  --version                 Prints the version.\n"
        "\n"
        "Each option is also a key of the file (queue_limit) and a variable (ATTND_QUEUE_LIMIT);\n"
        "flags win over variables, variables over the file. Models of all three add up;\n"
        "ATTND_MODELS separates them by white space.\n"
        "Exit status: 0 after a clean stop, 1 on a failure, 2 on wrong use or an unusable "
        "model.\n";
    print_page();
    ck_assert_uint_gt(strlen(page), strlen(tail));
    ck_assert_str_eq(page + strlen(page) - strlen(tail), tail);
    free(page);
}
END_TEST

/* One of each type, and one whose values leave no room on the line. */
START_TEST(config_help_says_what_a_value_is_and_its_default)
{
    static const char *const rows[] = {
        "\n  --queue-limit N           inputs that may wait, all models together; more are refused "
        "with 429\n                            (default 1024)\n",
        "\n  --body-bytes-max BYTES    bytes of a request body (413) (default 33554432)\n",
        "\n  --deadline-ms MS          ",
        "\n  --log-level error|warn|info|debug\n                            ",
    };
    print_page();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(strstr(page, rows[i]) != NULL, "no row%s", rows[i]);
    free(page);
}
END_TEST

START_TEST(config_help_has_one_row_an_option)
{
    size_t rows = 0;
    print_page();
    for (const char *at = page; (at = strstr(at, "\n  --")) != NULL; at++)
        rows++;
    ck_assert_uint_eq(rows, OPTION_TOTAL + 5);
    free(page);
}
END_TEST

SUITE("config_help", config_help_begins_with_the_usage_and_the_first_options,
      config_help_ends_with_the_other_arguments_and_the_exit_status,
      config_help_says_what_a_value_is_and_its_default, config_help_has_one_row_an_option)
