/* tracing.h - a request's place in a trace: from its headers traceparent and tracestate, or a trace
 * that begins with it; and when its stages were.
 *
 *     request->trace = tracing_begin(request);
 *     ... request->trace->header is the reply's traceparent ...
 *     tracing_record(&record, request);
 *
 * Level 1 of the specification has no header for replies, and traceresponse is only drafted: a
 * reply says traceparent, whose form whoever sent one knows.
 *
 * A request that names no trace begins one if spans are sent and it is no GET: probes, scrapes and
 * the page's files would bury the rest.
 *
 * Threads: the owner of the request.
 */
#ifndef ATTND_SERVER_API_TRACING_H
#define ATTND_SERVER_API_TRACING_H

#include "server/observe/trace_record.h"
#include "server/serve/service.h"

struct tracing {
    struct trace_context context;
    char header[TRACE_HEADER_BYTES]; /* names our span: what the reply carries */
};

/* In the request's arena. NULL: it is in no trace; so is one for which there are no random numbers
 * yet, or no memory. */
const struct tracing *tracing_begin(const struct request *request);

/* Fills the record of a finished request that has a trace. The record borrows from the request. */
void tracing_record(struct trace_record *out, const struct request *request);

#endif
