/* intake.c - see intake.h. What one request may ask for is bounded before any of it is decoded: its
 * inputs by the codec, its pixels here, by what the headers of its images declare. A header may
 * claim what it likes, but the decoders take it at its word: nothing is decoded that was not
 * counted. An image above image_pixels_max is refused by itself, and so does not count.
 */
#include "server/intake.h"

#include "engine/base/clock.h"
#include "server/claim.h"
#include "server/explain.h"
#include "server/watch.h"

/* ---- reading ---- */

struct options {
    struct request *request;
    struct err *err;
};

static void visit_option(void *context, const char *name, const char *value)
{
    struct options *options = context;
    struct request *request = options->request;
    if (options->err->code == ERR_OK)
        codec_parse_option(&request->call, name, value != NULL ? value : "",
                           &request->exchange->arena, options->err);
}

static enum err_code parse_raw(struct request *request)
{
    struct http_exchange *exchange = request->exchange;
    enum engine_kind kind = request->body == REQUEST_TEXT ? ENGINE_TEXT : ENGINE_IMAGE;
    if (codec_parse_raw(&request->call, kind, exchange->body, exchange->body_len, &exchange->arena,
                        &request->err))
        return request->err.code;
    http_query_each(exchange, visit_option, &(struct options){request, &request->err});
    if (request->err.code == ERR_OK)
        codec_check_options(&request->call, &request->err);
    return request->err.code;
}

static uint64_t deadline_of(const struct service *service, const struct request *request)
{
    unsigned ms =
        request->call.deadline_ms != 0 ? request->call.deadline_ms : service->config->deadline_ms;
    return ms == 0 ? 0 : request->exchange->head_ns + (uint64_t)ms * CLOCK_NS_PER_MS;
}

/* Its deadline is not known until its options are read, which are before the first look. */
static enum err_code look_while_reading(void *context, struct err *err)
{
    struct watch *watch = context;
    watch->request->deadline_ns = deadline_of(watch->service, watch->request);
    return watch_look(watch, err);
}

/* What an interrupt says is the whole request's error, also if it was found in one item. */
static enum err_code parse_json(const struct service *service, struct request *request)
{
    struct http_exchange *exchange = request->exchange;
    struct watch watch;
    struct codec_limits limits = {.inputs_max = service->config->inputs_max,
                                  .interrupt = watch_begin(&watch, service, request)};
    limits.interrupt->look = look_while_reading;
    return codec_parse_json(&request->call, exchange->body, exchange->body_len, &limits,
                            &exchange->arena, &request->err);
}

static enum err_code parse_body(struct service *service, struct request *request)
{
    return request->body == REQUEST_JSON ? parse_json(service, request) : parse_raw(request);
}

/* Where an item stands in the body, for error texts. */
static enum err_code prefix_item(const struct request *request, unsigned index, struct err *err)
{
    const char *member = request->call.items[index].kind == ENGINE_TEXT ? "text" : "image";
    if (request->body != REQUEST_JSON)
        return err_prefix(err, "body: ");
    if (!request->call.envelope)
        return err_prefix(err, "$.%s: ", member);
    return err_prefix(err, "$.inputs[%u].%s: ", index, member);
}

/* The model of an item; what is wrong with the choice goes into the row. */
static void resolve_model(struct service *service, struct request *request, unsigned index,
                          struct registry_model *named)
{
    struct row *row = &request->rows[index];
    enum engine_kind kind = request->call.items[index].kind;
    struct registry_model *model =
        named != NULL ? named : registry_default(service->registry, kind);
    if (model != NULL && model->info->kind == kind) {
        row->model = model;
        return;
    }
    const char *noun = kind == ENGINE_TEXT ? "texts" : "images";
    if (named != NULL)
        err_set(&row->err, ERR_UNUSABLE, "the model %s does not read %s", named->name, noun);
    else
        err_set(&row->err, ERR_UNUSABLE, "no model that reads %s is served", noun);
    prefix_item(request, index, &row->err);
}

static enum err_code resolve_models(struct service *service, struct request *request)
{
    const struct predict_call *call = &request->call;
    struct registry_model *named = NULL;
    if (call->model != NULL) {
        named = registry_find(service->registry, call->model);
        if (named == NULL)
            return err_set(&request->err, ERR_NOT_FOUND,
                           "%s: no model of this name is served; GET /models lists them",
                           request->body == REQUEST_JSON ? "$.model" : "?model");
    }
    for (unsigned i = 0; i < call->item_count; i++) {
        request->rows[i].request = request;
        request->rows[i].deadline_ns = request->deadline_ns;
        request->rows[i].err = call->items[i].err;
        if (request->rows[i].err.code == ERR_OK)
            resolve_model(service, request, i, named);
    }
    return ERR_OK;
}

/* Adds up what there is to decode. */
static enum err_code count_pixels(const struct service *service, struct request *request)
{
    const size_t image_most = service->config->image_pixels_max;
    const size_t most = service->config->request_pixels_max;
    for (unsigned i = 0; i < request->call.item_count; i++) {
        const struct predict_item *item = &request->call.items[i];
        if (item->kind != ENGINE_IMAGE || request->rows[i].err.code != ERR_OK)
            continue;
        size_t pixels = engine_image_pixels(item->bytes, item->len);
        if (pixels > image_most)
            continue;
        if (pixels > most - request->pixels)
            return err_set(&request->err, ERR_TOO_LARGE,
                           "the images up to $.inputs[%u] have %zu pixels, the limit for one "
                           "request (request_pixels_max) is %zu; send fewer or smaller ones",
                           i, request->pixels + pixels, most);
        request->pixels += pixels;
    }
    return ERR_OK;
}

enum err_code intake_read(struct service *service, struct request *request)
{
    request->begun_ns = clock_now_ns();
    if (claim_reading(service, request) || parse_body(service, request))
        return request->err.code;
    unsigned count = request->call.item_count;
    struct arena *arena = &request->exchange->arena;
    request->rows = arena_alloc_array(arena, count, sizeof *request->rows);
    request->good = arena_alloc_array(arena, count, sizeof(struct row *));
    if (request->rows == NULL || request->good == NULL)
        return err_no_memory(&request->err, count * sizeof *request->rows);
    request->parsed = true;
    request->deadline_ns = deadline_of(service, request);
    if (resolve_models(service, request) || count_pixels(service, request))
        return request->err.code;
    request->parsed_ns = clock_now_ns();
    return ERR_OK;
}

/* ---- preparing ---- */

static enum err_code prepare_input(const struct service *service, const struct predict_item *item,
                                   struct row *row, struct interrupt *interrupt,
                                   struct arena *arena)
{
    const struct engine_model *engine = row->model->engine;
    if (item->kind == ENGINE_TEXT)
        return engine_prepare_text(engine, item->bytes, item->len, interrupt, arena, &row->input,
                                   &row->err);
    return engine_prepare_image(engine, item->bytes, item->len, service->config->image_pixels_max,
                                interrupt, arena, &row->input, &row->err);
}

static enum err_code prepare_item(struct service *service, struct request *request, unsigned index,
                                  struct interrupt *interrupt)
{
    struct row *row = &request->rows[index];
    struct arena *arena = &request->exchange->arena;
    unsigned labels = row->model->info->label_count;
    if (prepare_input(service, &request->call.items[index], row, interrupt, arena) ||
        (request->call.explain && explain_keep(service, request, row)))
        return prefix_item(request, index, &row->err);
    row->logits = arena_alloc_array(arena, labels, sizeof *row->logits);
    row->scores = arena_alloc_array(arena, labels, sizeof *row->scores);
    if (row->logits == NULL || row->scores == NULL)
        return err_no_memory(&row->err, 2 * labels * sizeof *row->scores);
    request->good[request->good_count++] = row;
    return ERR_OK;
}

enum err_code intake_prepare(struct service *service, struct request *request)
{
    struct watch watch;
    struct interrupt *interrupt = watch_begin(&watch, service, request);
    size_t passing;
    if (!watch_wanted(service, request) || claim_preparing(service, request, &passing))
        return request->err.code;
    for (unsigned i = 0; i < request->call.item_count && request->err.code == ERR_OK; i++)
        if (request->rows[i].err.code == ERR_OK)
            prepare_item(service, request, i, interrupt);
    claim_prepared(service, request, passing);
    request->prepared_ns = clock_now_ns();
    return request->err.code;
}
