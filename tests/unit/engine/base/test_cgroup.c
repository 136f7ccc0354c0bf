/* Groups that are asked for their limit, their order, and the reading of their files. The trees of
 * tests/data/cgroup are whole systems (test_cpu.c, test_ram.c); here each case is two files. */
#include "engine/base/cgroup.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Questions to limit_of_group: "2:DIR " or "1:DIR " for each group. */
static char asked[1000];
static const char *expected_root;
static unsigned long long limits[8]; /* given one after the other */
static unsigned calls;

static unsigned long long note(const struct cgroup *cgroup)
{
    size_t used = strlen(asked);
    ck_assert_str_eq(cgroup->root, expected_root);
    snprintf(asked + used, sizeof asked - used, "%d:%s ", cgroup->is_unified ? 2 : 1, cgroup->dir);
    return calls < 8 ? limits[calls++] : 0;
}

static void write_file(const struct tempdir *dir, const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/proc/self/%s", dir->path, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void open_tree(struct tempdir *dir)
{
    char path[160];
    tempdir_open(dir);
    snprintf(path, sizeof path, "%s/proc", dir->path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/proc/self", dir->path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void close_tree(struct tempdir *dir)
{
    static const char *const names[] = {"proc/self/cgroup", "proc/self/mountinfo", "proc/self",
                                        "proc"};
    for (size_t i = 0; i < 4; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", dir->path, names[i]);
        remove(path);
    }
    tempdir_close(dir);
}

/* The smallest of the limits, with either file left out if it is NULL. */
static unsigned long long search(const char *groups, const char *mounts, const char *controller)
{
    struct tempdir dir;
    open_tree(&dir);
    if (groups != NULL)
        write_file(&dir, "cgroup", groups);
    if (mounts != NULL)
        write_file(&dir, "mountinfo", mounts);
    asked[0] = '\0';
    calls = 0;
    expected_root = dir.path;
    unsigned long long smallest = cgroup_smallest(dir.path, controller, note);
    close_tree(&dir);
    return smallest;
}

#define V2(root, point) "30 24 0:26 " root " " point " rw,nosuid - cgroup2 cgroup2 rw\n"
#define V1(root, point, controllers)                                                               \
    "31 24 0:27 " root " " point " rw shared:9 - cgroup cgroup rw," controllers "\n"
#define OTHER "24 1 8:1 / / rw - ext4 /dev/sda1 rw,memory\n"

START_TEST(cgroup_asks_every_group_from_its_own_to_the_mount)
{
    static const struct {
        const char *groups, *mounts, *asked;
    } cases[] = {
        {"0::/a/b\n", V2("/", "/m"), "2:/m/a/b 2:/m/a 2:/m "},
        {"0::/\n", V2("/", "/m"), "2:/m "},
        {"0::/a\n", OTHER V2("/", "/m/n") OTHER, "2:/m/n/a 2:/m/n "},
        {"0::/a/b\n", V2("/a", "/m"), "2:/m/b 2:/m "},
        {"0::/a\n", V2("/a", "/m"), "2:/m "},
        {"0::/ab\n", V2("/a", "/m"), "2:/m "},
        {"0::/b\n", V2("/a", "/m"), "2:/m "},
        {"0::/../b\n", V2("/", "/m"), "2:/m "},
        {"0::/a/../b\n", V2("/", "/m"), "2:/m "},
        {"4:cpu,memory:/x\n", V1("/", "/m", "memory"), "1:/m/x 1:/m "},
        {"4:memory,cpu:/x\n", V1("/", "/m", "cpu,memory"), "1:/m/x 1:/m "},
        {"4:memory:/x\n", V1("/", "/m", "memory,cpu"), "1:/m/x 1:/m "},
        {"4:memoryx:/x\n", V1("/", "/m", "memory"), "1:/m "},
        {"4:xmemory:/x\n", V1("/", "/m", "memory"), "1:/m "},
        {"4:memory:/x\n", V1("/", "/m", "cpu"), ""},
        {"4:memory:/x\n", V1("/", "/m", "memoryx"), ""},
        {"4:memory:/x\n0::/y\n", V2("/", "/u") V1("/", "/m", "memory"), "2:/u/y 2:/u 1:/m/x 1:/m "},
        {"0:memory:/x\n", V1("/", "/m", "memory"), "1:/m/x 1:/m "},
        {"5::/x\n", V2("/", "/m"), "2:/m "},
        {"4:memory:x\n0:\n0\n\n:\n", V1("/", "/m", "memory") V2("/", "/u"), "1:/m 2:/u "},
        {"0::/a:b\n", V2("/", "/m"), "2:/m/a:b 2:/m "},
        {"0::/a", "30 24 0:26 / /m rw - cgroup2 cgroup2 rw", "2:/m/a 2:/m "},
        {NULL, V2("/", "/m"), "2:/m "},
        {"0::/a\n", "30 24 0:26 / /m rw cgroup2 cgroup2 rw\n", ""},
        {"0::/a\n", "30 24 0:26 /\n30 24 0:26 / - cgroup2 cgroup2 rw\n", ""},
        {"0::/a\n", "30 24 0:26 / /m rw - cgroup2\n", ""},
        {"0::/a\n", "30 24 0:26 / /m rw - cgroup2 cgroup2\n", ""},
        {"0::/a\n", "", ""},
        {"0::/a/b\n4:memory:/x\n", NULL,
         "2:/sys/fs/cgroup/a/b 2:/sys/fs/cgroup/a 2:/sys/fs/cgroup "
         "1:/sys/fs/cgroup/memory/x 1:/sys/fs/cgroup/memory "
         "1:/sys/fs/cgroup/cpu,cpuacct/x 1:/sys/fs/cgroup/cpu,cpuacct "},
        {NULL, NULL, "2:/sys/fs/cgroup 1:/sys/fs/cgroup/memory 1:/sys/fs/cgroup/cpu,cpuacct "},
    };
    memset(limits, 0, sizeof limits);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_uint_eq(search(cases[i].groups, cases[i].mounts, "memory"), 0);
        ck_assert_msg(strcmp(asked, cases[i].asked) == 0, "case %zu asks %s", i, asked);
    }
}
END_TEST

START_TEST(cgroup_takes_the_smallest_of_the_limits_that_there_are)
{
    static const struct {
        unsigned long long given[5], smallest;
    } cases[] = {
        {{0, 0, 0, 0, 0}, 0}, {{5, 0, 0, 0, 0}, 5}, {{0, 0, 0, 0, 7}, 7},
        {{5, 3, 9, 0, 4}, 3}, {{9, 8, 7, 6, 1}, 1}, {{2, 3, 0, 5, 4}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(limits, cases[i].given, sizeof cases[i].given);
        ck_assert_uint_eq(
            search("4:memory:/x\n0::/y/z\n", V2("/", "/u") V1("/", "/m", "memory"), "memory"),
            cases[i].smallest);
        ck_assert_uint_eq(calls, 5);
    }
    ck_assert_uint_eq(cgroup_smaller(0, 0), 0);
    ck_assert_uint_eq(cgroup_smaller(0, 3), 3);
    ck_assert_uint_eq(cgroup_smaller(3, 0), 3);
    ck_assert_uint_eq(cgroup_smaller(3, 4), 3);
    ck_assert_uint_eq(cgroup_smaller(4, 3), 3);
}
END_TEST

/* A group whose path is too long is not taken, and a mount point that leaves it no room neither. */
START_TEST(cgroup_leaves_out_paths_that_are_too_long)
{
    static char groups[PATH_MAX + 16], mounts[3 * PATH_MAX];
    memset(limits, 0, sizeof limits);
    for (size_t len = PATH_MAX - 1; len <= PATH_MAX; len++) {
        memset(groups, 'a', sizeof groups);
        memcpy(groups, "0::/", 4);
        memcpy(groups + 3 + len, "\n", 2);
        search(groups, V2("/", "/m"), "memory");
        ck_assert_int_eq(strncmp(asked, len < PATH_MAX ? "2:/m/a" : "2:/m ", 5 + (len < PATH_MAX)),
                         0);
    }
    for (size_t len = 2 * PATH_MAX - 1; len <= 2 * PATH_MAX; len++) {
        size_t used = (size_t)snprintf(mounts, sizeof mounts, "30 24 0:26 / /");
        memset(mounts + used, 'm', len - 1);
        snprintf(mounts + used + len - 1, sizeof mounts - used - len + 1,
                 " rw - cgroup2 cgroup2 rw\n");
        search("0::/\n", mounts, "memory");
        ck_assert_uint_eq(calls, len < 2 * PATH_MAX ? 1 : 0);
    }
}
END_TEST

START_TEST(cgroup_reads_up_to_two_numbers)
{
    static const struct {
        const char *text;
        int count;
        long long numbers[2];
    } cases[] = {
        {"150000 100000\n", 2, {150000, 100000}},
        {"150000 100000 7\n", 2, {150000, 100000}},
        {"7", 1, {7, -9}},
        {"7\n8\n", 1, {7, -9}},
        {"-1\n", 1, {-1, -9}},
        {"max 100000\n", 0, {-9, -9}},
        {"100000 max\n", 1, {100000, -9}},
        {"7x 8\n", 0, {-9, -9}},
        {"7 8x\n", 1, {7, -9}},
        {"", 0, {-9, -9}},
        {"\n", 0, {-9, -9}},
        {"99999999999999999999 1\n", 0, {-9, -9}},
        {"9223372036854775807 1\n", 2, {LLONG_MAX, 1}},
        {"7\t8\n", 2, {7, 8}},
    };
    struct tempdir dir;
    tempdir_open(&dir);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cgroup cgroup = {.root = "", .dir = dir.path};
        long long found[2] = {-9, -9};
        tempdir_write(&dir, "cpu.max", cases[i].text, strlen(cases[i].text));
        ck_assert_int_eq(cgroup_read(&cgroup, "cpu.max", found), cases[i].count);
        for (int k = 0; k < cases[i].count; k++)
            ck_assert_int_eq(found[k], cases[i].numbers[k]);
    }
    const struct cgroup above = {.root = "/tmp", .dir = dir.path + strlen("/tmp")};
    long long found[2];
    ck_assert_int_eq(cgroup_read(&above, "cpu.max", found), 2);
    ck_assert_int_eq(cgroup_read(&above, "absent", found), 0);
    tempdir_close(&dir);
}
END_TEST

SUITE("cgroup", cgroup_asks_every_group_from_its_own_to_the_mount,
      cgroup_takes_the_smallest_of_the_limits_that_there_are,
      cgroup_leaves_out_paths_that_are_too_long, cgroup_reads_up_to_two_numbers)
