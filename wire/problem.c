#include "wire/problem.h"

#include "engine/base/utf8.h"

#include <jansson.h>

#include <stdio.h>
#include <string.h>

static const struct {
    unsigned status;
    const char *title;
} kinds[ERR_CODE_COUNT] = {
    [ERR_OK] = {200, "OK"},
    [ERR_MALFORMED] = {400, "Malformed request"},
    [ERR_UNAUTHORIZED] = {401, "No valid key"},
    [ERR_FORBIDDEN] = {403, "Forbidden"},
    [ERR_NOT_FOUND] = {404, "Not found"},
    [ERR_METHOD] = {405, "Method not allowed"},
    [ERR_SLOW] = {408, "Request took too long to arrive"},
    [ERR_CONFLICT] = {409, "Conflict"},
    [ERR_LENGTH] = {411, "Length required"},
    [ERR_TOO_LARGE] = {413, "Too large"},
    [ERR_MEDIA_TYPE] = {415, "Unsupported media type"},
    [ERR_UNUSABLE] = {422, "Unusable input"},
    [ERR_QUEUE_FULL] = {429, "Queue full"},
    [ERR_TOO_MANY] = {429, "Too many requests"},
    [ERR_UNSUPPORTED] = {500, "Unsupported model"},
    [ERR_IO] = {500, "Input or output failed"},
    [ERR_NO_MEMORY] = {500, "Out of memory"},
    [ERR_INTERNAL] = {500, "Internal error"},
    [ERR_NOT_READY] = {503, "Not ready"},
    [ERR_DEADLINE] = {504, "Deadline passed"},
};

unsigned problem_status(enum err_code code)
{
    return kinds[code].status;
}

bool problem_is_passing(unsigned status)
{
    return status == 429 || status == 503;
}

const char *problem_title(enum err_code code)
{
    return kinds[code].title;
}

void problem_type(enum err_code code, char out[PROBLEM_TYPE_BYTES])
{
    snprintf(out, PROBLEM_TYPE_BYTES, "urn:attnd:error:%s", err_name(code));
}

static bool is_utf8(const char *text)
{
    return utf8_is_valid(text, strlen(text));
}

static int add(json_t *problem, const char *key, json_t *value)
{
    return json_object_set_new_nocheck(problem, key, value);
}

struct json_t *problem_document(const struct err *err, const char *instance)
{
    char type[PROBLEM_TYPE_BYTES];
    problem_type(err->code, type);
    /* A text that is not UTF-8, such as a client's path, must not prevent the reply. */
    const char *text = is_utf8(err->text) ? err->text : problem_title(err->code);
    json_t *problem = json_object();
    int failed = problem == NULL;
    failed |= add(problem, "type", json_string_nocheck(type));
    failed |= add(problem, "title", json_string_nocheck(problem_title(err->code)));
    failed |= add(problem, "status", json_integer((json_int_t)problem_status(err->code)));
    failed |= add(problem, "detail", json_string(text));
    if (instance != NULL && is_utf8(instance))
        failed |= add(problem, "instance", json_string(instance));
    failed |= add(problem, "error", json_string(text));
    failed |= add(problem, "error_type", json_string_nocheck(err_name(err->code)));
    if (!failed)
        return problem;
    json_decref(problem);
    return NULL;
}
