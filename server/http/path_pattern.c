#include "server/http/path_pattern.h"

#include <assert.h>
#include <string.h>

/* Bytes up to the next '/' or the end. */
static size_t element(const char *path)
{
    return strcspn(path, "/");
}

static bool is_value(const char *pattern, size_t len)
{
    return len > 2 && pattern[0] == '{' && pattern[len - 1] == '}';
}

bool path_pattern_matches(const char *pattern, const char *path)
{
    while (*pattern == '/' && *path == '/') {
        pattern++;
        path++;
        size_t wanted = element(pattern), found = element(path);
        if (is_value(pattern, wanted) ? found == 0
                                      : wanted != found || memcmp(pattern, path, found) != 0)
            return false;
        pattern += wanted;
        path += found;
    }
    return *pattern == '\0' && *path == '\0';
}

const char *path_pattern_value(const char *pattern, const char *path, const char *name,
                               struct arena *arena)
{
    size_t len = strlen(name);
    for (; *pattern == '/'; pattern += element(pattern), path += element(path)) {
        pattern++;
        path++;
        if (is_value(pattern, element(pattern)) && element(pattern) == len + 2 &&
            memcmp(pattern + 1, name, len) == 0)
            return arena_copy(arena, path, element(path));
    }
    assert(!"the pattern has the name");
    return NULL;
}
