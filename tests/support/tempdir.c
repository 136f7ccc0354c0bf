#include "tests/support/tempdir.h"

#include "engine/base/file.h"

#include <check.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tempdir_open(struct tempdir *dir)
{
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || strlen(parent) > sizeof dir->path / 2)
        parent = "/tmp";
    snprintf(dir->path, sizeof dir->path, "%s/attnd-test-XXXXXX", parent);
    ck_assert_ptr_nonnull(mkdtemp(dir->path));
}

void tempdir_write(const struct tempdir *dir, const char *name, const void *bytes, size_t len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

void tempdir_remove(const char *path)
{
    DIR *entries = opendir(path);
    if (entries == NULL)
        return;
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries))
        if (entry->d_name[0] != '.' && unlinkat(dirfd(entries), entry->d_name, 0) != 0) {
            char below[PATH_MAX];
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
            tempdir_remove(below);
        }
    closedir(entries);
    ck_assert_int_eq(rmdir(path), 0);
}

void tempdir_close(struct tempdir *dir)
{
    ck_assert_int_eq(access(dir->path, F_OK), 0);
    tempdir_remove(dir->path);
}

void tempdir_copy(const struct tempdir *dir, const char *name, const char *from)
{
    char *bytes;
    size_t len;
    struct err err = {0};
    ck_assert_msg(file_read(&bytes, &len, from, 1 << 24, &err) == ERR_OK, "%s: %s", from, err.text);
    tempdir_write(dir, name, bytes, len);
    free(bytes);
}
