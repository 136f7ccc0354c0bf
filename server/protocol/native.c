/* native.c - attnd's own protocol: JSON, raw bodies or lots in, one object or an envelope out; and
 * the same inputs for a search, whose answers are near inputs alone. codec.h and codec_lot.h read
 * them, codec_reply.h writes them. */
#include "engine/fab/lot_file.h"
#include "engine/fab/lot_formats.h"
#include "server/protocol/content.h"
#include "server/protocol/lines.h"
#include "server/protocol/protocol.h"
#include "server/serve/claim.h"
#include "server/serve/similar.h"
#include "server/serve/watch.h"
#include "wire/codec.h"
#include "wire/codec_dump.h"
#include "wire/codec_labels.h"
#include "wire/codec_lot.h"
#include "wire/codec_query.h"
#include "wire/media_type.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- the call ---- */

static void count_option(void *context, const char *name, const char *value)
{
    size_t *bytes = context;
    size_t least = strcmp(name, "candidate_labels") == 0 ? CODEC_RAW_BYTES + CODEC_LABELS_BYTES
                                                         : CODEC_RAW_BYTES;
    (void)value;
    *bytes = *bytes > least ? *bytes : least;
}

/* The largest memory that an option of the query takes, in bytes. */
static size_t option_bytes(const struct request *request)
{
    size_t bytes = 0;
    http_query_each(request->exchange, count_option, &bytes);
    return bytes;
}

static size_t parse_bytes(struct request *request)
{
    const struct codec_limits limits = {.inputs_max = request->snapshot->config.inputs_max};
    if (content_is_lot(request))
        return content_bytes(request) + CODEC_RAW_BYTES + option_bytes(request) +
               lot_formats_read_bytes(content_len_max(request),
                                      codec_lot_wafers_max(limits.inputs_max));
    if (request->body == REQUEST_LINES)
        return request->lines == NULL ? content_bytes(request) + lines_bytes(request) : 0;
    size_t call = request->body == REQUEST_JSON
                      ? codec_parse_bytes(content_len_max(request), &limits)
                      : CODEC_RAW_BYTES;
    return content_bytes(request) + call + option_bytes(request);
}

static void visit_option(void *context, const char *name, const char *value)
{
    struct request *request = context;
    if (request->err.code == ERR_OK)
        codec_parse_option(&request->call, name, value != NULL ? value : "",
                           &request->exchange->arena, &request->err);
}

static enum err_code parse_raw(struct request *request)
{
    struct http_exchange *exchange = request->exchange;
    const bool is_search = request->call.wish == WISH_SIMILAR; /* see parse_search */
    enum engine_kind kind = request->body == REQUEST_TEXT ? ENGINE_TEXT : ENGINE_IMAGE;
    if (codec_parse_raw(&request->call, kind, request->content, request->content_len,
                        &exchange->arena, &request->err))
        return request->err.code;
    if (is_search) {
        request->call.wish = WISH_SIMILAR;
        request->call.similar = CODEC_SIMILAR_DEFAULT;
        request->call.keep = false;
    }
    http_query_each(exchange, visit_option, request);
    if (request->err.code == ERR_OK)
        codec_check_options(&request->call, &request->err);
    return request->err.code;
}

/* The lot is read, and what its pictures take is known: a second claim. */
static enum err_code parse_wafers(struct service *service, struct request *request,
                                  const struct lot *lot)
{
    const struct config *config = &request->snapshot->config;
    const struct codec_lot_limits limits = {.inputs_max = config->inputs_max,
                                            .pixels_max = config->request_pixels_max};
    size_t bytes;
    if (codec_lot_measure(lot, &limits, &bytes, &request->err))
        return err_prefix(&request->err, "body: ");
    if (claim_reading(service, request, bytes))
        return request->err.code;
    return codec_lot_parse(&request->call, lot, &request->exchange->arena, &request->err);
}

/* The lot is gone before its wafers are prepared, and so is the claim for reading it. */
static enum err_code parse_lot(struct service *service, struct request *request)
{
    const unsigned inputs_max = request->snapshot->config.inputs_max;
    const unsigned wafers_max = codec_lot_wafers_max(inputs_max);
    struct lot lot;
    if (parse_raw(request))
        return request->err.code;
    lot_init(&lot);
    lot.wafers_max = wafers_max;
    lot_read(&lot, request->content, request->content_len, &request->err);
    if (request->err.code == ERR_TOO_LARGE && lot.wafer_count > inputs_max)
        request->err = (struct err){0};
    if (request->err.code == ERR_OK)
        parse_wafers(service, request, &lot);
    else
        err_prefix(&request->err, "body: ");
    lot_close(&lot);
    claim_prepared(service, request, lot_formats_read_bytes(request->content_len, wafers_max));
    return request->err.code;
}

struct reading {
    struct codec_query query;
    struct arena *arena;
};

static void visit_beside(void *context, const char *name, const char *value)
{
    struct reading *reading = context;
    codec_query_add(&reading->query, name, value != NULL ? value : "", reading->arena);
}

/* The deadline is not known until the options are read, which is before the first check. */
static enum err_code look_while_reading(void *context, struct err *err)
{
    struct watch *watch = context;
    watch->request->deadline_ns =
        request_deadline_ns(watch->request, watch->request->snapshot->config.deadline_ms);
    return watch_look(watch, err);
}

/* Adds advice for letters that are not UTF-8: PowerShell 5 sends Latin-1. */
static enum err_code advise_charset(struct err *err)
{
    static const char invalid[] = "invalid UTF-8 at byte ";
    const struct err found = *err;
    if (strncmp(found.text, invalid, strlen(invalid)) != 0)
        return err->code;
    *err = (struct err){0};
    return err_set(err, found.code,
                   "%s; if the JSON has another charset, name it: Content-Type: application/json; "
                   "charset=windows-1252",
                   found.text);
}

/* An interrupt's error is that of the whole request, also if it occurred in one item. */
static enum err_code parse_json(const struct service *service, struct request *request)
{
    struct http_exchange *exchange = request->exchange;
    struct watch watch;
    struct reading reading = {.arena = &exchange->arena};
    codec_query_init(&reading.query);
    reading.query.asked.wish = request->call.wish;
    http_query_each(exchange, visit_beside, &reading);
    struct codec_limits limits = {.inputs_max = request->snapshot->config.inputs_max,
                                  .interrupt = watch_begin(&watch, service, request),
                                  .query = &reading.query,
                                  .is_search = request->call.wish == WISH_SIMILAR};
    limits.interrupt->look = look_while_reading;
    codec_parse_json(&request->call, request->content, request->content_len, &limits,
                     &exchange->arena, &request->err);
    return advise_charset(&request->err);
}

static void refuse_beside(void *context, const char *name, const char *value)
{
    struct request *request = context;
    (void)value;
    if (request->err.code == ERR_OK)
        err_set(&request->err, ERR_UNUSABLE,
                "?%.32s: this call has its options in the JSON body, not in the query", name);
}

/* A call that cannot be read is looked at once more: it may be text-embeddings-inference's, which
 * knows no options in a query. */
static enum err_code parse_json_of_any(struct service *service, struct request *request)
{
    const struct predict_call *call = &request->call;
    if (parse_json(service, request) == ERR_OK && call->items[0].err.code == ERR_OK)
        return ERR_OK;
    if (request->protocol != &protocol_native || !tei_is_prediction(request))
        return request->err.code;
    request->protocol = &protocol_tei_predict;
    request->err = (struct err){0};
    http_query_each(request->exchange, refuse_beside, request);
    if (request->err.code != ERR_OK ||
        claim_reading(service, request, request->protocol->parse_bytes(request)))
        return request->err.code;
    return request->protocol->parse(request);
}

/* True if Accept names lines: answers of `inputs` are lines then, too. */
static bool wants_lines(const struct request *request)
{
    const char *accept = http_header(request->exchange, "Accept");
    return accept != NULL && strcasestr(accept, "application/x-ndjson") != NULL;
}

static enum err_code parse(struct request *request)
{
    struct service *service = request->service;
    if (request->lines == NULL && content_decode(request))
        return request->err.code;
    if (request->body == REQUEST_LINES && request->call.wish == WISH_SIMILAR)
        return err_set(
            &request->err, ERR_MEDIA_TYPE,
            "a search takes one input or `inputs`, not lines: POST /predict takes lines");
    if (request->body == REQUEST_LINES)
        return lines_parse(service, request);
    if (request->body == REQUEST_LOT)
        parse_lot(service, request);
    else if (request->body != REQUEST_JSON)
        parse_raw(request);
    else
        parse_json_of_any(service, request);
    request->call.is_lines = request->protocol == &protocol_native && wants_lines(request);
    return request->err.code;
}

/* The wish, which the parsers of a call keep, says what it may have. */
static enum err_code parse_search(struct request *request)
{
    request->call.wish = WISH_SIMILAR;
    return parse(request);
}

/* ---- the answer ---- */

static const char *reply_id(const struct request *request)
{
    return request->call.id != NULL ? request->call.id : request->id;
}

static struct codec_row row_of(const void *context, unsigned index)
{
    const struct request *request = context;
    const struct row *row = &request->rows[index];
    const struct engine_info *info = row->err.code == ERR_OK ? row_info(row) : NULL;
    const struct engine_source source = request_source(request, index);
    const bool has_parts = info != NULL && (info->row_size > 0 || info->task == ENGINE_GENERATE ||
                                            request->call.vector.chunks != VECTORS_ONE);
    struct engine_need need = {0};
    if (has_parts)
        need = engine_need(row_engine(row), &source);
    return (struct codec_row){.info = info,
                              .spans = need.spans,
                              .chunks = need.parts,
                              .written = need.written,
                              .answer = &row->answer,
                              .err = &row->err};
}

static size_t reply_bytes(const struct request *request, size_t *text)
{
    const struct codec_rows rows = {request, row_of};
    const size_t bytes = codec_reply_bytes(&request->call, reply_id(request), &rows, text);
    size_t near = 0, largest = 0;
    for (unsigned i = 0; i < request->call.item_count; i++) {
        const size_t of_row = similar_text_bytes(&request->rows[i]);
        near = memory_sum(near, of_row);
        largest = of_row > largest ? of_row : largest;
    }
    *text = memory_sum(*text, near);
    return memory_sum(bytes, memory_sum(near, memory_product(largest, SIMILAR_TREE_TIMES)));
}

static bool begin_reply(struct request *request)
{
    if (request->reply == NULL)
        request->reply = codec_reply_begin(&request->call, reply_id(request),
                                           &(struct codec_rows){request, row_of},
                                           request->long_reply_bytes, &request->exchange->arena);
    return request->reply != NULL;
}

static unsigned encode_row(struct request *request)
{
    return begin_reply(request) ? codec_reply_row(request->reply) : 0;
}

static const char *encode(struct request *request, const struct codec_timing *timing, size_t *len)
{
    return begin_reply(request) ? codec_reply_end(request->reply, timing, len) : NULL;
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

static const char *problem(struct request *request, size_t *len)
{
    return codec_encode_problem(&request->err, instance(request), &request->exchange->arena, len);
}

static void add_event(struct codec_text *text, const struct engine_piece *token,
                      const struct protocol_end *end)
{
    if (token != NULL) {
        char number[64];
        snprintf(number, sizeof number, "{\"index\":%u,\"id\":%d,\"text\":", token->index,
                 token->id);
        codec_text_add(text, "event: token\ndata: ");
        codec_text_add(text, number);
        codec_text_string_of(text, token->text, token->len);
        codec_text_add(text, token->is_special ? ",\"special\":true}\n\n" : "}\n\n");
    }
    if (end == NULL)
        return;
    codec_text_add(text, end->is_answer ? "event: result\ndata: " : "event: problem\ndata: ");
    codec_text_bytes(text, end->body, end->len);
    codec_text_add(text, "\n\n");
}

#define BESIDE_PARSE                                                                               \
    .accept = content_accept, .parse_bytes = parse_bytes, .reply_bytes = reply_bytes,              \
    .encode_row = encode_row, .encode = encode, .problem = problem, .event = add_event,            \
    .reply_type = "application/json", .problem_type = "application/problem+json"

const struct protocol protocol_native = {.name = "native", .parse = parse, BESIDE_PARSE};
const struct protocol protocol_similar = {.name = "similar", .parse = parse_search, BESIDE_PARSE};
