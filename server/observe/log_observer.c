#include "server/observe/log.h"
#include "server/observe/record.h"

static void on_request(void *context, const struct request_record *record)
{
    (void)context;
    if (!log_enabled(LOG_DEBUG))
        return;
    const struct trace_context *trace = record->trace != NULL ? record->trace->context : NULL;
    log_event(LOG_DEBUG, "request", LOG_TEXT("id", record->id),
              LOG_TEXT("route", record->route != NULL ? record->route : "other"),
              LOG_NUMBER("status", record->status), LOG_NUMBER("inputs", record->inputs),
              LOG_NUMBER("ms", record->total_s * 1000), LOG_TEXT("key", record->key),
              LOG_TEXT("trace_id", trace != NULL ? trace->trace_id : NULL),
              LOG_TEXT("span_id", trace != NULL ? trace->span_id : NULL),
              LOG_TEXT("context", record->context));
}

static void on_prediction(void *context, const struct prediction_record *record)
{
    (void)context;
    if (!log_enabled(LOG_DEBUG) || record->err.code != ERR_OK)
        return;
    const struct answer *answer = record->answer;
    const struct answer_outcome outcome = answer_outcome(answer->info, &answer->result);
    const struct judgement *judgement = outcome.judgement;
    const struct log_field none = LOG_TEXT("value", NULL);
    log_event(LOG_DEBUG, "prediction", LOG_TEXT("id", record->id),
              LOG_TEXT("item_id", record->item_id), LOG_NUMBER("index", record->index),
              LOG_TEXT("model", answer->model_name), LOG_TEXT("version", answer->model_version),
              LOG_TEXT("label", outcome.label),
              outcome.number_name != NULL
                  ? (struct log_field)LOG_NUMBER(outcome.number_name, outcome.number)
                  : none,
              LOG_TEXT("decision", judgement != NULL ? decision_name(judgement->decision) : NULL),
              LOG_TEXT("key", record->key), LOG_TEXT("trace_id", record->trace_id),
              LOG_TEXT("context", record->context));
}

struct observer log_observer(void)
{
    return (struct observer){.prediction = on_prediction, .request = on_request};
}
