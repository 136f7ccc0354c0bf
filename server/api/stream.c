#include "server/api/stream.h"

#include "engine/base/clock.h"
#include "server/api/reply.h"
#include "server/serve/batcher.h"
#include "wire/codec_dump.h"

#include <stdio.h>

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
                       "stream: one text or image is answered as a stream, not a list");
    if (request->repeat != NULL)
        return err_set(&request->err, ERR_UNUSABLE,
                       "stream: an answer that is kept for an Idempotency-Key is no stream");
    return ERR_OK;
}

static void add_pieces(struct request *request, struct codec_text *text)
{
    const struct engine_result *result = &request->rows[0].answer.result;
    struct engine_piece piece;
    bool is_there;
    while (!engine_next_piece(result, &request->pieces, &request->exchange->arena, &piece,
                              &is_there, &request->err) &&
           is_there) {
        char number[64];
        snprintf(number, sizeof number, "{\"index\":%u,\"id\":%d,\"text\":", piece.index, piece.id);
        codec_text_add(text, "event: token\ndata: ");
        codec_text_add(text, number);
        codec_text_string_of(text, piece.text, piece.len);
        codec_text_add(text, piece.is_special ? ",\"special\":true}\n\n" : "}\n\n");
    }
}

void stream_part(struct request *request)
{
    struct http_reply *reply = &request->exchange->reply;
    struct codec_text text;
    size_t len = 0;
    codec_text_open(&text, 0, &request->exchange->arena);
    add_pieces(request, &text);
    const char *body = codec_text_end(&text, &len); /* NULL breaks the connection */
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
    const bool is_result = reply->status == 200;
    struct codec_text text;
    if (!request->call.stream || reply->body == NULL || (!is_result && request->told_ns == 0))
        return;
    codec_text_open(&text, 0, &request->exchange->arena);
    if (is_result)
        add_pieces(request, &text);
    codec_text_add(&text, is_result ? "event: result\ndata: " : "event: problem\ndata: ");
    codec_text_bytes(&text, reply->body, reply->body_len);
    codec_text_add(&text, "\n\n");
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
