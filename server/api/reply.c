#include "server/api/reply.h"

#include "engine/base/sha256.h"
#include "server/api/route.h"
#include "server/api/tracing.h"
#include "server/protocol/protocol.h"
#include "wire/limits.h"
#include "wire/problem.h"

#include <string.h>

static void fill(struct request *request, unsigned status, const char *content_type,
                 const char *body, size_t len)
{
    struct http_reply *reply = &request->exchange->reply;
    reply->status = status;
    reply->content_type = content_type;
    reply->body = body;
    reply->body_len = len;
    reply->request_id = request->id;
    reply->traceparent = request->trace != NULL ? request->trace->header : NULL;
    if (request->call.id != NULL && request_id_is_plain(request->call.id))
        reply->request_id = request->call.id;
}

void reply_fill(struct request *request, unsigned status, const char *content_type,
                const char *body, size_t len)
{
    request_enter(request, REQUEST_REPLY);
    fill(request, status, content_type, body, len);
    request->exchange->reply.has_more = false;
}

void reply_part(struct request *request, const char *content_type, const char *body, size_t len)
{
    fill(request, 200, content_type, body, len);
    request->exchange->reply.has_more = true;
}

const struct http_field *reply_fields(const struct http_field *first, const struct http_field *more,
                                      struct arena *arena)
{
    size_t had = 0, count = 0;
    while (first != NULL && first[had].name != NULL)
        had++;
    while (more[count].name != NULL)
        count++;
    struct http_field *all = arena_alloc_array(arena, had + count + 1, sizeof *all);
    if (all == NULL)
        return NULL;
    if (had > 0)
        memcpy(all, first, had * sizeof *all);
    memcpy(all + had, more, count * sizeof *all);
    return all; /* the last name is NULL */
}

enum err_code reply_tagged(struct request *request, const char *content_type, const char *body,
                           size_t len, const struct http_field *more)
{
    struct arena *arena = &request->exchange->arena;
    char hash[SHA256_HEX_BYTES];
    /* A body of some kilobytes is hashed in microseconds, so its tag is not kept anywhere. */
    sha256_hex(body, len, hash);
    const char *tag = arena_format(arena, "\"%s\"", hash);
    const struct http_field own[] = {{"ETag", tag}, {"Cache-Control", "no-cache"}, {NULL, NULL}};
    const struct http_field *headers = tag != NULL ? reply_fields(own, more, arena) : NULL;
    if (headers == NULL)
        return err_set(&request->err, ERR_NO_MEMORY, "out of memory for the headers");
    /* If-None-Match may name the tag among others, or as a weak one (RFC 9110, 13.1.2). */
    const char *known = http_header(request->exchange, "If-None-Match");
    const bool is_known = known != NULL && (strcmp(known, "*") == 0 || strstr(known, tag) != NULL);
    /* A 304 has the head of the 200, the length too; the library sends no body with it. */
    reply_fill(request, is_known ? 304 : 200, content_type, body, len);
    request->exchange->reply.more = headers;
    return ERR_OK;
}

enum http_next reply_problem(struct request *request)
{
    static const char fallback[] = "{\"type\":\"about:blank\",\"title\":\"Out of memory\","
                                   "\"status\":500,\"detail\":\"out of memory\","
                                   "\"error\":\"out of memory\",\"error_type\":\"no_memory\"}";
    size_t len = 0;
    unsigned status = problem_status(request->err.code);
    const struct route *route = request->route;
    const struct protocol *protocol =
        route != NULL && route->protocol != NULL ? route->protocol : &protocol_native;
    const char *body = protocol->problem(request, &len);
    if (body == NULL) {
        status = 500;
        body = fallback;
        len = sizeof fallback - 1;
    }
    reply_fill(request, status, protocol->problem_type, body, len);
    if (problem_is_passing(status) ||
        (request->err.code == ERR_CONFLICT && request->retry_after_s != 0))
        request->exchange->reply.retry_after_s =
            request->retry_after_s != 0 ? request->retry_after_s : LIMIT_RETRY_AFTER_S;
    return HTTP_REPLY;
}

enum http_next reply_json(struct request *request, unsigned status, const char *json, size_t len,
                          const char *no_memory)
{
    if (json == NULL)
        err_set(&request->err, ERR_NO_MEMORY, "%s", no_memory); /* the first error stays */
    if (request->err.code != ERR_OK)
        return reply_problem(request);
    reply_fill(request, status, "application/json", json, len);
    return HTTP_REPLY;
}
