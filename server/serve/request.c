#include "server/serve/request.h"

#include "engine/base/clock.h"
#include "engine/base/rng.h"
#include "engine/base/utf8.h"
#include "engine/decide/extraction.h"
#include "server/http/path_pattern.h"
#include "server/serve/label_sets.h"
#include "server/serve/snapshots.h"
#include "wire/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void request_ids_init(struct request_ids *ids)
{
    uint64_t start = 0;
    /* Before the kernel's entropy pool is ready this fails rather than blocks; the clock is used
     * then. */
    if (getrandom(&start, sizeof start, GRND_NONBLOCK) != (ssize_t)sizeof start)
        start = clock_now_ns();
    atomic_init(&ids->next, start);
}

/* Counters stay distinct when they are mixed. */
const char *request_ids_next(struct request_ids *ids, struct arena *arena)
{
    uint64_t count = atomic_fetch_add_explicit(&ids->next, 1, memory_order_relaxed);
    return arena_format(arena, "%016" PRIx64, rng_mix(count));
}

bool request_id_is_plain(const char *id)
{
    size_t len = strnlen(id, LIMIT_ID_BYTES + 1);
    if (len == 0 || len > LIMIT_ID_BYTES)
        return false;
    for (size_t i = 0; i < len; i++)
        if (id[i] < 0x21 || id[i] > 0x7E)
            return false;
    return true;
}

struct request *request_open(struct http_exchange *exchange, struct service *service,
                             struct request_ids *ids)
{
    struct request *request = arena_alloc_array(&exchange->arena, 1, sizeof *request);
    if (request == NULL)
        return NULL;
    const char *given = http_header(exchange, "X-Request-Id");
    request->id = given != NULL && request_id_is_plain(given)
                      ? arena_copy(&exchange->arena, given, strlen(given))
                      : request_ids_next(ids, &exchange->arena);
    if (request->id == NULL)
        return NULL;
    request->exchange = exchange;
    request->service = service;
    atomic_init(&request->rows_outstanding, 0);
    exchange->state = request;
    return request;
}

const char *request_reply_id(const struct request *request)
{
    const char *id = request->call.id;
    return id != NULL && utf8_is_valid(id, strlen(id)) ? id : request->exchange->reply.request_id;
}

const char *request_value(const struct request *request, const char *name)
{
    return path_pattern_value(request->pattern, request->exchange->path, name,
                              &request->exchange->arena);
}

void request_enter(struct request *request, enum request_phase phase)
{
    static const enum request_phase next[REQUEST_PHASES_COUNT][2] = {
#define X(phase, what, a, b) [phase] = {REQUEST_##a, REQUEST_##b},
        REQUEST_PHASES(X)
#undef X
    };
    const enum request_phase *may = next[request->phase];
    assert(phase == may[0] || phase == may[1] || phase == REQUEST_DONE);
    request->phase = phase;
}

const struct engine_model *row_engine(const struct row *row)
{
    return row->labels != NULL ? label_set_engine(row->labels) : row->model->engine;
}

const struct engine_info *row_info(const struct row *row)
{
    return row->labels != NULL ? engine_describe(row_engine(row)) : row->model->info;
}

void row_answer(struct row *row)
{
    row->answer.model_name = row->model->name;
    row->answer.model_version = row->model->info->version;
    row->answer.model_digest = served_model_digest(row->model);
    row->answer.info = row_info(row);
    row->answer.vector = row->request->call.vector;
}

struct engine_source request_source(const struct request *request, unsigned index)
{
    const struct config *config = &request->snapshot->config;
    struct engine_source source = request->call.items[index].source;
    source.reading = (struct engine_reading){.long_text = request->call.long_text,
                                             .text_tokens_max = config->text_tokens_max,
                                             .aggregation = request->call.aggregation,
                                             .keeps_outside = request->call.keeps_outside,
                                             .vectors = request->call.vector.chunks};
    source.targets = request->call.targets;
    source.target_count = request->call.target_count;
    source.prompt_name = request->call.prompt_name;
    const struct engine_question item = source.question;
    source.question = request->call.asking;
    source.writing = request->call.writing;
    if (request->rows != NULL && request->rows[index].writing != NULL)
        source.writing = request->rows[index].writing;
    source.question.text = item.text;
    source.question.len = item.len;
    if (item.text != NULL)
        source.question.top =
            request->call.top_k != TOP_K_ALL ? request->call.top_k : EXTRACTION_TOP_MAX + 1;
    source.pixels_max = config->image_pixels_max;
    return source;
}

uint64_t request_deadline_ns(const struct request *request, unsigned default_ms)
{
    unsigned ms = request->call.deadline_ms != 0 ? request->call.deadline_ms : default_ms;
    const uint64_t from = request->since_ns != 0 ? request->since_ns : request->exchange->head_ns;
    return ms == 0 ? 0 : from + (uint64_t)ms * CLOCK_NS_PER_MS;
}

/* POST /predict alone can tell that there is no text: its wish is any answer. */
void request_take_texts(struct request *request)
{
    for (unsigned i = 0; i < request->good_count; i++) {
        struct row *row = request->good[i];
        struct engine_result *result = &row->answer.result;
        if (row->err.code != ERR_OK || result->writer == NULL || result->texts != NULL ||
            engine_result_texts(result, &request->exchange->arena, &row->err) ||
            result->text_count > 0 || request->call.wish == WISH_ANY)
            continue;
        char place[CALL_PLACE_BYTES];
        request->call.place(&request->call, (unsigned)(row - request->rows), place);
        err_set(&row->err, ERR_UNUSABLE,
                "%s: no text was found that obeys the rule %s: POST /predict tells the best one "
                "that does not",
                place, result->broken_rule);
    }
}

void request_tell(struct row *row)
{
    row->request->reserved = 1;
    http_resume(row->request->exchange);
}

bool request_goes_on(const struct request *request)
{
    return request->call.stream && request->good_count == 1 && request->err.code == ERR_OK &&
           request->rows[0].err.code == ERR_OK && request->rows[0].answer.result.written > 0 &&
           !request->rows[0].answer.result.is_done;
}

void request_expect_rows(struct request *request, unsigned count)
{
    atomic_store_explicit(&request->rows_outstanding, count, memory_order_relaxed);
}

/* Acquire and release: the last worker sees what the others wrote into their rows, and through
 * http_resume so does the I/O thread. */
void request_row_done(struct row *row)
{
    struct request *request = row->request;
    if (atomic_fetch_sub_explicit(&request->rows_outstanding, 1, memory_order_acq_rel) != 1)
        return;
    if (request->then != NULL)
        request->then(request);
    else
        http_resume(request->exchange);
}
