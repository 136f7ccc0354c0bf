#include "server/api/input_name.h"

#include "server/api/route.h"
#include "server/json/codec_feedback.h"
#include "wire/codec_check.h"

#include <stdlib.h>
#include <string.h>

struct reading {
    struct input_name *out;
    struct request *request;
    bool has_path_id;
};

static void visit(void *context, const char *name, const char *value)
{
    enum { DIGITS = 9 };
    static const char *const known[] = {"id", "index"};
    struct reading *reading = context;
    struct err *err = &reading->request->err;
    const size_t len = value != NULL ? strlen(value) : 0;
    if (strcmp(name, "id") == 0 && !reading->has_path_id) {
        reading->out->id =
            arena_copy(&reading->request->exchange->arena, value != NULL ? value : "", len);
        if (reading->out->id == NULL)
            err_no_memory(err, len);
    } else if (strcmp(name, "index") == 0) {
        const bool is_number = len > 0 && len <= DIGITS && strspn(value, "0123456789") == len;
        const unsigned long index = is_number ? strtoul(value, NULL, 10) : 0;
        if (!is_number || index > CODEC_FEEDBACK_INDEX_MAX)
            err_set(err, ERR_UNUSABLE, "?index: expected an integer from 0 to %d",
                    CODEC_FEEDBACK_INDEX_MAX);
        reading->out->index = (unsigned)index;
    } else {
        codec_check_unknown(
            CODEC_CHECK_QUERY, name, "option",
            &(struct codec_names){known + reading->has_path_id, 2u - reading->has_path_id}, err);
    }
}

enum err_code input_name_read(struct input_name *out, struct request *request)
{
    const char *pattern = request->route->pattern;
    struct reading reading = {out, request, strstr(pattern, "{id}") != NULL};
    *out = (struct input_name){.id = reading.has_path_id ? request_value(request, "id") : ""};
    if (out->id == NULL)
        return err_no_memory(&request->err, strlen(request->exchange->path));
    http_query_each(request->exchange, visit, &reading);
    if (request->err.code == ERR_OK && out->id[0] == '\0')
        err_set(&request->err, ERR_UNUSABLE, "?id: expected the id of an input, found none");
    return request->err.code;
}
