#include "server/bounds/memory.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define TREES "tests/data/cgroup/"

enum { MIB = 1024 * 1024 };

static void check(const char *root, size_t bytes, const char *source)
{
    struct ram_limit limit = ram_limit(root);
    ck_assert_msg(limit.bytes == bytes && strcmp(limit.source, source) == 0,
                  "%s: %zu bytes by %s, not %zu by %s", root, limit.bytes, limit.source, bytes,
                  source);
}

START_TEST(ram_finds_the_smallest_limit_on_the_way_up_in_both_versions)
{
    ck_assert_uint_eq(ram_cgroup_limit(TREES "v2-container"), (size_t)1024 * MIB);
    ck_assert_uint_eq(ram_cgroup_limit(TREES "v2-nested"), (size_t)512 * MIB);
    ck_assert_uint_eq(ram_cgroup_limit(TREES "v1-nested"), (size_t)256 * MIB);
    check(TREES "v1-nested", (size_t)256 * MIB, "cgroup");
}
END_TEST

START_TEST(ram_takes_half_of_the_machine_where_nobody_sets_a_limit)
{
    ck_assert_uint_eq(ram_cgroup_limit(TREES "v1-unlimited"), 0);
    check(TREES "v1-unlimited", (size_t)2048 * MIB, "half of MemTotal");
}
END_TEST

START_TEST(ram_ignores_a_limit_above_the_memory_of_the_machine)
{
    check(TREES "v2-nested", (size_t)64 * MIB, "half of MemTotal");
}
END_TEST

START_TEST(ram_takes_malformed_and_missing_files_for_no_limit)
{
    ck_assert_uint_eq(ram_cgroup_limit(TREES "malformed"), 0);
    ck_assert_uint_eq(ram_cgroup_limit(TREES "nothing-here"), 0);
    ck_assert_uint_gt(ram_limit(TREES "nothing-here").bytes, 0);
}
END_TEST

START_TEST(ram_finds_the_line_of_the_whole_memory_wherever_it_stands)
{
    static const char meminfo[] = "MemFree:  1024 kB\nNotMemTotal: 8 kB\nMemTotal:  1048576 kB\n"
                                  "MemTotal:  524288 kB\n";
    struct tempdir dir;
    char proc[96];
    tempdir_open(&dir);
    snprintf(proc, sizeof proc, "%s/proc", dir.path);
    ck_assert_int_eq(mkdir(proc, 0777), 0);
    tempdir_write(&dir, "proc/meminfo", meminfo, strlen(meminfo));
    check(dir.path, (size_t)512 * MIB, "half of MemTotal");
    unlinkat(AT_FDCWD, strcat(proc, "/meminfo"), 0);
    *strrchr(proc, '/') = '\0';
    ck_assert_int_eq(rmdir(proc), 0);
    tempdir_close(&dir);
}
END_TEST

/* The limit is lifted again, because the check after the test needs memory. */
static void expect_limit(int resource, size_t bytes, const char *source)
{
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(resource, &before), 0);
    limit = before;
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(resource, &limit), 0);
    struct ram_limit found = ram_limit(TREES "v1-unlimited");
    ck_assert_int_eq(setrlimit(resource, &before), 0);
    ck_assert_str_eq(found.source, source);
    ck_assert_uint_le(found.bytes, bytes);
    ck_assert_uint_gt(found.bytes, bytes / 2);
}

START_TEST(ram_knows_the_limits_of_the_process_itself)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    suite_skip("a sanitizer maps more than the limit");
#endif
    expect_limit(RLIMIT_DATA, (size_t)1024 * MIB, "RLIMIT_DATA");
    expect_limit(RLIMIT_AS, (size_t)1024 * MIB, "RLIMIT_AS");
}
END_TEST

/* A limit below what is mapped without being held leaves next to nothing, not all of the machine.
 */
START_TEST(ram_takes_a_limit_that_is_used_up_for_one_byte)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    suite_skip("a sanitizer maps more than the limit");
#endif
    struct rlimit before, limit;
    size_t vain = (size_t)1024 * MIB;
    void *reserved = mmap(NULL, vain, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(reserved, MAP_FAILED);
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)512 * MIB;
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
    struct ram_limit found = ram_limit(TREES "v1-unlimited");
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &before), 0);
    munmap(reserved, vain);
    ck_assert_str_eq(found.source, "RLIMIT_DATA");
    ck_assert_uint_eq(found.bytes, 1);
}
END_TEST

SUITE("ram", ram_finds_the_smallest_limit_on_the_way_up_in_both_versions,
      ram_takes_half_of_the_machine_where_nobody_sets_a_limit,
      ram_ignores_a_limit_above_the_memory_of_the_machine,
      ram_takes_malformed_and_missing_files_for_no_limit,
      ram_finds_the_line_of_the_whole_memory_wherever_it_stands,
      ram_knows_the_limits_of_the_process_itself, ram_takes_a_limit_that_is_used_up_for_one_byte)
