#include "server/openapi/openapi.h"

#include "engine/base/doc.h"
#include "engine/embed.h"
#include "server/openapi/openapi_names.h"
#include "server/openapi/openapi_paths.h"
#include "server/openapi/openapi_problems.h"
#include "server/openapi/openapi_values.h"
#include "server/protocol/codec_dump.h"

#include <jansson.h>

EMBED(openapi_shapes, "server/openapi/openapi.json")

const char *openapi_document(const struct openapi_source *source, struct arena *arena, size_t *len)
{
    static const struct doc_limits limits = {.depth_max = 32, .tokens_max = 100000};
    const size_t shapes_len = (size_t)(openapi_shapes_end - openapi_shapes_begin);
    json_t *document;
    struct err err = {0};
    if (doc_parse(&document, openapi_shapes_begin, shapes_len, &limits, &err))
        return NULL;
    json_t *components = json_object_get(document, "components");
    int failed = openapi_names_add(components) | openapi_problems_add(components) |
                 openapi_paths_add(document, source->routes, source->route_count,
                                   source->snapshot->keys != NULL);
    failed |= openapi_values_fill(document, source->snapshot);
    const char *text = failed == 0 ? codec_dump(document, "", arena, len) : NULL;
    json_decref(document);
    return text;
}
