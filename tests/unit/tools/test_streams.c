/* "-" as a path, in every option of every program that its --help calls F, FILE, DIR or PATH: a
 * standard stream where the help says so, and refused elsewhere, before anything is made. */
#include "tests/support/outcome.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const programs[] = {
    "attnd",       "attnd-audit",   "attnd-batch", "attnd-eval", "attnd-fit",
    "attnd-index", "attnd-inspect", "attnd-keys",  "attnd-load", "attnd-predict",
    "attnd-prune", "attnd-stream",  "attnd-train", "attnd-vocab"};

static const char refused[] = "- is standard input or output, which this option does not take";

/* Programs that read standard input find its end. */
static void close_input(void)
{
    ck_assert_ptr_nonnull(freopen("/dev/null", "r", stdin));
}

/* The help of one option, its lines joined. Returns the next option's row. */
static const char *read_help(const char *row, char *out, size_t size)
{
    size_t len = 0;
    do {
        const size_t line = strcspn(row, "\n");
        const size_t blanks = strspn(row, " ");
        len += (size_t)snprintf(out + len, size - len, "%.*s ", (int)(line - blanks), row + blanks);
        row += line + (row[line] == '\n');
    } while (row[0] == ' ' && strncmp(row, "  --", 4) != 0 && len < size);
    return row;
}

static struct outcome *run(const char *program, const char *command, const char *option)
{
    const char *words[4];
    unsigned count = 0;
    if (command[0] != '\0')
        words[count++] = command;
    if (option[0] != '\0')
        words[count++] = option;
    words[count++] = "-";
    words[count] = NULL;
    return outcome_of(program, words);
}

/* Returns how many paths the program has. */
static unsigned look_at(const char *program)
{
    unsigned paths = 0;
    char command[32] = "", usage[64], option[64], value[64], text[2000];
    struct outcome *help = outcome_of(program, (const char *[]){"--help", NULL});
    snprintf(usage, sizeof usage, "usage: %s ", program);
    for (const char *at = help->out; *at != '\0';) {
        if (strncmp(at, usage, strlen(usage)) == 0 && islower((unsigned char)at[strlen(usage)]))
            snprintf(command, sizeof command, "%.*s", (int)strcspn(at + strlen(usage), " \n"),
                     at + strlen(usage));
        if (strncmp(at, "  --", 4) != 0 || sscanf(at, " %63s %63s", option, value) != 2) {
            at += strcspn(at, "\n");
            at += *at == '\n';
            continue;
        }
        at = read_help(at, text, sizeof text);
        if (strcmp(value, "F") != 0 && strcmp(value, "FILE") != 0 && strcmp(value, "DIR") != 0 &&
            strcmp(value, "PATH") != 0)
            continue;
        paths++;
        struct outcome *outcome = run(program, command, option);
        const bool is_refused = strstr(outcome->errors, refused) != NULL && outcome->code == 2;
        const bool is_stream = strstr(text, "standard ") != NULL;
        ck_assert_msg(is_refused != is_stream, "%s %s %s -: %d: %.300s\n%s", program, command,
                      option, outcome->code, outcome->errors, text);
        free(outcome);
    }
    free(help);
    return paths;
}

START_TEST(a_dash_is_a_stream_where_the_help_says_so_and_refused_elsewhere)
{
    unsigned paths = 0;
    close_input();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        paths += look_at(programs[i]);
    ck_assert_uint_gt(paths, 70);
    ck_assert_int_ne(access("-", F_OK), 0);
}
END_TEST

START_TEST(a_dash_that_is_no_option_is_refused_but_by_a_search)
{
    static const char *const rows[][2] = {
        {"attnd", ""},         {"attnd-audit", "verify"}, {"attnd-batch", ""},
        {"attnd-eval", ""},    {"attnd-fit", ""},         {"attnd-index", "build"},
        {"attnd-inspect", ""}, {"attnd-keys", "add"},     {"attnd-load", ""},
        {"attnd-predict", ""}, {"attnd-vocab", "build"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct outcome *outcome = run(rows[i][0], rows[i][1], "");
        ck_assert_msg(outcome->code == 2 && strstr(outcome->errors, "'-'") != NULL, "%s: %d: %s",
                      rows[i][0], outcome->code, outcome->errors);
        free(outcome);
    }
    close_input();
    outcome_expect(run("attnd-index", "search", ""), 2, "", "--index FILE is missing");
}
END_TEST

START_TEST(standard_input_is_given_to_one_option)
{
    outcome_expect(outcome_of("attnd-batch", (const char *[]){"--lines", "-", "--data", "-", NULL}),
                   2, "", "attnd-batch: standard input (-) can be read only once\n");
    outcome_expect(
        outcome_of("attnd-load", (const char *[]){"--key-file", "-", "--text-file", "-", NULL}), 2,
        "", "attnd-load: standard input (-) can be read only once\n");
}
END_TEST

START_TEST(a_batch_for_standard_output_leaves_no_file)
{
    struct tempdir dir;
    struct outcome *outcome;
    char lines[200];
    tempdir_open(&dir);
    snprintf(lines, sizeof lines, "%s/a.log", dir.path);
    tempdir_write(&dir, "a.log", "kernel: BUG\nall is well\n", 24);
    outcome = outcome_of("attnd-batch", (const char *[]){"--model", "models/kernel-bert", "--lines",
                                                         lines, "--out", "-", NULL});
    outcome_expect(outcome, 0, "\"line\":2", "2 inputs, 0 failed");
    ck_assert_int_ne(access("-", F_OK), 0);
    ck_assert_int_ne(access("-.state", F_OK), 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("streams", a_dash_is_a_stream_where_the_help_says_so_and_refused_elsewhere,
      a_dash_that_is_no_option_is_refused_but_by_a_search, standard_input_is_given_to_one_option,
      a_batch_for_standard_output_leaves_no_file)
