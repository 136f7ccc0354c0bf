#include "server/api/route.h"

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

bool route_matches(const char *pattern, const char *path)
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

bool route_is_at(const struct route *route, bool has_admin_address, bool is_admin_address)
{
    return !has_admin_address || route->is_everywhere ||
           (route->scope == SCOPE_ADMIN) == is_admin_address;
}

bool route_changes_state(const struct route *route)
{
    return route->method != HTTP_GET && !route->is_safe;
}

const char *route_value(const struct request *request, const char *name)
{
    const char *pattern = request->route->pattern, *path = request->exchange->path;
    size_t len = strlen(name);
    for (; *pattern == '/'; pattern += element(pattern), path += element(path)) {
        pattern++;
        path++;
        if (is_value(pattern, element(pattern)) && element(pattern) == len + 2 &&
            memcmp(pattern + 1, name, len) == 0)
            return arena_copy(&request->exchange->arena, path, element(path));
    }
    assert(!"the route's pattern has the value");
    return NULL;
}
