/* .ci/run and its table: the stages that run for each change. None is forgotten. */
#include "engine/base/file.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path)
{
    char *text;
    size_t len;
    struct err err = {0};
    ck_assert_msg(file_read(&text, &len, path, 1 << 20, &err) == ERR_OK, "%s: %s", path, err.text);
    text = realloc(text, len + 1);
    text[len] = '\0';
    return text;
}

/* The part of a text from a mark to an end; to be freed. */
static char *part_of(const char *path, const char *mark, const char *end)
{
    char *text = read_text(path), *start = strstr(text, mark);
    ck_assert_msg(start != NULL, "%s: has no %s", path, mark);
    start += strlen(mark);
    char *part = strndup(start, (size_t)(strstr(start, end) - start));
    free(text);
    return part;
}

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '/';
}

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        if ((at == text || !is_of_word(at[-1])) && !is_of_word(at[len]))
            return true;
    return false;
}

/* The text behind the key in each line of the table that has it, a line each; to be freed. */
static char *column(const char *key)
{
    char *table = read_text(".ci/stages"), *rest = NULL;
    const size_t len = strlen(key), size = strlen(table) + 2;
    char *out = calloc(1, size);
    ck_assert_ptr_nonnull(out);
    for (char *line = strtok_r(table, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " ");
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            snprintf(out + strlen(out), size - strlen(out), "%s\n", line + len);
    }
    free(table);
    return out;
}

START_TEST(ci_runs_every_target_or_contributing_names_it)
{
    char *targets = part_of("Makefile", ".PHONY:", "\n.DELETE_ON_ERROR");
    char *not_run = part_of("CONTRIBUTING.md", "Not run by `.ci/run`:", "Of `mutate`");
    char *runs = column("runs"), *makes = column("makes");
    int count = 0, wrong = 0;
    for (char *target = strtok(targets, " \\\n"); target != NULL; target = strtok(NULL, " \\\n")) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "`%s`", target);
        bool is_run = has_word(runs, target) || has_word(makes, target);
        bool is_named = strstr(not_run, quoted) != NULL;
        if (is_run == is_named) {
            printf("%s is %s\n", target,
                   is_run ? "run by a stage and named by CONTRIBUTING.md as not run"
                          : "neither run by a stage nor named by CONTRIBUTING.md");
            wrong++;
        }
        count++;
    }
    fflush(stdout);
    ck_assert_int_gt(count, 30);
    ck_assert_msg(wrong == 0, "%d targets of the Makefile, listed above", wrong);
    free(targets);
    free(not_run);
    free(runs);
    free(makes);
}
END_TEST

START_TEST(ci_stages_name_existing_targets_and_paths)
{
    char *makefile = read_text("Makefile"), *phony = part_of("Makefile", ".PHONY:", "\n.DELETE");
    char *makes = column("makes"), *when = column("when");
    for (char *word = strtok(makes, " \n"); word != NULL; word = strtok(NULL, " \n"))
        ck_assert_msg(has_word(phony, word), ".ci/stages: the Makefile has no target %s", word);
    for (char *word = strtok(when, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        glob_t found;
        if (strcmp(word, "always") == 0)
            continue;
        ck_assert_msg(glob(word, 0, NULL, &found) == 0, ".ci/stages: there is no %s", word);
        globfree(&found);
    }
    free(makefile);
    free(phony);
    free(makes);
    free(when);
}
END_TEST

/* ---- which stages run ---- */

static struct tempdir dir;

/* A shell command in a repository with .ci/run and a table of two stages; its status. */
static int run(const char *command)
{
    char line[1024];
    snprintf(
        line, sizeof line,
        "cd '%s' && g() { git -c user.name=a -c user.email=a@b \"$@\"; } && { %s; } >>log 2>&1",
        dir.path, command);
    return system(line);
}

static const char stages[] = "stage one\n    runs    echo one ran >>ran\n    when    always\n"
                             "stage two\n    runs    echo two ran >>ran\n    when    a b\n";

static bool setup(void)
{
    char copy[256];
    if (system("command -v git bash >/dev/null 2>&1") != 0)
        return false;
    tempdir_open(&dir);
    snprintf(copy, sizeof copy, "mkdir '%s/.ci' && cp .ci/run '%s/.ci/'", dir.path, dir.path);
    ck_assert_int_eq(system(copy), 0);
    tempdir_write(&dir, ".ci/stages", stages, sizeof stages - 1);
    tempdir_write(&dir, ".gitignore", "log\nran\n", 8);
    ck_assert_int_eq(run("echo 1 >a; echo 1 >c; g init -q; g add -A; g commit -q -m x"), 0);
    return true;
}

static void teardown(void)
{
    ck_assert_int_eq(run("rm -rf .git .ci .gitignore"), 0);
    tempdir_close(&dir);
}

START_TEST(ci_leaves_out_stages_that_no_change_concerns_and_names_them)
{
    if (!setup())
        suite_skip("git or bash is not installed");
    ck_assert_int_eq(run(".ci/run --all && g add -A && g commit -q -m green && rm ran"), 0);
    ck_assert_int_eq(
        run("echo 2 >c; g commit -q -a -m c; .ci/run; test \"$(cat ran)\" = 'one ran'"), 0);
    ck_assert_int_eq(run("grep -q '^== skipped  two: nothing that it depends on' log"), 0);
    ck_assert_int_eq(run("rm ran log; echo 2 >a; .ci/run; grep -q 'two ran' ran"), 0);
    ck_assert_int_eq(run("rm ran; g checkout -q a; echo 1 >b; .ci/run; grep -q 'two ran' ran"), 0);
    teardown();
}
END_TEST

START_TEST(ci_runs_every_stage_where_the_green_commit_is_unknown)
{
    if (!setup())
        suite_skip("git or bash is not installed");
    ck_assert_int_eq(
        run(".ci/run; grep -q 'two ran' ran && grep -q 'two (not known to be green)' log"), 0);
    ck_assert_int_eq(run("echo 0123456789012345678901234567890123456789 two >.ci/green; g add -A;"
                         "g commit -q -m x; rm ran; .ci/run; grep -q 'two ran' ran"),
                     0);
    ck_assert_int_eq(run("git rev-parse HEAD | sed 's/$/ other/' >.ci/green; g add -A;"
                         "g commit -q -m x; rm ran; .ci/run; grep -q 'two ran' ran"),
                     0);
    teardown();
}
END_TEST

START_TEST(ci_goes_on_after_a_stage_that_fails_and_its_green_line_goes)
{
    if (!setup())
        suite_skip("git or bash is not installed");
    ck_assert_int_eq(run(".ci/run --all && grep -q ' one$' .ci/green && g add -A &&"
                         "sed -i 's/echo one/false; echo one/' .ci/stages; g commit -q -a -m x"),
                     0);
    ck_assert_int_eq(run("rm ran; ! .ci/run --all; test \"$(cat ran)\" = 'two ran'"), 0);
    ck_assert_int_eq(run("test \"$(cat .ci/green)\" = \"$(git rev-parse HEAD) two\""), 0);
    ck_assert_int_eq(run("grep -q '^ failed  one' log && grep -q '^== failed  one' log"), 0);
    teardown();
}
END_TEST

START_TEST(ci_runs_in_full_what_is_named_and_the_lines_of_others_stay)
{
    if (!setup())
        suite_skip("git or bash is not installed");
    ck_assert_int_eq(run(".ci/run --all one && ! grep -q two ran && ! grep -q two .ci/green &&"
                         ".ci/run --all tw && grep -c . .ci/green | grep -qx 2"),
                     0);
    ck_assert_int_eq(run("g add -A && g commit -q -m x && .ci/run --all one &&"
                         "grep -q \"$(git rev-parse HEAD) one\" .ci/green &&"
                         "grep -q \"$(git rev-parse HEAD~) two\" .ci/green"),
                     0);
    ck_assert_int_eq(run("echo x >>a; cp .ci/green was; .ci/run --all && cmp was .ci/green"), 0);
    ck_assert_int_eq(run("rm was"), 0);
    teardown();
}
END_TEST

static void write_including(const char *path, const char *included)
{
    char command[256];
    snprintf(command, sizeof command, "mkdir -p $(dirname %s) && echo '#include \"%s\"' >%s", path,
             included, path);
    ck_assert_int_eq(run(command), 0);
}

START_TEST(ci_sanitizes_the_folders_that_include_what_has_changed_and_one_more)
{
    char copy[256];
    if (!setup())
        suite_skip("git or bash is not installed");
    snprintf(copy, sizeof copy, "cp tests/rooms.sh '%s/'", dir.path);
    ck_assert_int_eq(system(copy), 0);
    write_including("engine/a.h", "stdio.h");
    write_including("engine/a.c", "engine/a.h");
    write_including("tests/support/s.h", "engine/a.h");
    write_including("tests/unit/direct/test_a.c", "engine/a.h");
    write_including("tests/unit/through/below/test_b.c", "tests/support/s.h");
    write_including("tests/unit/other/test_c.c", "engine/c.h");
    write_including("tests/fuzz/c.c", "engine/c.h");
    ck_assert_int_eq(run("g add -A; g commit -q -m x; echo >>engine/a.c; ./rooms.sh HEAD >out"), 0);
    ck_assert_int_eq(run("test $(wc -l <out) = 3 && grep -qx direct out && "
                         "grep -qx through/below out && grep -qxE 'other|fuzz' out"),
                     0);
    ck_assert_int_eq(run("rm -r engine tests"), 0);
    teardown();
}
END_TEST

SUITE("ci", ci_runs_every_target_or_contributing_names_it,
      ci_stages_name_existing_targets_and_paths,
      ci_leaves_out_stages_that_no_change_concerns_and_names_them,
      ci_runs_every_stage_where_the_green_commit_is_unknown,
      ci_goes_on_after_a_stage_that_fails_and_its_green_line_goes,
      ci_runs_in_full_what_is_named_and_the_lines_of_others_stay,
      ci_sanitizes_the_folders_that_include_what_has_changed_and_one_more)
