/* Data sets that cannot be read: missing, a folder in the place of a file, no descriptor left. */
#include "learn/data/dataset.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_unread(const char *path, const struct dataset_options *options,
                          const char *reason)
{
    struct dataset dataset;
    struct err err = {0};
    char expected[256];
    ck_assert_int_eq(dataset_open(&dataset, path, options, &err), ERR_IO);
    ck_assert_int_eq(err.code, ERR_IO);
    snprintf(expected, sizeof expected, "%s: %s", path, reason);
    ck_assert_str_eq(err.text, expected);
    ck_assert_uint_eq(dataset.count, 0);
    dataset_close(&dataset);
}

START_TEST(dataset_says_which_file_is_missing_or_below_a_file)
{
    static const char *const names[] = {"a.csv", "a.jsonl", "a.ndjson", "a.txt"};
    const struct dataset_options options = {.kind = ENGINE_TEXT, .labels_optional = true};
    struct tempdir dir;
    tempdir_open(&dir);
    tempdir_write(&dir, "file", "x", 1);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir.path, names[i]);
        expect_unread(path, &options, "cannot be opened: No such file or directory");
        snprintf(path, sizeof path, "%s/file/%s", dir.path, names[i]);
        expect_unread(path, &options, "cannot be opened: Not a directory");
    }
    tempdir_close(&dir);
}
END_TEST

/* A folder is opened with a descriptor, and there is none. */
START_TEST(dataset_says_which_folder_it_cannot_read)
{
    const struct dataset_options options = {.kind = ENGINE_IMAGE};
    struct rlimit limit;
    struct tempdir dir;
    char class[128], reason[256];
    tempdir_open(&dir);
    snprintf(class, sizeof class, "%s/class", dir.path);
    ck_assert_int_eq(mkdir(class, 0777), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    snprintf(reason, sizeof reason, "%s: cannot be read: Too many open files", dir.path);
    expect_unread(dir.path, &options, reason);
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(rmdir(class), 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("dataset_unread", dataset_says_which_file_is_missing_or_below_a_file,
      dataset_says_which_folder_it_cannot_read)
