/* fits.c - new versions of a model from labels: POST and GET /admin/fits, GET and DELETE of one,
 * and its report. The work is server/fits'. */
#include "server/fits/fits.h"

#include "server/api/guard.h"
#include "server/api/handlers.h"
#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/json/codec_fit.h"
#include "server/protocol/content.h"
#include "server/serve/claim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The reply tells of a fab's labels. So this GET is guarded like a change (guard.h). */
enum err_code fits_read_head(struct service *service, struct request *request)
{
    (void)service;
    return guard_check(request);
}

static enum err_code check_there(const struct service *service, struct request *request,
                                 enum err_code code)
{
    if (service->fits != NULL)
        return ERR_OK;
    return err_set(&request->err, code,
                   "learning from labels is off: set state_dir, keep_inputs_bytes and models_root "
                   "to turn it on");
}

/* A row as the reply; the number of a new one is a header, too. */
static enum http_next tell(struct request *request, unsigned status, const struct fits_row *row)
{
    struct arena *arena = &request->exchange->arena;
    size_t len = 0;
    const char *json = codec_fit_encode(row, arena, &len);
    reply_json(request, status, json, len, "out of memory for the reply");
    struct http_field *more =
        json != NULL && status == 202 ? arena_alloc_array(arena, 2, sizeof *more) : NULL;
    if (more != NULL) {
        more[0] = (struct http_field){
            "Location", arena_format(arena, "/admin/fits/%llu", (unsigned long long)row->number)};
        request->exchange->reply.more = more[0].value != NULL ? more : NULL;
    }
    return HTTP_REPLY;
}

/* ---- asking ---- */

enum http_next fits_post(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    struct fits_call call;
    struct fits_row row;
    uint64_t number;
    if (check_there(service, request, ERR_CONFLICT) ||
        claim_reading(service, request, memory_sum(content_bytes(request), codec_fit_bytes(1))) ||
        content_decode_json(request) ||
        codec_fit_parse(&call, request->content, request->content_len, arena, &request->err))
        return reply_problem(request);
    call.key = request->grant.name;
    if (fits_submit(service->fits, request->snapshot, &call, &number, &request->err) ||
        fits_read(service->fits, number, arena, &row, &request->err))
        return reply_problem(request);
    return tell(request, 202, &row);
}

/* ---- looking ---- */

enum http_next fits_list_begin(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    struct fits_row *rows = NULL;
    unsigned count = 0;
    size_t len = 0;
    if (claim_reply(service, request, codec_fit_bytes(FITS_KEPT)) ||
        (service->fits != NULL && fits_list(service->fits, arena, &rows, &count, &request->err)))
        return reply_problem(request);
    const char *json = codec_fit_encode_list(rows, count, arena, &len);
    return reply_json(request, 200, json, len, "out of memory for the list");
}

/* The number in the path. */
static enum err_code read_number(const struct service *service, struct request *request,
                                 uint64_t *out)
{
    const char *text = request_value(request, "fit");
    if (text == NULL)
        return err_no_memory(&request->err, strlen(request->exchange->path));
    errno = 0;
    *out = text[strspn(text, "0123456789")] == '\0' ? strtoull(text, NULL, 10) : 0;
    if (*out == 0 || errno != 0)
        return err_set(&request->err, ERR_NOT_FOUND, "there is no fit of this number");
    return check_there(service, request, ERR_NOT_FOUND);
}

static enum http_next one(struct service *service, struct request *request,
                          enum err_code (*get)(struct fits *, uint64_t, struct arena *,
                                               struct fits_row *, struct err *))
{
    struct fits_row row;
    uint64_t number;
    if (read_number(service, request, &number) ||
        claim_reply(service, request, codec_fit_bytes(1)) ||
        get(service->fits, number, &request->exchange->arena, &row, &request->err))
        return reply_problem(request);
    return tell(request, 200, &row);
}

enum http_next fits_one_begin(struct service *service, struct request *request)
{
    return one(service, request, fits_read);
}

enum http_next fits_delete(struct service *service, struct request *request)
{
    return one(service, request, fits_remove);
}

/* ---- the report ---- */

/* The page has its style within itself and its pictures as data; it has no script. */
static const struct http_field report_headers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
                                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
    {NULL, NULL},
};

enum http_next fits_report_begin(struct service *service, struct request *request)
{
    uint64_t number;
    const char *html;
    size_t len;
    if (read_number(service, request, &number) ||
        claim_reply(service, request, fits_report_page_bytes(service->fits, number)) ||
        fits_report_page(service->fits, number, &request->exchange->arena, &html, &len,
                         &request->err))
        return reply_problem(request);
    reply_fill(request, 200, "text/html; charset=utf-8", html, len);
    request->exchange->reply.more = report_headers;
    return HTTP_REPLY;
}
