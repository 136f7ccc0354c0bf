/* The main() of the unit tests: runs the suites that are linked into the program.
 *
 *     build/tests/engine/base/runner                      all of them
 *     build/tests/engine/base/runner test_arena base64    these, by file or by name
 *     build/tests/engine/base/test_arena                  the one of this file (a link to the runner)
 *     build/tests/engine/base/runner --list               their files
 */
#include "tests/support/suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct suite *suites; /* by file */

void suite_add(struct suite *suite)
{
    struct suite **at = &suites;
    while (*at != NULL && strcmp((*at)->file, suite->file) < 0)
        at = &(*at)->next;
    suite->next = *at;
    *at = suite;
}

/* "test_arena" of "tests/unit/engine/base/test_arena.c"; len without the ending. */
static const char *base_of(const char *path, int *len)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    *len = (int)strcspn(base, ".");
    return base;
}

static bool has_name(const struct suite *suite, const char *wanted)
{
    int len;
    const char *file = base_of(suite->file, &len);
    return strcmp(suite->name, wanted) == 0 ||
           (strlen(wanted) == (size_t)len && strncmp(file, wanted, (size_t)len) == 0);
}

/* False if the program has no such suite. wanted NULL: all. */
static bool run(const char *wanted, int *failed)
{
    bool found = false;
    for (struct suite *suite = suites; suite != NULL; suite = suite->next) {
        if (wanted != NULL && !has_name(suite, wanted))
            continue;
        found = true;
        *failed |= suite->run();
    }
    return found;
}

int main(int argc, char **argv)
{
    int len, failed = 0;
    const char *self = base_of(argv[0], &len);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (const struct suite *suite = suites; suite != NULL; suite = suite->next) {
            const char *file = base_of(suite->file, &len);
            printf("%.*s\n", len, file);
        }
        return 0;
    }
    if (argc == 1 && !run(strcmp(self, "runner") == 0 ? NULL : self, &failed)) {
        fprintf(stderr, "%s: has no suite of this name; --list prints those it has\n", argv[0]);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        if (!run(argv[i], &failed)) {
            fprintf(stderr, "%s: has no suite '%s'; --list prints those it has\n", argv[0],
                    argv[i]);
            return 2;
        }
    }
    return failed;
}
