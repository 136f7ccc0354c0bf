#include "server/api/route.h"

bool route_is_at(const struct route *route, bool has_admin_address, bool is_admin_address)
{
    return !has_admin_address || route->is_everywhere ||
           (route->scope == SCOPE_ADMIN) == is_admin_address;
}

bool route_changes_state(const struct route *route)
{
    return route->method != HTTP_GET && !route->is_safe;
}
