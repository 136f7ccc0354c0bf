/* trace_record.h - what the span of a request is made of: its place in a trace and when each of its
 * stages began and ended. Part of request_record (record.h).
 *
 *     if (record->trace != NULL && record->trace->context->is_sampled)
 *         ... record->trace->stages[TRACE_QUEUE].start_ns ...
 *
 * Threads: as record.h.
 */
#ifndef ATTND_SERVER_OBSERVE_TRACE_RECORD_H
#define ATTND_SERVER_OBSERVE_TRACE_RECORD_H

#include "server/observe/trace_context.h"

enum trace_stage {
    TRACE_PARSE,
    TRACE_PREPARE,
    TRACE_QUEUE,     /* from the first input that was queued to the last that left the queue */
    TRACE_INFERENCE, /* from the first input whose batch began to the last that was computed */
    TRACE_EXPLAIN,
    TRACE_ENCODE,
    TRACE_STAGES
};

/* By clock_now_ns; end_ns 0: it did not end, or never began. */
struct trace_times {
    uint64_t start_ns, end_ns;
};

struct trace_record {
    const struct trace_context *context;
    const char *method; /* "POST", "_OTHER"; constant, and outlives the record */
    bool is_secure;     /* of TLS */
    struct trace_times whole, stages[TRACE_STAGES];
};

#endif
