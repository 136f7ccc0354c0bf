#include "engine/cli/cli.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/* The values that the options of the table below were given. */
struct given {
    char text[200];
};

static enum err_code note(const struct cli_option *option, void *target, const char *value,
                          struct err *err)
{
    struct given *given = target;
    size_t used = strlen(given->text);
    if (value != NULL && strcmp(value, "bad") == 0)
        return err_set(err, ERR_UNUSABLE, "must not be bad");
    snprintf(given->text + used, sizeof given->text - used, "%s(%s) ",
             option != NULL ? option->name : "rest", value != NULL ? value : "-");
    return ERR_OK;
}

static const struct cli_option options[] = {
    {.help = "What is read"},
    {.name = "size", .type = CLI_OTHER, .value = "N", .apply = note, .help = "How large."},
    {.name = "long_enough-to_be-alone",
     .type = CLI_OTHER,
     .value = "NUMBER",
     .apply = note,
     .help =
         "Has a sentence that is too long for one line of a hundred columns, so that it goes on "
         "below."},
    {.name = "extent", .type = CLI_ALIAS, .value = "size"},
    {.help = "How it runs"},
    {.name = "fast", .type = CLI_FLAG, .apply = note, .help = "In haste."},
    {.name = "mode",
     .type = CLI_OTHER,
     .choices = "dry|wet",
     .fallback = "dry",
     .apply = note,
     .help = "With water or without."},
};
static const struct cli cli = {.program = "tool",
                               .usage = "tool [OPTION]... FILE",
                               .summary = "Does what it does.",
                               .options = options,
                               .option_count = sizeof options / sizeof *options,
                               .positional = note};

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

START_TEST(help_has_headings_columns_defaults_and_no_alias)
{
    expect_page(&cli, cli_help,
                "usage: tool [OPTION]... FILE\n\nDoes what it does.\n\n"
                "What is read:\n"
                "  --size N                  How large.\n"
                "  --long-enough-to-be-alone NUMBER\n"
                "                            Has a sentence that is too long for one line of a "
                "hundred columns, so\n"
                "                            that it goes on below.\n"
                "\nHow it runs:\n"
                "  --fast                    In haste.\n"
                "  --mode dry|wet            With water or without. (default dry)\n"
                "\n"
                "  --help                    Prints this page.\n"
                "  --version                 Prints the version.\n" STATUS);
}
END_TEST

START_TEST(help_of_a_table_without_headings_begins_with_the_first_option)
{
    struct cli plain = {.usage = "u", .summary = "s", .options = options + 1, .option_count = 1};
    expect_page(&plain, cli_help,
                "usage: u\n\ns\n\n"
                "  --size N                  How large.\n"
                "  --help                    Prints this page.\n"
                "  --version                 Prints the version.\n" STATUS);
    plain.option_count = 0;
    plain.epilogue = "The end.\n";
    expect_page(&plain, cli_help,
                "usage: u\n\ns\n\n"
                "  --help                    Prints this page.\n"
                "  --version                 Prints the version.\n"
                "\nThe end.\n");
    expect_page(&cli, cli_print_version, "tool " ATTND_VERSION "\n");
}
END_TEST

/* 72 columns are left for a sentence. */
START_TEST(help_breaks_a_line_only_behind_its_last_column)
{
    static const struct cli_option edges[] = {
        {.name = "a",
         .type = CLI_FLAG,
         .help = "12345678 0 12345678 0 12345678 0 12345678 0 12345678 0 12345678 0 12345"},
        {.name = "b",
         .type = CLI_FLAG,
         .help = "12345678 0 12345678 0 12345678 0 12345678 0 12345678 0 12345678 0 123456"},
        {.name = "c",
         .type = CLI_FLAG,
         .help = "12345678 0 12345678 0 12345678 0 12345678 0 12345678 0 12345678 0 1234567"},
        {.name = "twenty-two-letters-nul", .type = CLI_FLAG, .help = "Fits."},
        {.name = "twenty-three-letters-nu", .type = CLI_FLAG, .help = "Does not."},
    };
    struct cli narrow = {.usage = "u", .summary = "s", .options = edges, .option_count = 5};
    expect_page(&narrow, cli_help,
                "usage: u\n\ns\n\n"
                "  --a                       12345678 0 12345678 0 12345678 0 12345678 0 12345678 "
                "0 12345678 0 12345\n"
                "  --b                       12345678 0 12345678 0 12345678 0 12345678 0 12345678 "
                "0 12345678 0 123456\n"
                "  --c                       12345678 0 12345678 0 12345678 0 12345678 0 12345678 "
                "0 12345678 0\n"
                "                            1234567\n"
                "  --twenty-two-letters-nul  Fits.\n"
                "  --twenty-three-letters-nu\n"
                "                            Does not.\n"
                "  --help                    Prints this page.\n"
                "  --version                 Prints the version.\n" STATUS);
}
END_TEST

/* Parses the words of a line. Returns the options that were given, or the error's text. */
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

START_TEST(parsing_applies_the_defaults_and_then_options_in_their_order)
{
    ck_assert_str_eq(parse(""), "mode(dry) ");
    ck_assert_str_eq(parse("--size 3 --fast --size=4 file --size= -x --size --fast"),
                     "mode(dry) size(3) fast(-) size(4) rest(file) size() rest(-x) size(--fast) ");
    ck_assert_str_eq(parse("--long-enough-to-be-alone a=b"),
                     "mode(dry) long_enough-to_be-alone(a=b) ");
}
END_TEST

START_TEST(an_alias_is_the_option_that_it_names)
{
    ck_assert_str_eq(parse("--extent 3 --extent=4"), "mode(dry) size(3) size(4) ");
    ck_assert_str_eq(parse("--extent"), "--size: needs a value: N");
    ck_assert_str_eq(parse("--extnt 3"), "unknown option '--extnt'; --help lists the known ones");
}
END_TEST

START_TEST(parsing_stops_at_help_and_version)
{
    ck_assert_str_eq(parse_as(&cli, "--fast --help --wrong", CLI_HELP), "mode(dry) fast(-) ");
    ck_assert_str_eq(parse_as(&cli, "-h --wrong", CLI_HELP), "mode(dry) ");
    ck_assert_str_eq(parse_as(&cli, "--version --wrong", CLI_VERSION), "mode(dry) ");
}
END_TEST

START_TEST(parsing_says_what_is_wrong_with_an_argument)
{
    struct cli strict = cli;
    strict.positional = NULL;
    ck_assert_str_eq(parse("--siz 3"), "unknown option '--siz'; did you mean '--size'?");
    ck_assert_str_eq(parse("--siz=3"), "unknown option '--siz'; did you mean '--size'?");
    ck_assert_str_eq(parse("--fas"), "unknown option '--fas'; did you mean '--fast'?");
    ck_assert_str_eq(parse("--hlp"), "unknown option '--hlp'; did you mean '--help'?");
    ck_assert_str_eq(parse("--versio"), "unknown option '--versio'; did you mean '--version'?");
    ck_assert_str_eq(parse("--long_enough-to_be-alone 1"),
                     "unknown option '--long_enough-to_be-alone'; did you mean "
                     "'--long-enough-to-be-alone'?");
    ck_assert_str_eq(parse("--temperature\x01\xC3"), "unknown option '--temperature"
                                                     "?"
                                                     "?'; --help lists the known ones");
    ck_assert_str_eq(parse("--"), "unknown option '--'; --help lists the known ones");
    ck_assert_str_eq(parse("--fast=1"), "--fast: takes no value");
    ck_assert_str_eq(parse("--help=1"), "--help: takes no value");
    ck_assert_str_eq(parse("--fast --size"), "--size: needs a value: N");
    ck_assert_str_eq(parse("--mode"), "--mode: needs a value: dry|wet");
    ck_assert_str_eq(parse("--size bad --fast"), "--size: must not be bad");
    ck_assert_str_eq(parse("bad"), "must not be bad");
    ck_assert_str_eq(parse_as(&strict, "file", CLI_RUN),
                     "unexpected argument 'file'; --help shows the usage");
}
END_TEST

START_TEST(parsing_asks_for_what_is_required_unless_help_is_wanted)
{
    static const struct cli_option required[] = {
        {.name = "in_dir",
         .type = CLI_OTHER,
         .value = "DIR",
         .apply = note,
         .is_required = true,
         .help = "From where."},
        {.name = "fast", .type = CLI_FLAG, .apply = note, .help = "In haste."},
    };
    const struct cli strict = {
        .usage = "u", .summary = "s", .options = required, .option_count = 2};
    ck_assert_str_eq(parse_as(&strict, "--fast", CLI_RUN),
                     "--in-dir DIR is missing; --help shows the usage");
    ck_assert_str_eq(parse_as(&strict, "--in-dir x", CLI_RUN), "in_dir(x) ");
    ck_assert_str_eq(parse_as(&strict, "--fast --help", CLI_HELP), "fast(-) ");
    expect_page(&strict, cli_help,
                "usage: u\n\ns\n\n"
                "  --in-dir DIR              From where. (required)\n"
                "  --fast                    In haste.\n"
                "  --help                    Prints this page.\n"
                "  --version                 Prints the version.\n" STATUS);
}
END_TEST

/* The table may lie at the end of its memory: nothing behind it is looked at. */
START_TEST(parsing_looks_at_no_more_options_than_there_are)
{
    struct cli first = cli;
    first.option_count = 2;
    ck_assert_str_eq(parse_as(&first, "--size 1", CLI_RUN), "size(1) ");
    ck_assert_str_eq(parse_as(&first, "--fast", CLI_RUN),
                     "unknown option '--fast'; --help lists the known ones");
}
END_TEST

START_TEST(a_printable_name_is_ascii_and_at_most_64_bytes)
{
    char printable[CLI_NAME_BYTES + 1], longer[CLI_NAME_BYTES + 2];
    ck_assert_str_eq(cli_printable("a\x1F\x20~\x7F\xC3", printable), "a? ~??");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ck_assert_uint_eq(strlen(cli_printable(longer, printable)), CLI_NAME_BYTES);
}
END_TEST

SUITE("cli", help_has_headings_columns_defaults_and_no_alias,
      help_of_a_table_without_headings_begins_with_the_first_option,
      help_breaks_a_line_only_behind_its_last_column,
      parsing_applies_the_defaults_and_then_options_in_their_order,
      an_alias_is_the_option_that_it_names, parsing_stops_at_help_and_version,
      parsing_says_what_is_wrong_with_an_argument,
      parsing_asks_for_what_is_required_unless_help_is_wanted,
      parsing_looks_at_no_more_options_than_there_are,
      a_printable_name_is_ascii_and_at_most_64_bytes)
