#include "server/api/reply.h"

#include "server/api/route.h"
#include "server/bounds/limits.h"
#include "server/protocol/problem.h"
#include "server/protocol/protocol.h"

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
    if (request->call.id != NULL && request_id_is_plain(request->call.id))
        reply->request_id = request->call.id;
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
    if (status == 429 || status == 503)
        request->exchange->reply.retry_after_s =
            request->retry_after_s != 0 ? request->retry_after_s : LIMIT_RETRY_AFTER_S;
}
