/* review.c - inputs that are kept for a person: GET /review, /review/groups, /review/{id} and
 * /review/input?id=. Groups
 * are found on a thread of the prepare pool. */
#include "server/review/review.h"

#include "engine/base/clock.h"
#include "engine/vision/input_formats.h"
#include "server/api/guard.h"
#include "server/api/handlers.h"
#include "server/api/input_name.h"
#include "server/api/reply.h"
#include "server/api/route.h"
#include "server/json/codec_feedback.h"
#include "server/json/codec_review.h"
#include "server/review/review_groups.h"
#include "server/serve/claim.h"
#include "server/serve/served_model.h"
#include "server/serve/watch.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_DEFAULT = 50, GROUPS_DEFAULT = 20, GROUPS_MS_MAX = 10000 };

/* A kept input is shown only to a client that may also send a label: without keys, only to clients
 * on this machine, and never to a page of another origin. */
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
                   "this server keeps no inputs: set state_dir and keep_inputs_bytes to review "
                   "them");
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
        return reply_problem(request);
    http_query_each(request->exchange, visit_filter, &query);
    if (request->err.code != ERR_OK ||
        claim_reply(service, request, review_list_bytes(query.filter.limit)) ||
        review_list(service->review, &query.filter, arena, &page, &request->err))
        return reply_problem(request);
    const char *json = codec_review_encode(&page, arena, &len);
    return reply_json(request, 200, json, len, "out of memory for the list");
}

/* ---- one input ---- */

/* A browser must not take a text for a page, nor show what somebody sent as one of ours. The name
 * of the file is no client's. The fields are the arena's; NULL: out of memory. */
static const struct http_field *headers_of(const char *media_type, struct arena *arena)
{
    const struct input_format *format = input_format_of_media_type(media_type, strlen(media_type));
    const char *ending = strcmp(media_type, "application/json") == 0 ? ".json" : ".txt";
    if (format != NULL)
        ending = format->endings[0];
    const struct http_field fields[] = {
        {"Content-Disposition", arena_format(arena, "attachment; filename=\"input%s\"", ending)},
        {"X-Content-Type-Options", "nosniff"},
        {"Content-Security-Policy", "default-src 'none'; sandbox"},
        {"Cache-Control", "no-store"},
        {NULL, NULL},
    };
    return fields[0].value != NULL ? reply_fields(NULL, fields, arena) : NULL;
}

enum http_next review_input_begin(struct service *service, struct request *request)
{
    struct arena *arena = &request->exchange->arena;
    struct err *err = &request->err;
    struct input_name name;
    struct review_place place;
    struct kept_input input;
    if (check_kept(service, request) || input_name_read(&name, request) ||
        review_look(service->review, name.id, name.index, &place, err) ||
        claim_reply(service, request, place.bytes) ||
        review_read(service->review, &place, arena, &input, err))
        return reply_problem(request);
    const struct http_field *headers = headers_of(input.media_type, arena);
    if (headers == NULL) {
        err_set(err, ERR_NO_MEMORY, "out of memory for the headers of an input");
        return reply_problem(request);
    }
    reply_fill(request, 200, input.media_type, input.bytes, input.len);
    request->exchange->reply.more = headers;
    return HTTP_REPLY;
}

/* ---- groups ---- */

struct groups_query {
    struct review_question *question;
    struct err *err;
};

static void visit_question(void *context, const char *name, const char *value)
{
    struct groups_query *query = context;
    codec_groups_option(query->question, name, value, query->err);
}

static enum err_code read_question(struct service *service, struct request *request)
{
    struct err *err = &request->err;
    struct review_question *question =
        arena_alloc_array(&request->exchange->arena, 1, sizeof *question);
    struct groups_query query = {.question = question, .err = err};
    if (question == NULL)
        return err_no_memory(err, sizeof *question);
    *question = (struct review_question){
        .decisions = REVIEW_NOT_AUTO, .limit = GROUPS_DEFAULT, .feedback = service->feedback};
    http_query_each(request->exchange, visit_question, &query);
    if (err->code != ERR_OK)
        return err->code;
    if (question->model == NULL)
        return err_set(err, ERR_UNUSABLE, "?model: expected the name of a model, found none");
    const struct served_model *model = snapshot_find(request->snapshot, question->model);
    if (model == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "?model: no model of this name is served; GET /models lists them");
    if (model->info->task == ENGINE_GENERATE)
        return err_set(
            err, ERR_UNUSABLE,
            "?model: this model writes texts, which make no groups; GET /review?model=%s "
            "lists its inputs",
            question->model);
    question->likeness_size = model->info->classifier_size;
    request->state = question;
    request->deadline_ns = clock_now_ns() + (uint64_t)GROUPS_MS_MAX * CLOCK_NS_PER_MS;
    return ERR_OK;
}

enum http_next review_groups_begin(struct service *service, struct request *request)
{
    struct prepare *prepare = atomic_load(&service->prepare);
    if (check_kept(service, request) || read_question(service, request))
        return reply_problem(request);
    if (prepare == NULL) {
        err_set(&request->err, ERR_NOT_READY, "the models are being loaded");
        return reply_problem(request);
    }
    http_suspend(request->exchange);
    if (prepare_submit(prepare, request, PREPARE_GROUPS, review_groups_units(service->review),
                       &request->err)) {
        request->retry_after_s = prepare_retry_after_s(prepare);
        http_resume(request->exchange);
    }
    return HTTP_SUSPENDED;
}

/* The memory that a step claims depends on what the step before it found. */
static enum err_code answer_question(struct service *service, struct request *request,
                                     struct err *err)
{
    struct watch watch;
    struct review_question question = *(const struct review_question *)request->state;
    struct arena *arena = &request->exchange->arena;
    struct review_found found;
    size_t len = 0;
    question.interrupt = watch_begin(&watch, service, request);
    if (claim_reply(service, request, review_groups_finding(service->review, &question)) ||
        review_groups_find(service->review, &question, &found, arena, err) ||
        claim_reply(service, request, review_groups_bytes(&found)) ||
        review_groups_read(service->review, &found, arena, err))
        return err->code;
    const char *json = codec_groups_encode(question.model, &found, arena, &len);
    if (json == NULL)
        return err_set(err, ERR_NO_MEMORY, "out of memory for the groups");
    reply_fill(request, 200, "application/json", json, len);
    return ERR_OK;
}

bool review_groups_work(void *context, struct request *request)
{
    struct service *service = context;
    struct err err = {0};
    bool is_whole = watch_wanted(service, request) && !answer_question(service, request, &err) &&
                    request->err.code == ERR_OK;
    if (request->err.code == ERR_OK)
        request->err = err;
    http_resume(request->exchange);
    return is_whole;
}

void review_groups_finish(struct service *service, struct request *request)
{
    (void)service;
    if (request->err.code != ERR_OK)
        reply_problem(request);
}
