/* tempdir.h - a directory that a test fills with files and removes again.
 *
 *     struct tempdir dir;
 *     tempdir_open(&dir);
 *     tempdir_write(&dir, "config.json", "{}", 2);
 *     ... dir.path ...
 *     tempdir_close(&dir);
 *
 * Any failure fails the test.
 */
#ifndef ATTND_TESTS_SUPPORT_TEMPDIR_H
#define ATTND_TESTS_SUPPORT_TEMPDIR_H

#include <stddef.h>

struct tempdir {
    char path[64];
};

void tempdir_open(struct tempdir *dir);
void tempdir_write(const struct tempdir *dir, const char *name, const void *bytes, size_t len);
void tempdir_copy(const struct tempdir *dir, const char *name, const char *from);

/* Removes the directory and the files in it. */
void tempdir_close(struct tempdir *dir);
/* The same of one that the code under test may have made. */
void tempdir_remove(const char *path);

#endif
