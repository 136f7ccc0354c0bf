#include "server/api/records.h"

#include "engine/base/clock.h"
#include "server/api/route.h"
#include "server/api/tracing.h"
#include "server/audit/audit_record.h"
#include "server/protocol/lines.h"
#include "server/review/sample.h"
#include "server/serve/snapshots.h"

static double seconds_between(uint64_t start_ns, uint64_t end_ns)
{
    return clock_ms_between(start_ns, end_ns) / 1000;
}

/* -1 if it did not end. */
static double stage_s(uint64_t start_ns, uint64_t end_ns)
{
    return end_ns != 0 ? seconds_between(start_ns, end_ns) : -1;
}

/* Without a place to keep it nothing is drawn. */
static bool is_sampled(const struct request *request, const struct prediction_record *record)
{
    const struct config *config = &request->snapshot->config;
    const struct answer_outcome outcome =
        answer_outcome(record->answer->info, &record->answer->result);
    return config->keep_inputs_bytes > 0 && (outcome.number_name != NULL || outcome.is_text) &&
           sample_takes(config->keep_inputs_share, record->id, record->index,
                        outcome.judgement->decision);
}

static struct prediction_record record_of(const struct request *request, const struct row *row)
{
    const struct predict_item *item = &request->call.items[row - request->rows];
    const char *own = item->context;
    struct prediction_record record = {
        .id = request_reply_id(request),
        .item_id = item->id,
        .context = own != NULL ? own : request->call.context,
        .index = request_index(request, row),
        .key = request->grant.name,
        .input_digest = row->input_digest,
        .trace_id = request->trace != NULL ? request->trace->context.trace_id : NULL,
        .err = row->err};
    if (row->err.code != ERR_OK)
        return record;
    record.model = row->model->slot;
    record.answer = &row->answer;
    record.is_sampled = is_sampled(request, &record);
    record.queue_s = seconds_between(row->submitted_ns, row->started_ns);
    record.inference_s = seconds_between(row->started_ns, row->done_ns);
    return record;
}

enum err_code records_audit(const struct service *service, struct request *request)
{
    unsigned count = request->call.item_count;
    struct prediction_record *records =
        arena_alloc_array(&request->exchange->arena, count, sizeof *records);
    if (records == NULL)
        return err_no_memory(&request->err, count * sizeof *records);
    for (unsigned i = 0; i < count; i++)
        records[i] = record_of(request, &request->rows[i]);
    return audit_predictions(service->audit, records, count, &request->err);
}

void records_predictions(const struct service *service, const struct request *request)
{
    for (unsigned i = 0; i < request->call.item_count; i++) {
        const struct prediction_record record = record_of(request, &request->rows[i]);
        observers_prediction(&service->observers, &record);
    }
}

/* The one model that all rows of the request use, if there is one. */
static int only_model(const struct request *request)
{
    const struct served_model *model = NULL;
    for (unsigned i = 0; request->rows != NULL && i < request->call.item_count; i++) {
        const struct served_model *other = request->rows[i].model;
        if (other != NULL && model != NULL && other != model)
            return METRICS_NO_MODEL;
        model = other != NULL ? other : model;
    }
    return model == NULL ? METRICS_NO_MODEL : (int)model->slot;
}

void records_request(const struct service *service, const struct request *request, int route_index)
{
    const struct http_exchange *exchange = request->exchange;
    struct request_record record = {
        .id = exchange->reply.request_id != NULL ? exchange->reply.request_id : request->id,
        .context = request->call.context,
        .key = request->grant.name,
        .route = request->pattern,
        .route_index = route_index,
        .model = only_model(request),
        .stage_model = METRICS_NO_MODEL,
        .status = exchange->reply.status,
        .reason = request->err.code,
        .inputs = request->call.item_count + (request->lines != NULL ? lines_answered(request) : 0),
        .has_left = request->is_abandoned,
    };
    uint64_t last_done_ns = 0;
    /* A client that left is counted once, whatever the number of its rows. */
    for (unsigned i = 0; i < request->good_count; i++) {
        const struct row *row = request->good[i];
        record.has_left = record.has_left || row->is_abandoned;
        last_done_ns = row->done_ns > last_done_ns ? row->done_ns : last_done_ns;
    }
    if (exchange->head_ns != 0)
        record.total_s = seconds_between(exchange->head_ns, clock_now_ns());
    /* Parsing, preparing and encoding are the whole request's. */
    if (request->encoded_ns != 0 && request->good_count > 0)
        record.stage_model = (int)request->good[0]->model->slot;
    record.parse_s = stage_s(request->begun_ns, request->parsed_ns);
    record.prepare_s = stage_s(request->parsed_ns, request->prepared_ns);
    record.similar_s = stage_s(last_done_ns, request->searched_ns);
    record.explain_s = stage_s(request->searched_ns != 0 ? request->searched_ns : last_done_ns,
                               request->explained_ns);
    record.encode_s = stage_s(request->encode_ns, request->encoded_ns);
    struct trace_record trace;
    if (request->trace != NULL) {
        tracing_record(&trace, request);
        record.trace = &trace;
    }
    observers_request(&service->observers, &record);
}
