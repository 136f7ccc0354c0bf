#include "engine/base/file.h"
#include "engine/base/sha256.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(char *path, size_t bytes)
{
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    for (size_t i = 0; i < bytes; i++)
        ck_assert_int_eq(write(fd, &(char){(char)('a' + i % 26)}, 1), 1);
    close(fd);
}

/* PATH_MAX counts the NUL: a directory of PATH_MAX - 3 bytes leaves room for "/x". */
START_TEST(file_path_is_as_long_as_paths_are)
{
    static char dir[PATH_MAX];
    char out[PATH_MAX], want[160];
    struct err err = {0};
    memset(dir, 'd', PATH_MAX - 3);
    ck_assert(!file_path(out, dir, "x", &err));
    ck_assert_uint_eq(strlen(out), PATH_MAX - 1);
    ck_assert_str_eq(out + PATH_MAX - 3, "/x");
    ck_assert_int_eq(file_path(out, dir, "xy", &err), ERR_IO);
    snprintf(want, sizeof want, "%.100s...: the directory's path is too long", dir);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(file_read_returns_every_size_whole)
{
    static const size_t sizes[] = {0, 1, 16382, 16383, 16384, 16385, 40000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char path[] = "/tmp/attnd-file-XXXXXX", *bytes;
        size_t len;
        struct err err = {0};
        write_file(path, sizes[i]);
        ck_assert_int_eq(file_read(&bytes, &len, path, 40000, &err), ERR_OK);
        ck_assert_uint_eq(len, sizes[i]);
        for (size_t k = 0; k < len; k++)
            ck_assert_int_eq(bytes[k], 'a' + (int)(k % 26));
        ck_assert_int_eq(bytes[len], '\0');
        free(bytes);
        unlink(path);
    }
}
END_TEST

START_TEST(file_read_refuses_one_byte_over_the_limit)
{
    char path[] = "/tmp/attnd-file-XXXXXX", *bytes;
    size_t len;
    struct err err = {0};
    write_file(path, 101);
    ck_assert_int_eq(file_read(&bytes, &len, path, 100, &err), ERR_TOO_LARGE);
    ck_assert_str_eq(err.text, "larger than 100 bytes");
    ck_assert_ptr_null(bytes);
    err = (struct err){0};
    ck_assert_int_eq(file_read(&bytes, &len, path, 101, &err), ERR_OK);
    free(bytes);
    unlink(path);
}
END_TEST

START_TEST(file_read_says_why_a_file_cannot_be_read)
{
    char *bytes;
    size_t len;
    struct err err = {0};
    ck_assert_int_eq(file_read(&bytes, &len, "/nonexistent/file", 100, &err), ERR_IO);
    ck_assert_str_eq(err.text, "cannot be opened: No such file or directory");
    err = (struct err){0};
    ck_assert_int_eq(file_read(&bytes, &len, "/tmp", 100, &err), ERR_IO);
    ck_assert_str_eq(err.text, "cannot be read: Is a directory");
    ck_assert_ptr_null(bytes);
}
END_TEST

/* Makes an entry that is no regular file, by itself or behind a link. It must be refused without
 * waiting. */
static void make_special(const char *dir, char path[128], unsigned kind)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char target[96];
    snprintf(path, 128, "%s/x", dir);
    snprintf(target, sizeof target, "%s/y", dir);
    snprintf(address.sun_path, sizeof address.sun_path, "%.99s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(kind == 0   ? mkfifo(path, 0600)
                     : kind == 1 ? mkfifo(target, 0600) + symlink("y", path)
                     : kind == 2 ? bind(fd, (struct sockaddr *)&address, sizeof address)
                     : kind == 3 ? symlink("/dev/zero", path)
                     : kind == 4 ? symlink("/dev/full", path)
                                 : mkdir(path, 0700),
                     0);
    close(fd);
}

START_TEST(only_regular_files_are_opened)
{
    static const char *const why[] = {
        "is a FIFO; a regular file is needed",   "is a FIFO; a regular file is needed",
        "is a socket; a regular file is needed", "is a device; a regular file is needed",
        "is a device; a regular file is needed", "cannot be read: Is a directory"};
    for (unsigned kind = 0; kind < 6; kind++) {
        struct tempdir dir;
        char path[128], *bytes, out[SHA256_HEX_BYTES];
        size_t len;
        struct err err = {0}, of_input = {0}, of_hash = {0};
        tempdir_open(&dir);
        make_special(dir.path, path, kind);
        ck_assert_int_eq(file_read(&bytes, &len, path, 100, &err), ERR_IO);
        ck_assert_str_eq(err.text, why[kind]);
        ck_assert_ptr_null(bytes);
        ck_assert_int_eq(file_read_input(&bytes, &len, path, 100, &of_input), ERR_UNUSABLE);
        ck_assert_str_eq(of_input.text, why[kind]);
        ck_assert_int_eq(sha256_files((const char *const[]){path}, 1, NULL, out, &of_hash), ERR_IO);
        ck_assert_ptr_nonnull(strstr(of_hash.text, why[kind]));
        if (kind == 5)
            rmdir(path);
        tempdir_close(&dir);
    }
}
END_TEST

/* A shell's <(...) is one. */
START_TEST(a_fifo_that_the_caller_named_is_read)
{
    int ends[2];
    char path[64], *bytes;
    size_t len;
    struct err err = {0};
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "key", 3), 3);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    ck_assert_int_eq(file_read_given(&bytes, &len, path, 100, &err), ERR_OK);
    ck_assert_str_eq(bytes, "key");
    free(bytes);
    ck_assert_int_eq(file_read(&bytes, &len, path, 100, &err), ERR_IO);
    close(ends[0]);
    err = (struct err){0};
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], "a whole text", 12), 12);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    ck_assert_int_eq(file_read_input(&bytes, &len, path, 100, &err), ERR_OK);
    ck_assert_str_eq(bytes, "a whole text");
    free(bytes);
    close(ends[0]);
}
END_TEST

/* The reading is done in a child: the input is its standard input. */
START_TEST(every_name_of_an_open_descriptor_is_an_input)
{
    static const char *const names[] = {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const pid_t child = fork();
        if (child == 0) {
            int ends[2];
            char *bytes;
            size_t len;
            struct err err = {0};
            if (pipe(ends) != 0 || write(ends[1], "a text", 6) != 6 || dup2(ends[0], 0) != 0)
                _exit(2);
            close(ends[1]);
            _exit(file_read_input(&bytes, &len, names[i], 100, &err) != ERR_OK ||
                  strcmp(bytes, "a text") != 0);
        }
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(status == 0, "%s: %d", names[i], status);
    }
}
END_TEST

START_TEST(a_directory_is_one_process_s_at_a_time)
{
    struct tempdir dir;
    char path[128], want[200];
    int mine, other, ends[2], held[2];
    char byte = 0;
    struct err err = {0};
    tempdir_open(&dir);
    snprintf(path, sizeof path, "%s/state", dir.path);
    snprintf(want, sizeof want, "%s: another process uses this directory", path);
    ck_assert_int_eq(pipe(ends) + pipe(held), 0);
    const pid_t child = fork();
    if (child == 0) { /* has it until it is told to end */
        close(ends[1]);
        byte = (char)file_lock_dir(&mine, path, "lock", 0, &err);
        _exit(write(held[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 0);
    }
    ck_assert_int_eq(read(held[0], &byte, 1), 1);
    ck_assert_int_eq(byte, ERR_OK);
    ck_assert_int_eq(file_lock_dir(&other, path, "lock", 0, &err), ERR_CONFLICT);
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(other, -1);
    err = (struct err){0};
    close(ends[1]);
    ck_assert_int_eq(file_lock_dir(&other, path, "lock", 3600000, &err), ERR_OK);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_eq(file_lock_dir(&mine, path, "another-use", 0, &err), ERR_OK);
    snprintf(want, sizeof want, "%s/another-use", path);
    unlink(want);
    close(mine);
    close(other);
    close(ends[0]);
    close(held[0]);
    close(held[1]);
    snprintf(want, sizeof want, "%s/lock", path);
    unlink(want);
    rmdir(path);
    err = (struct err){0};
    ck_assert_int_eq(file_lock_dir(&other, "/nonexistent/state", "lock", 0, &err), ERR_IO);
    ck_assert_str_eq(err.text, "/nonexistent/state: cannot be made: No such file or directory");
    tempdir_close(&dir);
}
END_TEST

/* The files are opened in a child: its descriptors are its own. */
START_TEST(a_standard_descriptor_that_is_closed_is_not_the_next_files)
{
    for (int closed = 0; closed < 8; closed++) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            for (int fd = 0; fd < 3; fd++)
                if ((closed >> fd & 1) != 0)
                    close(fd);
            file_open_standard();
            char byte = 'x';
            bool is_right = open("/dev/null", O_RDONLY) > 2;
            for (int fd = 0; fd < 3; fd++)
                if ((closed >> fd & 1) != 0)
                    is_right = is_right && (fd == 0 ? read(fd, &byte, 1) : write(fd, &byte, 1)) < 0;
            _exit(!is_right);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(status == 0, "%d", closed);
    }
}
END_TEST

START_TEST(file_read_input_blames_the_path_for_what_is_the_paths_fault)
{
    static const char *const paths[] = {"/nonexistent/file", "/tmp", "/etc/passwd/file"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char *bytes;
        size_t len;
        struct err err = {0};
        ck_assert_int_eq(file_read_input(&bytes, &len, paths[i], 1 << 20, &err), ERR_UNUSABLE);
        ck_assert_msg(strstr(err.text, "cannot be ") == err.text, "%s", err.text);
        ck_assert_ptr_null(bytes);
    }
}
END_TEST

START_TEST(file_read_input_does_not_blame_the_path_for_descriptors)
{
    char *bytes;
    size_t len;
    struct err err = {0};
    struct rlimit was, none;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = (struct rlimit){0, was.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    enum err_code code = file_read_input(&bytes, &len, "/etc/passwd", 1 << 20, &err);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    ck_assert_int_eq(code, ERR_IO);
    ck_assert_str_eq(err.text, "cannot be opened: Too many open files");
}
END_TEST

START_TEST(file_exists_tells_what_is_absent_from_what_cannot_be_looked_at)
{
    bool found = false;
    struct err err = {0};
    char loop[] = "/tmp/attnd-file-XXXXXX";
    write_file(loop, 0);
    ck_assert(!file_exists(loop, &found, &err) && found);
    ck_assert(!file_exists("/nonexistent/file", &found, &err) && !found);
    ck_assert(!file_exists("/etc/passwd/file", &found, &err) && !found);
    ck_assert_int_eq(unlink(loop), 0);
    ck_assert_int_eq(symlink(loop, loop), 0);
    ck_assert_int_eq(file_exists(loop, &found, &err), ERR_IO);
    ck_assert_ptr_nonnull(strstr(err.text, ": cannot be looked at: Too many levels"));
    ck_assert_int_eq(unlink(loop), 0);
}
END_TEST

START_TEST(file_read_takes_a_dash_for_standard_input_and_leaves_it_open)
{
    char path[] = "/tmp/attnd-file-XXXXXX", *bytes;
    size_t len;
    struct err err = {0};
    write_file(path, 30);
    ck_assert_ptr_nonnull(freopen(path, "rb", stdin));
    ck_assert_int_eq(file_read_given(&bytes, &len, "-", 100, &err), ERR_OK);
    ck_assert_uint_eq(len, 30);
    ck_assert_int_eq(strncmp(bytes, "abcdefghijklmnopqrstuvwxyzabcd", 30), 0);
    free(bytes);
    rewind(stdin);
    ck_assert_int_eq(getchar(), 'a');
    unlink(path);
}
END_TEST

START_TEST(file_last_part_is_what_a_folder_is_called)
{
    static const char *const paths[][2] = {
        {"models/a", "a"}, {"a", "a"}, {"/x/a//", "a"}, {"..", ".."}, {"", ""}};
    char part[NAME_MAX + 1];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        file_last_part(paths[i][0], part);
        ck_assert_str_eq(part, paths[i][1]);
    }
}
END_TEST

START_TEST(file_is_part_of_a_path_or_none)
{
    char longest[FILE_PART_BYTES + 2];
    static const char *const good[] = {"1", "2026-11", "v1.2", "...", ".a", "a b", "\xC3\xA4"};
    static const char *const bad[] = {"",  ".",   "..",   "2026/11", "../../x",
                                      "/", "a\n", "\x7F", "\t"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(file_is_part(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!file_is_part(bad[i]), "%s", bad[i]);
    memset(longest, 'v', sizeof longest);
    longest[FILE_PART_BYTES + 1] = '\0';
    ck_assert(!file_is_part(longest));
    longest[FILE_PART_BYTES] = '\0';
    ck_assert(file_is_part(longest));
}
END_TEST

SUITE("file", file_read_takes_a_dash_for_standard_input_and_leaves_it_open,
      file_last_part_is_what_a_folder_is_called, file_path_is_as_long_as_paths_are,
      file_read_returns_every_size_whole, file_read_refuses_one_byte_over_the_limit,
      file_read_says_why_a_file_cannot_be_read, file_is_part_of_a_path_or_none,
      only_regular_files_are_opened, a_directory_is_one_process_s_at_a_time,
      a_standard_descriptor_that_is_closed_is_not_the_next_files,
      a_fifo_that_the_caller_named_is_read, every_name_of_an_open_descriptor_is_an_input,
      file_read_input_blames_the_path_for_what_is_the_paths_fault,
      file_read_input_does_not_blame_the_path_for_descriptors,
      file_exists_tells_what_is_absent_from_what_cannot_be_looked_at)
