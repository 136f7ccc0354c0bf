#include "engine/base/replace.h"

#include "engine/base/file.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
    struct tempdir dir;
    char path[128], partial[160];
};

static void setup(struct fixture *fixture)
{
    tempdir_open(&fixture->dir);
    snprintf(fixture->path, sizeof fixture->path, "%s/a.txt", fixture->dir.path);
    snprintf(fixture->partial, sizeof fixture->partial, "%s.partial", fixture->path);
}

static void expect_content(const struct fixture *fixture, const char *expected)
{
    char *bytes;
    size_t len;
    struct err err = {0};
    ck_assert_msg(!file_read(&bytes, &len, fixture->path, 1 << 20, &err), "%s", err.text);
    ck_assert_str_eq(bytes, expected);
    ck_assert_int_ne(access(fixture->partial, F_OK), 0);
    free(bytes);
}

static void put(const struct fixture *fixture, const char *text)
{
    struct err err = {0};
    ck_assert_msg(!replace_file(fixture->path, text, strlen(text), &err), "%s", err.text);
}

static void expect_error(const struct fixture *fixture, const struct err *err, const char *what)
{
    char text[200];
    snprintf(text, sizeof text, "%s: %s", fixture->path, what);
    ck_assert_str_eq(err->text, text);
}

START_TEST(replace_writes_a_new_file_and_replaces_an_old_one)
{
    struct fixture fixture;
    setup(&fixture);
    put(&fixture, "first");
    expect_content(&fixture, "first");
    put(&fixture, "2");
    expect_content(&fixture, "2");
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(replace_works_in_the_current_folder)
{
    struct fixture fixture;
    struct err err = {0};
    setup(&fixture);
    ck_assert_int_eq(chdir(fixture.dir.path), 0);
    ck_assert_msg(!replace_file("a.txt", "here", 4, &err), "%s", err.text);
    expect_content(&fixture, "here");
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(replace_is_told_of_its_input_and_of_folders)
{
    char other[200];
    struct fixture fixture;
    struct err err = {0};
    setup(&fixture);
    ck_assert(!replace_check(fixture.path, fixture.path, &err)); /* there is none yet */
    put(&fixture, "data");
    snprintf(other, sizeof other, "%s/./a.txt", fixture.dir.path);
    ck_assert_int_eq(replace_check(fixture.path, other, &err), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, ": is the input ") != NULL, "%s", err.text);
    err = (struct err){0};
    ck_assert_int_eq(replace_check(fixture.dir.path, other, &err), ERR_UNUSABLE);
    ck_assert_msg(strstr(err.text, ": is a folder") != NULL, "%s", err.text);
    err = (struct err){0};
    ck_assert(!replace_check(fixture.path, fixture.dir.path, &err));
    expect_content(&fixture, "data");
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(replace_takes_over_what_a_kill_left)
{
    struct fixture fixture;
    setup(&fixture);
    tempdir_write(&fixture.dir, "a.txt.partial", "a long unfinished text", 22);
    put(&fixture, "whole");
    expect_content(&fixture, "whole");
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(replace_that_is_abandoned_leaves_the_old_file)
{
    struct fixture fixture;
    struct replacement file;
    struct err err = {0};
    setup(&fixture);
    put(&fixture, "old");
    ck_assert(!replace_open(&file, fixture.path, &err) && !replace_write(&file, "new", 3, &err));
    replace_abandon(&file);
    replace_abandon(&file);
    expect_content(&fixture, "old");
    tempdir_close(&fixture.dir);
}
END_TEST

/* A limit on the size of files stands for a full disk. */
START_TEST(replace_on_a_full_disk_leaves_the_old_file_and_names_it)
{
    static const char large[4096];
    struct fixture fixture;
    struct err err = {0};
    setup(&fixture);
    put(&fixture, "old");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 1000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    replace_file(fixture.path, large, sizeof large, &err);
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(err.code, ERR_IO);
    expect_error(&fixture, &err, "cannot be written: File too large");
    expect_content(&fixture, "old");
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(replace_that_cannot_take_the_name_leaves_nothing_behind)
{
    struct fixture fixture;
    struct err err = {0};
    struct stat status;
    setup(&fixture);
    ck_assert_int_eq(mkdir(fixture.path, 0777), 0);
    ck_assert_int_eq(replace_file(fixture.path, "x", 1, &err), ERR_IO);
    expect_error(&fixture, &err, "cannot be replaced: Is a directory");
    ck_assert_int_eq(stat(fixture.path, &status), 0);
    ck_assert(S_ISDIR(status.st_mode));
    ck_assert_int_ne(access(fixture.partial, F_OK), 0);
    ck_assert_int_eq(rmdir(fixture.path), 0);
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(replace_does_not_write_through_a_link)
{
    struct fixture fixture;
    struct err err = {0};
    setup(&fixture);
    tempdir_write(&fixture.dir, "b.txt", "mine", 4);
    ck_assert_int_eq(symlink("b.txt", fixture.partial), 0);
    ck_assert_int_eq(replace_file(fixture.path, "x", 1, &err), ERR_IO);
    expect_error(&fixture, &err, "cannot be written: Too many levels of symbolic links");
    ck_assert_int_eq(unlink(fixture.partial), 0);
    memcpy(strrchr(fixture.path, '/'), "/b.txt", 6);
    expect_content(&fixture, "mine");
    tempdir_close(&fixture.dir);
}
END_TEST

/* Also behind a link; a rename would put a file there, and root may rename anything. */
START_TEST(replace_leaves_what_is_no_file_as_it_is)
{
    struct fixture fixture;
    struct stat status;
    setup(&fixture);
    ck_assert_int_eq(mkfifo(fixture.path, 0666), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct err err = {0};
        ck_assert_int_eq(replace_file(fixture.path, "x", 1, &err), ERR_IO);
        expect_error(&fixture, &err, "is a FIFO; only a regular file can be replaced");
        ck_assert_int_eq(lstat(fixture.path, &status), 0);
        ck_assert(i == 0 ? S_ISFIFO(status.st_mode) : S_ISLNK(status.st_mode));
        ck_assert_int_ne(access(fixture.partial, F_OK), 0);
        if (i == 0) {
            char fifo[160];
            snprintf(fifo, sizeof fifo, "%s/fifo", fixture.dir.path);
            ck_assert_int_eq(rename(fixture.path, fifo), 0);
            ck_assert_int_eq(symlink("fifo", fixture.path), 0);
        }
    }
    tempdir_close(&fixture.dir);
}
END_TEST

/* Two that write into one file would each put the other's bytes under the name. */
START_TEST(replace_refuses_a_second_writer_until_the_first_has_ended)
{
    struct fixture fixture;
    struct replacement first, second;
    setup(&fixture);
    for (unsigned i = 0; i < 2; i++) {
        struct err err = {0}, refused = {0};
        ck_assert_int_eq(replace_open(&first, fixture.path, &err), ERR_OK);
        ck_assert_int_eq(replace_write(&first, "first", 5, &err), ERR_OK);
        ck_assert_int_eq(replace_open(&second, fixture.path, &refused), ERR_CONFLICT);
        expect_error(&fixture, &refused, "another process is writing it");
        if (i == 0)
            ck_assert_int_eq(replace_commit(&first, &err), ERR_OK);
        else
            replace_abandon(&first);
        expect_content(&fixture, i == 0 ? "first" : "second");
        put(&fixture, "second");
        expect_content(&fixture, "second");
    }
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(replace_names_a_path_that_cannot_be)
{
    char path[PATH_MAX + 10];
    struct err err = {0};
    replace_file("/nowhere/at/all", "x", 1, &err);
    ck_assert_int_eq(err.code, ERR_IO);
    ck_assert_str_eq(err.text, "/nowhere/at/all: cannot be written: No such file or directory");
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    err = (struct err){0};
    ck_assert_int_eq(replace_file(path, "x", 1, &err), ERR_IO);
    ck_assert_uint_eq(strspn(err.text, "a"), 100);
    ck_assert_str_eq(err.text + 100, "...: the path is longer than 4087 bytes");
}
END_TEST

/* A child writes texts of one letter for ever; whenever it is killed, the file is of one letter and
 * of full length. */
START_TEST(replace_survives_a_kill_at_any_moment)
{
    enum { LEN = 65536, KILLS = 12 };
    static char text[LEN + 1];
    struct fixture fixture;
    setup(&fixture);
    memset(text, 'a', LEN);
    put(&fixture, text);
    for (unsigned i = 0; i < KILLS; i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        for (struct err err = {0}; child == 0;) {
            memset(text, 'a' + rand() % 26, LEN);
            if (replace_file(fixture.path, text, LEN, &err))
                _exit(1);
        }
        usleep(1000 * (i % 4) + 137 * i);
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        char *bytes;
        size_t len;
        struct err err = {0};
        ck_assert_msg(!file_read(&bytes, &len, fixture.path, 1 << 20, &err), "%s", err.text);
        ck_assert_uint_eq(len, LEN);
        for (size_t at = 1; at < LEN; at++)
            if (bytes[at] != bytes[0])
                ck_abort_msg("byte %zu", at);
        free(bytes);
    }
    tempdir_close(&fixture.dir);
}
END_TEST

/* The replacement's file is exchanged for a device that fails where a disk would. */
static void expect_failure(const char *device, const char *what, bool in_write)
{
    struct fixture fixture;
    struct replacement file;
    struct err err = {0};
    char expected[512];
    setup(&fixture);
    put(&fixture, "old");
    ck_assert_int_eq(replace_open(&file, fixture.path, &err), ERR_OK);
    int fd = open(device, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(dup2(fd, file.fd), 0);
    close(fd);
    ck_assert_int_eq(replace_write(&file, "new", 3, &err), in_write ? ERR_IO : ERR_OK);
    if (in_write)
        replace_abandon(&file);
    else
        ck_assert_int_eq(replace_commit(&file, &err), ERR_IO);
    ck_assert_int_eq(file.fd, -1);
    snprintf(expected, sizeof expected, "%s: cannot be %s", fixture.path, what);
    ck_assert_str_eq(err.text, expected);
    expect_content(&fixture, "old");
    tempdir_close(&fixture.dir);
}

START_TEST(replace_says_what_could_not_be_done_and_leaves_the_old_file)
{
    expect_failure("/dev/full", "written: No space left on device", true);
    expect_failure("/dev/null", "made durable: Invalid argument", false); /* it cannot be synced */
}
END_TEST

/* The new file is there; that its name is there after a power cut could not be made sure of. */
START_TEST(replace_says_when_the_folder_could_not_be_made_durable)
{
    struct fixture fixture;
    struct replacement file;
    struct err err = {0};
    struct rlimit limit;
    char expected[512];
    setup(&fixture);
    ck_assert_int_eq(replace_open(&file, fixture.path, &err), ERR_OK);
    ck_assert_int_eq(replace_write(&file, "new", 3, &err), ERR_OK);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    enum err_code code = replace_commit(&file, &err);
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(code, ERR_IO);
    snprintf(expected, sizeof expected,
             "%s: cannot be made durable in its folder: Too many open files", fixture.path);
    ck_assert_str_eq(err.text, expected);
    expect_content(&fixture, "new");
    tempdir_close(&fixture.dir);
}
END_TEST

START_TEST(replace_makes_a_file_that_all_may_read_and_write_but_for_the_mask)
{
    struct fixture fixture;
    struct stat status;
    setup(&fixture);
    mode_t before = umask(0);
    put(&fixture, "x");
    umask(before);
    ck_assert_int_eq(stat(fixture.path, &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0666);
    tempdir_close(&fixture.dir);
}
END_TEST

/* The longest path has room for the suffix of the unfinished file; it fails for another reason. */
START_TEST(replace_bounds_the_length_of_a_path)
{
    char path[PATH_MAX];
    memset(path, 'a', sizeof path);
    for (size_t len = PATH_MAX - 10; len <= PATH_MAX - 7; len++) {
        struct replacement file;
        struct err err = {0};
        path[len] = '\0';
        ck_assert_int_eq(replace_open(&file, path, &err), ERR_IO);
        ck_assert_int_eq(file.fd, -1);
        ck_assert_int_eq(strstr(err.text, "...: the path is longer than 4087 bytes") != NULL,
                         len > 4087);
        path[len] = 'a';
    }
}
END_TEST

SUITE("replace", replace_writes_a_new_file_and_replaces_an_old_one,
      replace_works_in_the_current_folder, replace_is_told_of_its_input_and_of_folders,
      replace_takes_over_what_a_kill_left, replace_that_is_abandoned_leaves_the_old_file,
      replace_on_a_full_disk_leaves_the_old_file_and_names_it,
      replace_that_cannot_take_the_name_leaves_nothing_behind,
      replace_leaves_what_is_no_file_as_it_is,
      replace_refuses_a_second_writer_until_the_first_has_ended,
      replace_does_not_write_through_a_link, replace_names_a_path_that_cannot_be,
      replace_survives_a_kill_at_any_moment,
      replace_says_what_could_not_be_done_and_leaves_the_old_file,
      replace_says_when_the_folder_could_not_be_made_durable,
      replace_makes_a_file_that_all_may_read_and_write_but_for_the_mask,
      replace_bounds_the_length_of_a_path)
