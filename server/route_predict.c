/* route_predict.c - POST /predict from its head to its reply.
 *
 * The stations, and who holds the baton there:
 *
 *     head      I/O thread     refusals that headers suffice for: 415, 503, 429
 *     begin     I/O thread     read, reserve places, prepare, suspend, submit
 *     prepare   pool thread    the same, when the body or an image in it is heavy
 *     (queue, inference)       workers, each its own rows
 *     explain   pool thread    if the call asks for explanations
 *     finish    I/O thread     encode, count
 *
 * Every client mistake is found before the queue. The places in the queue are reserved before any
 * input is prepared, so an overload costs a parse at most; a heavy request reserves one place even
 * before it is parsed, which bounds the pool's waiting list. What is long to do for a request (to
 * prepare, to explain) ends soon after nobody needs it any more: watch.h.
 */
#include "server/routes.h"

#include "engine/base/clock.h"
#include "server/explain.h"
#include "server/intake.h"
#include "server/limits.h"
#include "server/media_type.h"
#include "server/watch.h"

#include <string.h>
#include <strings.h>

/* If the queue or the pool refused it, tells when to come again. */
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
 * one to the other, so the first phase alone says too little. */
static enum err_code check_phase(struct service *service, struct err *err)
{
    int phase = atomic_load(&service->phase);
    if (phase == SERVICE_STARTING)
        return err_set(err, ERR_NOT_READY, "the models are being loaded");
    if (phase == SERVICE_STOPPING)
        return err_set(err, ERR_NOT_READY, "the server is stopping");
    return ERR_OK;
}

enum err_code route_predict_head(struct service *service, struct request *request)
{
    const char *type = http_header(request->exchange, "Content-Type");
    const char *encoding = http_header(request->exchange, "Content-Encoding");
    if (media_type_parse(type, &request->body, &request->err))
        return request->err.code;
    if (encoding != NULL && strcasecmp(encoding, "identity") != 0)
        return err_set(&request->err, ERR_MEDIA_TYPE, "Content-Encoding must be absent");
    if (check_phase(service, &request->err))
        return request->err.code;
    if (batcher_admit(service->batcher, 1, &request->err))
        return overloaded(service, request);
    return ERR_OK;
}

/* A place in the queue for each item, beside those that the request already has. */
static enum err_code reserve(struct service *service, struct request *request, unsigned count)
{
    unsigned missing = count > request->reserved ? count - request->reserved : 0;
    if (batcher_reserve(service->batcher, missing, &request->err) == ERR_OK)
        request->reserved += missing;
    return overloaded(service, request);
}

/* Gives back the places beyond `kept`, of which the caller disposes. */
static void keep_places(struct service *service, struct request *request, unsigned kept)
{
    if (request->reserved > kept)
        batcher_release(service->batcher, request->reserved - kept);
    request->reserved = 0;
}

/* All from the call to rows that may enter the queue. */
static enum err_code prepare(struct service *service, struct request *request)
{
    if (reserve(service, request, request->call.item_count))
        return request->err.code;
    if (intake_prepare(service, request))
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
        request_expect_rows(request, count);
        if (batcher_submit(service->batcher, request->good, count))
            return;
        err_set(&request->err, ERR_NOT_READY, "the server is stopping");
    }
    http_resume(request->exchange);
}

/* To the pool, to be read or, when it has been, prepared. The exchange is suspended and the request
 * ours; afterwards no longer. */
static void enter_pool(struct service *service, struct request *request)
{
    enum prepare_kind kind = request->parsed ? PREPARE_INPUTS : PREPARE_READ;
    uint64_t units = request->exchange->body_len + request->pixels;
    if (!prepare_submit(atomic_load(&service->prepare), request, kind, units, &request->err))
        return;
    overloaded(service, request);
    enter_queue(service, request);
}

static bool read_in_pool(struct service *service, struct request *request)
{
    if (!intake_read(service, request) && !reserve(service, request, request->call.item_count)) {
        enter_pool(service, request);
        return true;
    }
    enter_queue(service, request);
    return false;
}

static bool prepare_in_pool(struct service *service, struct request *request)
{
    bool finished = !prepare(service, request) && request->good_count == request->call.item_count;
    enter_queue(service, request);
    return finished;
}

static bool explain_in_pool(const struct service *service, struct request *request)
{
    bool finished = !explain_rows(service, request);
    http_resume(request->exchange);
    return finished;
}

bool route_predict_pool(void *context, struct request *request)
{
    struct service *service = context;
    if (!watch_wanted(service, request)) {
        enter_queue(service, request); /* with an error: it is resumed */
        return false;
    }
    if (request->computed)
        return explain_in_pool(service, request);
    return request->parsed ? prepare_in_pool(service, request) : read_in_pool(service, request);
}

/* A compressed image may be small and yet long to decode, so pixels count as well as bytes. */
static bool is_heavy(const struct request *request)
{
    return request->pixels > LIMIT_PREPARE_INLINE_PIXELS;
}

static enum http_next answer_now(struct service *service, struct request *request)
{
    keep_places(service, request, 0);
    route_predict_finish(service, request);
    return HTTP_REPLY;
}

static enum http_next hand_over(struct service *service, struct request *request)
{
    unsigned places = request->parsed ? request->call.item_count : 1;
    if (reserve(service, request, places))
        return answer_now(service, request);
    http_suspend(request->exchange);
    enter_pool(service, request);
    return HTTP_SUSPENDED;
}

enum http_next route_predict_begin(struct service *service, struct request *request)
{
    if (request->exchange->body_len > LIMIT_PREPARE_INLINE_BYTES)
        return hand_over(service, request);
    if (intake_read(service, request))
        return answer_now(service, request);
    if (is_heavy(request))
        return hand_over(service, request);
    prepare(service, request);
    if (request->err.code != ERR_OK || request->good_count == 0)
        return answer_now(service, request);
    http_suspend(request->exchange);
    enter_queue(service, request);
    return HTTP_SUSPENDED;
}

/* The row that was done last: its way is the longest, so its times are the request's. */
static const struct row *last_row(const struct request *request)
{
    const struct row *last = NULL;
    for (unsigned i = 0; i < request->good_count; i++)
        if (last == NULL || request->good[i]->done_ns > last->done_ns)
            last = request->good[i];
    return last;
}

static struct predict_timing timing_of(const struct request *request)
{
    const struct http_exchange *exchange = request->exchange;
    const struct row *last = last_row(request);
    struct predict_timing timing = {
        .prepare_ms = clock_ms_between(exchange->body_ns, request->prepared_ns),
        .total_ms = clock_ms_between(exchange->head_ns, clock_now_ns()),
    };
    if (last != NULL) {
        timing.queue_ms = clock_ms_between(last->submitted_ns, last->started_ns);
        timing.inference_ms = clock_ms_between(last->started_ns, last->done_ns);
        if (request->explained_ns != 0)
            timing.explain_ms = clock_ms_between(last->done_ns, request->explained_ns);
    }
    return timing;
}

static struct predict_result result_of(const struct row *row)
{
    struct predict_result result = {.err = row->err};
    if (row->err.code != ERR_OK)
        return result;
    struct model_row model = registry_row(row->model);
    result.model_name = model.name;
    result.model_version = model.version;
    result.model_digest = model.digest;
    result.info = model.info;
    result.scores = row->scores;
    result.judgement = row->judgement;
    result.truncated = row->input.truncated;
    result.explanation = row->explanation;
    return result;
}

static enum err_code reply_results(struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    const struct predict_call *call = &request->call;
    struct predict_timing timing = timing_of(request);
    struct predict_result *results = arena_alloc_array(arena, call->item_count, sizeof *results);
    const char *id = call->id != NULL ? call->id : request->id;
    if (results == NULL)
        return err_no_memory(&request->err, call->item_count * sizeof *results);
    for (unsigned i = 0; i < call->item_count; i++)
        results[i] = result_of(&request->rows[i]);
    size_t len = 0;
    const char *json = codec_encode_reply(call, id, results, &timing, arena, &len);
    if (json == NULL)
        return err_set(&request->err, ERR_NO_MEMORY, "out of memory for the reply");
    request_reply(request, 200, "application/json", json, len);
    return ERR_OK;
}

static void count_prediction(struct metrics *metrics, const struct row *row)
{
    const struct registry_model *model = row->model;
    unsigned best = engine_argmax(model->engine, row->scores);
    metrics_stage(metrics, model->index, STAGE_QUEUE,
                  clock_ms_between(row->submitted_ns, row->started_ns) / 1000);
    metrics_stage(metrics, model->index, STAGE_INFERENCE,
                  clock_ms_between(row->started_ns, row->done_ns) / 1000);
    metrics_prediction(metrics, model->index, best, row->judgement.decision, row->scores[best]);
}

/* Parsing, preparing and encoding are the whole request's: they count for its first row's model. */
static void count_call(struct metrics *metrics, const struct request *request, uint64_t encode_ns)
{
    if (request->good_count == 0)
        return;
    unsigned model = request->good[0]->model->index;
    metrics_stage(metrics, model, STAGE_PARSE,
                  clock_ms_between(request->begun_ns, request->parsed_ns) / 1000);
    metrics_stage(metrics, model, STAGE_PREPARE,
                  clock_ms_between(request->parsed_ns, request->prepared_ns) / 1000);
    if (request->explained_ns != 0)
        metrics_stage(metrics, model, STAGE_EXPLAIN,
                      clock_ms_between(last_row(request)->done_ns, request->explained_ns) / 1000);
    metrics_stage(metrics, model, STAGE_ENCODE, clock_ms_between(encode_ns, clock_now_ns()) / 1000);
    for (unsigned i = 0; i < request->good_count; i++)
        if (request->good[i]->err.code == ERR_OK)
            count_prediction(metrics, request->good[i]);
}

/* A client is counted once, however many rows it left behind. */
static bool client_has_gone(const struct request *request)
{
    bool gone = request->abandoned;
    for (unsigned i = 0; i < request->good_count; i++)
        gone = gone || request->good[i]->abandoned;
    return gone;
}

void route_predict_finish(struct service *service, struct request *request)
{
    uint64_t start = clock_now_ns();
    if (client_has_gone(request))
        metrics_client_gone(service->metrics);
    if (request->err.code == ERR_OK && !request->call.envelope)
        request->err = request->rows[0].err;
    if (request->err.code == ERR_OK && reply_results(request) == ERR_OK) {
        count_call(service->metrics, request, start);
        return;
    }
    metrics_rejected(service->metrics, request->err.code);
    request_reply_problem(request);
}
