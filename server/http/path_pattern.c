#include "server/http/path_pattern.h"

#include <assert.h>
#include <string.h>

/* Bytes up to the next '/' or the end. */
static size_t element(const char *path)
{
    return strcspn(path, "/");
}

/* Length of "{name}" at the beginning of an element of the pattern; 0: it has none. */
static size_t value_len(const char *pattern, size_t len)
{
    const char *end = len > 2 && pattern[0] == '{' ? memchr(pattern, '}', len) : NULL;
    return end != NULL && end - pattern > 1 ? (size_t)(end - pattern) + 1 : 0;
}

/* Length of the value in an element of the path that fits the pattern's; 0: it does not. */
static size_t found_len(const char *pattern, size_t wanted, const char *path, size_t found)
{
    const size_t value = value_len(pattern, wanted), rest = wanted - value;
    if (value == 0 || found <= rest || memcmp(pattern + value, path + found - rest, rest) != 0)
        return 0;
    return found - rest;
}

bool path_pattern_matches(const char *pattern, const char *path)
{
    while (*pattern == '/' && *path == '/') {
        pattern++;
        path++;
        size_t wanted = element(pattern), found = element(path);
        if (value_len(pattern, wanted) > 0 ? found_len(pattern, wanted, path, found) == 0
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
        const size_t wanted = element(pattern);
        if (value_len(pattern, wanted) == len + 2 && memcmp(pattern + 1, name, len) == 0)
            return arena_copy(arena, path, found_len(pattern, wanted, path, element(path)));
    }
    assert(!"the pattern has the name");
    return NULL;
}
