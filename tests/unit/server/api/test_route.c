/* Which address serves a route. */
#include "server/api/route.h"

#include "tests/support/suite.h"

START_TEST(with_an_address_for_administration_each_route_is_where_it_belongs)
{
    static const struct route admin = {.scope = SCOPE_ADMIN}, usual = {.scope = SCOPE_PREDICT},
                              open = {.scope = SCOPE_OPEN},
                              watched = {.scope = SCOPE_METRICS, .is_everywhere = true};
    static const struct {
        const struct route *route;
        bool on_main, on_admin;
    } cases[] = {
        {&admin, false, true}, {&usual, true, false}, {&open, true, false}, {&watched, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(route_is_at(cases[i].route, true, false), cases[i].on_main);
        ck_assert_int_eq(route_is_at(cases[i].route, true, true), cases[i].on_admin);
        ck_assert(route_is_at(cases[i].route, false, false));
    }
}
END_TEST

SUITE("route", with_an_address_for_administration_each_route_is_where_it_belongs)
