/* deploy/progress.sh, which tells how much of a build is done. */
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir dir;

/* A tree whose second file is compiled when the first has been told of. */
static const char makefile[] =
    "BUILD ?= build\n"
    "all: $(BUILD)/obj/b.o\n"
    "$(BUILD)/obj/a.o:\n"
    "\t@mkdir -p $(@D)\n"
    "\tcp a.c $@ # -c a.c -o \n"
    "$(BUILD)/obj/b.o: $(BUILD)/obj/a.o\n"
    "\tuntil grep -q '1 of 2' told; do sleep 0.1; done; cp a.c $@ # -c b.c -o \n";

static int run(const char *command)
{
    char line[1024];
    snprintf(line, sizeof line,
             "unset MAKEFLAGS MFLAGS MAKELEVEL BUILD; S=$PWD/deploy/progress.sh; cd '%s' && %s",
             dir.path, command);
    return system(line);
}

static void setup(void)
{
    tempdir_open(&dir);
    tempdir_write(&dir, "Makefile", makefile, sizeof makefile - 1);
    tempdir_write(&dir, "a.c", "", 0);
}

static void teardown(void)
{
    ck_assert_int_eq(run("rm -rf build"), 0);
    tempdir_close(&dir);
}

START_TEST(progress_tells_how_many_files_are_compiled)
{
    setup();
    ck_assert_int_eq(run("$S . all make -s 2>told"), 0);
    ck_assert_int_eq(run("grep -q '^attnd: building 2 files$' told"), 0);
    ck_assert_int_eq(run("grep -q '^attnd: building: 1 of 2 files, about [0-9]* s left$' told"), 0);
    teardown();
}
END_TEST

START_TEST(progress_says_nothing_where_nothing_is_compiled)
{
    setup();
    ck_assert_int_eq(run("mkdir -p build/obj && touch build/obj/a.o build/obj/b.o"), 0);
    ck_assert_int_eq(run("$S . all make -s 2>told"), 0);
    ck_assert_int_eq(run("test ! -s told"), 0);
    teardown();
}
END_TEST

START_TEST(progress_ends_as_its_command_does)
{
    setup();
    ck_assert_int_eq(run("$S . all sh -c 'exit 3' 2>told") >> 8, 3);
    teardown();
}
END_TEST

/* make clean is the first thing that a build of the package does. */
START_TEST(progress_counts_though_the_objects_are_removed_first)
{
    setup();
    ck_assert_int_eq(run("mkdir -p build/obj && touch build/obj/old.o"), 0);
    ck_assert_int_eq(run("$S . all sh -c 'rm -r build; make -s' 2>told"), 0);
    ck_assert_int_eq(run("grep -q '^attnd: building: 1 of 2 files, about [0-9]* s left$' told"), 0);
    ck_assert_int_eq(run("! grep -v '^attnd: ' told"), 0);
    teardown();
}
END_TEST

SUITE("progress_script", progress_tells_how_many_files_are_compiled,
      progress_says_nothing_where_nothing_is_compiled, progress_ends_as_its_command_does,
      progress_counts_though_the_objects_are_removed_first)
