/* The program between a caller with a trace and a collector: the trace of traceparent stands in the
 * reply, the log, the audit log and the spans. */
#include "tests/support/collector.h"
#include "tests/support/contract.h"
#include "tests/support/otlp_reader.h"
#include "tests/support/server_log.h"
#include "tests/support/tempdir.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MODEL "text=tests/data/golden/bert-3"
#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"
#define SAMPLED "traceparent: 00-" TRACE "-" PARENT "-01\r\n"
#define BODY "{\"text\": \"vdd_io 3.97 V FAIL\", \"id\": \"die-7\"}"

static struct server_log run;
static struct otlp_message message;

static struct reply ask(const char *method, const char *path, const char *headers, const char *body)
{
    return reply_of(http_request(run.server.port, method, path, headers, body, strlen(body)));
}

static struct reply predict(const char *headers, const char *body)
{
    return ask("POST", "/predict", headers, body);
}

/* The reply's traceparent: its trace, its flags; its span, our own, into span. */
static void expect_traceparent(const struct reply *reply, const char *trace, const char *flags,
                               char span[17])
{
    char header[64];
    snprintf(header, sizeof header, "%s", reply_header(reply, "traceparent"));
    ck_assert_uint_eq(strlen(header), 55);
    ck_assert_msg(strncmp(header, "00-", 3) == 0 && strcmp(header + 53, flags) == 0, "%s", header);
    if (trace != NULL)
        ck_assert_msg(strncmp(header + 3, trace, 32) == 0, "%s", header);
    snprintf(span, 17, "%.16s", header + 36);
    ck_assert_uint_eq(strspn(span, "0123456789abcdef"), 16);
    ck_assert_str_ne(span, PARENT);
}

static void expect_no_traceparent(const struct reply *reply)
{
    char value[64];
    ck_assert(!http_answer_header(&reply->answer, "traceparent", value, sizeof value));
}

static const char *text_of(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text != NULL ? text : "none";
}

/* The log's only line of the event. */
static const json_t *line_of(const char *event)
{
    ck_assert_uint_eq(server_log_count(&run, event), 1);
    for (unsigned i = 0;; i++)
        if (strcmp(run.lines[i].event, event) == 0)
            return run.lines[i].json;
}

START_TEST(a_trace_goes_through_reply_log_and_audit_log)
{
    struct tempdir dir;
    char span[17], out[8192], errors[1024];
    tempdir_open(&dir);
    server_log_start(&run, (const char *[]){"--model", MODEL, "--log-level", "debug", "--audit-dir",
                                            dir.path, NULL});
    struct reply reply = predict(SAMPLED, BODY);
    reply_expect_status(&reply, 200);
    expect_traceparent(&reply, TRACE, "01", span);
    reply_free(&reply);
    server_log_stop(&run);
    ck_assert_str_eq(text_of(line_of("request"), "trace_id"), TRACE);
    ck_assert_str_eq(text_of(line_of("request"), "span_id"), span);
    ck_assert_str_eq(text_of(line_of("prediction"), "trace_id"), TRACE);
    ck_assert_int_eq(run_program("attnd-audit", (const char *[]){"export", dir.path, NULL}, out,
                                 sizeof out, errors, sizeof errors),
                     0);
    ck_assert_ptr_nonnull(strstr(out, "\"id\":\"die-7\",\"index\":0,\"trace_id\":\"" TRACE "\","));
    server_log_free(&run);
    tempdir_close(&dir);
}
END_TEST

/* Refusals carry the trace as well, before the body and after it. */
START_TEST(every_answer_carries_the_trace_of_its_request)
{
    static const struct {
        const char *method, *path, *body;
        int status;
    } cases[] = {
        {"POST", "/predict", BODY, 200}, {"POST", "/predict", "{", 400},
        {"POST", "/predict", "{}", 422}, {"GET", "/predict", "", 405},
        {"GET", "/nowhere", "", 404},    {"GET", "/healthz", "", 200},
        {"GET", "/metrics", "", 200},    {"POST", "/admin/reload", "", 403},
    };
    char span[17], last[17] = "";
    server_log_start(&run, (const char *[]){"--model", MODEL, NULL});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reply reply = ask(cases[i].method, cases[i].path, SAMPLED, cases[i].body);
        reply_expect_status(&reply, cases[i].status);
        expect_traceparent(&reply, TRACE, "01", span);
        ck_assert_str_ne(span, last);
        snprintf(last, sizeof last, "%s", span);
        reply_free(&reply);
    }
    server_log_stop(&run);
    server_log_free(&run);
}
END_TEST

/* A request without a traceparent is the same: no trace begins here without a collector. */
START_TEST(a_traceparent_that_is_not_one_is_as_if_it_were_not_there)
{
    static const char *const headers[] = {
        "",
        "traceparent: 00-" TRACE "-" PARENT "\r\n",
        "traceparent: 00-" TRACE "-0000000000000000-01\r\n",
        "traceparent: ff-" TRACE "-" PARENT "-01\r\n",
        "traceparent: 00-" TRACE "-" PARENT "-01-x\r\n",
        SAMPLED SAMPLED, /* two are none */
        "tracestate: a=b\r\n",
    };
    server_log_start(&run, (const char *[]){"--model", MODEL, "--log-level", "debug", NULL});
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        struct reply reply = predict(headers[i], BODY);
        reply_expect_status(&reply, 200);
        expect_no_traceparent(&reply);
        reply_free(&reply);
    }
    server_log_stop(&run);
    ck_assert_uint_eq(server_log_count(&run, "request"), sizeof headers / sizeof headers[0]);
    for (unsigned i = 0; i < run.count; i++)
        ck_assert_str_eq(text_of(run.lines[i].json, "trace_id"), "none");
    server_log_free(&run);
}
END_TEST

START_TEST(trace_keeps_the_unsampled_flag)
{
    char span[17];
    server_log_start(&run, (const char *[]){"--model", MODEL, NULL});
    struct reply reply = predict("TraceParent: cc-" TRACE "-" PARENT "-02-later\r\n", BODY);
    expect_traceparent(&reply, TRACE, "00", span);
    reply_free(&reply);
    server_log_stop(&run);
    server_log_free(&run);
}
END_TEST

/* ---- spans ---- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A stage lies within its request, and is its child. A millisecond is for the two clocks, which are
 * read one behind the other. */
static const struct otlp_span *expect_stage(const struct otlp_span *request, const char *name)
{
    const struct otlp_span *stage = otlp_span_named(&message, name);
    ck_assert_str_eq(stage->trace_id, request->trace_id);
    ck_assert_str_eq(stage->parent_id, request->span_id);
    ck_assert_str_eq(stage->state, request->state);
    ck_assert_uint_ge(stage->start_ns, request->start_ns);
    ck_assert_uint_le(stage->start_ns, stage->end_ns);
    ck_assert_uint_le(stage->end_ns, request->end_ns);
    return stage;
}

/* The only batch, which goes out when the server ends. */
static void stop_and_read(struct collector *collector)
{
    size_t len;
    server_log_stop(&run);
    ck_assert_uint_eq(collector_count(collector), 1);
    const void *body = collector_body(collector, 0, &len);
    otlp_read(&message, body, len);
    server_log_free(&run);
    collector_stop(collector);
}

static struct collector *start_with_collector(void)
{
    struct collector *collector = collector_start((const char *[]){COLLECTOR_OK, NULL});
    server_log_start(&run, (const char *[]){"--model", MODEL, "--otlp-endpoint",
                                            collector_url(collector), NULL});
    return collector;
}

START_TEST(a_sampled_prediction_becomes_a_span_and_one_for_each_stage)
{
    static const char *const stages[] = {"parse",     "prepare", "queue",
                                         "inference", "explain", "encode"};
    char span[17];
    struct collector *collector = start_with_collector();
    const uint64_t before_ns = now_ns();
    struct reply reply =
        predict(SAMPLED "tracestate: rojo=1\r\nTracestate: congo=t61rcWkgMzE\r\n",
                "{\"inputs\": [{\"text\": \"a\"}, {\"text\": \"b\"}], \"explain\": true}");
    reply_expect_status(&reply, 200);
    expect_traceparent(&reply, TRACE, "01", span);
    reply_free(&reply);
    stop_and_read(collector);
    const uint64_t after_ns = now_ns(); /* a request ends after its reply */
    ck_assert_uint_eq(message.span_count, 7);
    const struct otlp_span *request = otlp_span_named(&message, "POST /predict");
    ck_assert_str_eq(request->trace_id, TRACE);
    ck_assert_str_eq(request->span_id, span);
    ck_assert_str_eq(request->parent_id, PARENT);
    ck_assert_str_eq(request->state, "rojo=1,congo=t61rcWkgMzE");
    ck_assert_str_eq(otlp_attribute(request, "http.response.status_code"), "#200");
    ck_assert_str_eq(otlp_attribute(request, "attnd.inputs"), "#2");
    ck_assert_uint_ge(request->start_ns + 1000000, before_ns);
    ck_assert_uint_le(request->end_ns, after_ns + 1000000);
    const struct otlp_span *before = expect_stage(request, "parse");
    for (unsigned i = 1; i < 6; i++) {
        const struct otlp_span *stage = expect_stage(request, stages[i]);
        ck_assert_msg(stage->start_ns >= before->start_ns, "%s", stages[i]);
        before = stage;
    }
    ck_assert_str_eq(otlp_resource(&message, "service.name"), "attnd");
}
END_TEST

START_TEST(a_request_without_a_trace_begins_one_unless_it_only_gets)
{
    char span[17];
    struct collector *collector = start_with_collector();
    struct reply reply = ask("GET", "/metrics", "", "");
    expect_no_traceparent(&reply);
    reply_free(&reply);
    reply = predict("tracestate: rojo=1\r\n", BODY);
    expect_traceparent(&reply, NULL, "01", span);
    reply_free(&reply);
    stop_and_read(collector);
    const struct otlp_span *request = otlp_span_named(&message, "POST /predict");
    ck_assert_uint_eq(message.span_count, 6);
    ck_assert_str_eq(request->span_id, span);
    ck_assert_str_eq(request->parent_id, "");
    ck_assert_str_eq(request->state, ""); /* of a trace that is not this one */
}
END_TEST

/* Requests that change something and unknown ones are spans as well. */
START_TEST(a_request_of_any_method_is_a_span)
{
    static const char *const cases[][2] = {{"GET", "GET /models/{name}"},
                                           {"PATCH", "PATCH /admin/models/{name}/{version}"},
                                           {"DELETE", "DELETE /admin/models/{name}/{version}"},
                                           {"POST", "POST /admin/models/{name}/rollback"},
                                           {"BREW", "HTTP"}};
    static const char *const paths[] = {"/models/text", "/admin/models/text/9",
                                        "/admin/models/text/9", "/admin/models/text/rollback", "/"};
    struct collector *collector = start_with_collector();
    for (unsigned i = 0; i < 5; i++) {
        struct reply reply = ask(cases[i][0], paths[i], SAMPLED, "");
        reply_free(&reply);
    }
    stop_and_read(collector);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_str_eq(
            otlp_attribute(otlp_span_named(&message, cases[i][1]), "http.request.method"),
            cases[i][0]);
    ck_assert_uint_eq(message.span_count, 5);
}
END_TEST

START_TEST(trace_of_a_refused_request_has_no_span_of_later_stages)
{
    struct collector *collector = start_with_collector();
    struct reply reply = predict(SAMPLED "tracestate: not valid\r\n", "{\"text\": \"\"}");
    reply_expect_status(&reply, 422);
    reply_free(&reply);
    reply = ask("GET", "/models/a-name-of-the-client", SAMPLED, "");
    reply_expect_status(&reply, 404);
    reply_free(&reply);
    reply = predict("traceparent: 00-" TRACE "-" PARENT "-00\r\n", BODY); /* not sampled */
    reply_expect_status(&reply, 200);
    reply_free(&reply);
    stop_and_read(collector);
    const struct otlp_span *request = otlp_span_named(&message, "POST /predict");
    ck_assert_str_eq(otlp_attribute(request, "http.response.status_code"), "#422");
    ck_assert_str_eq(request->state, "");
    ck_assert_uint_eq(request->status_code, 0);
    request = otlp_span_named(&message, "GET /models/{name}");
    ck_assert_str_eq(otlp_attribute(request, "url.path"), "");
    for (unsigned i = 0; i < message.span_count; i++) {
        ck_assert_str_ne(message.spans[i].name, "inference");
        ck_assert_str_ne(message.spans[i].name, "encode");
    }
}
END_TEST

START_TEST(trace_counts_sent_spans_as_a_metric)
{
    struct collector *collector = start_with_collector();
    struct reply reply = ask("GET", "/metrics", "", "");
    static const char *const results[] = {"sent", "dropped", "failed"};
    for (unsigned i = 0; i < 3; i++) {
        char series[80];
        snprintf(series, sizeof series, "\nattnd_otlp_spans_total{result=\"%s\"} 0\n", results[i]);
        ck_assert_ptr_nonnull(strstr(reply.answer.body, series));
    }
    reply_free(&reply);
    server_log_stop(&run);
    ck_assert_uint_eq(collector_count(collector), 0); /* nothing, so nothing is sent */
    server_log_free(&run);
    collector_stop(collector);
}
END_TEST

START_TEST(an_endpoint_that_is_not_understood_is_an_error_of_the_start)
{
    static const char *const actions[] = {"--check-config", "--log-level=error"};
    for (unsigned i = 0; i < 2; i++) {
        char out[64], errors[2048];
        const char *const arguments[] = {"--listen",
                                         "127.0.0.1:0",
                                         "--model",
                                         MODEL,
                                         actions[i],
                                         "--otlp-endpoint",
                                         "https://collector:4318/v1/traces",
                                         NULL};
        ck_assert_int_eq(run_program("attnd", arguments, out, sizeof out, errors, sizeof errors),
                         2);
        ck_assert_msg(strstr(errors, "otlp_endpoint: expected http://ADDRESS:PORT/PATH") != NULL,
                      "%s", errors);
    }
}
END_TEST

SUITE("contract_trace", a_trace_goes_through_reply_log_and_audit_log,
      every_answer_carries_the_trace_of_its_request,
      a_traceparent_that_is_not_one_is_as_if_it_were_not_there, trace_keeps_the_unsampled_flag,
      a_sampled_prediction_becomes_a_span_and_one_for_each_stage,
      a_request_without_a_trace_begins_one_unless_it_only_gets, a_request_of_any_method_is_a_span,
      trace_of_a_refused_request_has_no_span_of_later_stages, trace_counts_sent_spans_as_a_metric,
      an_endpoint_that_is_not_understood_is_an_error_of_the_start)
