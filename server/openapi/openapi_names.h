/* openapi_names.h - the members of requests and the options of a query (codec_names.h), each a
 * reference to the schema of its name. Private to openapi. Threads: no state. */
#ifndef ATTND_SERVER_OPENAPI_OPENAPI_NAMES_H
#define ATTND_SERVER_OPENAPI_OPENAPI_NAMES_H

struct json_t; /* jansson's */

/* Adds properties to the schemas of requests, and a parameter for each option. 0, or not: there is
 * no memory. */
int openapi_names_add(struct json_t *components);

/* {"$ref": "#/components/KIND/NAME"}; NULL if there is no memory. */
struct json_t *openapi_names_reference(const char *kind, const char *name);

/* References to all parameters of a raw body's query, at the end of an array. */
int openapi_names_append_options(struct json_t *parameters);

#endif
