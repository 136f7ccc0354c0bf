/* The paths that a fit reads and writes: which versions may be a part of a path, which version
 * comes next, and that exactly the files that a fit began are removed. */
#include "server/fits/fits_place.h"

#include "server/fits/fits_left.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tempdir dir;

static char *path_of(const char *name)
{
    static char paths[4][160];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir.path, name);
    return path;
}

static bool exists(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

/* A directory with a file in it. */
static void make(const char *name)
{
    char file[200];
    ck_assert_int_eq(mkdir(path_of(name), 0700), 0);
    snprintf(file, sizeof file, "%s/file", name);
    tempdir_write(&dir, file, "x", 1);
}

static void close_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'/*", dir.path);
    ck_assert_int_eq(system(command), 0);
    tempdir_close(&dir);
}

START_TEST(a_version_is_a_plain_part_of_a_name)
{
    static const char *const good[] = {"1", "v2", "2026-11-23", "a_b.c"};
    static const char *const bad[] = {"",    ".",   "..",  ".a",       "-a",  "_a",
                                      "a/b", "a b", "a\n", "\xc3\xa4", "a\\b"};
    char longest[FITS_VERSION_BYTES + 2];
    struct err err = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(fits_place_check(good[i], &err) == ERR_OK, "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (struct err){0};
        ck_assert_msg(fits_place_check(bad[i], &err) == ERR_UNUSABLE, "%s", bad[i]);
    }
    memset(longest, 'a', sizeof longest);
    longest[FITS_VERSION_BYTES] = '\0';
    err = (struct err){0};
    ck_assert_int_eq(fits_place_check(longest, &err), ERR_OK);
    longest[FITS_VERSION_BYTES] = 'a';
    longest[FITS_VERSION_BYTES + 1] = '\0';
    ck_assert_int_eq(fits_place_check(longest, &err), ERR_UNUSABLE);
}
END_TEST

START_TEST(the_next_version_is_one_more)
{
    static const char *const pairs[][2] = {{"1", "2"},   {"v9", "v10"},
                                           {"b", "b.1"}, {"1.4", "1.5"},
                                           {"", ".1"},   {"x999999999", "x1000000000"}};
    char next[FITS_VERSION_BYTES + 1], longest[FITS_VERSION_BYTES + 1];
    struct err err = {0};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ck_assert_int_eq(fits_place_next(pairs[i][0], next, &err), ERR_OK);
        ck_assert_str_eq(next, pairs[i][1]);
    }
    memset(longest, 'a', sizeof longest);
    longest[FITS_VERSION_BYTES] = '\0';
    ck_assert_int_eq(fits_place_next(longest, next, &err), ERR_UNUSABLE);
}
END_TEST

START_TEST(only_what_was_being_written_for_the_path_is_removed)
{
    tempdir_open(&dir);
    make("text-3.aB3x9Q");
    make("text-3.zzzzzz");
    make("text-3.backup7");
    make("text-3.aaaaa");
    make("text-3.a-aaaa");
    make("text-30.aaaaaa");
    make("text-3");
    fits_place_remove_partial(path_of("text-3"));
    ck_assert(!exists("text-3.aB3x9Q") && !exists("text-3.zzzzzz"));
    ck_assert(exists("text-3.backup7") && exists("text-3.aaaaa") && exists("text-3.a-aaaa") &&
              exists("text-30.aaaaaa") && exists("text-3"));
    ck_assert(fits_place_remove(path_of("text-3")) && !exists("text-3"));
    ck_assert(fits_place_remove(path_of("never was")));
    ck_assert_int_eq(mkdir(path_of("text-30.aaaaaa/inside"), 0700), 0);
    ck_assert(!fits_place_remove(path_of("text-30.aaaaaa")));
    close_all();
}
END_TEST

START_TEST(fits_place_removes_what_the_process_before_recorded)
{
    char place[PATH_MAX];
    struct stat status;
    struct err err = {0};
    tempdir_open(&dir);
    fits_place_clear(path_of("fits/7"));
    ck_assert_int_eq(fits_place_begin(place, path_of("fits"), 7, path_of("text-3"), &err), ERR_OK);
    ck_assert_str_eq(place, path_of("fits/7"));
    ck_assert(stat(place, &status) == 0 && (status.st_mode & 0777) == 0700);
    ck_assert(stat(path_of("fits/7/out"), &status) == 0 && (status.st_mode & 0777) == 0600);
    ck_assert_int_eq(fits_place_begin(place, path_of("fits"), 7, "x", &err), ERR_IO);
    make("fits/8");
    make("text-3.abcdef");
    make("text-3");
    fits_place_clear(path_of("fits/7"));
    ck_assert(!exists("fits/7") && exists("fits/8"));
    ck_assert(!exists("text-3.abcdef") && exists("text-3")); /* a whole one may be in service */
    close_all();
}
END_TEST

/* ---- what is left ---- */

struct seen {
    unsigned count;
    uint64_t number;
    char line[128];
};

static void see(void *context, struct fit_job *job)
{
    struct seen *seen = context;
    seen->count++;
    seen->number = job->number;
    snprintf(seen->line, sizeof seen->line, "%s %s %s %s %s", job->call.name, job->from_version,
             job->version, job->call.reason, job->call.key != NULL ? job->call.key : "-");
}

static uint64_t left(struct seen *seen, unsigned count)
{
    uint64_t last;
    unsigned found;
    struct err err = {0};
    *seen = (struct seen){0};
    ck_assert_msg(fits_left_read(path_of("fits"), see, seen, &last, &found, &err) == ERR_OK, "%s",
                  err.text);
    ck_assert_uint_eq(found, count);
    return last;
}

START_TEST(a_fit_that_was_not_ended_is_known_after_a_restart_and_its_number_is_not_given_again)
{
    struct seen seen;
    struct err err = {0};
    struct fit_job job = {.number = 9,
                          .call = {.name = "text", .reason = "two \"new\" ones"},
                          .from_version = "2",
                          .version = "3"};
    tempdir_open(&dir);
    job.out = path_of("text-3");
    ck_assert_uint_eq(left(&seen, 0), 0);
    ck_assert_int_eq(fits_left_begin(path_of("fits"), &job, &err), ERR_OK);
    make("fits/11"); /* of before this was written down */
    make("text-3.abcdef");
    ck_assert_uint_eq(left(&seen, 2), 11);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_uint_eq(seen.number, 9);
    ck_assert_str_eq(seen.line, "text 2 3 two \"new\" ones -");
    ck_assert(!exists("fits/9") && !exists("fits/11") && !exists("text-3.abcdef"));
    ck_assert_uint_eq(left(&seen, 0), 9);
    job.number = 12;
    ck_assert_int_eq(fits_left_begin(path_of("fits"), &job, &err), ERR_OK);
    fits_left_end(path_of("fits"), 12);
    ck_assert_uint_eq(left(&seen, 0), 12);
    close_all();
}
END_TEST

START_TEST(a_number_that_cannot_be_read_is_no_start)
{
    static const char *const bad[] = {"", "7", "{\"format\":2,\"last\":7}",
                                      "{\"format\":1,\"last\":\"7\"}",
                                      "{\"format\":1,\"last\":-1}"};
    struct seen seen;
    tempdir_open(&dir);
    ck_assert_int_eq(mkdir(path_of("fits"), 0700), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t last;
        unsigned count;
        struct err err = {0};
        tempdir_write(&dir, "fits/last", bad[i], strlen(bad[i]));
        ck_assert_int_eq(fits_left_read(path_of("fits"), see, &seen, &last, &count, &err),
                         ERR_UNUSABLE);
        ck_assert_ptr_nonnull(strstr(err.text, "fits/last: remove it to count fits from 1 again"));
    }
    close_all();
}
END_TEST

SUITE("fits/place", a_version_is_a_plain_part_of_a_name, the_next_version_is_one_more,
      only_what_was_being_written_for_the_path_is_removed,
      fits_place_removes_what_the_process_before_recorded,
      a_fit_that_was_not_ended_is_known_after_a_restart_and_its_number_is_not_given_again,
      a_number_that_cannot_be_read_is_no_start)
