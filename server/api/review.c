/* review.c - inputs that are kept for a person: GET /review, GET /review/{id}. */
#include "server/review/review.h"

#include "server/api/guard.h"
#include "server/api/handlers.h"
#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/protocol/codec_feedback.h"
#include "server/protocol/codec_review.h"
#include "server/serve/claim.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_DEFAULT = 50 };

/* What a fab sent is for nobody who could not send a label either: without keys only for clients of
 * this machine, and never for a page of another origin. */
enum err_code review_head(struct service *service, struct request *request)
{
    (void)service;
    return guard_check(request);
}

static enum err_code check_kept(const struct service *service, struct request *request)
{
    if (service->review != NULL)
        return ERR_OK;
    return err_set(&request->err, ERR_NOT_FOUND,
                   "no inputs are kept; the options state_dir and keep_inputs_bytes make it so");
}

static enum http_next problem(struct request *request)
{
    reply_problem(request);
    return HTTP_REPLY;
}

/* ---- the list ---- */

struct list_query {
    struct review_filter filter;
    struct err *err;
};

static void visit_filter(void *context, const char *name, const char *value)
{
    struct list_query *query = context;
    codec_review_option(&query->filter, name, value, query->err);
}

enum http_next review_list_begin(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    struct list_query query = {
        .filter = {.decision = DECISION_COUNT, .before = UINT64_MAX, .limit = LIMIT_DEFAULT},
        .err = &request->err};
    struct review_page page;
    size_t len = 0;
    if (check_kept(service, request))
        return problem(request);
    http_query_each(request->exchange, visit_filter, &query);
    if (request->err.code != ERR_OK ||
        claim_reply(service, request, review_list_bytes(query.filter.limit)) ||
        review_list(service->review, &query.filter, arena, &page, &request->err))
        return problem(request);
    const char *json = codec_review_encode(&page, arena, &len);
    if (json == NULL) {
        err_set(&request->err, ERR_NO_MEMORY, "out of memory for the list");
        return problem(request);
    }
    reply_fill(request, 200, "application/json", json, len);
    return HTTP_REPLY;
}

/* ---- one input ---- */

struct input_query {
    unsigned index;
    struct err *err;
};

static void visit_index(void *context, const char *name, const char *value)
{
    struct input_query *query = context;
    if (strcmp(name, "index") != 0) {
        err_set(query->err, ERR_UNUSABLE, "?: an unknown option; known is index");
        return;
    }
    bool is_number = value != NULL && value[0] != '\0' && strlen(value) <= 9 &&
                     value[strspn(value, "0123456789")] == '\0';
    query->index = is_number ? (unsigned)strtoul(value, NULL, 10) : 0;
    if (!is_number || query->index > CODEC_FEEDBACK_INDEX_MAX)
        err_set(query->err, ERR_UNUSABLE, "?index: expected an integer from 0 to %d",
                CODEC_FEEDBACK_INDEX_MAX);
}

/* A browser must not take a text for a page, nor show what somebody sent as one of ours. The name
 * of the file is no client's. */
static const struct http_field *headers_of(const char *media_type)
{
    static const struct http_field headers[][5] = {
#define HEADERS(name)                                                                              \
    {                                                                                              \
        {"Content-Disposition", "attachment; filename=\"" name "\""},                              \
            {"X-Content-Type-Options", "nosniff"},                                                 \
            {"Content-Security-Policy", "default-src 'none'; sandbox"},                            \
            {"Cache-Control", "no-store"},                                                         \
        {                                                                                          \
            NULL, NULL                                                                             \
        }                                                                                          \
    }
        HEADERS("input.txt"),
        HEADERS("input.png"),
        HEADERS("input.jpg"),
#undef HEADERS
    };
    return headers[strcmp(media_type, "image/png") == 0    ? 1
                   : strcmp(media_type, "image/jpeg") == 0 ? 2
                                                           : 0];
}

static enum err_code read_input(struct service *service, struct request *request, unsigned index,
                                struct kept_input *input)
{
    struct err *err = &request->err;
    struct review_place place;
    const char *id = route_value(request, "id");
    if (id == NULL)
        return err_no_memory(err, strlen(request->exchange->path));
    if (review_look(service->review, id, index, &place, err) ||
        claim_reply(service, request, place.bytes))
        return err->code;
    return review_read(service->review, &place, &request->exchange->arena, input, err);
}

enum http_next review_input_begin(struct service *service, struct request *request)
{
    struct input_query query = {.err = &request->err};
    struct kept_input input;
    if (check_kept(service, request))
        return problem(request);
    http_query_each(request->exchange, visit_index, &query);
    if (request->err.code != ERR_OK || read_input(service, request, query.index, &input))
        return problem(request);
    reply_fill(request, 200, input.media_type, input.bytes, input.len);
    request->exchange->reply.more = headers_of(input.media_type);
    return HTTP_REPLY;
}
