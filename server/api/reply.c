#include "server/api/reply.h"

#include "engine/base/sha256.h"
#include "server/api/route.h"
#include "server/api/tracing.h"
#include "server/protocol/protocol.h"
#include "wire/limits.h"
#include "wire/problem.h"

#include <string.h>

void reply_fill(struct request *request, unsigned status, const char *content_type,
                const char *body, size_t len)
{
    struct http_reply *reply = &request->exchange->reply;
    request_enter(request, REQUEST_REPLY);
    reply->status = status;
    reply->content_type = content_type;
    reply->body = body;
    reply->body_len = len;
    reply->request_id = request->id;
    reply->traceparent = request->trace != NULL ? request->trace->header : NULL;
    if (request->call.id != NULL && request_id_is_plain(request->call.id))
        reply->request_id = request->call.id;
}

/* A body of some kilobytes is hashed in microseconds, so its tag is not kept anywhere. */
static const char *tag_of(const char *body, size_t len, struct arena *arena)
{
    char hash[SHA256_HEX_BYTES];
    sha256_hex(body, len, hash);
    return arena_format(arena, "\"%s\"", hash);
}

/* True if If-None-Match names the tag, also among others or as a weak one (RFC 9110, 13.1.2). */
static bool client_has(const struct request *request, const char *tag)
{
    const char *known = http_header(request->exchange, "If-None-Match");
    return known != NULL && (strcmp(known, "*") == 0 || strstr(known, tag) != NULL);
}

static const struct http_field *tagged_headers(const char *tag, const struct http_field *more,
                                               struct arena *arena)
{
    const struct http_field own[] = {{"ETag", tag}, {"Cache-Control", "no-cache"}};
    enum { OWN = sizeof own / sizeof own[0] };
    size_t count = 0;
    while (more[count].name != NULL)
        count++;
    struct http_field *all = arena_alloc_array(arena, OWN + count + 1, sizeof *all);
    if (all == NULL)
        return NULL;
    memcpy(all, own, sizeof own);
    memcpy(all + OWN, more, count * sizeof *more);
    return all; /* the last name is NULL */
}

enum err_code reply_tagged(struct request *request, const char *content_type, const char *body,
                           size_t len, const struct http_field *more)
{
    struct arena *arena = &request->exchange->arena;
    const char *tag = tag_of(body, len, arena);
    const struct http_field *headers = tag != NULL ? tagged_headers(tag, more, arena) : NULL;
    if (headers == NULL)
        return err_set(&request->err, ERR_NO_MEMORY, "out of memory for the headers");
    /* A 304 has the head of the 200, the length too; the library sends no body with it. */
    reply_fill(request, client_has(request, tag) ? 304 : 200, content_type, body, len);
    request->exchange->reply.more = headers;
    return ERR_OK;
}

/* A route without a protocol uses the native one. */
static const struct protocol *protocol_of(const struct request *request)
{
    const struct route *route = request->route;
    return route != NULL && route->protocol != NULL ? route->protocol : &protocol_native;
}

void reply_problem(struct request *request)
{
    static const char fallback[] = "{\"type\":\"about:blank\",\"title\":\"Out of memory\","
                                   "\"status\":500,\"detail\":\"out of memory\","
                                   "\"error\":\"out of memory\",\"error_type\":\"no_memory\"}";
    size_t len = 0;
    unsigned status = problem_status(request->err.code);
    const struct protocol *protocol = protocol_of(request);
    const char *body = protocol->problem(request, &len);
    if (body == NULL) {
        status = 500;
        body = fallback;
        len = sizeof fallback - 1;
    }
    reply_fill(request, status, protocol->problem_type, body, len);
    if (problem_is_passing(status))
        request->exchange->reply.retry_after_s =
            request->retry_after_s != 0 ? request->retry_after_s : LIMIT_RETRY_AFTER_S;
}
