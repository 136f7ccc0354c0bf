#include "engine/base/file.h"
#include "server/api/routes.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `allowed`: the Allow header; "" if the path or the method is no mistake. */
static const struct route *find(const char *path, enum http_method method, enum err_code expected,
                                const char *allowed)
{
    struct err err = {0};
    const struct route *route;
    char allow[ROUTES_ALLOW_BYTES];
    ck_assert_int_eq(routes_find(&route, allow, path, method, &err), expected);
    ck_assert_str_eq(allow, allowed);
    return route;
}

START_TEST(routes_find_every_path_of_the_contract)
{
    ck_assert_str_eq(find("/predict", HTTP_POST, ERR_OK, "")->pattern, "/predict");
    ck_assert_str_eq(find("/healthz", HTTP_GET, ERR_OK, "")->pattern, "/healthz");
    ck_assert_str_eq(find("/readyz", HTTP_GET, ERR_OK, "")->pattern, "/readyz");
    ck_assert_str_eq(find("/metrics", HTTP_GET, ERR_OK, "")->pattern, "/metrics");
    ck_assert_str_eq(find("/models", HTTP_GET, ERR_OK, "")->pattern, "/models");
    ck_assert_str_eq(find("/models/a", HTTP_GET, ERR_OK, "")->pattern, "/models/{name}");
    ck_assert_str_eq(find("/openapi.json", HTTP_GET, ERR_OK, "")->pattern, "/openapi.json");
    ck_assert_str_eq(find("/", HTTP_GET, ERR_OK, "")->pattern, "/");
    ck_assert_str_eq(find("/ui/a", HTTP_GET, ERR_OK, "")->pattern, "/ui/{file}");
    ck_assert_str_eq(find("/admin/reload", HTTP_POST, ERR_OK, "")->pattern, "/admin/reload");
}
END_TEST

START_TEST(routes_answer_head_where_there_is_get)
{
    find("/healthz", HTTP_HEAD, ERR_OK, "");
    find("/models/a", HTTP_HEAD, ERR_OK, "");
    find("/predict", HTTP_HEAD, ERR_METHOD, "POST");
}
END_TEST

START_TEST(routes_list_the_allowed_methods)
{
    find("/predict", HTTP_GET, ERR_METHOD, "POST");
    find("/predict", HTTP_OTHER, ERR_METHOD, "POST");
    find("/admin/reload", HTTP_GET, ERR_METHOD, "POST");
    find("/metrics", HTTP_POST, ERR_METHOD, "GET, HEAD");
    find("/models/a", HTTP_OTHER, ERR_METHOD, "POST, GET, HEAD");
}
END_TEST

START_TEST(routes_know_no_other_path)
{
    static const char *const paths[] = {"",          "//",       "/predict/", "/Predict",
                                        "/healthzz", "/models/", "/models//", "/models/a/b",
                                        "/model",    "/ui",      "/ui/",      "/ui/a/b",
                                        "//predict", "*",        "/admin"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        ck_assert_ptr_null(find(paths[i], HTTP_GET, ERR_NOT_FOUND, ""));
}
END_TEST

START_TEST(routes_of_one_path_have_distinct_methods)
{
    for (unsigned i = 0; i < routes_count(); i++)
        for (unsigned k = 0; k < i; k++)
            ck_assert(strcmp(routes_at(i)->pattern, routes_at(k)->pattern) != 0 ||
                      routes_at(i)->method != routes_at(k)->method);
}
END_TEST

START_TEST(each_path_is_listed_once_and_each_route_has_its_own)
{
    ck_assert_uint_lt(routes_path_count(), routes_count());
    for (unsigned i = 0; i < routes_path_count(); i++)
        for (unsigned k = 0; k < i; k++)
            ck_assert_str_ne(routes_path(i), routes_path(k));
    for (unsigned i = 0; i < routes_count(); i++)
        ck_assert_str_eq(routes_path(routes_path_of(routes_at(i))), routes_at(i)->pattern);
}
END_TEST

/* Routes that ask for predictions. */
static bool is_prediction(const char *pattern)
{
    static const char *const patterns[] = {"/predict",
                                           "/v1/embeddings",
                                           "/v1/rerank",
                                           "/v2/rerank",
                                           "/rerank",
                                           "/embed",
                                           "/embed_all",
                                           "/embed_sparse",
                                           "/tokenize",
                                           "/decode",
                                           "/similarity",
                                           "/generate",
                                           "/generate_stream",
                                           "/models/{name}/pipeline/{task}",
                                           "/",
                                           "/models/{name}",
                                           "/similar",
                                           "/v1/models/{model}:predict",
                                           "/v1/models/{model}/versions/{version}:predict",
                                           "/v2/models/{model}/infer",
                                           "/v2/models/{model}/versions/{version}/infer"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (strcmp(patterns[i], pattern) == 0)
            return true;
    return false;
}

START_TEST(routes_count_a_model_only_for_predictions)
{
    for (unsigned i = 0; i < routes_path_count(); i++)
        ck_assert_int_eq(routes_path_takes_model(i), is_prediction(routes_path(i)));
}
END_TEST

START_TEST(routes_name_the_nearest_route_of_an_unknown_path)
{
    static const char *const rows[][2] = {
        {"/predictions", "/predict"},
        {"/v1/predict", "/predict"},
        {"/predict/", "/predict"},
        {"/models/", "/models"},
        {"/healt", "/health"},
        {"/model/wafers", "/models/wafers"},
        {"/models/a/", "/models/a"},
        {"/admin/model", "/admin/models"},
        {"/admin/models/a/2/promotes", "/admin/models/a/2/promote"},
        {"/admin/models/a", "/admin/models/a/{version}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct route *route;
        char allow[ROUTES_ALLOW_BYTES], text[200];
        struct err err = {0};
        ck_assert_int_eq(routes_find(&route, allow, rows[i][0], HTTP_GET, &err), ERR_NOT_FOUND);
        snprintf(text, sizeof text, "there is nothing at this path; the nearest is %s", rows[i][1]);
        ck_assert_str_eq(err.text, text);
    }
}
END_TEST

START_TEST(a_value_of_the_path_makes_no_route_near)
{
    static const char *const paths[] = {"/v1/chat/completions", "/v1/completions"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const struct route *route;
        char allow[ROUTES_ALLOW_BYTES];
        struct err err = {0};
        ck_assert_int_eq(routes_find(&route, allow, paths[i], HTTP_POST, &err), ERR_NOT_FOUND);
        ck_assert_str_eq(err.text,
                         "there is nothing at this path; GET /openapi.json lists what there is");
    }
}
END_TEST

START_TEST(routes_say_what_is_wrong_with_a_request)
{
    const struct route *route;
    char allow[ROUTES_ALLOW_BYTES] = "before";
    struct err err = {0};
    ck_assert_int_eq(routes_find(&route, allow, "/none", HTTP_GET, &err), ERR_NOT_FOUND);
    ck_assert_int_eq(err.code, ERR_NOT_FOUND);
    ck_assert_str_eq(err.text,
                     "there is nothing at this path; GET /openapi.json lists what there is");
    ck_assert_ptr_null(route);
    ck_assert_str_eq(allow, "");
    err = (struct err){0};
    ck_assert_int_eq(routes_find(&route, allow, "/models/a", HTTP_PATCH, &err), ERR_METHOD);
    ck_assert_int_eq(err.code, ERR_METHOD);
    ck_assert_str_eq(err.text, "/models/{name} answers only POST, GET, HEAD");
    err = (struct err){0};
    ck_assert_int_eq(routes_find(&route, allow, "/review/groups", HTTP_POST, &err), ERR_METHOD);
    ck_assert_str_eq(allow, "GET, HEAD");
}
END_TEST

/* Bounds of a route's body, as SECURITY.md names them. */
static const char *bounds_of(const struct route *route)
{
    return route->protocol != NULL      ? "`body_bytes_max`, `inputs_max`"
           : route->has_body            ? "`LIMIT_UNPOOLED_JSON_BYTES`"
           : route->method == HTTP_POST ? "`LIMIT_UNUSED_BODY_BYTES`"
                                        : "no body";
}

START_TEST(security_page_has_the_table_of_routes)
{
    char *page, *table = NULL;
    size_t len, table_len;
    struct err err = {0};
    ck_assert_msg(file_read(&page, &len, "SECURITY.md", 1 << 20, &err) == ERR_OK, "%s", err.text);
    FILE *memory = open_memstream(&table, &table_len);
    ck_assert_ptr_nonnull(memory);
    fputs("| route | scope | changes state | bounds of its body |\n|---|---|---|---|\n", memory);
    for (unsigned i = 0; i < routes_count(); i++) {
        const struct route *route = routes_at(i);
        fprintf(memory, "| `%s %s` | %s | %s | %s |\n", http_method_name(route->method),
                route->pattern, route->scope == SCOPE_OPEN ? "" : scope_name(route->scope),
                route_changes_state(route) ? "yes" : "", bounds_of(route));
    }
    fclose(memory);
    ck_assert_msg(strstr(page, table) != NULL, "SECURITY.md lacks this table:\n%s", table);
    free(page);
    free(table);
}
END_TEST

SUITE("routes", routes_name_the_nearest_route_of_an_unknown_path,
      a_value_of_the_path_makes_no_route_near, routes_count_a_model_only_for_predictions,
      routes_say_what_is_wrong_with_a_request, routes_find_every_path_of_the_contract,
      routes_answer_head_where_there_is_get, routes_list_the_allowed_methods,
      routes_know_no_other_path, routes_of_one_path_have_distinct_methods,
      each_path_is_listed_once_and_each_route_has_its_own, security_page_has_the_table_of_routes)
