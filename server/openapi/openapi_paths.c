#include "server/openapi/openapi_paths.h"

#include "server/openapi/openapi_names.h"
#include "server/openapi/openapi_problems.h"
#include "server/protocol/media_type.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

static int refer(json_t *parameters, const char *name)
{
    return json_array_append_new(parameters, openapi_names_reference("parameters", name));
}

/* ---- what a request has ---- */

/* One of the path for each "{name}" of the pattern, and the id and the trace that any request may
 * have. */
static json_t *path_parameters(const char *pattern)
{
    json_t *parameters = json_array();
    int failed = refer(parameters, "X-Request-Id") | refer(parameters, "traceparent");
    for (const char *at = strchr(pattern, '{'); at != NULL; at = strchr(at + 1, '{')) {
        int len = (int)strcspn(at + 1, "}");
        failed |= json_array_append_new(
            parameters, json_pack("{s:s%, s:s, s:b, s:{s:s}}", "name", at + 1, (size_t)len, "in",
                                  "path", "required", 1, "schema", "type", "string"));
    }
    if (failed == 0)
        return parameters;
    json_decref(parameters);
    return NULL;
}

static int refer_options(json_t *parameters, const char *options)
{
    char name[32];
    int failed = 0;
    for (size_t len; options[0] != '\0'; options += len + (options[len] == ' ')) {
        len = strcspn(options, " ");
        snprintf(name, sizeof name, "%.*s", (int)len, options);
        failed |= refer(parameters, name);
    }
    return failed;
}

static json_t *parameters_of(const struct openapi_route *route)
{
    json_t *parameters = json_array();
    int failed = parameters == NULL;
    if (route->says->is_tagged)
        failed |= refer(parameters, "If-None-Match");
    if (route->has_body)
        failed |= refer(parameters, "Content-Encoding");
    if (route->says->option != NULL)
        failed |= refer_options(parameters, route->says->option);
    if (route->has_body && route->says->takes == NULL)
        failed |= openapi_names_append_options(parameters);
    if (failed == 0)
        return parameters;
    json_decref(parameters);
    return NULL;
}

/* A body of each type that is read, by what it is read as. */
static json_t *prediction_body(void)
{
    static const char *const schemas[] = {[REQUEST_JSON] = "PredictRequest",
                                          [REQUEST_TEXT] = "TextBody",
                                          [REQUEST_IMAGE] = "ImageBody"};
    json_t *content = json_object();
    enum request_body body;
    int failed = 0;
    for (unsigned i = 0; media_type_proper(i, &body) != NULL; i++)
        failed |= json_object_set_new(
            content, media_type_proper(i, &body),
            json_pack("{s:o}", "schema", openapi_names_reference("schemas", schemas[body])));
    if (failed == 0)
        return json_pack("{s:b, s:o}", "required", 1, "content", content);
    json_decref(content);
    return NULL;
}

static json_t *body_of(const struct openapi_route *route)
{
    const struct openapi_operation *says = route->says;
    if (says->takes == NULL)
        return prediction_body();
    return json_pack("{s:b, s:{s:{s:o}}}", "required", !route->is_body_optional, "content",
                     "application/json", "schema", openapi_names_reference("schemas", says->takes));
}

/* ---- what it is answered with ---- */

/* Errors that are possible for this kind of route, and those that the route names itself. */
static unsigned errors_of(const struct openapi_route *route)
{
    unsigned can = OPENAPI_CAN(ERR_MALFORMED) | OPENAPI_CAN(ERR_METHOD) | OPENAPI_CAN(ERR_SLOW) |
                   OPENAPI_CAN(ERR_TOO_LARGE) | OPENAPI_CAN(ERR_NO_MEMORY);
    if (strchr(route->pattern, '{') != NULL)
        can |= OPENAPI_CAN(ERR_NOT_FOUND);
    if (strcmp(route->method, "post") == 0 || strcmp(route->method, "patch") == 0)
        can |= OPENAPI_CAN(ERR_QUEUE_FULL);
    if (route->has_body)
        can |= OPENAPI_CAN(ERR_LENGTH) | OPENAPI_CAN(ERR_MEDIA_TYPE);
    if (route->changes_state)
        can |= OPENAPI_CAN(ERR_FORBIDDEN) | OPENAPI_CAN(ERR_MEDIA_TYPE);
    if (route->scope != NULL)
        can |=
            OPENAPI_CAN(ERR_UNAUTHORIZED) | OPENAPI_CAN(ERR_FORBIDDEN) | OPENAPI_CAN(ERR_TOO_MANY);
    return can | route->says->can;
}

static json_t *media_of(const struct openapi_operation *says)
{
    return says->schema == NULL
               ? json_object()
               : json_pack("{s:o}", "schema", openapi_names_reference("schemas", says->schema));
}

static json_t *responses_of(const struct openapi_route *route)
{
    const struct openapi_operation *says = route->says;
    const char *const others[] = {says->is_tagged ? "ETag" : NULL, NULL};
    json_t *responses = json_object();
    char status[16];
    snprintf(status, sizeof status, "%u", says->status != 0 ? says->status : 200);
    int failed = json_object_set_new(
        responses, status,
        json_pack("{s:s, s:o, s:{s:o}}", "description", "OK", "headers",
                  openapi_problems_headers(others), "content",
                  says->schema != NULL ? "application/json" : says->media_type, media_of(says)));
    if (says->is_tagged)
        failed |= json_object_set_new(responses, "304",
                                      json_pack("{s:s, s:o}", "description", "Not modified",
                                                "headers", openapi_problems_headers(others)));
    failed |= openapi_problems_refer(responses, errors_of(route));
    if (failed == 0)
        return responses;
    json_decref(responses);
    return NULL;
}

/* ---- operations ---- */

/* A key with the scope; as long as the server has no keys, nothing will do as well. */
static json_t *security_of(const struct openapi_route *route, bool has_keys)
{
    json_t *security = json_pack("[{s:[s]}]", "key", route->scope);
    if (has_keys || security == NULL || json_array_append_new(security, json_object()) == 0)
        return security;
    json_decref(security);
    return NULL;
}

static json_t *operation_of(const struct openapi_route *route, bool has_keys)
{
    json_t *operation = json_pack("{s:s, s:s, s:o}", "operationId", route->says->id, "summary",
                                  route->says->summary, "parameters", parameters_of(route));
    int failed = operation == NULL;
    if (route->has_body)
        failed |= json_object_set_new(operation, "requestBody", body_of(route));
    failed |= json_object_set_new(operation, "responses", responses_of(route));
    if (route->scope != NULL)
        failed |= json_object_set_new(operation, "security", security_of(route, has_keys));
    if (route->changes_state)
        failed |= json_object_set_new(operation, "x-changes-state", json_true());
    if (failed == 0)
        return operation;
    json_decref(operation);
    return NULL;
}

/* The object of a path, which routes of several methods share; NULL if there is no memory. */
static json_t *path_of(json_t *paths, const char *pattern)
{
    if (json_object_get(paths, pattern) == NULL)
        json_object_set_new(paths, pattern,
                            json_pack("{s:o}", "parameters", path_parameters(pattern)));
    return json_object_get(paths, pattern);
}

int openapi_paths_add(json_t *document, const struct openapi_route *routes, unsigned count,
                      bool has_keys)
{
    json_t *paths = json_object_get(document, "paths");
    int failed = paths == NULL;
    for (const struct openapi_route *route = routes; route < routes + count; route++)
        failed |= json_object_set_new(path_of(paths, route->pattern), route->method,
                                      operation_of(route, has_keys));
    return failed;
}
