/* cli_main.h: its commands, statuses and output by pipes, Ctrl-C in a process of its own. */
#include "engine/cli/cli_main.h"

#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- programs ---- */

/* The errors that the functions below return, and the functions that were called. */
struct mill {
    enum err_code prepare, run;
    int status;
    char called[16];
};

static void note(struct mill *mill, char letter)
{
    mill->called[strlen(mill->called)] = letter;
}

static enum err_code prepare(void *target, struct err *err)
{
    struct mill *mill = target;
    note(mill, 'p');
    return mill->prepare != ERR_OK ? err_set(err, mill->prepare, "no grain") : ERR_OK;
}

static enum err_code run(struct cli_run *run, struct err *err)
{
    struct mill *mill = run->target;
    note(mill, 'r');
    run->status = mill->status;
    puts("flour");
    return mill->run != ERR_OK ? err_set(err, mill->run, "no wind") : ERR_OK;
}

static void close_mill(void *target)
{
    note(target, 'c');
}

static const struct cli grind = {
    .program = "mill", .usage = "mill grind", .summary = "Grinds.", .epilogue = ""};
static const struct cli stop = {
    .program = "mill", .usage = "mill stop", .summary = "Stops.", .epilogue = ""};
static const struct cli wash = {
    .program = "mill", .usage = "mill wash", .summary = "Washes.", .epilogue = ""};
static const struct cli_program commands[] = {
    {.cli = &grind, .command = "grind", .prepare = prepare, .run = run, .close = close_mill},
    {.cli = &stop, .command = "stop", .run = run, .close = close_mill},
    {.cli = &wash, .command = "wash"},
};

/* ---- running them ---- */

static char output[4096], errors[4096];

static void read_end(FILE *file, char out[4096])
{
    rewind(file);
    out[fread(out, 1, 4095, file)] = '\0';
    fclose(file);
}

/* Runs cli_main with the commands and one argument. The printed text is in output and errors. */
static int run_main(const char *argument, struct mill *mill)
{
    char *argv[] = {(char[]){"mill"}, strdup(argument), NULL};
    FILE *out = tmpfile(), *err = tmpfile();
    fflush(NULL);
    const int kept_out = dup(STDOUT_FILENO), kept_err = dup(STDERR_FILENO);
    ck_assert(dup2(fileno(out), STDOUT_FILENO) >= 0 && dup2(fileno(err), STDERR_FILENO) >= 0);
    int status = cli_main(commands, 3, argument[0] != '\0' ? 2 : 1, argv, mill);
    fflush(NULL);
    ck_assert(dup2(kept_out, STDOUT_FILENO) >= 0 && dup2(kept_err, STDERR_FILENO) >= 0);
    close(kept_out);
    close(kept_err);
    read_end(out, output);
    read_end(err, errors);
    free(argv[1]);
    return status;
}

START_TEST(help_and_version_come_without_a_command)
{
    struct mill mill = {0};
    ck_assert_int_eq(run_main("--version", &mill), 0);
    ck_assert_str_eq(output, "mill " ATTND_VERSION "\n");
    ck_assert_int_eq(run_main("--help", &mill), 0);
    ck_assert_ptr_nonnull(strstr(output, "usage: mill grind"));
    ck_assert_ptr_nonnull(strstr(output, "\n\nusage: mill stop"));
    ck_assert_ptr_nonnull(strstr(output, "\n\nusage: mill wash"));
    ck_assert_str_eq(mill.called, "");
}
END_TEST

START_TEST(cli_main_names_the_right_commands_after_a_wrong_one)
{
    static const char *const wrong[] = {"", "grid"};
    struct mill mill = {0};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(run_main(wrong[i], &mill), 2);
        ck_assert_str_eq(errors, "mill: expected grind, stop or wash; --help shows the usage\n");
    }
}
END_TEST

START_TEST(a_failure_is_of_use_or_of_the_run)
{
    static const struct {
        const char *command;
        struct mill mill;
        int status;
        const char *errors, *called;
    } rows[] = {
        {"grind", {ERR_OK, ERR_OK, 0, ""}, 0, "", "prc"},
        {"grind", {ERR_IO, ERR_OK, 0, ""}, 2, "mill: no grain\n", "pc"},
        {"grind", {ERR_OK, ERR_IO, 0, ""}, 1, "mill: no wind\n", "prc"},
        {"grind", {ERR_OK, ERR_UNUSABLE, 0, ""}, 1, "mill: no wind\n", "prc"},
        {"grind", {ERR_OK, ERR_UNUSABLE, 2, ""}, 2, "mill: no wind\n", "prc"},
        {"stop", {ERR_OK, ERR_UNUSABLE, 0, ""}, 2, "mill: no wind\n", "rc"},
        {"stop", {ERR_OK, ERR_UNSUPPORTED, 0, ""}, 2, "mill: no wind\n", "rc"},
        {"stop", {ERR_OK, ERR_IO, 0, ""}, 1, "mill: no wind\n", "rc"},
        {"stop", {ERR_OK, ERR_NO_MEMORY, 0, ""}, 1, "mill: no wind\n", "rc"},
        {"stop", {ERR_OK, ERR_OK, 130, ""}, 130, "", "rc"},
        {"wash", {ERR_OK, ERR_OK, 0, ""}, 0, "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mill mill = rows[i].mill;
        ck_assert_int_eq(run_main(rows[i].command, &mill), rows[i].status);
        ck_assert_str_eq(errors, rows[i].errors);
        ck_assert_str_eq(mill.called, rows[i].called);
    }
}
END_TEST

/* The command runs in a process of its own, whose standard output takes nothing. */
START_TEST(output_that_cannot_be_written_is_a_failure)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct mill mill = {0};
        char *argv[] = {(char[]){"mill"}, (char[]){"stop"}, NULL};
        if (freopen("/dev/full", "w", stdout) == NULL)
            _exit(99);
        _exit(cli_main(commands, 3, 2, argv, &mill));
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == CLI_FAILURE);
}
END_TEST

/* ---- Ctrl-C ---- */

START_TEST(the_first_signal_asks_and_the_second_ends)
{
    static const int signals[] = {SIGINT, SIGTERM};
    for (unsigned i = 0; i < 2; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            const atomic_bool *asked = cli_main_stop();
            if (atomic_load(asked))
                _exit(1);
            raise(signals[i]);
            if (!atomic_load(asked))
                _exit(2);
            raise(signals[i]);
            _exit(3);
        }
        ck_assert_int_gt(pid, 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT);
    }
}
END_TEST

SUITE("cli_main", help_and_version_come_without_a_command,
      cli_main_names_the_right_commands_after_a_wrong_one, a_failure_is_of_use_or_of_the_run,
      output_that_cannot_be_written_is_a_failure, the_first_signal_asks_and_the_second_ends)
