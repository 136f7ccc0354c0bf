#include "server/api/stream.h"

#include "engine/base/clock.h"
#include "server/api/reply.h"
#include "server/protocol/protocol.h"
#include "server/serve/batcher.h"
#include "wire/codec_dump.h"

static const char type[] = "text/event-stream";
static const struct http_field headers[] = {
    {"Cache-Control", "no-store"},
    {"X-Accel-Buffering", "no"}, /* a proxy in between passes each event on */
    {NULL, NULL}};

enum err_code stream_check(struct request *request)
{
    const struct predict_call *call = &request->call;
    if (!call->stream)
        return ERR_OK;
    if (call->envelope || call->is_lines)
        return err_set(&request->err, ERR_UNUSABLE,
                       "stream: one text or picture is answered as a stream, not a list and not "
                       "lines (application/x-ndjson)");
    if (request->repeat != NULL)
        return err_set(&request->err, ERR_UNUSABLE,
                       "stream: an answer that is kept for an Idempotency-Key is no stream");
    return ERR_OK;
}

enum { EVENT_BYTES = 512 }; /* of an event; rows.c has claimed them, and as many for its piece */

/* Opens the text of the tokens that were not told yet, and of so many bytes behind them. */
static void open_text(const struct request *request, size_t more, struct codec_text *out)
{
    const unsigned told = request->pieces.next, written = request->rows[0].answer.result.written;
    const size_t tokens = written > told ? written - told : 0;
    codec_text_open(out, tokens * EVENT_BYTES + more, &request->exchange->arena);
}

/* Tells the tokens that are written, and the end (NULL: there is none yet) with the last one. */
static void add_events(struct request *request, struct codec_text *text,
                       const struct protocol_end *end)
{
    const struct protocol *protocol = request->protocol;
    const struct engine_result *result = &request->rows[0].answer.result;
    struct engine_piece token, next;
    bool has_token = false, is_there = true;
    for (;; token = next, has_token = true) {
        text->has_failed |= engine_next_piece(result, &request->pieces, &request->exchange->arena,
                                              &next, &is_there, &request->err) != ERR_OK;
        if (text->has_failed || !is_there)
            break;
        if (has_token)
            protocol->event(text, &token, NULL);
    }
    if (has_token || end != NULL)
        protocol->event(text, has_token ? &token : NULL, end);
}

void stream_part(struct request *request)
{
    struct http_reply *reply = &request->exchange->reply;
    struct codec_text text;
    size_t len = 0;
    open_text(request, 0, &text);
    add_events(request, &text, NULL);
    const char *body = codec_text_end(&text, &len); /* NULL breaks the connection behind a part */
    if (body == NULL && request->told_ns == 0) {
        err_set(&request->err, ERR_NO_MEMORY, "out of memory for the reply");
        reply_problem(request);
        return;
    }
    reply_part(request, type, body, len);
    if (request->told_ns == 0)
        reply->more = headers;
    request->told_ns = clock_now_ns();
}

enum http_next stream_more(struct service *service, struct request *request)
{
    struct row *row = request->rows;
    request->reserved = 0; /* the place is the row's again */
    http_suspend(request->exchange);
    if (!batcher_submit(service->batcher, &row, 1)) {
        err_set(&row->err, ERR_NOT_READY, "the server is stopping");
        http_resume(request->exchange);
    }
    return HTTP_SUSPENDED;
}

void stream_end(struct request *request)
{
    struct http_reply *reply = &request->exchange->reply;
    const struct protocol_end end = {reply->body, reply->body_len, reply->status == 200};
    struct codec_text text;
    if (!request->call.stream || end.body == NULL || (!end.is_answer && request->told_ns == 0))
        return;
    open_text(request, EVENT_BYTES + end.len, &text);
    if (end.is_answer)
        add_events(request, &text, &end);
    else
        request->protocol->event(&text, NULL, &end);
    reply->body = codec_text_end(&text, &reply->body_len);
    reply->content_type = type;
    if (request->told_ns == 0)
        reply->more = headers;
}

void stream_drop(struct service *service, struct request *request)
{
    if (request->reserved == 0)
        return;
    batcher_release(service->batcher, request->reserved);
    request->reserved = 0;
    request->rows[0].is_abandoned = true;
    err_set(&request->rows[0].err, ERR_SLOW, "the client closed the connection");
}
