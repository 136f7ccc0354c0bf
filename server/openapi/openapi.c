/* openapi.c - see openapi.h. The document begins as openapi.json. This file adds the members and
 * options that requests may have, a reply for each status that an error has, and an operation for
 * each route; openapi_values.c replaces the "@names". Functions that return an int return 0, or
 * not: there is no memory. */
#include "server/openapi/openapi.h"

#include "engine/base/doc.h"
#include "engine/embed.h"
#include "wire/codec_dump.h"
#include "wire/codec_names.h"
#include "wire/media_type.h"
#include "wire/problem.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

EMBED(openapi_shapes, "server/openapi/openapi.json")

/* ---- members of requests and options of a query: codec_names.h has their names ---- */

/* {"$ref": "#/components/KIND/NAME"}; NULL if there is no memory. */
static json_t *reference(const char *kind, const char *name)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/%s/%s", kind, name));
}

enum { OPTION_BYTES = 64 }; /* name of an option: a prefix and a member's name */

/* An object of a request: its members are those of the list but for `without`. */
static const struct shape {
    const char *schema;
    const struct codec_names *members;
    const char *without[4];
    const char *all_are; /* the schema of each member; NULL: that of its name */
} shapes[] = {
    {"PredictText", &codec_names_call, {"image", "inputs", NULL}, NULL},
    {"PredictImage", &codec_names_call, {"text", "inputs", "text_pair", "question"}, NULL},
    {"PredictInputs", &codec_names_call, {"text", "image", "text_pair", "question"}, NULL},
    {"SimilarText", &codec_names_search, {"image", "inputs", NULL}, NULL},
    {"SimilarImage", &codec_names_search, {"text", "inputs", "text_pair", NULL}, NULL},
    {"SimilarInputs", &codec_names_search, {"text", "image", "text_pair", NULL}, NULL},
    {"TextItem", &codec_names_item, {"image", NULL, NULL}, NULL},
    {"ImageItem", &codec_names_item, {"text", "text_pair", "question"}, NULL},
    {"context", &codec_names_context, {NULL, NULL, NULL}, "context_value"},
    {"FeedbackItem", &codec_names_feedback, {NULL, NULL, NULL}, NULL},
    {"FeedbackList", &codec_names_labels, {NULL, NULL, NULL}, NULL},
    {"LoadRequest", &codec_names_load, {NULL, NULL, NULL}, NULL},
    {"SharesRequest", &codec_names_shares, {NULL, NULL, NULL}, NULL},
    {"PromoteRequest", &codec_names_promote, {NULL, NULL, NULL}, NULL},
    {"FitRequest", &codec_names_fit, {NULL, NULL, NULL}, NULL},
};

static bool is_without(const struct shape *shape, const char *name)
{
    for (int i = 0; i < 4; i++)
        if (shape->without[i] != NULL && strcmp(shape->without[i], name) == 0)
            return true;
    return false;
}

static int add_members(json_t *schemas, const struct shape *shape)
{
    json_t *properties = json_object();
    int failed = 0;
    for (size_t i = 0; i < shape->members->count; i++) {
        const char *name = shape->members->list[i];
        if (!is_without(shape, name))
            failed |= json_object_set_new(
                properties, name,
                reference("schemas", shape->all_are != NULL ? shape->all_are : name));
    }
    failed |=
        json_object_set_new(json_object_get(schemas, shape->schema), "properties", properties);
    return failed;
}

static int add_option(json_t *parameters, const char *name, const char *schema)
{
    json_t *option = json_pack("{s:s, s:s, s:s, s:o}", "name", name, "in", "query", "description",
                               "Beside a JSON body it counts as a member of the "
                               "body; two different values are refused",
                               "schema", reference("schemas", schema));
    return json_object_set_new(parameters, name, option);
}

static void context_option(char out[OPTION_BYTES], size_t index)
{
    snprintf(out, OPTION_BYTES, "context.%s", codec_names_context.list[index]);
}

/* References to all parameters of a raw body's query, at the end of an array. */
static int append_options(json_t *parameters, const struct codec_names *names)
{
    char name[OPTION_BYTES];
    int failed = 0;
    for (size_t i = 0; i < names->count; i++)
        failed |= json_array_append_new(parameters, reference("parameters", names->list[i]));
    for (size_t i = 0; i < codec_names_context.count; i++) {
        context_option(name, i);
        failed |= json_array_append_new(parameters, reference("parameters", name));
    }
    return failed;
}

/* Adds properties to the schemas of requests, and a parameter for each option. */
static int add_names(json_t *components)
{
    json_t *schemas = json_object_get(components, "schemas");
    json_t *parameters = json_object_get(components, "parameters");
    char name[OPTION_BYTES];
    int failed = 0;
    for (size_t i = 0; i < codec_names_query.count; i++)
        failed |= add_option(parameters, codec_names_query.list[i], codec_names_query.list[i]);
    failed |= add_option(parameters, "k", "k"); /* the only one that a search has of its own */
    for (size_t i = 0; i < codec_names_context.count; i++) {
        context_option(name, i);
        failed |= add_option(parameters, name, "context_value");
    }
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        failed |= add_members(schemas, &shapes[i]);
    return failed;
}

/* ---- replies to what fails: a component for each status that an error has (problem.h) ---- */

enum { STATUS_MIN = 400, STATUS_MAX = 599, NAME_BYTES = 16 };

static void problem_name(unsigned status, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "Problem%u", status);
}

/* The errors in `can` whose replies have the status. */
static unsigned errors_with(unsigned status, unsigned can)
{
    unsigned found = 0;
    for (unsigned code = ERR_OK + 1; code < ERR_CODE_COUNT; code++)
        if (problem_status((enum err_code)code) == status)
            found |= OPENAPI_CAN(code);
    return found & can;
}

/* "X-Request-Id", which every reply has, and the others, each a reference by its name; NULL ends
 * them. */
static json_t *reply_headers(const char *const *others)
{
    static const char id[] = "X-Request-Id";
    json_t *headers = json_object();
    int failed = json_object_set_new(headers, id, reference("headers", id));
    for (; *others != NULL; others++)
        failed |= json_object_set_new(headers, *others, reference("headers", *others));
    return codec_whole(headers, failed);
}

/* "Unsupported model; Input or output failed; ...", and the names of the same errors. */
static int describe_problem(unsigned errors, char *titles, size_t size, json_t *names)
{
    int failed = 0;
    for (unsigned code = 0; code < ERR_CODE_COUNT; code++) {
        if ((errors & OPENAPI_CAN(code)) == 0)
            continue;
        size_t len = strlen(titles);
        snprintf(titles + len, size - len, "%s%s", len > 0 ? "; " : "",
                 problem_title((enum err_code)code));
        failed |= json_array_append_new(names, json_string(err_name((enum err_code)code)));
    }
    return failed;
}

/* The header that replies of the status have beside X-Request-Id; NULL: none. */
static const char *header_of(unsigned status)
{
    return problem_is_passing(status)                   ? "Retry-After"
           : status == problem_status(ERR_METHOD)       ? "Allow"
           : status == problem_status(ERR_UNAUTHORIZED) ? "WWW-Authenticate"
                                                        : NULL;
}

static json_t *problem_reply(unsigned status, unsigned errors)
{
    char titles[256] = "";
    json_t *names = json_array();
    if (describe_problem(errors, titles, sizeof titles, names) != 0) {
        json_decref(names);
        return NULL;
    }
    json_t *schema =
        json_pack("{s:[o], s:{s:{s:i}, s:{s:o}}, s:b}", "allOf", reference("schemas", "Problem"),
                  "properties", "status", "const", (int)status, "error_type", "enum", names,
                  "unevaluatedProperties", 0);
    return json_pack("{s:s, s:o, s:{s:{s:o}}}", "description", titles, "headers",
                     reply_headers((const char *const[]){header_of(status), NULL}), "content",
                     "application/problem+json", "schema", schema);
}

static int add_problems(json_t *components)
{
    json_t *responses = json_object_get(components, "responses");
    int failed = 0;
    for (unsigned status = STATUS_MIN; status <= STATUS_MAX; status++) {
        const unsigned all = OPENAPI_CAN(ERR_CODE_COUNT) - 1 - OPENAPI_CAN(ERR_OK);
        const unsigned errors = errors_with(status, all);
        char name[NAME_BYTES];
        problem_name(status, name);
        if (errors != 0)
            failed |= json_object_set_new(responses, name, problem_reply(status, errors));
    }
    return failed;
}

/* The same for a protocol that has a schema of its own for what fails. */
static json_t *own_problem_reply(unsigned status, unsigned errors, const char *schema)
{
    char titles[256] = "";
    json_t *names = json_array();
    const int failed = describe_problem(errors, titles, sizeof titles, names);
    json_decref(names);
    if (failed != 0)
        return NULL;
    return json_pack("{s:s, s:o, s:{s:{s:o}}}", "description", titles, "headers",
                     reply_headers((const char *const[]){header_of(status), NULL}), "content",
                     "application/json", "schema", reference("schemas", schema));
}

/* The replies of the errors, OPENAPI_CAN(code) | ..., by rising status: references or, with a
 * schema, replies of the route's own. */
static int add_failures(json_t *responses, unsigned can, const char *schema)
{
    int failed = 0;
    for (unsigned status = STATUS_MIN; status <= STATUS_MAX; status++) {
        char name[NAME_BYTES], key[NAME_BYTES];
        problem_name(status, name);
        snprintf(key, sizeof key, "%u", status);
        const unsigned errors = errors_with(status, can);
        if (errors != 0)
            failed |= json_object_set_new(responses, key,
                                          schema != NULL ? own_problem_reply(status, errors, schema)
                                                         : reference("responses", name));
    }
    return failed;
}

static int refer(json_t *parameters, const char *name)
{
    return json_array_append_new(parameters, reference("parameters", name));
}

/* ---- what a request has ---- */

/* Parameters of a path: one for each "{name}" of the pattern, and the id and the trace that any
 * request may have. */
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
    return codec_whole(parameters, failed);
}

static json_t *parameters_of(const struct openapi_route *route)
{
    const char *options = route->says->option != NULL ? route->says->option : "";
    json_t *parameters = json_array();
    char name[32];
    int failed = parameters == NULL;
    if (route->says->is_tagged)
        failed |= refer(parameters, "If-None-Match");
    if (route->has_body)
        failed |= refer(parameters, "Content-Encoding");
    if (route->has_body && route->scope != NULL && strcmp(route->scope, "predict") == 0)
        failed |= refer(parameters, "Idempotency-Key");
    for (size_t len; options[0] != '\0'; options += len + (options[len] == ' ')) {
        len = strcspn(options, " ");
        snprintf(name, sizeof name, "%.*s", (int)len, options);
        failed |= refer(parameters, name);
    }
    if (route->has_body && route->says->takes == NULL)
        failed |= append_options(parameters, route->says->is_search ? &codec_names_search_query
                                                                    : &codec_names_query);
    return codec_whole(parameters, failed);
}

/* The JSON that the route takes; of a prediction a body of each type that is read. */
static json_t *body_of(const struct openapi_route *route)
{
    const struct openapi_operation *says = route->says;
    const char *const schemas[] = {[REQUEST_JSON] =
                                       says->is_search ? "SimilarRequest" : "PredictRequest",
                                   [REQUEST_TEXT] = "TextBody",
                                   [REQUEST_IMAGE] = "ImageBody",
                                   [REQUEST_LOT] = "LotBody",
                                   [REQUEST_LINES] = says->is_search ? NULL : "LinesBody"};
    json_t *content = json_object();
    enum request_body body;
    int failed = 0;
    for (unsigned i = 0; media_type_proper(i, &body) != NULL; i++) {
        const char *schema = body == REQUEST_JSON && says->takes != NULL ? says->takes
                             : says->takes == NULL || (body == REQUEST_IMAGE && says->takes_image)
                                 ? schemas[body]
                                 : NULL;
        if (schema != NULL)
            failed |=
                json_object_set_new(content, media_type_proper(i, &body),
                                    json_pack("{s:o}", "schema", reference("schemas", schema)));
    }
    return json_pack("{s:b, s:o}", "required", !route->is_body_optional, "content",
                     codec_whole(content, failed));
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

static json_t *responses_of(const struct openapi_route *route)
{
    const struct openapi_operation *says = route->says;
    const char *const others[] = {says->is_tagged ? "ETag" : NULL, NULL};
    json_t *responses = json_object();
    char status[16];
    json_t *media = says->schema == NULL
                        ? json_object()
                        : json_pack("{s:o}", "schema", reference("schemas", says->schema));
    snprintf(status, sizeof status, "%u", says->status != 0 ? says->status : 200);
    int failed = json_object_set_new(
        responses, status,
        json_pack("{s:s, s:o, s:{s:o}}", "description", "OK", "headers", reply_headers(others),
                  "content", says->schema != NULL ? "application/json" : says->media_type, media));
    if (says->is_tagged)
        failed |= json_object_set_new(responses, "304",
                                      json_pack("{s:s, s:o}", "description", "Not modified",
                                                "headers", reply_headers(others)));
    json_t *ok = json_object_get(responses, status);
    if (says->line != NULL)
        failed |=
            json_object_set_new(json_object_get(ok, "content"), "application/x-ndjson",
                                json_pack("{s:o}", "x-line", reference("schemas", says->line)));
    if (says->event != NULL)
        failed |=
            json_object_set_new(json_object_get(ok, "content"), "text/event-stream",
                                json_pack("{s:o}", "x-event", reference("schemas", says->event)));
    failed |= add_failures(responses, errors_of(route), says->problem);
    return codec_whole(responses, failed);
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
    return codec_whole(operation, failed);
}

/* has_keys: the server takes nothing without a key. */
static int add_paths(json_t *document, const struct openapi_route *routes, unsigned count,
                     bool has_keys)
{
    json_t *paths = json_object_get(document, "paths");
    int failed = paths == NULL;
    for (const struct openapi_route *route = routes; route < routes + count; route++) {
        const char *pattern = route->pattern;
        if (json_object_get(paths, pattern) == NULL) /* routes of several methods share one */
            failed |= json_object_set_new(
                paths, pattern, json_pack("{s:o}", "parameters", path_parameters(pattern)));
        failed |= json_object_set_new(json_object_get(paths, pattern), route->method,
                                      operation_of(route, has_keys));
    }
    return failed;
}

/* ---- the document ---- */

const char *openapi_document(const struct openapi_source *source, struct arena *arena, size_t *len)
{
    static const struct doc_limits limits = {.depth_max = 32, .tokens_max = 100000};
    const size_t shapes_len = (size_t)(openapi_shapes_end - openapi_shapes_begin);
    json_t *document;
    struct err err = {0};
    if (doc_parse(&document, openapi_shapes_begin, shapes_len, &limits, &err))
        return NULL;
    json_t *components = json_object_get(document, "components");
    int failed =
        add_names(components) | add_problems(components) |
        add_paths(document, source->routes, source->route_count, source->snapshot->keys != NULL);
    failed |= openapi_values_fill(document, source->snapshot);
    const char *text = failed == 0 ? codec_dump(document, "", arena, len) : NULL;
    json_decref(document);
    return text;
}
