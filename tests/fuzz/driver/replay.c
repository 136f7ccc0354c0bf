/* replay.c - the main() of the fuzz targets without libFuzzer: runs the given inputs, files or
 * folders of files, or without arguments those that are committed, from the repository's root.
 *
 *     build/tests/fuzz/png                              tests/fuzz/corpus/png, and NAME.options'
 *     build/tests/fuzz/png build-fuzz/findings/png-...  what was found
 *     build/tests/fuzz/runner                           the committed inputs of all targets
 *     build/tests/fuzz/runner --list                    their names
 *
 * build/tests/fuzz/png is a link to the runner, which reads the target's name from its own.
 */
#include "tests/fuzz/driver/fuzz.h"

#include "engine/base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INPUT_BYTES_MAX = 16 * 1024 * 1024 };

static struct fuzz_target *targets; /* by name */
static const struct fuzz_target *target;

void fuzz_target_add(struct fuzz_target *added)
{
    struct fuzz_target **at = &targets;
    while (*at != NULL && strcmp((*at)->name, added->name) < 0)
        at = &(*at)->next;
    added->next = *at;
    *at = added;
}

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
    target->run((const uint8_t *)exact, len);
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

/* The target's inputs, or the committed ones if none are given; 0. */
static int replay_all(char **inputs)
{
    unsigned count = 0;
    if (*inputs == NULL) {
        char corpus[512];
        snprintf(corpus, sizeof corpus, "tests/fuzz/corpus/%s", target->name);
        replay(corpus, &count);
        replay_listed(target->name, &count);
    }
    for (; *inputs != NULL; inputs++)
        replay(*inputs, &count);
    target->run((const uint8_t *)"", 0);
    fprintf(stderr, "%u inputs and the empty one\n", count);
    return 0;
}

/* Each in a process of its own, with files of its own. */
static int replay_each(void)
{
    char *none[] = {NULL};
    int failed = 0;
    for (target = targets; target != NULL; target = target->next) {
        int status = 0;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            exit(replay_all(none));
        failed |= pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
    }
    return failed;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : argv[0];
    for (target = targets; target != NULL; target = target->next)
        if (strcmp(target->name, name) == 0)
            return replay_all(argv + 1);
    if (argc == 1 && strcmp(name, "runner") == 0)
        return replay_each();
    for (target = targets; target != NULL; target = target->next)
        puts(target->name);
    return argc == 2 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
}
