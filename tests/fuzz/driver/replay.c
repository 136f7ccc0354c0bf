/* replay.c - the main() of a fuzz target without libFuzzer: runs the given inputs, files or folders
 * of files, or without arguments those that are committed for it, from the repository's root.
 *
 *     build/tests/fuzz/png                              tests/fuzz/corpus/png, and NAME.options'
 *     build/tests/fuzz/png build-fuzz/findings/png-...  what was found
 */
#include "tests/fuzz/driver/fuzz.h"

#include "engine/base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INPUT_BYTES_MAX = 16 * 1024 * 1024 };

/* Targets with a mutator of their own name it; nothing is mutated here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max)
{
    (void)data, (void)size_max;
    return size;
}

/* The name first, so that the last line before a crash tells the input. */
static void replay_file(const char *path, unsigned *count)
{
    char *bytes;
    size_t len;
    struct err err = {0};
    fprintf(stderr, "%s\n", path);
    if (file_read(&bytes, &len, path, INPUT_BYTES_MAX, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    char *exact = fuzz_copy((const uint8_t *)bytes, len);
    free(bytes);
    LLVMFuzzerTestOneInput((const uint8_t *)exact, len);
    free(exact);
    (*count)++;
}

static void replay_folder(const char *path, unsigned *count)
{
    struct dirent **entries;
    int found = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < found; i++) {
        char file[1024];
        struct stat status;
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        if (stat(file, &status) == 0 && S_ISREG(status.st_mode))
            replay_file(file, count);
        free(entries[i]);
    }
    if (found >= 0)
        free(entries);
}

static void replay(const char *path, unsigned *count)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        fprintf(stderr, "%s: no such file or folder\n", path);
        exit(1);
    }
    if (S_ISDIR(status.st_mode))
        replay_folder(path, count);
    else
        replay_file(path, count);
}

/* The folders that NAME.options lists. */
static void replay_listed(const char *name, unsigned *count)
{
    char path[512];
    snprintf(path, sizeof path, "tests/fuzz/%s.options", name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    while (fgets(path, sizeof path, file) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        if (path[0] != '\0' && path[0] != '-')
            replay(path, count);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    if (argc < 2) {
        char corpus[512];
        const char *slash = strrchr(argv[0], '/');
        const char *name = slash != NULL ? slash + 1 : argv[0];
        snprintf(corpus, sizeof corpus, "tests/fuzz/corpus/%s", name);
        replay(corpus, &count);
        replay_listed(name, &count);
    }
    for (int i = 1; i < argc; i++)
        replay(argv[i], &count);
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    fprintf(stderr, "%u inputs and the empty one\n", count);
    return 0;
}
