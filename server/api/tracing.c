#include "server/api/tracing.h"

#include "engine/base/clock.h"

#include <string.h>
#include <sys/random.h>

/* ---- where it stands ------------------------------------------------------- */

/* The values of a header that may be given several times. */
struct values {
    struct arena *arena;
    const char *joined; /* by ','; NULL: there is none */
    unsigned count;
    bool failed; /* there was no memory */
};

/* Several lines of one list are one list (RFC 9110, section 5.3). */
static void join(void *context, const char *value)
{
    struct values *values = context;
    const char *before = values->joined;
    values->count++;
    values->joined = before == NULL ? value : arena_format(values->arena, "%s,%s", before, value);
    values->failed = values->failed || values->joined == NULL;
}

static struct values header_values(const struct request *request, const char *name)
{
    struct values values = {.arena = &request->exchange->arena};
    http_header_each(request->exchange, name, join, &values);
    return values;
}

/* Two traceparents are none (section 3.2). */
static bool read_parent(struct trace_context *out, const struct request *request)
{
    const struct values values = header_values(request, "traceparent");
    return values.count == 1 && trace_context_parse(out, values.joined);
}

/* A copy, since the header's own bytes last only as long as the exchange is not answered. NULL if
 * it is not valid: then it is dropped and the traceparent stays (section 3.3). */
static const char *read_state(const struct request *request)
{
    const struct values values = header_values(request, "tracestate");
    if (values.count == 0 || values.failed || !trace_context_is_state(values.joined))
        return NULL;
    return arena_copy(values.arena, values.joined, strlen(values.joined));
}

static bool begins_traces(const struct request *request)
{
    const enum http_method method = request->exchange->method;
    return request->service->otlp != NULL && method != HTTP_GET && method != HTTP_HEAD;
}

static bool place(struct trace_context *out, const struct request *request)
{
    uint64_t random[3];
    bool has_parent = read_parent(out, request);
    if (!has_parent && !begins_traces(request))
        return false;
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        return false;
    if (!has_parent) {
        trace_context_begin(out, random);
        return true;
    }
    trace_context_begin_span(out, random[0]);
    out->state = read_state(request);
    return true;
}

const struct tracing *tracing_begin(const struct request *request)
{
    struct trace_context context;
    if (!place(&context, request))
        return NULL;
    struct tracing *tracing = arena_alloc(&request->exchange->arena, sizeof *tracing);
    if (tracing == NULL)
        return NULL;
    tracing->context = context;
    trace_context_write(&context, tracing->header);
    return tracing;
}

/* ---- when its stages were -------------------------------------------------- */

/* Each time a stage goes from its first input's begin to its last one's end. */
static void widen(struct trace_times *times, uint64_t start_ns, uint64_t end_ns)
{
    if (start_ns == 0 || end_ns == 0)
        return;
    if (times->end_ns == 0 || start_ns < times->start_ns)
        times->start_ns = start_ns;
    if (end_ns > times->end_ns)
        times->end_ns = end_ns;
}

static void put_rows(struct trace_times stages[TRACE_STAGES], const struct request *request)
{
    for (unsigned i = 0; i < request->good_count; i++) {
        const struct row *row = request->good[i];
        widen(&stages[TRACE_QUEUE], row->submitted_ns, row->started_ns);
        widen(&stages[TRACE_INFERENCE], row->started_ns, row->done_ns);
    }
}

static const char *http_method_name(enum http_method method)
{
    static const char *const names[] = {[HTTP_GET] = "GET",
                                        [HTTP_HEAD] = "HEAD",
                                        [HTTP_POST] = "POST",
                                        [HTTP_DELETE] = "DELETE",
                                        [HTTP_OTHER] = "_OTHER"};
    return names[method];
}

void tracing_record(struct trace_record *out, const struct request *request)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t head_ns = request->exchange->head_ns;
    *out = (struct trace_record){
        .context = &request->trace->context,
        .method = http_method_name(request->exchange->method),
        .is_secure = http_is_secure(request->exchange),
        .whole = {head_ns != 0 ? head_ns : now_ns, now_ns},
    };
    widen(&out->stages[TRACE_PARSE], request->begun_ns, request->parsed_ns);
    widen(&out->stages[TRACE_PREPARE], request->parsed_ns, request->prepared_ns);
    put_rows(out->stages, request);
    widen(&out->stages[TRACE_EXPLAIN], out->stages[TRACE_INFERENCE].end_ns, request->explained_ns);
    widen(&out->stages[TRACE_ENCODE], request->encode_ns, request->encoded_ns);
}
