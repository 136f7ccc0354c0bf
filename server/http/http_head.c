#include "server/http/http_head.h"

#include "server/http/framing.h"

#include <microhttpd.h>

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* The library parses the query next, in the buffer that it passes here. */
void http_head_hide_query(const char *target)
{
    const char *mark = strchr(target, '?');
    union {
        const char *from;
        char *to;
    } query = {.from = mark};
    if (mark != NULL)
        query.to[1] = '\0';
}

struct field_list {
    struct framing_field *fields;
    size_t count, room;
};

static enum MHD_Result collect_field(void *context, enum MHD_ValueKind kind, const char *name,
                                     size_t name_len, const char *value, size_t value_len)
{
    (void)kind;
    struct field_list *list = context;
    if (list->count == list->room)
        return MHD_NO;
    list->fields[list->count++] = (struct framing_field){.name = name,
                                                         .name_len = name_len,
                                                         .value = value != NULL ? value : "",
                                                         .value_len = value_len};
    return MHD_YES;
}

static enum err_code collect_fields(struct field_list *list, struct http_request *request,
                                    enum MHD_ValueKind kind, struct err *err)
{
    int count = MHD_get_connection_values(request->library, kind, NULL, NULL);
    *list = (struct field_list){.room = count > 0 ? (size_t)count : 0};
    list->fields = arena_alloc_array(&request->exchange.arena, list->room, sizeof *list->fields);
    if (list->fields == NULL)
        return err_no_memory(err, list->room * sizeof *list->fields);
    MHD_get_connection_values_n(request->library, kind, collect_field, list);
    return ERR_OK;
}

static size_t head_bytes(const struct http_request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->library, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info != NULL ? info->header_size : 0;
}

enum err_code http_head_check(struct http_request *request, const char *method, const char *version,
                              struct err *err)
{
    struct field_list list;
    if (collect_fields(&list, request, MHD_HEADER_KIND, err))
        return err->code;
    const struct layout_head head = {.method = method,
                                     .target = request->target_at,
                                     .target_len = strlen(request->target),
                                     .version = version,
                                     .bytes = head_bytes(request)};
    return http_request_check_head(request, &head, list.fields, list.count, err);
}

/* When the first line behind the last chunk comes in two reads, the library mistakes it for the
 * second of a field, and reports the last field of the head once more, as a trailer. */
static bool is_of_head(const struct http_request *request, const struct framing_field *field)
{
    uintptr_t name = (uintptr_t)field->name;
    return name > (uintptr_t)request->target_at && name < (uintptr_t)request->body_at;
}

enum err_code http_head_check_trailers(struct http_request *request, struct err *err)
{
    struct field_list list;
    if (request->framing.body != FRAMING_CHUNKED)
        return ERR_OK;
    if (http_request_check_chunks(request, true, err) ||
        collect_fields(&list, request, MHD_FOOTER_KIND, err))
        return err->code;
    size_t echoes = list.count > 0 && is_of_head(request, &list.fields[0]) ? 1 : 0;
    return framing_check_trailers(list.fields + echoes, list.count - echoes, err);
}

/* -------------------------------------------------------------------------------------------- */
/* The application's functions on an exchange */

const char *http_header(const struct http_exchange *exchange, const char *name)
{
    const struct http_request *request = http_request_of(exchange);
    return request->library != NULL
               ? MHD_lookup_connection_value(request->library, MHD_HEADER_KIND, name)
               : NULL;
}

struct named_fields {
    const char *name;
    void (*visit)(void *context, const char *value);
    void *context;
};

static enum MHD_Result visit_named(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)kind;
    const struct named_fields *fields = context;
    if (strcasecmp(name, fields->name) == 0)
        fields->visit(fields->context, value != NULL ? value : "");
    return MHD_YES;
}

void http_header_each(const struct http_exchange *exchange, const char *name,
                      void (*visit)(void *context, const char *value), void *context)
{
    const struct http_request *request = http_request_of(exchange);
    struct named_fields fields = {name, visit, context};
    if (request->library != NULL)
        MHD_get_connection_values(request->library, MHD_HEADER_KIND, visit_named, &fields);
}

void http_query_each(const struct http_exchange *exchange,
                     void (*visit)(void *context, const char *name, const char *value),
                     void *context)
{
    const struct query *query = &http_request_of(exchange)->query;
    for (size_t i = 0; i < query->count; i++)
        visit(context, query->arguments[i].name, query->arguments[i].value);
}
