/* predict.c - prediction requests, from head to reply. The protocol (protocol.h) parses the call
 * and encodes the answer.
 *
 * The phases (request.h), and which thread owns the request in each:
 *
 *     head      I/O thread             refusals that headers suffice for: 415, 503, 429
 *     parse     I/O or pool thread     the call, its models, places in the queue
 *     prepare   I/O or pool thread     tokens and patches; before that, on the labeller's thread,
 *                                      labels that came with the call
 *     queued    queue and workers      each row by itself
 *     explain   pool thread            if the call asks for near inputs or explanations
 *     reply     I/O thread             encode, and tell the observers; what may be long is encoded
 *                                      on a pool thread before, row by row
 *
 * A body of lines (lines.h) passes through them once for each portion: with the part of the reply
 * sent, predict_more begins the next one.
 *
 * Every client mistake is found before the queue. The places in the queue are reserved before any
 * input is prepared, so an overload costs a parse at most; a heavy request reserves one place even
 * before it is parsed, which bounds the pool's waiting list. Long work (preparing, explaining) is
 * cancelled soon after its result is no longer needed: watch.h.
 */
#include "server/api/guard.h"
#include "server/api/handlers.h"
#include "server/api/records.h"
#include "server/api/repeats.h"
#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/api/stream.h"

#include "engine/base/clock.h"
#include "server/protocol/lines.h"
#include "server/review/review_nearest.h"
#include "server/serve/answered.h"
#include "server/serve/claim.h"
#include "server/serve/explain.h"
#include "server/serve/rows.h"
#include "server/serve/similar.h"
#include "server/serve/watch.h"
#include "wire/limits.h"

#include <string.h>

/* If the queue or the pool refused it, sets Retry-After. */
static enum err_code overloaded(struct service *service, struct request *request)
{
    if (request->err.code != ERR_QUEUE_FULL)
        return request->err.code;
    unsigned queue_s = batcher_retry_after_s(service->batcher);
    unsigned pool_s = prepare_retry_after_s(atomic_load(&service->prepare));
    request->retry_after_s = queue_s > pool_s ? queue_s : pool_s;
    return request->err.code;
}

/* While the server starts and while it stops there may be no pool. A start that fails goes from the
 * first phase to the last, so checking the first alone does not suffice. */
static enum err_code check_phase(struct service *service, struct err *err)
{
    int phase = atomic_load(&service->phase);
    if (phase == SERVICE_STARTING)
        return err_set(err, ERR_NOT_READY, "the models are being loaded");
    if (phase == SERVICE_STOPPING)
        return err_set(err, ERR_NOT_READY, "the server is stopping");
    return ERR_OK;
}

enum err_code predict_head(struct service *service, struct request *request)
{
    request->protocol = request->route->protocol;
    if (request->protocol->accept(request) || repeats_head(service, request) ||
        check_phase(service, &request->err))
        return request->err.code;
    if (batcher_admit(service->batcher, 1, &request->err))
        return overloaded(service, request);
    return ERR_OK;
}

/* ---- places ---- */

/* A place in the queue for each item, beside those that the request already has. */
static enum err_code reserve(struct service *service, struct request *request, unsigned count)
{
    unsigned missing = count > request->reserved ? count - request->reserved : 0;
    if (batcher_reserve(service->batcher, missing, &request->err) == ERR_OK)
        request->reserved += missing;
    return overloaded(service, request);
}

/* Gives back the places beyond `kept`, which the caller will use. */
static void keep_places(struct service *service, struct request *request, unsigned kept)
{
    if (request->reserved > kept)
        batcher_release(service->batcher, request->reserved - kept);
    request->reserved = 0;
}

/* ---- from the body to the queue ---- */

/* Kept inputs, and an index that is not public, are for those who may see kept inputs. */
static enum err_code check_restricted(struct request *request)
{
    const struct key *key = request->grant.key;
    const bool has_keys = request->snapshot->keys != NULL;
    if (!similar_is_restricted(request))
        return ERR_OK;
    if (has_keys && (key == NULL || (key->scopes & 1U << SCOPE_FEEDBACK) == 0))
        err_set(&request->err, ERR_FORBIDDEN, "the key needs the scope feedback");
    else if (!guard_check_reader(request))
        return ERR_OK;
    return err_prefix(&request->err, "these past inputs are not public: ");
}

/* The body becomes a call, and the call rows. */
static enum err_code parse(struct service *service, struct request *request)
{
    const struct protocol *protocol = request->protocol;
    request->begun_ns = clock_now_ns();
    if (repeats_begin(service, request) || repeats_has_reply(request))
        return request->err.code;
    if (claim_reading(service, request, protocol->parse_bytes(request)) ||
        protocol->parse(request) || stream_check(request))
        return request->err.code;
    request->deadline_ns = request_deadline_ns(request, request->snapshot->config.deadline_ms);
    if (rows_open(request) || check_restricted(request))
        return request->err.code;
    request->parsed_ns = clock_now_ns();
    request_enter(request, REQUEST_PREPARE);
    return ERR_OK;
}

/* A row, and to the end of the list again: one row of a long reply takes as long as a picture. */
static void encode_later(struct request *request)
{
    struct prepare *pool = atomic_load(&request->service->prepare);
    struct err err = {0};
    if (request->phase != REQUEST_REPLY)
        request_enter(request, REQUEST_REPLY);
    if (prepare_continue(pool, request, PREPARE_REPLY,
                         request->long_reply_bytes / request->call.item_count, &err))
        http_resume(request->exchange); /* the server stops: predict_finish encodes what is left */
}

/* How long the reply may be is known once the rows have their labels. */
static void expect_reply(struct request *request)
{
    size_t text;
    request->reply_bytes = request->protocol->reply_bytes(request, &text);
    if (text <= LIMIT_ENCODE_INLINE_BYTES)
        return;
    request->long_reply_bytes = text;
    request->then = encode_later;
}

/* Everything from the call to rows that may enter the queue. */
static enum err_code prepare(struct service *service, struct request *request)
{
    if (reserve(service, request, request->call.item_count))
        return request->err.code;
    expect_reply(request);
    if (rows_prepare(service, request))
        return overloaded(service, request);
    return ERR_OK;
}

/* The exchange is suspended and the request ours: queue its rows, or resume at once if it has none.
 * After either, it is no longer ours. */
static void enter_queue(struct service *service, struct request *request)
{
    unsigned count = request->err.code == ERR_OK ? request->good_count : 0;
    keep_places(service, request, count);
    if (count > 0) {
        request_enter(request, REQUEST_QUEUED);
        request_expect_rows(request, count);
        if (batcher_submit(service->batcher, request->good, count))
            return;
        err_set(&request->err, ERR_NOT_READY, "the server is stopping");
    }
    if (request->err.code == ERR_OK && request->long_reply_bytes > 0) /* all are known already */
        encode_later(request);
    else
        http_resume(request->exchange);
}

/* The next step of a request; *units: the size of the step. */
static enum prepare_kind next_of(const struct request *request, uint64_t *units)
{
    *units = request->pixels +
             (request->lines != NULL ? lines_portion_bytes(request) : request->exchange->body_len);
    if (request->phase == REQUEST_PARSE)
        return PREPARE_READ;
    if (!rows_want_labels(request))
        return PREPARE_INPUTS;
    *units = request->call.labels.count;
    return PREPARE_LABELS;
}

/* To the pool, to be parsed or, when it has been, prepared. The exchange is suspended and the
 * request ours; afterwards no longer. */
static void enter_pool(struct service *service, struct request *request)
{
    struct prepare *pool = atomic_load(&service->prepare);
    uint64_t units;
    enum prepare_kind kind = next_of(request, &units);
    if (pool == NULL)
        err_set(&request->err, ERR_NOT_READY, "the server is stopping");
    else if (!(request->lines != NULL ? prepare_continue : prepare_submit)(pool, request, kind,
                                                                           units, &request->err))
        return;
    overloaded(service, request);
    enter_queue(service, request);
}

static bool parse_in_pool(struct service *service, struct request *request)
{
    if (!parse(service, request) && !repeats_has_reply(request) &&
        !reserve(service, request, request->call.item_count)) {
        enter_pool(service, request);
        return true;
    }
    enter_queue(service, request);
    return false;
}

/* One step, and to the end of the list again, behind which others have theirs. */
static bool label_in_pool(struct service *service, struct request *request)
{
    struct prepare *prepare = atomic_load(&service->prepare);
    unsigned left = 0;
    uint64_t units;
    if (rows_label(service, request, &left) == ERR_OK) {
        enum prepare_kind kind = next_of(request, &units);
        units = kind == PREPARE_LABELS ? left : units;
        if (!prepare_continue(prepare, request, kind, units, &request->err))
            return left == 0;
    }
    enter_queue(service, request);
    return false;
}

static bool prepare_in_pool(struct service *service, struct request *request)
{
    bool is_whole = !prepare(service, request) && request->good_count == request->call.item_count;
    enter_queue(service, request);
    return is_whole;
}

/* The error of the request: its own or, without an envelope, that of its first row that failed. */
static const struct err *error_of(const struct request *request)
{
    for (unsigned i = 0;
         request->err.code == ERR_OK && !request->call.envelope && i < request->call.item_count;
         i++)
        if (request->rows[i].err.code != ERR_OK)
            return &request->rows[i].err;
    return &request->err;
}

static bool encode_in_pool(struct request *request)
{
    request_take_texts(request);
    const bool has_answers = error_of(request)->code == ERR_OK;
    if (request->encode_ns == 0)
        request->encode_ns = clock_now_ns();
    if (has_answers && request->protocol->encode_row(request) > 0)
        encode_later(request);
    else
        http_resume(request->exchange);
    return true;
}

/* Kept inputs are read after their memory is claimed, which depends on how many there are. */
static void search_review(struct service *service, struct request *request, struct row *row,
                          struct interrupt *interrupt)
{
    struct arena *arena = &request->exchange->arena;
    const struct review_nearest_question question = {.model = row->model->name,
                                                     .likeness = row->likeness,
                                                     .likeness_size =
                                                         row->model->info->classifier_size,
                                                     .k = request->call.similar,
                                                     .feedback = service->feedback,
                                                     .interrupt = interrupt};
    unsigned count = 0;
    if (claim_reply(service, request, review_nearest_bytes(service->review, question.k)))
        return;
    struct answer_neighbour *items = arena_alloc_array(arena, question.k, sizeof *items);
    if (items == NULL)
        err_no_memory(&row->err, question.k * sizeof *items);
    else if (!review_nearest(service->review, &question, items, &count, arena, &row->err))
        row->answer.neighbours = (struct answer_neighbours){items, count};
}

/* Near inputs of one row. True: another row has its turn later. */
static bool search_in_pool(struct service *service, struct request *request)
{
    struct watch watch;
    struct row *row = similar_next(request);
    struct interrupt *interrupt = watch_begin(&watch, service, request);
    if (row->err.code == ERR_OK && row->in_review)
        search_review(service, request, row, interrupt);
    else if (row->err.code == ERR_OK && row->index != NULL)
        similar_search(row, interrupt);
    return similar_go_on(service, request);
}

/* A reply with explanations may be long whatever its labels are. What explaining takes is not told
 * as the time of a search. */
static bool explain_in_pool(struct service *service, struct request *request)
{
    const bool has_search = request->call.similar > 0, has_explanation = request->call.explain;
    if (has_search && search_in_pool(service, request))
        return true;
    if (request->err.code == ERR_OK && has_explanation)
        explain_rows(service, request);
    if (request->err.code != ERR_OK) {
        http_resume(request->exchange);
        return false;
    }
    request_enter(request, REQUEST_REPLY);
    return encode_in_pool(request) && !(has_search && has_explanation);
}

bool predict_pool(void *context, struct request *request)
{
    struct service *service = context;
    bool is_wanted = watch_wanted(service, request);
    if (request->phase == REQUEST_EXPLAIN && is_wanted)
        return explain_in_pool(service, request);
    if (request->phase == REQUEST_REPLY && is_wanted)
        return encode_in_pool(request);
    if (request->phase == REQUEST_PREPARE && is_wanted && rows_want_labels(request))
        return label_in_pool(service, request);
    if (request->phase == REQUEST_PREPARE && is_wanted)
        return prepare_in_pool(service, request);
    if (is_wanted)
        return parse_in_pool(service, request);
    keep_places(service, request, 0);
    http_resume(request->exchange);
    return false;
}

static enum http_next answer_now(struct service *service, struct request *request)
{
    keep_places(service, request, 0);
    predict_finish(service, request);
    return HTTP_REPLY;
}

static enum http_next hand_over(struct service *service, struct request *request)
{
    unsigned places = request->phase == REQUEST_PARSE ? 1 : request->call.item_count;
    if (reserve(service, request, places))
        return answer_now(service, request);
    http_suspend(request->exchange);
    enter_pool(service, request);
    return HTTP_SUSPENDED;
}

enum http_next predict_begin(struct service *service, struct request *request)
{
    request_enter(request, REQUEST_PARSE);
    if (request->is_packed || request->body == REQUEST_LINES ||
        request->exchange->body_len > LIMIT_PREPARE_INLINE_BYTES)
        return hand_over(service, request);
    if (parse(service, request) || repeats_has_reply(request))
        return answer_now(service, request);
    /* A compressed image may be small and yet long to decode, so pixels count as well as bytes. */
    if (request->pixels > LIMIT_PREPARE_INLINE_PIXELS || rows_want_labels(request))
        return hand_over(service, request);
    prepare(service, request);
    if (request->err.code != ERR_OK || (request->good_count == 0 && request->long_reply_bytes == 0))
        return answer_now(service, request);
    http_suspend(request->exchange);
    enter_queue(service, request);
    return HTTP_SUSPENDED;
}

/* ---- the reply ---- */

static struct codec_timing timing_of(const struct request *request)
{
    const struct http_exchange *exchange = request->exchange;
    const struct row *last = NULL; /* the row that was done last: its times are the request's */
    for (unsigned i = 0; i < request->good_count; i++)
        if (last == NULL || request->good[i]->done_ns > last->done_ns)
            last = request->good[i];
    struct codec_timing timing = {
        .prepare_ms = clock_ms_between(exchange->body_ns, request->prepared_ns),
        .total_ms = clock_ms_between(exchange->head_ns, clock_now_ns()),
    };
    if (last != NULL) {
        timing.queue_ms = clock_ms_between(last->submitted_ns, last->started_ns);
        timing.inference_ms = clock_ms_between(last->started_ns, last->done_ns);
        if (request->searched_ns != 0)
            timing.similar_ms = clock_ms_between(last->done_ns, request->searched_ns);
        if (request->explained_ns != 0)
            timing.explain_ms =
                clock_ms_between(last->done_ns, request->explained_ns) - timing.similar_ms;
    }
    return timing;
}

static enum err_code reply_rows(struct request *request)
{
    const struct codec_timing timing = timing_of(request);
    size_t len = 0;
    if (request->encode_ns == 0)
        request->encode_ns = clock_now_ns();
    const struct protocol *protocol = request->protocol;
    const char *body = protocol->encode(request, &timing, &len);
    if (body == NULL)
        return err_set(&request->err, ERR_NO_MEMORY, "out of memory for the reply");
    request->encoded_ns = clock_now_ns();
    reply_fill(request, 200, request->call.is_lines ? "application/x-ndjson" : protocol->reply_type,
               body, len);
    request->exchange->reply.has_more = request->lines != NULL && lines_are_left(request);
    if (protocol->head != NULL)
        protocol->head(request, &timing);
    return request->err.code;
}

/* A later portion whose work as a whole has failed: a problem for each of its lines, or, without
 * memory, the end of the reply. */
static void reply_failed_lines(struct service *service, struct request *request)
{
    request->reply = NULL;
    if (lines_fail(request) && !reply_rows(request))
        records_predictions(service, request);
    else
        request->exchange->reply = (struct http_reply){.status = 200, .request_id = request->id};
}

/* Which answers were known already. Without memory nothing is said. */
static void tell_repeated(const struct service *service, struct request *request)
{
    struct http_reply *reply = &request->exchange->reply;
    const struct http_field more[] = {{"Cache-Status", answered_status(service, request)},
                                      {NULL, NULL}};
    if (more[0].value != NULL && !request->call.is_lines)
        reply->more = reply_fields(reply->more, more, &request->exchange->arena);
}

void predict_finish(struct service *service, struct request *request)
{
    if (request->err.code == ERR_OK && repeats_has_reply(request)) {
        if (repeats_reply(service, request))
            reply_problem(request);
        return;
    }
    if (request_goes_on(request)) {
        stream_part(request);
        return;
    }
    request_take_texts(request);
    if (error_of(request) != &request->err)
        request->err = *error_of(request);
    const enum predict_wish wish = request->call.wish;
    const bool is_prediction = wish != WISH_SIMILAR && wish != WISH_TOKENS && wish != WISH_NOTHING;
    if (request->err.code == ERR_OK && !reply_rows(request) &&
        (!is_prediction || service->audit == NULL || !records_audit(service, request))) {
        if (is_prediction)
            records_predictions(service, request);
        answered_keep(service, request);
        repeats_keep(service, request);
        tell_repeated(service, request);
    } else if (request->lines != NULL && lines_answered(request) > 0) {
        reply_failed_lines(service, request);
    } else {
        reply_problem(request);
    }
    repeats_end(service, request); /* before the reply is out: the client may ask again at once */
    stream_end(request);
}

enum http_next predict_more(struct service *service, struct request *request)
{
    if (request_goes_on(request))
        return stream_more(service, request);
    unsigned most = lines_most(request);
    struct err err = {0};
    while (most > 1 && batcher_admit(service->batcher, most, &err) != ERR_OK)
        most /= 2;
    explain_release(service, request);
    rows_release_labels(request);
    lines_next(service, request, most);
    request_enter(request, REQUEST_PARSE);
    http_suspend(request->exchange);
    enter_pool(service, request);
    return HTTP_SUSPENDED;
}
