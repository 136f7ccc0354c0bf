#include "tests/fuzz/driver/fuzz.h"

#include "engine/base/doc.h"
#include "engine/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 16, FOLDERS_MAX = 16 };

void fuzz_claim_failed(const char *file, int line, const char *claim)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, claim);
    abort();
}

/* ---- files ---- */

static char folder[64];
static struct {
    const char *name;
    char path[256];
    int fd;      /* -1: removed */
    void *bytes; /* [len], what it holds: an input often leaves most of the files as they were */
    size_t len;
} files[FILES_MAX];
static unsigned file_count;

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    nftw(folder, remove_entry, FOLDERS_MAX, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_dir(void)
{
    if (folder[0] != '\0')
        return folder;
    const char *below = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/attnd-fuzz-XXXXXX", below);
    FUZZ_CLAIM(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    return folder;
}

static void make_folders(const char *path)
{
    char part[256];
    for (const char *at = strchr(path + strlen(fuzz_dir()) + 1, '/'); at != NULL;
         at = strchr(at + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(at - path), path);
        FUZZ_CLAIM(mkdir(part, 0700) == 0 || errno == EEXIST);
    }
}

/* The file's place in the table, new if need be. */
static unsigned find_file(const char *name)
{
    for (unsigned i = 0; i < file_count; i++)
        if (strcmp(files[i].name, name) == 0)
            return i;
    FUZZ_CLAIM(file_count < FILES_MAX);
    files[file_count].name = name;
    files[file_count].fd = -1;
    snprintf(files[file_count].path, sizeof files[0].path, "%s/%s", fuzz_dir(), name);
    make_folders(files[file_count].path);
    return file_count++;
}

static void keep(unsigned i, const void *bytes, size_t len)
{
    free(files[i].bytes);
    files[i].bytes = malloc(len + 1);
    FUZZ_CLAIM(files[i].bytes != NULL);
    if (len > 0)
        memcpy(files[i].bytes, bytes, len);
    files[i].len = len;
}

const char *fuzz_file(const char *name, const void *bytes, size_t len)
{
    unsigned i = find_file(name);
    if (files[i].fd >= 0 && files[i].len == len &&
        (len == 0 || memcmp(files[i].bytes, bytes, len) == 0))
        return files[i].path;
    if (files[i].fd < 0)
        files[i].fd = open(files[i].path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_CLAIM(files[i].fd >= 0);
    FUZZ_CLAIM(ftruncate(files[i].fd, (off_t)len) == 0);
    FUZZ_CLAIM(pwrite(files[i].fd, bytes, len, 0) == (ssize_t)len);
    keep(i, bytes, len);
    return files[i].path;
}

void fuzz_file_remove(const char *name)
{
    unsigned i = find_file(name);
    if (files[i].fd < 0)
        return;
    close(files[i].fd);
    files[i].fd = -1;
    unlink(files[i].path);
}

/* ---- inputs ---- */

char *fuzz_copy(const uint8_t *data, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);
    FUZZ_CLAIM(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

unsigned fuzz_byte(struct fuzz_input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

char *fuzz_part(struct fuzz_input *input, uint8_t separator, size_t *len)
{
    const uint8_t *end = input->left > 0 ? memchr(input->at, separator, input->left) : NULL;
    size_t size = end != NULL ? (size_t)(end - input->at) : input->left;
    char *part = malloc(size + 1);
    FUZZ_CLAIM(part != NULL);
    if (size > 0)
        memcpy(part, input->at, size);
    part[size] = '\0';
    if (len != NULL)
        *len = size;
    size += end != NULL;
    input->at += size;
    input->left -= size;
    return part;
}

void fuzz_check_err(const struct err *err)
{
    FUZZ_CLAIM(err->code < ERR_CODE_COUNT);
    FUZZ_CLAIM((err->code != ERR_OK) == (err->text[0] != '\0'));
    size_t len = strnlen(err->text, sizeof err->text);
    FUZZ_CLAIM(len < sizeof err->text);
    for (size_t at = 0, bytes; at < len; at += bytes) {
        bytes = utf8_character_bytes(err->text + at, len - at);
        FUZZ_CLAIM(bytes > 0);
    }
}

bool fuzz_is_json(const char *bytes, size_t len)
{
    struct json_t *root = NULL;
    struct err err = {0};
    doc_parse(&root, bytes, len, &doc_limits_file, &err);
    doc_free(root);
    return err.code == ERR_OK;
}
