#include "server/openapi/openapi_problems.h"

#include "server/openapi/openapi.h"
#include "server/openapi/openapi_names.h"
#include "server/protocol/problem.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

enum { STATUS_MIN = 400, STATUS_MAX = 599, NAME_BYTES = 16 };

static void name_of(unsigned status, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "Problem%u", status);
}

static unsigned all_errors(void)
{
    return OPENAPI_CAN(ERR_CODE_COUNT) - 1 - OPENAPI_CAN(ERR_OK);
}

/* The errors in `can` whose replies have the status. */
static unsigned errors_of(unsigned status, unsigned can)
{
    unsigned found = 0;
    for (unsigned code = ERR_OK + 1; code < ERR_CODE_COUNT; code++)
        if (problem_status((enum err_code)code) == status)
            found |= OPENAPI_CAN(code);
    return found & can;
}

json_t *openapi_problems_headers(const char *const *others)
{
    static const char id[] = "X-Request-Id";
    json_t *headers = json_object();
    int failed = json_object_set_new(headers, id, openapi_names_reference("headers", id));
    for (; *others != NULL; others++)
        failed |=
            json_object_set_new(headers, *others, openapi_names_reference("headers", *others));
    if (failed == 0)
        return headers;
    json_decref(headers);
    return NULL;
}

static json_t *headers_of(unsigned status)
{
    const char *other = problem_is_passing(status)             ? "Retry-After"
                        : status == problem_status(ERR_METHOD) ? "Allow"
                        : status == problem_status(ERR_UNAUTHORIZED) ? "WWW-Authenticate"
                                                               : NULL;
    return openapi_problems_headers((const char *const[]){other, NULL});
}

/* "Unsupported model; Input or output failed; ...", and the names of the same errors. */
static int describe(unsigned errors, char *titles, size_t size, json_t *names)
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

static json_t *schema_of(unsigned status, json_t *names)
{
    return json_pack("{s:[o], s:{s:{s:i}, s:{s:o}}, s:b}", "allOf",
                     openapi_names_reference("schemas", "Problem"), "properties", "status", "const",
                     (int)status, "error_type", "enum", names, "unevaluatedProperties", 0);
}

static json_t *reply_of(unsigned status, unsigned errors)
{
    char titles[256] = "";
    json_t *names = json_array();
    if (describe(errors, titles, sizeof titles, names) != 0) {
        json_decref(names);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:{s:{s:o}}}", "description", titles, "headers",
                     headers_of(status), "content", "application/problem+json", "schema",
                     schema_of(status, names));
}

int openapi_problems_add(json_t *components)
{
    json_t *responses = json_object_get(components, "responses");
    int failed = 0;
    for (unsigned status = STATUS_MIN; status <= STATUS_MAX; status++) {
        const unsigned errors = errors_of(status, all_errors());
        char name[NAME_BYTES];
        name_of(status, name);
        if (errors != 0)
            failed |= json_object_set_new(responses, name, reply_of(status, errors));
    }
    return failed;
}

int openapi_problems_refer(json_t *responses, unsigned can)
{
    int failed = 0;
    for (unsigned status = STATUS_MIN; status <= STATUS_MAX; status++) {
        char name[NAME_BYTES], key[NAME_BYTES];
        name_of(status, name);
        snprintf(key, sizeof key, "%u", status);
        if (errors_of(status, can) != 0)
            failed |=
                json_object_set_new(responses, key, openapi_names_reference("responses", name));
    }
    return failed;
}
