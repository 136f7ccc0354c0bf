/* lines.c - see lines.h.
 *
 * Memory. Requests allocate from their exchange's arena, and a long list would fill it. So while
 * there are portions, that arena is the portion's own, freed with it; the exchange's is kept aside,
 * with the request itself in it, and put back at the end. */
#include "server/protocol/lines.h"

#include "engine/base/clock.h"
#include "server/protocol/content.h"
#include "server/serve/claim.h"
#include "server/serve/watch.h"
#include "wire/codec.h"
#include "wire/limits.h"

#include <string.h>

enum {
    FIRST_LINES = 8, /* of the first portion; each next one has twice as many */
    /* what failing takes for a line: its row, its item, its problem with copies */
    FAILED_BYTES = sizeof(struct row) + sizeof(struct predict_item) + 4096,
};

struct lines {
    const char *at, *end; /* what is left of the body */
    const char *next;     /* behind the portion */
    unsigned count;       /* lines of the portion */
    unsigned most;        /* that it may have */
    unsigned answered;    /* lines before it */
    struct predict_call asked;
    struct arena kept; /* the exchange's */
    size_t kept_bytes; /* of exchange->memory_bytes */
};

/* ---- lines of a body ---- */

/* The next line that is not blank, without its end; false: there is none. *at moves behind it. */
static bool next_line(const char **at, const char *end, const char **line, size_t *len)
{
    while (*at < end) {
        const char *stop = memchr(*at, '\n', (size_t)(end - *at));
        *line = *at;
        *len = (size_t)((stop != NULL ? stop : end) - *at);
        *at = stop != NULL ? stop + 1 : end;
        while (*len > 0 && strchr(" \t\r", **line) != NULL && **line != '\0') {
            ++*line;
            --*len;
        }
        while (*len > 0 && strchr(" \t\r", (*line)[*len - 1]) != NULL && (*line)[*len - 1] != '\0')
            --*len;
        if (*len > 0)
            return true;
    }
    return false;
}

/* The lines of the next portion, and in *bytes an upper bound of what they take; *tree of it is
 * taken while they are read alone. */
static void measure(struct lines *lines, size_t *bytes, size_t *tree)
{
    const char *line;
    size_t len, of_tree;
    *bytes = *tree = 0;
    lines->next = lines->at;
    for (lines->count = 0; lines->count < lines->most; lines->count++) {
        if (!next_line(&lines->next, lines->end, &line, &len))
            break;
        *bytes = memory_sum(*bytes, codec_line_bytes(len, &of_tree));
        *tree = of_tree > *tree ? of_tree : *tree;
    }
    *bytes = memory_sum(*bytes, *tree);
}

/* ---- the whole list ---- */

size_t lines_bytes(const struct request *request)
{
    return sizeof(struct lines) + CODEC_RAW_BYTES +
           (size_t)request->snapshot->config.inputs_max * FAILED_BYTES;
}

static void visit_option(void *context, const char *name, const char *value)
{
    struct request *request = context;
    if (request->err.code == ERR_OK)
        codec_parse_option(&request->call, name, value != NULL ? value : "",
                           &request->exchange->arena, &request->err);
}

static enum err_code check_count(struct request *request, const struct lines *lines)
{
    const char *at = lines->at, *line;
    size_t len, count = 0;
    while (next_line(&at, lines->end, &line, &len))
        count++;
    if (count > LIMIT_LINES)
        return err_set(&request->err, ERR_TOO_LARGE, "body: at most %d lines, found %zu",
                       LIMIT_LINES, count);
    if (count == 0)
        return err_set(&request->err, ERR_UNUSABLE, "body: it has no line");
    return ERR_OK;
}

static enum err_code open_lines(struct request *request)
{
    static const char mark[] = "\xEF\xBB\xBF";
    struct http_exchange *exchange = request->exchange;
    struct lines *lines = arena_alloc_array(&exchange->arena, 1, sizeof *lines);
    if (lines == NULL)
        return err_no_memory(&request->err, sizeof *lines);
    codec_lines_init(&request->call);
    http_query_each(exchange, visit_option, request);
    if (request->err.code != ERR_OK || codec_check_options(&request->call, &request->err))
        return request->err.code;
    lines->at = request->content;
    lines->end = request->content + request->content_len;
    if (request->content_len >= 3 && memcmp(request->content, mark, 3) == 0)
        lines->at += 3;
    if (check_count(request, lines))
        return request->err.code;
    const unsigned inputs_max = request->snapshot->config.inputs_max;
    lines->asked = request->call;
    lines->most = inputs_max < FIRST_LINES ? inputs_max : FIRST_LINES;
    lines->kept = exchange->arena;
    lines->kept_bytes = exchange->memory_bytes;
    arena_init(&exchange->arena);
    request->lines = lines;
    return ERR_OK;
}

void lines_close(struct request *request)
{
    if (request->lines == NULL)
        return;
    arena_deinit(&request->exchange->arena);
    request->exchange->arena = request->lines->kept;
}

/* ---- a portion ---- */

static enum err_code items_create(struct request *request)
{
    struct predict_call *call = &request->call;
    const struct lines *lines = request->lines;
    *call = lines->asked;
    call->first = lines->answered;
    call->items = arena_alloc_array(&request->exchange->arena, lines->count, sizeof *call->items);
    if (call->items == NULL)
        return err_no_memory(&request->err, lines->count * sizeof *call->items);
    call->item_count = lines->count;
    return ERR_OK;
}

enum err_code lines_parse(struct service *service, struct request *request)
{
    struct watch watch;
    const char *line;
    size_t len, bytes, tree;
    if (request->lines == NULL && open_lines(request))
        return request->err.code;
    struct lines *lines = request->lines;
    struct interrupt *interrupt = watch_begin(&watch, service, request);
    measure(lines, &bytes, &tree);
    bytes = memory_sum(bytes, lines->count * sizeof(struct predict_item));
    if (claim_reading(service, request, bytes) || items_create(request))
        return request->err.code;
    request->deadline_ns = request_deadline_ns(request, request->snapshot->config.deadline_ms);
    const char *at = lines->at;
    for (unsigned i = 0; i < lines->count && request->err.code == ERR_OK; i++) {
        struct predict_item *item = &request->call.items[i];
        next_line(&at, lines->end, &line, &len);
        codec_parse_line(item, line, len, interrupt, &request->exchange->arena);
        if (item->err.code == ERR_NO_MEMORY)
            err_set(&request->err, ERR_NO_MEMORY, "%s", item->err.text);
    }
    claim_prepared(service, request, tree);
    return request->err.code;
}

bool lines_are_left(const struct request *request)
{
    const char *at = request->lines->next, *line;
    size_t len;
    return next_line(&at, request->lines->end, &line, &len);
}

size_t lines_portion_bytes(const struct request *request)
{
    return (size_t)(request->lines->next - request->lines->at);
}

unsigned lines_answered(const struct request *request)
{
    return request->lines->answered;
}

unsigned lines_most(const struct request *request)
{
    const unsigned most = request->snapshot->config.inputs_max;
    return request->lines->most > most / 2 ? most : request->lines->most * 2;
}

bool lines_fail(struct request *request)
{
    const struct lines *lines = request->lines;
    const struct err err = request->err;
    if (lines->answered == 0)
        return false;
    if (request->call.item_count == 0 && items_create(request))
        return false;
    if (request->rows == NULL)
        request->rows =
            arena_alloc_array(&request->exchange->arena, lines->count, sizeof *request->rows);
    if (request->rows == NULL)
        return false;
    for (unsigned i = 0; i < lines->count; i++)
        if (request->rows[i].err.code == ERR_OK)
            request->rows[i].err = err;
    request->good_count = 0;
    request->err = (struct err){0};
    return true;
}

/* The reply's head is out; of the reply only its parts matter from now on. */
void lines_next(struct service *service, struct request *request, unsigned most)
{
    struct http_exchange *exchange = request->exchange;
    struct lines *lines = request->lines;
    const size_t bytes = exchange->memory_bytes - lines->kept_bytes;
    arena_deinit(&exchange->arena);
    claim_prepared(service, request, bytes);
    exchange->reply.more = NULL;
    exchange->reply.body = NULL;
    lines->answered += lines->count;
    lines->at = lines->next;
    lines->most = most;
    request->call = lines->asked;
    request->rows = NULL;
    request->good = NULL;
    request->good_count = 0;
    request->err = (struct err){0};
    request->since_ns = clock_now_ns();
    request->pixels = 0;
    request->then = NULL;
    request->reply = NULL;
    request->reply_bytes = request->long_reply_bytes = 0;
    request->explain_units = request->searched = 0;
    request->begun_ns = request->parsed_ns = request->prepared_ns = 0;
    request->searched_ns = request->explained_ns = request->encode_ns = request->encoded_ns = 0;
}
