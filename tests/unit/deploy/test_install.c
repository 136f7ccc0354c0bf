/* `make install` into a folder of its own: the files are there, and work from there. */
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tempdir dir;

/* A shell command about the folder, which is $D; the build is $B. */
static int run(const char *command)
{
    static char line[2 * PATH_MAX];
    char build[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", build, sizeof build - 1);
    ck_assert_int_gt(len, 0);
    build[len] = '\0';
    *strstr(build, "/tests/") = '\0';
    snprintf(line, sizeof line, "unset MAKEFLAGS MFLAGS MAKELEVEL; D='%s' B='%s'; %s", dir.path,
             build, command);
    return system(line);
}

START_TEST(install_gives_programs_that_run_and_uninstall_removes_them)
{
    tempdir_open(&dir);
    if (system("command -v make >/dev/null 2>&1") == 0) {
        ck_assert_int_eq(run("make -s install BUILD=\"$B\" DESTDIR=\"$D\" PREFIX=/usr"), 0);
        ck_assert_int_eq(
            run("for p in '' -audit -eval -healthcheck -inspect -load -predict -train -vocab; "
                "do \"$D/usr/bin/attnd$p\" --version >/dev/null || exit 1; done"),
            0);
        ck_assert_int_eq(run("test -f \"$D/usr/share/doc/attnd/LICENSE\" && "
                             "cd / && \"$D/usr/bin/attnd-predict\" --text a --model "
                             "\"$D/usr/share/attnd/models/testlog-bert\" >/dev/null"),
                         0);
        ck_assert_int_eq(run("\"$D/usr/bin/attnd-train\" --model nothing --data x --out y 2>&1 | "
                             "grep -q 'there are: kernel-bert, testlog-bert, wafer-id, wafer-vit, '"),
                         0);
        ck_assert_int_eq(run("find \"$D\" -type f -perm /022 | grep -q ."), 1 << 8);
        ck_assert_int_eq(run("make -s uninstall BUILD=\"$B\" DESTDIR=\"$D\" PREFIX=/usr"), 0);
        ck_assert_int_eq(run("find \"$D\" -type f | grep -q ."), 1 << 8);
    }
    ck_assert_int_eq(run("rm -rf \"$D\"/usr"), 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("install", install_gives_programs_that_run_and_uninstall_removes_them)
