/* openapi.h - the interface of the server described for programs: an OpenAPI 3.1 document, made
 * from the routes, the names that requests may use, the kinds of errors and the limits in service.
 *
 *     const struct openapi_route routes[] = {{"/models", .method = "get", .says = &says}};
 *     const struct openapi_source source = {routes, 1, request->snapshot};
 *     const char *json = openapi_document(&source, arena, &len);
 *
 * openapi.json is the document with the shapes of bodies, and without what follows from the code:
 * openapi.c adds the paths, the replies to what fails, and the members and options that requests
 * may have; openapi_values.c puts numbers and lists in the places of "@inputs_max" and the like.
 * tests/openapi validates the replies of a running server against it.
 *
 * Threads: no state.
 */
#ifndef ATTND_SERVER_OPENAPI_OPENAPI_H
#define ATTND_SERVER_OPENAPI_OPENAPI_H

#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "server/serve/snapshots.h"

#include <stdbool.h>
#include <stddef.h>

/* Description of a route. */
struct openapi_operation {
    const char *id;         /* a name for programs: "getModel" */
    const char *summary;    /* and a line for people */
    const char *schema;     /* schema of the JSON of a 200, in openapi.json */
    const char *line;       /* schema of a line of a 200 in lines; NULL: there is none */
    const char *event;      /* schema of the data of an event of a 200 in a stream; NULL likewise */
    const char *media_type; /* media type of a 200 that is no JSON; else NULL */
    const char *takes;      /* schema of the JSON that it reads; NULL: a body is a prediction's */
    const char *problem;    /* schema of the JSON of what fails; NULL: application/problem+json */
    const char *option;     /* parameters of its query, by openapi.json, a blank between; or NULL */
    unsigned status;        /* status of a success; 0: 200 */
    unsigned can;           /* OPENAPI_CAN(code) of errors that not every route has */
    bool takes_image;       /* a picture's file may stand in place of `takes` */
    bool is_tagged;         /* a 200 has an ETag, and a 304 may come instead */
    bool is_search; /* the bodies of a prediction, with the options of a search (codec_names.h) */
};

#define OPENAPI_CAN(code) (1U << (code))

struct openapi_route {
    const char *pattern;
    const char *method; /* "get", "post", "patch", "delete" */
    bool has_body, is_body_optional;
    bool changes_state;
    const char *scope; /* scope that a key must have; NULL: no key is needed */
    const struct openapi_operation *says;
};

struct openapi_source {
    const struct openapi_route *routes;
    unsigned route_count;
    const struct snapshot *snapshot;
};

/* Upper bound of the memory that it takes; the tree of the document is the most of it. */
enum { OPENAPI_BYTES = 5 * 1024 * 1024 };

/* The document as compact JSON, NUL-terminated in the arena; NULL if there is no memory. Takes
 * about a millisecond. */
const char *openapi_document(const struct openapi_source *source, struct arena *arena, size_t *len);

/* Private to openapi (openapi_values.c). Replaces every string that begins with '@' in all of the
 * tree: by limits of the code, limits of the configuration in service, and lists of words. 0, or
 * not: there is no memory, or no value of the name. */
struct json_t; /* jansson's */
int openapi_values_fill(struct json_t *tree, const struct snapshot *snapshot);

#endif
