#include "server/openapi/openapi_names.h"

#include "server/protocol/codec_names.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64 }; /* name of an option: a prefix and a member's name */

/* An object of a request: its members are those of the list but for `without`. */
static const struct shape {
    const char *schema;
    const struct codec_names *members;
    const char *without[3];
    const char *all_are; /* the schema of each member; NULL: that of its name */
} shapes[] = {
    {"PredictText", &codec_names_call, {"image", "inputs", NULL}, NULL},
    {"PredictImage", &codec_names_call, {"text", "inputs", "text_pair"}, NULL},
    {"PredictInputs", &codec_names_call, {"text", "image", "text_pair"}, NULL},
    {"TextItem", &codec_names_item, {"image", NULL, NULL}, NULL},
    {"ImageItem", &codec_names_item, {"text", "text_pair", NULL}, NULL},
    {"context", &codec_names_context, {NULL, NULL, NULL}, "context_value"},
    {"FeedbackItem", &codec_names_feedback, {NULL, NULL, NULL}, NULL},
    {"FeedbackList", &codec_names_labels, {NULL, NULL, NULL}, NULL},
    {"LoadRequest", &codec_names_load, {NULL, NULL, NULL}, NULL},
    {"SharesRequest", &codec_names_shares, {NULL, NULL, NULL}, NULL},
    {"PromoteRequest", &codec_names_promote, {NULL, NULL, NULL}, NULL},
    {"FitRequest", &codec_names_fit, {NULL, NULL, NULL}, NULL},
};

json_t *openapi_names_reference(const char *kind, const char *name)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/%s/%s", kind, name));
}

static bool is_without(const struct shape *shape, const char *name)
{
    for (int i = 0; i < 3; i++)
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
                openapi_names_reference("schemas", shape->all_are != NULL ? shape->all_are : name));
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
                               "schema", openapi_names_reference("schemas", schema));
    return json_object_set_new(parameters, name, option);
}

static void context_option(char out[NAME_BYTES], size_t index)
{
    snprintf(out, NAME_BYTES, "context.%s", codec_names_context.list[index]);
}

static int add_options(json_t *parameters)
{
    char name[NAME_BYTES];
    int failed = 0;
    for (size_t i = 0; i < codec_names_query.count; i++)
        failed |= add_option(parameters, codec_names_query.list[i], codec_names_query.list[i]);
    for (size_t i = 0; i < codec_names_context.count; i++) {
        context_option(name, i);
        failed |= add_option(parameters, name, "context_value");
    }
    return failed;
}

int openapi_names_append_options(json_t *parameters)
{
    char name[NAME_BYTES];
    int failed = 0;
    for (size_t i = 0; i < codec_names_query.count; i++)
        failed |= json_array_append_new(
            parameters, openapi_names_reference("parameters", codec_names_query.list[i]));
    for (size_t i = 0; i < codec_names_context.count; i++) {
        context_option(name, i);
        failed |= json_array_append_new(parameters, openapi_names_reference("parameters", name));
    }
    return failed;
}

int openapi_names_add(json_t *components)
{
    json_t *schemas = json_object_get(components, "schemas");
    int failed = add_options(json_object_get(components, "parameters"));
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        failed |= add_members(schemas, &shapes[i]);
    return failed;
}
