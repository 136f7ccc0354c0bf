#include "server/observe/metrics.h"
#include "server/observe/record.h"

static void on_begun(void *context)
{
    metrics_request_begin(context);
}

static void on_prediction(void *context, const struct prediction_record *record)
{
    struct metrics *metrics = context;
    if (record->err.code != ERR_OK) {
        metrics_rejected(metrics, record->err.code);
        return;
    }
    const struct engine_result *result = &record->answer->result;
    const struct answer_outcome outcome = answer_outcome(record->answer->info, result);
    if (!record->answer->is_repeated) {
        metrics_stage(metrics, record->model, STAGE_QUEUE, record->queue_s);
        metrics_stage(metrics, record->model, STAGE_INFERENCE, record->inference_s);
    }
    if (result->truncated)
        metrics_truncated(metrics, record->model);
    if (outcome.judgement == NULL)
        return;
    const bool is_other =
        record->answer->info->has_given_labels || record->answer->info->row_size > 0;
    metrics_prediction(metrics, record->model, is_other ? METRICS_OTHER_LABEL : outcome.label_index,
                       outcome.judgement->decision, outcome.number);
    if (outcome.judgement->has_ood)
        metrics_ood_score(metrics, record->model, outcome.judgement->ood_score);
}

static void count_stage(struct metrics *metrics, int model, enum metrics_stage stage,
                        double seconds)
{
    if (model >= 0 && seconds >= 0)
        metrics_stage(metrics, (unsigned)model, stage, seconds);
}

static void on_request(void *context, const struct request_record *record)
{
    struct metrics *metrics = context;
    if (record->reason != ERR_OK)
        metrics_rejected(metrics, record->reason);
    if (record->has_left)
        metrics_client_gone(metrics);
    count_stage(metrics, record->stage_model, STAGE_PARSE, record->parse_s);
    count_stage(metrics, record->stage_model, STAGE_PREPARE, record->prepare_s);
    count_stage(metrics, record->stage_model, STAGE_SIMILAR, record->similar_s);
    count_stage(metrics, record->stage_model, STAGE_EXPLAIN, record->explain_s);
    count_stage(metrics, record->stage_model, STAGE_ENCODE, record->encode_s);
    metrics_request_end(metrics, record->route_index, record->model, record->status,
                        record->total_s);
}

struct observer metrics_observer(struct metrics *metrics)
{
    return (struct observer){
        .context = metrics, .begun = on_begun, .prediction = on_prediction, .request = on_request};
}
