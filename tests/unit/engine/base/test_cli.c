#include "engine/base/cli.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/* What the options of the table below were given. */
struct given {
    char text[200];
};

static enum err_code note(void *target, const char *name, const char *value, struct err *err)
{
    struct given *given = target;
    size_t used = strlen(given->text);
    if (value != NULL && strcmp(value, "bad") == 0)
        return err_set(err, ERR_UNUSABLE, "must not be bad");
    snprintf(given->text + used, sizeof given->text - used, "%s(%s) ", name,
             value != NULL ? value : "-");
    return ERR_OK;
}

static enum err_code take_size(void *target, const char *value, struct err *err)
{
    return note(target, "size", value, err);
}

static enum err_code take_fast(void *target, const char *value, struct err *err)
{
    return note(target, "fast", value, err);
}

static enum err_code take_long(void *target, const char *value, struct err *err)
{
    return note(target, "long", value, err);
}

static enum err_code take_rest(void *target, const char *value, struct err *err)
{
    return note(target, "rest", value, err);
}

static const struct cli_option options[] = {
    {NULL, NULL, "What is read", NULL},
    {"size", "N", "How large.", take_size},
    {"long-enough-to-be-alone", "NUMBER", "Wraps.", take_long},
    {NULL, NULL, "How it runs", NULL},
    {"fast", NULL, "In haste.", take_fast},
};
static const char *const defaults[] = {"", "12", "", "", NULL};
static const struct cli cli = {.program = "tool",
                               .usage = "tool [OPTION]... FILE",
                               .summary = "Does what it does.",
                               .options = options,
                               .option_count = sizeof options / sizeof *options,
                               .defaults = defaults,
                               .positional = take_rest};

#define STATUS "\nExit status: 0 success, 1 a run-time failure, 2 wrong use or an unusable model.\n"

static void expect_page(const struct cli *of, void (*print)(const struct cli *, FILE *),
                        const char *expected)
{
    char *text;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(file);
    print(of, file);
    fclose(file);
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(cli_prints_headings_columns_and_defaults)
{
    expect_page(&cli, cli_print_help,
                "usage: tool [OPTION]... FILE\n\nDoes what it does.\n\n"
                "What is read:\n"
                "  --size N                  How large. (default 12)\n"
                "  --long-enough-to-be-alone NUMBER\n"
                "                            Wraps.\n"
                "\nHow it runs:\n"
                "  --fast                    In haste.\n"
                "\n"
                "  --help                    Prints this page.\n"
                "  --version                 Prints the version.\n" STATUS);
}
END_TEST

START_TEST(cli_prints_a_table_without_headings_and_defaults)
{
    struct cli plain = {.usage = "u", .summary = "s", .options = options + 1, .option_count = 1};
    expect_page(&plain, cli_print_help,
                "usage: u\n\ns\n\n"
                "  --size N                  How large.\n"
                "  --help                    Prints this page.\n"
                "  --version                 Prints the version.\n" STATUS);
    plain.option_count = 0;
    expect_page(&plain, cli_print_help,
                "usage: u\n\ns\n\n"
                "  --help                    Prints this page.\n"
                "  --version                 Prints the version.\n" STATUS);
    expect_page(&cli, cli_print_version, "tool " ATTND_VERSION "\n");
}
END_TEST

/* Parses the words of a line; what was given, or the error's text. */
static const char *parse_as(const struct cli *of, const char *line, enum cli_action expected)
{
    static struct given given;
    static struct err err;
    static char words[200];
    char *argv[12] = {(char *)(uintptr_t) "tool"};
    int argc = 1;
    enum cli_action action = CLI_RUN;
    given.text[0] = '\0';
    err = (struct err){0};
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    enum err_code code = cli_parse(of, argc, argv, &given, &action, &err);
    ck_assert_int_eq(code, err.code);
    if (code != ERR_OK) {
        ck_assert_int_eq(code, ERR_UNUSABLE);
        return err.text;
    }
    ck_assert_int_eq(action, expected);
    return given.text;
}

static const char *parse(const char *line)
{
    return parse_as(&cli, line, CLI_RUN);
}

START_TEST(cli_applies_options_in_their_order)
{
    ck_assert_str_eq(parse(""), "");
    ck_assert_str_eq(parse("--size 3 --fast --size=4 file --size= -x --size --fast"),
                     "size(3) fast(-) size(4) rest(file) size() rest(-x) size(--fast) ");
    ck_assert_str_eq(parse("--long-enough-to-be-alone a=b"), "long(a=b) ");
}
END_TEST

START_TEST(cli_stops_at_help_and_version)
{
    ck_assert_str_eq(parse_as(&cli, "--fast --help --wrong", CLI_HELP), "fast(-) ");
    ck_assert_str_eq(parse_as(&cli, "-h --wrong", CLI_HELP), "");
    ck_assert_str_eq(parse_as(&cli, "--version --wrong", CLI_VERSION), "");
}
END_TEST

START_TEST(cli_says_what_is_wrong_with_an_argument)
{
    struct cli strict = cli;
    strict.positional = NULL;
    ck_assert_str_eq(parse("--siz 3"), "unknown option '--siz'; did you mean '--size'?");
    ck_assert_str_eq(parse("--sizes 3"), "unknown option '--sizes'; did you mean '--size'?");
    ck_assert_str_eq(parse("--fas"), "unknown option '--fas'; did you mean '--fast'?");
    ck_assert_str_eq(parse("--hlp"), "unknown option '--hlp'; did you mean '--help'?");
    ck_assert_str_eq(parse("--versio"), "unknown option '--versio'; did you mean '--version'?");
    ck_assert_str_eq(parse("--temperature"),
                     "unknown option '--temperature'; --help lists the known ones");
    ck_assert_str_eq(parse("--fast=1"), "--fast takes no value");
    ck_assert_str_eq(parse("--fast --size"), "--size needs a value: N");
    ck_assert_str_eq(parse("--size bad --fast"), "--size: must not be bad");
    ck_assert_str_eq(parse_as(&strict, "file", CLI_RUN),
                     "unexpected argument 'file'; --help shows the usage");
}
END_TEST

/* The table may lie at the end of its memory: nothing behind it is looked at. */
START_TEST(cli_looks_at_no_more_options_than_there_are)
{
    struct cli first = cli;
    first.option_count = 2;
    ck_assert_str_eq(parse_as(&first, "--size 1", CLI_RUN), "size(1) ");
    ck_assert_str_eq(parse_as(&first, "--long-enough-to-be-alone 1", CLI_RUN),
                     "unknown option '--long-enough-to-be-alone'; --help lists the known ones");
}
END_TEST

START_TEST(cli_reads_numbers_within_their_limits)
{
    static const char *const wrong[] = {"",   "4",  "21", "-5", "+5",
                                        " 5", "5 ", "5x", "x",  "99999999999999999999"};
    unsigned number = 0;
    struct err err = {0};
    ck_assert_int_eq(cli_parse_unsigned("5", 5, 20, &number, &err), ERR_OK);
    ck_assert_uint_eq(number, 5);
    ck_assert_int_eq(cli_parse_unsigned("020", 5, 20, &number, &err), ERR_OK);
    ck_assert_uint_eq(number, 20);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err = (struct err){0};
        number = 7;
        ck_assert_int_eq(cli_parse_unsigned(wrong[i], 5, 20, &number, &err), ERR_UNUSABLE);
        ck_assert_str_eq(err.text, "must be a number from 5 to 20");
        ck_assert_uint_eq(number, 7);
    }
}
END_TEST

SUITE("cli", cli_prints_headings_columns_and_defaults,
      cli_prints_a_table_without_headings_and_defaults, cli_applies_options_in_their_order,
      cli_stops_at_help_and_version, cli_says_what_is_wrong_with_an_argument,
      cli_looks_at_no_more_options_than_there_are, cli_reads_numbers_within_their_limits)
