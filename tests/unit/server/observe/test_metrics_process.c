/* Answers of the kernel about the process, and the metrics when the kernel gives no answer. The
 * functions of the C library that ask it stand in this file: they answer as the test wants, or ask.
 */
#include "server/observe/metrics_process.h"

#include "engine/base/clock.h"
#include "server/observe/metrics.h"
#include "tests/support/suite.h"
#include "tests/unit/server/lock_counter.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    bool no_files, no_folder, no_limit, zero_limit;
    const char *files_folder; /* instead of /proc/self */
    int failing_clock;        /* -1: none */
    uint64_t monotonic_ns;    /* 0: the true one */
    long fd_size;             /* of /proc/self/fd; -1: the true one; -2: stat fails */
} fake = {.failing_clock = -1, .fd_size = -1};

int open(const char *path, int flags, ...)
{
    char other[256];
    va_list arguments;
    va_start(arguments, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (strncmp(path, "/proc/self/stat", 15) == 0) {
        if ((flags & O_CLOEXEC) == 0)
            abort();
        if (fake.no_files) {
            errno = ENOENT;
            return -1;
        }
        if (fake.files_folder != NULL) {
            snprintf(other, sizeof other, "%s/%s", fake.files_folder, path + 11);
            path = other;
        }
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int stat(const char *restrict path, struct stat *restrict out)
{
    bool ours = strcmp(path, "/proc/self/fd") == 0;
    if (ours && fake.fd_size == -2)
        return -1;
    int result = fstatat(AT_FDCWD, path, out, 0);
    if (ours && fake.fd_size >= 0)
        out->st_size = fake.fd_size;
    return result;
}

DIR *opendir(const char *path)
{
    union {
        void *symbol;
        DIR *(*call)(const char *);
    } next = {.symbol = dlsym(RTLD_NEXT, "opendir")};
    return fake.no_folder ? NULL : next.call(path);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock == fake.failing_clock)
        return -1;
    if (clock == CLOCK_MONOTONIC && fake.monotonic_ns != 0) {
        *time = (struct timespec){.tv_sec = (time_t)(fake.monotonic_ns / CLOCK_NS_PER_S),
                                  .tv_nsec = (long)(fake.monotonic_ns % CLOCK_NS_PER_S)};
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, time);
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    int result = fake.no_limit ? -1 : (int)syscall(SYS_getrlimit, resource, limit);
    if (fake.zero_limit)
        limit->rlim_cur = 0;
    return result;
}

static struct metrics_process read_now(void)
{
    struct metrics_process now = {0};
    metrics_process_read(&now);
    return now;
}

static double seconds(clockid_t clock)
{
    struct timespec time;
    ck_assert_int_eq(clock_gettime(clock, &time), 0);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double count_files(void)
{
    double count = -1; /* not the one that reads */
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

START_TEST(the_processor_time_is_that_of_the_process)
{
    double before = seconds(CLOCK_PROCESS_CPUTIME_ID), now = read_now().cpu_seconds;
    ck_assert(before <= now && now <= seconds(CLOCK_PROCESS_CPUTIME_ID));
    fake.failing_clock = CLOCK_PROCESS_CPUTIME_ID;
    ck_assert_double_eq(read_now().cpu_seconds, -1);
}
END_TEST

START_TEST(process_max_fds_is_the_soft_limit)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 123;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_double_eq(read_now().max_fds, 123);
    fake.no_limit = true;
    ck_assert_double_eq(read_now().max_fds, -1);
}
END_TEST

/* A folder with the two files, of the process as the test invents it; yours to remove. */
static void write_files(char folder[], const char *stat_text, const char *statm_text)
{
    static const char *const names[] = {"stat", "statm"};
    const char *const texts[] = {stat_text, statm_text};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(texts[i], file);
        fclose(file);
    }
    fake.files_folder = folder;
}

static void remove_files(const char *folder)
{
    char path[128];
    fake.files_folder = NULL;
    snprintf(path, sizeof path, "%s/stat", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/statm", folder);
    unlink(path);
    rmdir(folder);
}

START_TEST(memory_is_counted_in_pages)
{
    char folder[] = "/tmp/attnd-test-XXXXXX";
    const double page = (double)sysconf(_SC_PAGESIZE);
    write_files(folder, "", "7000 300 20 1 0 5 0\n");
    struct metrics_process now = read_now();
    ck_assert_double_eq(now.virtual_bytes, 7000 * page);
    ck_assert_double_eq(now.resident_bytes, 300 * page);
    remove_files(folder);
    char empty[] = "/tmp/attnd-test-XXXXXX";
    write_files(empty, "", "");
    ck_assert_double_eq(read_now().virtual_bytes, -1);
    remove_files(empty);
    int saved = dup(STDIN_FILENO); /* the first descriptor is as good as another */
    close(STDIN_FILENO);
    ck_assert_double_gt(read_now().resident_bytes, 0);
    dup2(saved, STDIN_FILENO);
    close(saved);
    fake.no_files = true;
    now = read_now();
    ck_assert_double_eq(now.virtual_bytes, -1);
    ck_assert_double_eq(now.resident_bytes, -1);
}
END_TEST

/* The 22nd field, wherever the name in the second ends. */
START_TEST(the_start_is_read_behind_whatever_the_process_is_called)
{
#define BEHIND " S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 123456 23 24\n"
    static const char *const good[] = {"1 (attnd)" BEHIND, "1 (a b) c (d e)" BEHIND,
                                       "1 (a ) b)" BEHIND};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char folder[] = "/tmp/attnd-test-XXXXXX";
        write_files(folder, good[i], "");
        double start = metrics_process_start();
        double boot = seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME);
        ck_assert_double_eq_tol(start, boot + 123456.0 / (double)sysconf(_SC_CLK_TCK), 0.05);
        ck_assert_double_eq_tol(start * 100, round(start * 100), 1e-4);
        remove_files(folder);
    }
    static const char *const bad[] = {"", "1 attnd", "1 (attnd) S 4 5 6 7 8 9 10"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char folder[] = "/tmp/attnd-test-XXXXXX";
        write_files(folder, bad[i], "");
        ck_assert_double_eq(metrics_process_start(), -1);
        remove_files(folder);
    }
    fake.no_files = true;
    ck_assert_double_eq(metrics_process_start(), -1);
}
END_TEST

START_TEST(process_open_fds_are_the_size_of_the_folder)
{
    fake.fd_size = 7;
    ck_assert_double_eq(read_now().open_fds, 7);
    fake.fd_size = 1;
    ck_assert_double_eq(read_now().open_fds, 1);
}
END_TEST

/* The files are counted at once, and then once a second. */
START_TEST(process_open_fds_are_counted_once_a_second_without_a_folder_size)
{
    const uint64_t start_ns = UINT64_C(77) * CLOCK_NS_PER_S;
    fake.monotonic_ns = start_ns;
    fake.fd_size = 0;
    double before = count_files();
    ck_assert_double_eq(read_now().open_fds, before);
    FILE *held = tmpfile();
    LOCK_COUNTER_EXPECT_ONE(read_now(), 0);
    ck_assert_double_eq(read_now().open_fds, before);
    fake.fd_size = -2; /* nor can it be asked */
    fake.monotonic_ns = start_ns + CLOCK_NS_PER_S - 1;
    ck_assert_double_eq(read_now().open_fds, before);
    fake.monotonic_ns = start_ns + CLOCK_NS_PER_S;
    ck_assert_double_eq(read_now().open_fds, before + 1);
    fclose(held);
    fake.monotonic_ns = start_ns + 2ull * CLOCK_NS_PER_S;
    fake.no_folder = true;
    ck_assert_double_eq(read_now().open_fds, -1);
    fake.no_folder = false;
    fake.monotonic_ns = 0; /* check measures the test by it */
}
END_TEST

/* The lines of the process that a scrape has. */
static unsigned lines_of_process(const char *wanted)
{
    const struct metrics_setup setup = {.queue_limit = 1};
    struct metrics *metrics;
    struct arena arena;
    struct err err = {0};
    size_t len = 0;
    unsigned count = 0;
    ck_assert_int_eq(metrics_open(&metrics, &setup, &err), ERR_OK);
    arena_init(&arena);
    const char *page = metrics_expose(metrics, &arena, &len);
    for (const char *at = page; (at = strstr(at, "\nprocess_")) != NULL; at++)
        count++;
    ck_assert_ptr_nonnull(strstr(page, wanted));
    arena_deinit(&arena);
    metrics_close(metrics);
    return count;
}

START_TEST(process_metrics_omit_values_that_the_kernel_does_not_give)
{
    ck_assert_uint_eq(lines_of_process("\nprocess_max_fds "), 6);
    fake.zero_limit = true;
    ck_assert_uint_eq(lines_of_process("\nprocess_max_fds 0\n"), 6);
    fake.zero_limit = false;
    fake.no_limit = fake.no_files = true;
    ck_assert_uint_eq(lines_of_process("\nprocess_open_fds "), 2);
    fake.failing_clock = CLOCK_PROCESS_CPUTIME_ID;
    ck_assert_uint_eq(lines_of_process("\nprocess_open_fds "), 1);
}
END_TEST

SUITE("metrics_process", process_metrics_omit_values_that_the_kernel_does_not_give,
      the_processor_time_is_that_of_the_process, process_max_fds_is_the_soft_limit,
      memory_is_counted_in_pages, the_start_is_read_behind_whatever_the_process_is_called,
      process_open_fds_are_the_size_of_the_folder,
      process_open_fds_are_counted_once_a_second_without_a_folder_size)
