#include "server/observe/log_observer.h"

#include "server/observe/log.h"

static void on_request(void *context, const struct request_record *record)
{
    (void)context;
    if (!log_enabled(LOG_DEBUG))
        return;
    log_event(LOG_DEBUG, "request", LOG_TEXT("id", record->id),
              LOG_TEXT("route", record->route != NULL ? record->route : "other"),
              LOG_NUMBER("status", record->status), LOG_NUMBER("inputs", record->inputs),
              LOG_NUMBER("ms", record->total_s * 1000), LOG_TEXT("context", record->context));
}

struct observer log_observer(void)
{
    return (struct observer){.request = on_request};
}
