#include "server/request.h"

#include "engine/base/clock.h"
#include "server/limits.h"
#include "server/prepare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void request_ids_init(struct request_ids *ids)
{
    uint64_t start = 0;
    /* Before the kernel's pool is ready this fails rather than blocks; the clock then has to do. */
    if (getrandom(&start, sizeof start, GRND_NONBLOCK) != (ssize_t)sizeof start)
        start = clock_now_ns();
    atomic_init(&ids->next, start);
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection, so counters stay distinct. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

const char *request_ids_next(struct request_ids *ids, struct arena *arena)
{
    uint64_t count = atomic_fetch_add_explicit(&ids->next, 1, memory_order_relaxed);
    return arena_format(arena, "%016" PRIx64, mix(count));
}

bool request_id_is_plain(const char *id)
{
    size_t len = strnlen(id, LIMIT_ID_BYTES + 1);
    if (len == 0 || len > LIMIT_ID_BYTES)
        return false;
    for (size_t i = 0; i < len; i++)
        if (id[i] < 0x21 || id[i] > 0x7E)
            return false;
    return true;
}

struct request *request_open(struct http_exchange *exchange, struct request_ids *ids)
{
    struct request *request = arena_alloc_array(&exchange->arena, 1, sizeof *request);
    if (request == NULL)
        return NULL;
    const char *given = http_header(exchange, "X-Request-Id");
    request->id = given != NULL && request_id_is_plain(given)
                      ? arena_copy(&exchange->arena, given, strlen(given))
                      : request_ids_next(ids, &exchange->arena);
    if (request->id == NULL)
        return NULL;
    request->exchange = exchange;
    atomic_init(&request->rows_outstanding, 0);
    exchange->state = request;
    return request;
}

void request_expect_rows(struct request *request, unsigned count)
{
    atomic_store_explicit(&request->rows_outstanding, count, memory_order_relaxed);
}

/* Acquire and release: the last worker sees what the others wrote into their rows, and through
 * http_resume so does the I/O thread. */
void request_row_done(struct row *row)
{
    struct request *request = row->request;
    if (atomic_fetch_sub_explicit(&request->rows_outstanding, 1, memory_order_acq_rel) != 1)
        return;
    request->computed = true;
    if (request->explainer != NULL) {
        if (!prepare_submit(request->explainer, request, PREPARE_EXPLAIN, request->explain_units,
                            &request->err))
            return;
    }
    http_resume(request->exchange);
}

void request_reply(struct request *request, unsigned status, const char *content_type,
                   const char *body, size_t len)
{
    struct http_reply *reply = &request->exchange->reply;
    reply->status = status;
    reply->content_type = content_type;
    reply->body = body;
    reply->body_len = len;
    reply->request_id = request->id;
    if (request->call.id != NULL && request_id_is_plain(request->call.id))
        reply->request_id = request->call.id;
}

/* RFC 8141 limits the characters of a URN; an id beyond letters, digits and "-._~:" gets none. */
static const char *instance(const struct request *request)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~:";
    if (request->id[strspn(request->id, plain)] != '\0')
        return NULL;
    return arena_format(&request->exchange->arena, "urn:request:%s", request->id);
}

void request_reply_problem(struct request *request)
{
    static const char fallback[] = "{\"type\":\"about:blank\",\"title\":\"Out of memory\","
                                   "\"status\":500,\"detail\":\"out of memory\","
                                   "\"error\":\"out of memory\",\"error_type\":\"no_memory\"}";
    size_t len = 0;
    unsigned status = (unsigned)err_http_status(request->err.code);
    const char *body =
        codec_encode_problem(&request->err, instance(request), &request->exchange->arena, &len);
    if (body == NULL) {
        status = 500;
        body = fallback;
        len = sizeof fallback - 1;
    }
    request_reply(request, status, "application/problem+json", body, len);
    if (status == 429 || status == 503)
        request->exchange->reply.retry_after_s =
            request->retry_after_s != 0 ? request->retry_after_s : LIMIT_RETRY_AFTER_S;
}
