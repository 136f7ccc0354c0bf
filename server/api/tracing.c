#include "server/api/tracing.h"

#include "engine/base/clock.h"

#include <string.h>
#include <sys/random.h>

/* ---- where it stands ------------------------------------------------------- */

struct parents {
    const char *header; /* the last one */
    unsigned count;
};

static void see_parent(void *context, const char *value)
{
    struct parents *parents = context;
    parents->header = value;
    parents->count++;
}

/* Several lines of one list are one list (RFC 9110, section 5.3). What is longer than may be passed
 * on is not kept: a head has room for thousands of lines. */
struct state {
    char text[TRACE_STATE_BYTES + 1];
    size_t len;
    unsigned lines;
    bool is_long;
};

static void add_state(void *context, const char *value)
{
    struct state *state = context;
    size_t len = strlen(value), comma = state->lines++ > 0;
    state->is_long = state->is_long || len + comma > TRACE_STATE_BYTES - state->len;
    if (state->is_long)
        return;
    memcpy(state->text + state->len, ",", comma);
    memcpy(state->text + state->len + comma, value, len);
    state->len += comma + len;
}

/* A copy in the arena, since the header's own bytes last only until the exchange is answered. NULL
 * if it is not valid: then it is dropped and the traceparent stays (section 3.3). */
static const char *read_state(const struct request *request)
{
    struct state state = {.len = 0};
    http_header_each(request->exchange, "tracestate", add_state, &state);
    state.text[state.len] = '\0';
    if (state.is_long || !trace_context_is_state(state.text))
        return NULL;
    return arena_copy(&request->exchange->arena, state.text, state.len);
}

const struct tracing *tracing_begin(const struct request *request)
{
    const enum http_method method = request->exchange->method;
    const bool begins = request->service->otlp != NULL && method != HTTP_GET && method != HTTP_HEAD;
    struct trace_context context;
    struct parents parents = {0};
    uint64_t random[3];
    http_header_each(request->exchange, "traceparent", see_parent, &parents);
    /* Two traceparents are none (section 3.2). */
    const bool has_parent = parents.count == 1 && trace_context_parse(&context, parents.header);
    if (!has_parent && !begins)
        return NULL;
    if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        return NULL;
    if (has_parent) {
        trace_context_begin_span(&context, random[0]);
        context.state = read_state(request);
    } else {
        trace_context_begin(&context, random);
    }
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
    for (unsigned i = 0; i < request->good_count; i++) {
        const struct row *row = request->good[i];
        widen(&out->stages[TRACE_QUEUE], row->submitted_ns, row->started_ns);
        widen(&out->stages[TRACE_INFERENCE], row->started_ns, row->done_ns);
    }
    widen(&out->stages[TRACE_EXPLAIN], out->stages[TRACE_INFERENCE].end_ns, request->explained_ns);
    widen(&out->stages[TRACE_ENCODE], request->encode_ns, request->encoded_ns);
}
