/* Exports to a collector that answers well, badly, or not at all, and the counts of them. */
#include "server/otlp/otlp_exporter.h"

#include "engine/base/clock.h"
#include "server/otlp/otlp_spans.h"
#include "tests/support/collector.h"
#include "tests/support/log_capture.h"
#include "tests/support/otlp_reader.h"
#include "tests/support/suite.h"
#include "tests/support/tcp_pair.h"
#include "tests/unit/server/metrics_samples.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct otlp_message message;

struct bench {
    struct collector *collector;
    struct otlp_exporter *exporter;
    struct observer observer;
};

enum { LONG_MS = 3600 * 1000 };

static void exporter_open(struct bench *bench, const char *url, unsigned batch_ms)
{
    struct err err = {0};
    const struct otlp_options options = {
        .endpoint = url, .batch_ms = batch_ms, .attempt_ms = LONG_MS, .backoff_ms = 5};
    ck_assert_msg(otlp_exporter_open(&bench->exporter, &options, &err) == ERR_OK, "%s", err.text);
    bench->observer = otlp_exporter_observer(bench->exporter);
}

static void bench_open(struct bench *bench, unsigned batch_ms, const char *const *answers)
{
    bench->collector = collector_start(answers);
    exporter_open(bench, collector_url(bench->collector), batch_ms);
}

/* A request with two spans: its own, and "encode". */
static void observe(const struct bench *bench, unsigned number, bool is_sampled)
{
    struct trace_context context = {.trace_id = "0af7651916cd43dd8448eb211c80319c",
                                    .is_sampled = is_sampled};
    const struct trace_record trace = {.context = &context,
                                       .method = "POST",
                                       .whole = {1, clock_now_ns()},
                                       .stages[TRACE_ENCODE] = {1, 2}};
    snprintf(context.span_id, sizeof context.span_id, "%016x", number + 1);
    bench->observer.request(bench->observer.context,
                            &(struct request_record){.route = "/predict", .trace = &trace});
}

static void observe_many(const struct bench *bench, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        observe(bench, i, true);
}

/* Counts that the metrics tell. */
struct counts {
    unsigned sent, dropped, failed;
};

static struct counts counted(struct otlp_exporter *exporter)
{
    char text[256] = "";
    struct counts out;
    struct metrics *metrics = metrics_samples_open();
    otlp_exporter_register(exporter, metrics);
    metrics_samples_add(metrics, "attnd_otlp_spans_total", text, sizeof text);
    metrics_close(metrics);
    ck_assert_int_eq(sscanf(text,
                            "attnd_otlp_spans_total{result=\"sent\"} %u\n"
                            "attnd_otlp_spans_total{result=\"dropped\"} %u\n"
                            "attnd_otlp_spans_total{result=\"failed\"} %u\n",
                            &out.sent, &out.dropped, &out.failed),
                     3);
    return out;
}

static void expect_counts(const struct bench *bench, unsigned sent, unsigned dropped,
                          unsigned failed)
{
    const struct counts counts = counted(bench->exporter);
    ck_assert_uint_eq(counts.sent, sent);
    ck_assert_uint_eq(counts.dropped, dropped);
    ck_assert_uint_eq(counts.failed, failed);
}

static unsigned counted_in_all(const struct bench *bench)
{
    const struct counts counts = counted(bench->exporter);
    return counts.sent + counts.dropped + counts.failed;
}

/* The counts follow the answer: waits until all spans are counted. */
static void await_counted(const struct bench *bench, unsigned spans)
{
    suite_await(counted_in_all(bench) == spans);
}

static void bench_close(struct bench *bench)
{
    otlp_exporter_close(bench->exporter);
    collector_stop(bench->collector);
}

static const struct otlp_message *sent(struct bench *bench, unsigned index)
{
    size_t len;
    const void *body = collector_body(bench->collector, index, &len);
    otlp_read(&message, body, len);
    return &message;
}

/* ---- what is sent ---- */

START_TEST(a_batch_is_a_post_of_protobuf)
{
    struct bench bench;
    char line[64];
    bench_open(&bench, 1, (const char *[]){COLLECTOR_OK, NULL});
    observe_many(&bench, 1);
    const char *head = collector_head(bench.collector, 0);
    ck_assert_ptr_eq(strstr(head, "POST /v1/traces HTTP/1.1\r\n"), head);
    snprintf(line, sizeof line, "\r\nHost: 127.0.0.1:%u\r\n", collector_port(bench.collector));
    ck_assert_ptr_nonnull(strstr(head, line));
    ck_assert_ptr_nonnull(strstr(head, "\r\nContent-Type: application/x-protobuf\r\n"));
    ck_assert_ptr_nonnull(strstr(head, "\r\nConnection: close\r\n"));
    ck_assert_uint_eq(sent(&bench, 0)->span_count, 2);
    await_counted(&bench, 2);
    expect_counts(&bench, 2, 0, 0);
    bench_close(&bench);
}
END_TEST

/* Times by both clocks, read around the request, which began a moment after the machine did. */
START_TEST(times_are_those_of_the_wall_clock)
{
    struct bench bench;
    struct timespec before, after;
    bench_open(&bench, 1, (const char *[]){COLLECTOR_OK, NULL});
    clock_gettime(CLOCK_REALTIME, &before);
    observe_many(&bench, 1);
    clock_gettime(CLOCK_REALTIME, &after);
    const struct otlp_span *span = otlp_span_named(sent(&bench, 0), "POST /predict");
    const uint64_t end_ms = span->end_ns / CLOCK_NS_PER_MS;
    ck_assert_uint_ge(end_ms + 1,
                      (uint64_t)before.tv_sec * 1000 + (uint64_t)before.tv_nsec / CLOCK_NS_PER_MS);
    ck_assert_uint_le(end_ms, (uint64_t)after.tv_sec * 1000 +
                                  (uint64_t)after.tv_nsec / CLOCK_NS_PER_MS + 1);
    bench_close(&bench);
}
END_TEST

START_TEST(a_request_that_is_not_sampled_or_in_no_trace_is_not_sent)
{
    struct bench bench;
    bench_open(&bench, LONG_MS, (const char *[]){COLLECTOR_OK, NULL});
    observe(&bench, 1, false);
    bench.observer.request(bench.observer.context, &(struct request_record){.status = 200});
    observe(&bench, 2, true);
    otlp_exporter_close(bench.exporter);
    ck_assert_uint_eq(collector_count(bench.collector), 1);
    ck_assert_uint_eq(sent(&bench, 0)->span_count, 2);
    ck_assert_str_eq(message.spans[0].span_id, "0000000000000003");
    collector_stop(bench.collector);
}
END_TEST

START_TEST(a_full_batch_goes_out_at_once_and_the_rest_with_the_end)
{
    struct bench bench;
    bench_open(&bench, LONG_MS, (const char *[]){COLLECTOR_OK, NULL});
    observe_many(&bench, 73 + 2);
    ck_assert_uint_eq(sent(&bench, 0)->span_count, 2 * 73);
    otlp_exporter_close(bench.exporter);
    ck_assert_uint_eq(collector_count(bench.collector), 2);
    ck_assert_uint_eq(sent(&bench, 1)->span_count, 2 * 2);
    ck_assert_str_eq(message.spans[3 - 1].span_id, "000000000000004b");
    collector_stop(bench.collector);
}
END_TEST

START_TEST(each_exporter_is_an_instance_of_its_own)
{
    char ids[2][64];
    for (unsigned i = 0; i < 2; i++) {
        struct bench bench;
        bench_open(&bench, LONG_MS, (const char *[]){COLLECTOR_OK, NULL});
        observe_many(&bench, 1);
        otlp_exporter_close(bench.exporter);
        snprintf(ids[i], sizeof ids[i], "%s",
                 otlp_resource(sent(&bench, 0), "service.instance.id"));
        ck_assert_uint_eq(strspn(ids[i], "0123456789abcdef-"), 36);
        ck_assert_uint_eq(strlen(ids[i]), 36);
        ck_assert_int_eq(ids[i][14], '4');
        collector_stop(bench.collector);
    }
    ck_assert_str_ne(ids[0], ids[1]);
}
END_TEST

/* ---- a collector that has trouble ---- */

#define SAYS(status, headers) "HTTP/1.1 " status " x\r\n" headers "Content-Length: 0\r\n\r\n"

START_TEST(exporter_retries_a_batch_after_a_passing_failure)
{
    static const char *const troubles[] = {SAYS("429", "Retry-After: 1\r\n"),
                                           SAYS("502", ""),
                                           SAYS("503", ""),
                                           SAYS("504", ""),
                                           COLLECTOR_CLOSES,
                                           "no HTTP\r\n\r\n"};
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        struct bench bench;
        bench_open(&bench, 1, (const char *[]){troubles[i], COLLECTOR_OK, NULL});
        observe_many(&bench, 1);
        await_counted(&bench, 2);
        expect_counts(&bench, 2, 0, 0);
        ck_assert_uint_eq(collector_count(bench.collector), 2);
        size_t len[2];
        const void *first = collector_body(bench.collector, 0, &len[0]);
        const void *second = collector_body(bench.collector, 1, &len[1]);
        ck_assert_uint_eq(len[0], len[1]);
        ck_assert_mem_eq(first, second, len[0]);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(exporter_does_not_retry_after_a_lasting_failure)
{
    static const char *const refusals[] = {SAYS("400", ""), SAYS("404", ""), SAYS("413", ""),
                                           SAYS("500", ""), SAYS("302", "Location: /\r\n")};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct bench bench;
        bench_open(&bench, 1, (const char *[]){refusals[i], COLLECTOR_OK, NULL});
        observe_many(&bench, 1);
        await_counted(&bench, 2);
        expect_counts(&bench, 0, 0, 2);
        observe_many(&bench, 1);
        await_counted(&bench, 4);
        expect_counts(&bench, 2, 0, 2);
        ck_assert_uint_eq(collector_count(bench.collector), 2);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(a_batch_is_given_up_after_five_attempts)
{
    struct bench bench;
    bench_open(&bench, 1, (const char *[]){SAYS("503", ""), NULL});
    observe_many(&bench, 1);
    await_counted(&bench, 2);
    expect_counts(&bench, 0, 0, 2);
    ck_assert_uint_eq(collector_count(bench.collector), 5);
    bench_close(&bench);
}
END_TEST

START_TEST(spans_that_the_collector_rejected_count_as_failed)
{
    struct bench bench;
    bench_open(
        &bench, 1,
        (const char *[]){"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x0a\x02\x08\x01", NULL});
    observe_many(&bench, 1);
    await_counted(&bench, 2);
    expect_counts(&bench, 1, 0, 1);
    bench_close(&bench);
}
END_TEST

START_TEST(a_collector_that_fails_and_comes_back_is_a_line_each)
{
    struct bench bench;
    log_capture_start();
    bench_open(&bench, 1, (const char *[]){SAYS("400", ""), SAYS("413", ""), COLLECTOR_OK, NULL});
    for (unsigned i = 1; i <= 4; i++) {
        observe_many(&bench, 1);
        await_counted(&bench, 2 * i);
    }
    bench_close(&bench);
    const char *text = log_capture_end();
    ck_assert_ptr_nonnull(strstr(log_capture_fields(text, "otlp_failing"),
                                 "\"reason\":\"answered 400\",\"spans\":2"));
    log_capture_fields(text, "otlp_recovered");
}
END_TEST

START_TEST(a_collector_that_is_not_there_says_so_in_the_log)
{
    struct bench bench;
    char url[64];
    unsigned port;
    const int refuser = tcp_refuser_open(&port);
    log_capture_start();
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", port);
    exporter_open(&bench, url, 1);
    observe_many(&bench, 1);
    await_counted(&bench, 2);
    expect_counts(&bench, 0, 0, 2);
    otlp_exporter_close(bench.exporter);
    ck_assert_ptr_nonnull(strstr(log_capture_fields(log_capture_end(), "otlp_failing"),
                                 "\"reason\":\"cannot be connected to: Connection refused\""));
    close(refuser);
}
END_TEST

/* ---- nobody waits for it ---- */

START_TEST(exporter_drops_and_counts_spans_without_a_place)
{
    struct bench bench;
    bench_open(&bench, 1, (const char *[]){COLLECTOR_IS_SILENT, NULL});
    observe_many(&bench, 1);
    collector_await(bench.collector, 1); /* it keeps its place until it is answered */
    observe_many(&bench, OTLP_RING_ENTRIES + 10);
    expect_counts(&bench, 0, 2 * 11, 0);
    bench_close(&bench);
}
END_TEST

/* The attempt alone would take an hour; a test ends after a minute. */
START_TEST(a_silent_collector_does_not_hold_up_the_end)
{
    struct bench bench;
    bench_open(&bench, 1, (const char *[]){COLLECTOR_IS_SILENT, NULL});
    observe_many(&bench, 300);
    collector_await(bench.collector, 1);
    bench_close(&bench);
}
END_TEST

START_TEST(a_collector_that_sends_the_client_away_does_not_hold_up_the_end)
{
    struct bench bench;
    bench_open(&bench, 1, (const char *[]){SAYS("503", "Retry-After: 3600\r\n"), NULL});
    observe_many(&bench, 1);
    collector_await(bench.collector, 1);
    bench_close(&bench);
}
END_TEST

START_TEST(exporter_is_null_without_an_endpoint)
{
    struct otlp_exporter *exporter;
    struct err err = {0};
    ck_assert_int_eq(otlp_exporter_open(&exporter, &(struct otlp_options){.endpoint = ""}, &err),
                     ERR_OK);
    ck_assert_ptr_null(exporter);
    ck_assert_int_eq(otlp_exporter_check(NULL, &err), ERR_OK);
    ck_assert_uint_eq(otlp_exporter_bytes(""), 0);
    ck_assert_uint_gt(otlp_exporter_bytes("http://127.0.0.1:1/"), 1024 * 1024);
    ck_assert_uint_lt(otlp_exporter_bytes("http://127.0.0.1:1/"), 2 * 1024 * 1024);
    ck_assert_uint_eq(counted(exporter).sent, 0);
    otlp_exporter_close(exporter);
    ck_assert_int_eq(otlp_exporter_check("https://127.0.0.1:1/", &err), ERR_UNUSABLE);
    ck_assert_ptr_eq(strstr(err.text, "otlp_endpoint: expected http://"), err.text);
}
END_TEST

SUITE("otlp_exporter", a_batch_is_a_post_of_protobuf, times_are_those_of_the_wall_clock,
      a_request_that_is_not_sampled_or_in_no_trace_is_not_sent,
      a_full_batch_goes_out_at_once_and_the_rest_with_the_end,
      each_exporter_is_an_instance_of_its_own, exporter_retries_a_batch_after_a_passing_failure,
      exporter_does_not_retry_after_a_lasting_failure, a_batch_is_given_up_after_five_attempts,
      spans_that_the_collector_rejected_count_as_failed,
      a_collector_that_fails_and_comes_back_is_a_line_each,
      a_collector_that_is_not_there_says_so_in_the_log,
      exporter_drops_and_counts_spans_without_a_place, a_silent_collector_does_not_hold_up_the_end,
      a_collector_that_sends_the_client_away_does_not_hold_up_the_end,
      exporter_is_null_without_an_endpoint)
