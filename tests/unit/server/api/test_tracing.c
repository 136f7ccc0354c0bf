/* A request's place in a trace, from its headers, over the application's five functions. */
#include "server/api/tracing.h"

#include "tests/unit/server/stage.h"

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"
#define HEADER "00-" TRACE "-" PARENT "-01"

static struct {
    struct trace_record trace;
    struct trace_context context;
    char state[1024], route[32];
    unsigned requests, traced;
} kept;

static void keep(void *context, const struct request_record *record)
{
    (void)context;
    kept.requests++;
    if (record->trace == NULL)
        return;
    kept.traced++;
    kept.trace = *record->trace;
    kept.context = *record->trace->context;
    snprintf(kept.state, sizeof kept.state, "%s",
             kept.context.state != NULL ? kept.context.state : "none");
}

static void open_kept(struct stage *stage)
{
    stage_open(stage, 1);
    observers_add(&stage->service.observers, (struct observer){.request = keep});
    memset(&kept, 0, sizeof kept);
}

/* A whole call with these headers; the reply's traceparent, "" if there was none. */
static const char *predict_with(struct stage *stage, const struct fake_header *headers,
                                const char *body, unsigned status)
{
    static char header[TRACE_HEADER_BYTES];
    struct http_exchange exchange;
    fake_headers = headers;
    ck_assert_uint_eq(call(stage, &exchange, body), status);
    snprintf(header, sizeof header, "%s",
             exchange.reply.traceparent != NULL ? exchange.reply.traceparent : "");
    exchange_done(stage, &exchange);
    fake_headers = NULL;
    return header;
}

#define TEXT "{\"text\": \"abc\"}"

START_TEST(a_request_with_a_parent_is_its_child)
{
    struct stage stage;
    open_kept(&stage);
    const struct fake_header headers[] = {{"traceparent", HEADER}, {NULL, NULL}};
    const char *header = predict_with(&stage, headers, TEXT, 200);
    ck_assert_uint_eq(kept.traced, 1);
    ck_assert_str_eq(kept.context.trace_id, TRACE);
    ck_assert_str_eq(kept.context.parent_id, PARENT);
    ck_assert_str_eq(kept.state, "none");
    ck_assert(kept.context.is_sampled);
    ck_assert_int_eq(strncmp(header + 36, kept.context.span_id, SPAN_ID_DIGITS), 0);
    ck_assert_str_eq(kept.trace.method, "POST");
    ck_assert(!kept.trace.is_secure);
    stage_close(&stage);
}
END_TEST

START_TEST(tracing_ignores_two_traceparents)
{
    struct stage stage;
    open_kept(&stage);
    const struct fake_header headers[] = {
        {"traceparent", HEADER}, {"traceparent", HEADER}, {NULL, NULL}};
    ck_assert_str_eq(predict_with(&stage, headers, TEXT, 200), "");
    ck_assert_uint_eq(kept.requests, 1);
    ck_assert_uint_eq(kept.traced, 0);
    stage_close(&stage);
}
END_TEST

START_TEST(tracing_joins_the_lines_of_a_tracestate)
{
    struct stage stage;
    open_kept(&stage);
    const struct fake_header headers[] = {{"tracestate", "a=1"},
                                          {"traceparent", HEADER},
                                          {"tracestate", ""},
                                          {"tracestate", "b=2,c=3"},
                                          {NULL, NULL}};
    predict_with(&stage, headers, TEXT, 200);
    ck_assert_str_eq(kept.state, "a=1,,b=2,c=3");
    stage_close(&stage);
}
END_TEST

START_TEST(a_state_that_is_not_valid_is_dropped_and_the_parent_stays)
{
    static char longest[TRACE_STATE_BYTES + 8];
    struct stage stage;
    open_kept(&stage);
    memset(longest, ',', sizeof longest - 1);
    memcpy(longest, "a=1", 3);
    longest[TRACE_STATE_BYTES - 4] = '\0'; /* with ",b=2" as long as may be */
    const struct fake_header fits[] = {
        {"traceparent", HEADER}, {"tracestate", longest}, {"tracestate", "b=2"}, {NULL, NULL}};
    const struct fake_header too_long[] = {{"traceparent", HEADER},
                                           {"tracestate", longest},
                                           {"tracestate", "b=22"},
                                           {"tracestate", "c"},
                                           {NULL, NULL}};
    const struct fake_header twice[] = {
        {"traceparent", HEADER}, {"tracestate", "a=1"}, {"tracestate", "a=2"}, {NULL, NULL}};
    predict_with(&stage, fits, TEXT, 200);
    ck_assert_uint_eq(strlen(kept.state), TRACE_STATE_BYTES);
    predict_with(&stage, too_long, TEXT, 200);
    ck_assert_str_eq(kept.state, "none");
    predict_with(&stage, twice, TEXT, 200);
    ck_assert_str_eq(kept.state, "none");
    ck_assert_uint_eq(kept.traced, 3);
    stage_close(&stage);
}
END_TEST

START_TEST(without_a_parent_a_trace_begins_only_if_spans_are_sent)
{
    struct stage stage;
    open_kept(&stage);
    ck_assert_str_eq(predict_with(&stage, NULL, TEXT, 200), "");
    ck_assert_uint_eq(kept.traced, 0);
    stage.service.otlp = (struct otlp_exporter *)&stage; /* only looked at whether it is there */
    const char *header = predict_with(&stage, NULL, TEXT, 200);
    ck_assert_uint_eq(kept.traced, 1);
    ck_assert_str_eq(kept.context.parent_id, "");
    ck_assert_int_eq(strncmp(header + 3, kept.context.trace_id, TRACE_ID_DIGITS), 0);
    ck_assert(kept.context.is_sampled);
    stage_close(&stage);
}
END_TEST

/* A stage of several inputs goes from the first begin to the last end. */
START_TEST(stages_follow_each_other_within_the_request)
{
    static const enum trace_stage all[] = {TRACE_PARSE,     TRACE_PREPARE, TRACE_QUEUE,
                                           TRACE_INFERENCE, TRACE_EXPLAIN, TRACE_ENCODE};
    struct stage stage;
    open_kept(&stage);
    const struct fake_header headers[] = {{"traceparent", HEADER}, {NULL, NULL}};
    predict_with(&stage, headers,
                 "{\"inputs\": [{\"text\": \"abc\"}, {\"image\": \"NyBwaXhlbHM=\"}], "
                 "\"explain\": true}",
                 200);
    uint64_t last = kept.trace.whole.start_ns;
    for (size_t i = 0; i < TRACE_STAGES; i++) {
        const struct trace_times *times = &kept.trace.stages[all[i]];
        ck_assert_uint_ge(times->start_ns, last);
        ck_assert_uint_gt(times->end_ns, times->start_ns);
        ck_assert_uint_le(times->end_ns, kept.trace.whole.end_ns);
        last = times->start_ns;
    }
    ck_assert_uint_eq(kept.trace.stages[TRACE_PREPARE].start_ns,
                      kept.trace.stages[TRACE_PARSE].end_ns);
    stage_close(&stage);
}
END_TEST

START_TEST(a_request_that_failed_has_the_stages_it_ended)
{
    struct stage stage;
    open_kept(&stage);
    const struct fake_header headers[] = {{"traceparent", HEADER}, {NULL, NULL}};
    predict_with(&stage, headers, "{\"text\": \"N\"}", 500); /* no finite scores */
    ck_assert_uint_ne(kept.trace.stages[TRACE_INFERENCE].end_ns, 0);
    ck_assert_uint_eq(kept.trace.stages[TRACE_EXPLAIN].end_ns, 0);
    ck_assert_uint_eq(kept.trace.stages[TRACE_ENCODE].end_ns, 0);
    predict_with(&stage, headers, "{", 400);
    for (size_t i = 0; i < TRACE_STAGES; i++)
        ck_assert_uint_eq(kept.trace.stages[i].end_ns, 0);
    stage_close(&stage);
}
END_TEST

SUITE("tracing", a_request_with_a_parent_is_its_child, tracing_ignores_two_traceparents,
      tracing_joins_the_lines_of_a_tracestate,
      a_state_that_is_not_valid_is_dropped_and_the_parent_stays,
      without_a_parent_a_trace_begins_only_if_spans_are_sent,
      stages_follow_each_other_within_the_request, a_request_that_failed_has_the_stages_it_ended)
