/* attnd-keys as a program; the daemon's own reader reads its files. */
#include "server/auth/keys.h"
#include "tests/support/outcome.h"
#include "tests/support/server_process.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct tempdir dir;
static char path[PATH_MAX];

#define RUN(...) outcome_of("attnd-keys", (const char *[]){__VA_ARGS__, "--file", path, NULL})

static void begin(const char *text)
{
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/keys.txt", dir.path);
    if (text != NULL)
        tempdir_write(&dir, "keys.txt", text, strlen(text));
}

static struct keys *read_keys(void)
{
    struct keys *keys;
    struct err err = {0};
    ck_assert_msg(keys_read(&keys, path, NULL, &err) == ERR_OK, "%s", err.text);
    return keys;
}

#define OLD "sha256:1111111111111111111111111111111111111111111111111111111111111111"

START_TEST(keys_add_prints_a_key_that_the_daemon_takes)
{
    begin("# our lines\n" OLD " old predict");
    ck_assert_int_eq(chmod(path, 0600), 0);
    struct outcome *added = RUN("add", "line1", "--scope", "predict,metrics", "--expires",
                                "2999-12-31", "--rate", "0.5", "--concurrency", "3");
    outcome_holds(added, 0, "\n", "key 'line1' is added");
    ck_assert_uint_eq(strlen(added->out), 65);
    struct keys *keys = read_keys();
    ck_assert_uint_eq(keys_count(keys), 2);
    const struct key *key = keys_find(keys, added->out, 64);
    ck_assert_ptr_nonnull(key);
    ck_assert_str_eq(key->name, "line1");
    ck_assert_uint_eq(key->scopes, 1U << SCOPE_PREDICT | 1U << SCOPE_METRICS);
    ck_assert_uint_eq(key->limits.concurrency, 3);
    ck_assert_double_eq(key->limits.rate, 0.5);
    ck_assert(key->expires_s > (int64_t)time(NULL) && key->expires_s < INT64_MAX);
    struct stat status;
    ck_assert(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
    free(added);
    keys_close(keys);
    tempdir_close(&dir);
}
END_TEST

START_TEST(keys_add_makes_a_file_and_no_key_twice)
{
    begin(NULL);
    struct outcome *first = RUN("add", "a", "--scope", "admin");
    struct outcome *second = RUN("add", "a", "--scope", "admin");
    ck_assert(first->code == 0 && second->code == 0);
    ck_assert_str_ne(first->out, second->out);
    struct keys *keys = read_keys();
    ck_assert_uint_eq(keys_count(keys), 2);
    keys_close(keys);
    free(first);
    free(second);
    tempdir_close(&dir);
}
END_TEST

START_TEST(keys_refuse_what_the_daemon_would_and_leave_the_file)
{
    static const char text[] = OLD " old predict\n";
    static const struct {
        const char *arguments[6], *words;
    } refused[] = {
        {{"add", "x", "--scope", "prdict"}, "unknown scope; did you mean \"predict\"?"},
        {{"add", "x y", "--scope", "admin"}, "'x y': expected a word without blanks and '#'"},
        {{"add", "x", "--scope", "admin", "--expires", "2026-02-30"}, "a day of the calendar"},
        {{"add", "x\n" OLD, "--scope", "admin"}, "expected a word"},
        {{"add", "--scope", "admin"}, "NAME is missing"},
        {{"add", "x", "y", "--scope", "admin"}, "'y' is the second"},
        {{"expire", "x"}, "no key is called 'x'"},
        {{"expire", "old", "--expires", "soon"}, "a day of the calendar"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *arguments[9] = {"--file", path};
        char now[sizeof text + 1] = "";
        begin(text);
        memcpy(arguments + 2, refused[i].arguments, sizeof refused[i].arguments);
        const char *command = arguments[2];
        memmove(arguments + 1, arguments, 2 * sizeof *arguments);
        arguments[0] = command;
        outcome_expect(outcome_of("attnd-keys", arguments), 2, "", refused[i].words);
        FILE *file = fopen(path, "r");
        ck_assert_uint_eq(fread(now, 1, sizeof now - 1, file), sizeof text - 1);
        fclose(file);
        ck_assert_str_eq(now, text);
        tempdir_close(&dir);
    }
}
END_TEST

START_TEST(keys_expire_ends_all_keys_of_a_name)
{
    begin("cert:tester.fab line1 predict # the tester\n" OLD
          " line1 predict rate=5/s expires=2999-01-01\n\n# end\ncert:other other admin");
    outcome_expect(RUN("expire", "line1"), 0, "", "the last day of 2 keys is ");
    struct keys *keys = read_keys();
    ck_assert_uint_eq(keys_count(keys), 3);
    for (unsigned i = 0; i < 2; i++)
        ck_assert(keys_at(keys, i)->expires_s <= (int64_t)time(NULL));
    ck_assert_double_eq(keys_at(keys, 1)->limits.rate, 5);
    ck_assert(keys_at(keys, 2)->expires_s == INT64_MAX);
    keys_close(keys);
    outcome_expect(RUN("list"), 0, "rate=5/s  expired\n", "");
    outcome_expect(RUN("list"), 0, "cert:tester.fab\n", "");
    outcome_expect(RUN("expire", "line1", "--expires", "2999-06-30"), 0, "", "2999-06-30");
    outcome_expect(RUN("list"), 0, " 2999-06-30  rate=5/s\n", "");
    tempdir_close(&dir);
}
END_TEST

START_TEST(keys_add_adds_none_that_it_cannot_print)
{
    char program[PATH_MAX], command[3 * PATH_MAX];
    begin(NULL);
    snprintf(command, sizeof command, "%s add a --file %s --scope admin >/dev/full 2>%s.told",
             built_program("attnd-keys", program, sizeof program), path, path);
    const int status = system(command);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    ck_assert_int_ne(access(path, F_OK), 0);
    tempdir_close(&dir);
}
END_TEST

START_TEST(keys_added_at_once_are_all_in_the_file)
{
    enum { ADDED = 8 };
    pid_t children[ADDED];
    begin(NULL);
    for (int i = 0; i < ADDED; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(RUN("add", "line1", "--scope", "predict")->code);
    }
    for (int i = 0; i < ADDED; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    struct keys *keys = read_keys();
    ck_assert_uint_eq(keys_count(keys), ADDED);
    keys_close(keys);
    tempdir_close(&dir);
}
END_TEST

SUITE("keys_program", keys_add_prints_a_key_that_the_daemon_takes,
      keys_add_makes_a_file_and_no_key_twice, keys_add_adds_none_that_it_cannot_print,
      keys_refuse_what_the_daemon_would_and_leave_the_file,
      keys_expire_ends_all_keys_of_a_name, keys_added_at_once_are_all_in_the_file)
