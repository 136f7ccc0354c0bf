/* A request's record as spans, read back by another decoder. */
#include "server/otlp/otlp_spans.h"

#include "tests/support/otlp_reader.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"
#define SPAN "00f067aa0ba902b7"

enum { OFFSET = 1000000 };

static struct otlp_message message;

/* A prediction that went through all stages. */
static struct trace_context context;
static struct trace_record trace;
static struct request_record record;

static void setup(void)
{
    context = (struct trace_context){
        .trace_id = TRACE, .parent_id = PARENT, .span_id = SPAN, .is_sampled = true};
    trace = (struct trace_record){.context = &context, .method = "POST", .whole = {100, 900}};
    for (unsigned i = 0; i < TRACE_STAGES; i++)
        trace.stages[i] = (struct trace_times){200 + i, 300 + 2 * i};
    record = (struct request_record){
        .id = "the-client's", .route = "/predict", .status = 200, .inputs = 3, .trace = &trace};
}

static size_t encode(unsigned char *bytes, size_t size)
{
    struct protobuf out = {.bytes = bytes, .size = size};
    struct otlp_entry entry;
    otlp_spans_of(&entry, &record, OFFSET);
    const struct otlp_marks marks = otlp_spans_begin(&out, "instance-1");
    otlp_spans_put(&out, &entry);
    otlp_spans_end(&out, &marks);
    ck_assert(!out.is_full);
    return out.len;
}

static void read_back(void)
{
    unsigned char bytes[OTLP_HEAD_BYTES + OTLP_SPANS_MAX * OTLP_SPAN_BYTES];
    struct otlp_entry entry;
    otlp_read(&message, bytes, encode(bytes, sizeof bytes));
    otlp_spans_of(&entry, &record, OFFSET);
    ck_assert_uint_eq(message.span_count, otlp_spans_count(&entry));
}

START_TEST(otlp_spans_name_the_service)
{
    setup();
    read_back();
    ck_assert_str_eq(otlp_resource(&message, "service.name"), "attnd");
    ck_assert_str_eq(otlp_resource(&message, "service.version"), ATTND_VERSION);
    ck_assert_str_eq(otlp_resource(&message, "service.instance.id"), "instance-1");
    ck_assert_uint_eq(message.resource.count, 3);
    ck_assert_str_eq(message.scope_name, "attnd");
    ck_assert_str_eq(message.scope_version, ATTND_VERSION);
}
END_TEST

START_TEST(a_request_is_a_span_of_a_server_below_its_caller)
{
    setup();
    read_back();
    const struct otlp_span *span = otlp_span_named(&message, "POST /predict");
    ck_assert_str_eq(span->trace_id, TRACE);
    ck_assert_str_eq(span->span_id, SPAN);
    ck_assert_str_eq(span->parent_id, PARENT);
    ck_assert_str_eq(span->state, "");
    ck_assert_uint_eq(span->kind, 2);
    ck_assert_uint_eq(span->start_ns, OFFSET + 100);
    ck_assert_uint_eq(span->end_ns, OFFSET + 900);
    ck_assert_uint_eq(span->flags, 0x301);
    ck_assert_uint_eq(span->status_code, 0);
    ck_assert_str_eq(otlp_attribute(span, "http.request.method"), "POST");
    ck_assert_str_eq(otlp_attribute(span, "http.route"), "/predict");
    ck_assert_str_eq(otlp_attribute(span, "url.path"), "/predict");
    ck_assert_str_eq(otlp_attribute(span, "url.scheme"), "http");
    ck_assert_str_eq(otlp_attribute(span, "http.response.status_code"), "#200");
    ck_assert_str_eq(otlp_attribute(span, "attnd.inputs"), "#3");
    ck_assert_uint_eq(span->attributes.count, 6);
}
END_TEST

START_TEST(a_stage_is_a_span_below_the_request_with_its_own_times)
{
    static const char *const names[] = {"parse",     "prepare", "queue",
                                        "inference", "explain", "encode"};
    setup();
    read_back();
    ck_assert_uint_eq(message.span_count, 1 + TRACE_STAGES);
    for (unsigned i = 0; i < TRACE_STAGES; i++) {
        const struct otlp_span *span = otlp_span_named(&message, names[i]);
        ck_assert_str_eq(span->trace_id, TRACE);
        ck_assert_str_eq(span->parent_id, SPAN);
        ck_assert_uint_eq(span->kind, 1);
        ck_assert_uint_eq(span->start_ns, OFFSET + 200 + i);
        ck_assert_uint_eq(span->end_ns, OFFSET + 300 + 2 * i);
        ck_assert_uint_eq(span->flags, 0x101);
        ck_assert_uint_eq(span->attributes.count, 0);
    }
    for (unsigned i = 0; i < message.span_count; i++)
        for (unsigned k = 0; k < i; k++)
            ck_assert_str_ne(message.spans[i].span_id, message.spans[k].span_id);
}
END_TEST

START_TEST(a_stage_that_did_not_end_has_no_span)
{
    setup();
    for (unsigned i = TRACE_QUEUE; i < TRACE_STAGES; i++)
        trace.stages[i].end_ns = 0;
    read_back();
    ck_assert_uint_eq(message.span_count, 3);
    otlp_span_named(&message, "parse");
    otlp_span_named(&message, "prepare");
}
END_TEST

START_TEST(a_request_that_begins_its_trace_has_no_parent)
{
    setup();
    context.parent_id[0] = '\0';
    read_back();
    const struct otlp_span *span = otlp_span_named(&message, "POST /predict");
    ck_assert_str_eq(span->parent_id, "");
    ck_assert_uint_eq(span->flags, 0x101);
}
END_TEST

START_TEST(otlp_span_of_a_server_failure_is_an_error_and_of_a_refusal_is_not)
{
    static const struct {
        unsigned status, code;
        enum err_code reason;
        const char *type;
    } cases[] = {
        {422, 0, ERR_UNUSABLE, ""},
        {499, 0, ERR_UNUSABLE, ""},
        {500, 2, ERR_INTERNAL, "internal"},
        {504, 2, ERR_DEADLINE, "deadline_passed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setup();
        record.status = cases[i].status;
        record.reason = cases[i].reason;
        read_back();
        const struct otlp_span *span = otlp_span_named(&message, "POST /predict");
        ck_assert_uint_eq(span->status_code, cases[i].code);
        ck_assert_str_eq(otlp_attribute(span, "error.type"), cases[i].type);
    }
}
END_TEST

START_TEST(otlp_spans_have_no_text_of_a_client_except_its_tracestate)
{
    setup();
    context.state = "vendor=opaque,other=1";
    record.route = "/models/{name}";
    trace.method = "GET";
    trace.is_secure = true;
    record.status = 0;
    record.inputs = 0;
    read_back();
    const struct otlp_span *span = otlp_span_named(&message, "GET /models/{name}");
    ck_assert_str_eq(otlp_attribute(span, "http.route"), "/models/{name}");
    ck_assert_str_eq(otlp_attribute(span, "url.scheme"), "https");
    ck_assert_uint_eq(span->attributes.count, 3); /* and the method */
    for (unsigned i = 0; i < message.span_count; i++)
        ck_assert_str_eq(message.spans[i].state, "vendor=opaque,other=1");
    record.route = NULL;
    read_back();
    otlp_span_named(&message, "GET");
    trace.method = "_OTHER";
    read_back();
    span = otlp_span_named(&message, "HTTP");
    ck_assert_str_eq(otlp_attribute(span, "http.request.method"), "_OTHER");
    ck_assert_uint_eq(span->attributes.count, 2);
}
END_TEST

/* The exporter's buffer is made for it. */
START_TEST(the_longest_request_keeps_to_its_bound)
{
    char state[TRACE_STATE_BYTES + 1];
    unsigned char bytes[2 * (OTLP_HEAD_BYTES + OTLP_SPANS_MAX * OTLP_SPAN_BYTES)];
    memset(state, 's', sizeof state - 1);
    state[TRACE_STATE_BYTES] = '\0';
    setup();
    context.state = state;
    record.route = "/a/route/that/is/longer/than/any/that/there/is/in/the/table/of/routes";
    record.status = 599;
    record.reason = ERR_MEDIA_TYPE;
    record.inputs = 4294967295;
    trace.is_secure = true;
    size_t len = encode(bytes, sizeof bytes);
    ck_assert_uint_le(len, OTLP_HEAD_BYTES + OTLP_SPANS_MAX * OTLP_SPAN_BYTES);
    ck_assert_uint_gt(len, OTLP_SPANS_MAX * TRACE_STATE_BYTES);
}
END_TEST

SUITE("otlp_spans", otlp_spans_name_the_service, a_request_is_a_span_of_a_server_below_its_caller,
      a_stage_is_a_span_below_the_request_with_its_own_times, a_stage_that_did_not_end_has_no_span,
      a_request_that_begins_its_trace_has_no_parent,
      otlp_span_of_a_server_failure_is_an_error_and_of_a_refusal_is_not,
      otlp_spans_have_no_text_of_a_client_except_its_tracestate,
      the_longest_request_keeps_to_its_bound)
