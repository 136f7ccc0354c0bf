/* The results of a run and their report: figures worked out by hand. */
#include "engine/base/clock.h"
#include "loadtest/tally.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MS = CLOCK_NS_PER_MS };

static const uint64_t start_ns = (uint64_t)1000 * MS;

static struct options accepting_ok(void)
{
    struct options options = {.duration_s = 0.5, .timeout_ms = 250};
    options.accept[OUTCOME_OK] = true;
    options.accept_status[200] = true;
    return options;
}

static struct tally *opened(const struct options *options)
{
    struct tally *tally;
    struct err err = {0};
    ck_assert_msg(tally_open(&tally, options, start_ns, &err) == ERR_OK, "%s", err.text);
    return tally;
}

/* A request that was due and sent at `sent` ms and ended at `done` ms of the run. */
static struct tally_sample sample(enum outcome outcome, unsigned status, unsigned sent,
                                  unsigned done)
{
    return (struct tally_sample){.outcome = outcome,
                                 .status = status,
                                 .intended_ns = start_ns + (uint64_t)sent * MS,
                                 .sent_ns = start_ns + (uint64_t)sent * MS,
                                 .done_ns = start_ns + (uint64_t)done * MS};
}

static void record(struct tally *tally, enum outcome outcome, unsigned status, unsigned sent,
                   unsigned done)
{
    struct tally_sample one = sample(outcome, status, sent, done);
    tally_record(tally, &one);
}

START_TEST(tally_counts_latency_of_ok_and_rejected_apart_and_of_nothing_else)
{
    struct options options = accepting_ok();
    struct tally *tally = opened(&options);
    record(tally, OUTCOME_OK, 200, 0, 10);
    record(tally, OUTCOME_OK, 200, 5, 35);
    record(tally, OUTCOME_REJECTED, 429, 20, 21);
    record(tally, OUTCOME_TIMEOUT, 0, 0, 250);
    ck_assert_uint_eq(tally->requests, 4);
    ck_assert_uint_eq(tally->outcome[OUTCOME_OK], 2);
    ck_assert_uint_eq(tally->outcome[OUTCOME_TIMEOUT], 1);
    ck_assert_uint_eq(tally->status[200], 2);
    ck_assert_uint_eq(tally->status[429], 1);
    ck_assert_uint_eq(tally->status[0], 1);
    ck_assert_uint_eq(tally->latency.count, 2);
    ck_assert_uint_eq(tally->latency.min, 10 * MS);
    ck_assert_uint_eq(tally->latency.max, 30 * MS);
    ck_assert_uint_eq(tally->rejection.count, 1);
    ck_assert_uint_eq(tally->rejection.max, MS);
    ck_assert_uint_eq(tally->end_ns, start_ns + (uint64_t)250 * MS);
    tally_close(tally);
}
END_TEST

START_TEST(tally_ages_a_request_from_when_it_was_due)
{
    struct options options = accepting_ok();
    struct tally *tally = opened(&options);
    struct tally_sample late = sample(OUTCOME_OK, 200, 40, 50);
    late.intended_ns = start_ns;
    tally_record(tally, &late);
    ck_assert_uint_eq(tally->latency.max, 50 * MS);
    tally_close(tally);
}
END_TEST

START_TEST(tally_marks_each_tenth_of_a_second_by_what_ended_in_it)
{
    struct options options = accepting_ok();
    struct tally *tally = opened(&options);
    ck_assert_uint_eq(tally->timeline_len, 0);
    record(tally, OUTCOME_OK, 200, 0, 0);
    ck_assert_uint_eq(tally->timeline_len, 1);
    record(tally, OUTCOME_OK, 200, 0, 99);
    record(tally, OUTCOME_REJECTED, 429, 0, 100);
    record(tally, OUTCOME_LOST, 0, 0, 399);
    record(tally, OUTCOME_OK, 200, 0, 110);
    ck_assert_uint_eq(tally->timeline_len, 4);
    const struct tally_bucket wanted[] = {{2, 0, 0}, {1, 1, 0}, {0, 0, 0}, {0, 0, 1}};
    ck_assert_mem_eq(tally->timeline, wanted, sizeof wanted);
    tally_close(tally);
}
END_TEST

/* 500 ms of run and 250 of time-out are seven buckets and a half, and ten to spare. */
START_TEST(tally_puts_what_ends_too_late_into_the_last_place)
{
    struct options options = accepting_ok();
    struct tally *tally = opened(&options);
    ck_assert_uint_eq(tally->timeline_capacity, 17);
    record(tally, OUTCOME_OK, 200, 0, 1699);
    ck_assert_uint_eq(tally->timeline[16].ok, 1);
    record(tally, OUTCOME_OK, 200, 0, 1700);
    record(tally, OUTCOME_OK, 200, 0, 999999);
    ck_assert_uint_eq(tally->timeline[16].ok, 3);
    ck_assert_uint_eq(tally->timeline_len, 17);
    tally_close(tally);
}
END_TEST

START_TEST(tally_notes_the_times_that_an_answer_tells)
{
    struct options options = accepting_ok();
    struct tally *tally = opened(&options);
    const struct answer timed = {
        .timed = true, .queue_ms = 1, .prepare_ms = 0.5, .inference_ms = 4, .total_ms = 6};
    const struct answer slower_than_the_clock = {.timed = true, .inference_ms = 50};
    const struct answer absurd = {.timed = true, .queue_ms = -1, .prepare_ms = 1e9};
    const struct answer untimed = {.inference_ms = 9};
    struct tally_sample one = sample(OUTCOME_OK, 200, 0, 10);
    one.answer = &timed;
    tally_record(tally, &one);
    ck_assert_uint_eq(tally->queue.max, MS);
    ck_assert_uint_eq(tally->prepare.max, MS / 2);
    ck_assert_uint_eq(tally->inference.max, 4 * MS);
    ck_assert_uint_eq(tally->total.max, 6 * MS);
    ck_assert_uint_eq(tally->overhead.max, 6 * MS);
    one.answer = &slower_than_the_clock;
    tally_record(tally, &one);
    ck_assert_uint_eq(tally->overhead.min, 0);
    one.answer = &absurd;
    tally_record(tally, &one);
    ck_assert_uint_eq(tally->queue.count, 2);
    ck_assert_uint_eq(tally->prepare.count, 2);
    ck_assert_uint_eq(tally->total.count, 3);
    one.answer = &untimed;
    tally_record(tally, &one);
    ck_assert_uint_eq(tally->total.count, 3);
    tally_close(tally);
}
END_TEST

START_TEST(tally_fails_the_run_for_what_was_not_accepted)
{
    struct options options = accepting_ok();
    options.accept[OUTCOME_REFUSED] = true;
    options.accept_status[422] = options.accept_status[503] = true;
    struct tally *tally = opened(&options);
    record(tally, OUTCOME_OK, 200, 0, 1);
    record(tally, OUTCOME_REFUSED, 0, 0, 1);
    record(tally, OUTCOME_STATUS, 422, 0, 1);
    ck_assert_uint_eq(tally->unaccepted, 0);
    record(tally, OUTCOME_STATUS, 500, 0, 1);
    record(tally, OUTCOME_REJECTED, 429, 0, 1);
    record(tally, OUTCOME_NO_RETRY_AFTER, 503, 0, 1); /* the status is, the manner is not */
    record(tally, OUTCOME_MISMATCH, 200, 0, 1);
    ck_assert_uint_eq(tally->unaccepted, 4);
    ck_assert_uint_eq(tally->examples, 4);
    ck_assert_str_eq(tally->example[0],
                     "input 1: status: status 500: answered with another status");
    ck_assert_str_eq(tally->example[3],
                     "input 1: mismatch: status 200: answer differs from the expected one");
    tally_close(tally);
}
END_TEST

START_TEST(tally_keeps_the_first_five_examples_with_their_reasons)
{
    struct options options = accepting_ok();
    struct tally *tally = opened(&options);
    for (unsigned i = 0; i < TALLY_EXAMPLES + 2; i++) {
        char why[16];
        struct tally_sample one = sample(OUTCOME_MISMATCH, 200, 0, 1);
        snprintf(why, sizeof why, "reason %u", i);
        one.item = i;
        one.why = why;
        tally_record(tally, &one);
    }
    ck_assert_uint_eq(tally->examples, TALLY_EXAMPLES);
    ck_assert_str_eq(tally->example[0], "input 1: mismatch: status 200: reason 0");
    ck_assert_str_eq(tally->example[4], "input 5: mismatch: status 200: reason 4");
    ck_assert_uint_eq(tally->unaccepted, TALLY_EXAMPLES + 2);
    tally_close(tally);
}
END_TEST

/* Two seconds with four answers of five requests: 2 answers/s, of which 1.5 were OK. */
static struct tally *two_seconds(struct options *options)
{
    const struct answer timed = {
        .timed = true, .queue_ms = 1, .prepare_ms = 0.5, .inference_ms = 4, .total_ms = 6};
    *options = accepting_ok();
    options->duration_s = 2;
    struct tally *tally = opened(options);
    struct tally_sample one = sample(OUTCOME_OK, 200, 0, 10);
    one.answer = &timed;
    tally_record(tally, &one);
    record(tally, OUTCOME_OK, 200, 100, 120);
    record(tally, OUTCOME_OK, 200, 1970, 2000);
    record(tally, OUTCOME_REJECTED, 429, 200, 205);
    record(tally, OUTCOME_LOST, 0, 300, 310);
    tally->connects = 3;
    tally->retries = 1;
    tally->bytes_out = 1500000;
    tally->bytes_in = 2500;
    return tally;
}

/* The generator's own processor time is the one figure that no test can know. */
static void mask_cpu(char *text, const char *after, const char *end)
{
    char *from = strstr(text, after);
    ck_assert_ptr_nonnull(from);
    from += strlen(after);
    char *to = strstr(from, end);
    ck_assert_ptr_nonnull(to);
    ck_assert(strtod(from, NULL) >= 0 && strtod(from, NULL) < 60);
    *from = '#';
    memmove(from + 1, to, strlen(to) + 1);
}

static char *printed(const struct tally *tally, bool json)
{
    char *text = NULL;
    size_t len;
    struct err err = {0};
    FILE *file = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(file);
    if (json)
        ck_assert_int_eq(report_json(tally, file, &err), ERR_OK);
    else
        report_text(tally, file);
    fclose(file);
    return text;
}

START_TEST(report_prints_every_figure)
{
    struct options options;
    struct tally *tally = two_seconds(&options);
    char *text = printed(tally, false);
    mask_cpu(text, "cpu                 ", "  s of");
    ck_assert_str_eq(
        text,
        "requests                      5  in 2.00 s\n"
        "  ok                          3  answered as expected\n"
        "  rejected                    1  429 with Retry-After\n"
        "  lost                        1  request taken, connection closed without an answer\n"
        "  status 200                  3\n"
        "  status 429                  1\n"
        "throughput                  2.0  answers/s\n"
        "goodput                     1.5  ok/s\n"
        "cpu                 #  s of this generator's own\n"
        "connections                   3  1 repeated\n"
        "bytes                     1.500  MB sent, 0.003 MB received\n"
        "milliseconds                p50        p90        p99      p99.9        max\n"
        "latency of ok            20.054     30.000     30.000     30.000     30.000\n"
        "latency of rejected       5.000      5.000      5.000      5.000      5.000\n"
        "server's queue            1.000      1.000      1.000      1.000      1.000\n"
        "server's prepare          0.500      0.500      0.500      0.500      0.500\n"
        "server's inference        4.000      4.000      4.000      4.000      4.000\n"
        "server's total            6.000      6.000      6.000      6.000      6.000\n"
        "all but inference         6.000      6.000      6.000      6.000      6.000\n"
        "not as expected: input 1: rejected: status 429: 429 with Retry-After\n"
        "not as expected: input 1: lost: status 0: request taken, connection closed without an "
        "answer\n");
    free(text);
    tally_close(tally);
}
END_TEST

#define ALL(count, mean, p50, max)                                                                 \
    "{\"count\":" count ",\"mean\":" mean ",\"p50\":" p50 ",\"p90\":" max ",\"p99\":" max          \
    ",\"p99.9\":" max ",\"max\":" max "}"
#define ONE(ms) ALL("1", ms, ms, ms)

START_TEST(report_tells_every_figure_as_json)
{
    struct options options;
    struct tally *tally = two_seconds(&options);
    tally->timeline_len = 4; /* the seconds behind are zeros up to the last */
    char *text = printed(tally, true);
    mask_cpu(text, "\"cpu_seconds\":", ",");
    ck_assert_str_eq(
        text,
        "{\"requests\":5,\"unaccepted\":2,\"seconds\":2.000000,\"cpu_seconds\":#,"
        "\"throughput_per_s\":2.000,\"goodput_per_s\":1.500,\"connections\":3,\"retries\":1,"
        "\"bytes_out\":1500000,\"bytes_in\":2500,\"outcomes\":{\"ok\":3,\"rejected\":1,"
        "\"status\":0,\"no_retry_after\":0,\"mismatch\":0,\"malformed\":0,\"refused\":0,"
        "\"unsent\":0,\"reset\":0,\"lost\":1,\"cut\":0,\"timeout\":0,\"dropped\":0},"
        "\"statuses\":{\"200\":3,\"429\":1},"
        "\"latency_ms\":" ALL(
            "3", "20.000000", "20.054015",
            "30.000000") ","
                         "\"rejection_ms\":" ONE("5.000000") ",\"server_queue_ms\":" ONE(
                             "1.000000") ","
                                         "\"server_prepare_"
                                         "ms\":" ONE(
                                             "0."
                                             "500000") ",\"server_inference_"
                                                       "ms\":" ONE(
                                                           "4.000000") ","
                                                                       "\"se"
                                                                       "rver"
                                                                       "_tot"
                                                                       "al_"
                                                                       "ms\""
                                                                       ":" ONE("6."
                                                                               "00000"
                                                                               "0") ",\"overhead_"
                                                                                    "ms\":" ONE(
                                                                                        "6"
                                                                                        "."
                                                                                        "0"
                                                                                        "0"
                                                                                        "0"
                                                                                        "0"
                                                                                        "0"
                                                                                        "0") ","
                                                                                             "\"la"
                                                                                             "t"
                                                                                             "e"
                                                                                             "n"
                                                                                             "c"
                                                                                             "y"
                                                                                             "_"
                                                                                             "p"
                                                                                             "5"
                                                                                             "0"
                                                                                             "_"
                                                                                             "l"
                                                                                             "e"
                                                                                             "s"
                                                                                             "s"
                                                                                             "_"
                                                                                             "i"
                                                                                             "n"
                                                                                             "f"
                                                                                             "e"
                                                                                             "r"
                                                                                             "e"
                                                                                             "n"
                                                                                             "c"
                                                                                             "e"
                                                                                             "_"
                                                                                             "p"
                                                                                             "5"
                                                                                             "0"
                                                                                             "_"
                                                                                             "m"
                                                                                             "s"
                                                                                             "\""
                                                                                             ":"
                                                                                             "1"
                                                                                             "6"
                                                                                             "."
                                                                                             "0"
                                                                                             "5"
                                                                                             "4"
                                                                                             "0"
                                                                                             "1"
                                                                                             "5"
                                                                                             ","
                                                                                             "\"ti"
                                                                                             "m"
                                                                                             "e"
                                                                                             "l"
                                                                                             "i"
                                                                                             "n"
                                                                                             "e"
                                                                                             "\""
                                                                                             ":"
                                                                                             "{"
                                                                                             "\"bu"
                                                                                             "c"
                                                                                             "k"
                                                                                             "e"
                                                                                             "t"
                                                                                             "_"
                                                                                             "m"
                                                                                             "s"
                                                                                             "\":"
                                                                                             "1"
                                                                                             "0"
                                                                                             "0"
                                                                                             ","
                                                                                             "\"ok"
                                                                                             "\":["
                                                                                             "1"
                                                                                             ","
                                                                                             "1"
                                                                                             ","
                                                                                             "0"
                                                                                             ","
                                                                                             "0"
                                                                                             "]"
                                                                                             ","
                                                                                             "\"r"
                                                                                             "e"
                                                                                             "j"
                                                                                             "e"
                                                                                             "c"
                                                                                             "t"
                                                                                             "e"
                                                                                             "d"
                                                                                             "\":["
                                                                                             "0"
                                                                                             ","
                                                                                             "0"
                                                                                             ","
                                                                                             "1"
                                                                                             ","
                                                                                             "0"
                                                                                             "]"
                                                                                             ","
                                                                                             "\"fa"
                                                                                             "i"
                                                                                             "l"
                                                                                             "e"
                                                                                             "d"
                                                                                             "\":["
                                                                                             "0"
                                                                                             ","
                                                                                             "0"
                                                                                             ","
                                                                                             "0"
                                                                                             ","
                                                                                             "1"
                                                                                             "]"
                                                                                             "}"
                                                                                             ","
                                                                                             "\"ex"
                                                                                             "a"
                                                                                             "m"
                                                                                             "p"
                                                                                             "l"
                                                                                             "e"
                                                                                             "s"
                                                                                             "\""
                                                                                             ":"
                                                                                             "["
                                                                                             "\"in"
                                                                                             "p"
                                                                                             "u"
                                                                                             "t"
                                                                                             " "
                                                                                             "1"
                                                                                             ":"
                                                                                             " "
                                                                                             "r"
                                                                                             "e"
                                                                                             "j"
                                                                                             "e"
                                                                                             "c"
                                                                                             "t"
                                                                                             "e"
                                                                                             "d"
                                                                                             ":"
                                                                                             " "
                                                                                             "s"
                                                                                             "t"
                                                                                             "a"
                                                                                             "t"
                                                                                             "u"
                                                                                             "s"
                                                                                             " "
                                                                                             "4"
                                                                                             "2"
                                                                                             "9"
                                                                                             ":"
                                                                                             " "
                                                                                             "4"
                                                                                             "2"
                                                                                             "9"
                                                                                             " "
                                                                                             "w"
                                                                                             "i"
                                                                                             "t"
                                                                                             "h"
                                                                                             " "
                                                                                             "R"
                                                                                             "e"
                                                                                             "t"
                                                                                             "r"
                                                                                             "y"
                                                                                             "-"
                                                                                             "A"
                                                                                             "f"
                                                                                             "t"
                                                                                             "e"
                                                                                             "r"
                                                                                             "\","
                                                                                             "\"in"
                                                                                             "p"
                                                                                             "u"
                                                                                             "t"
                                                                                             " "
                                                                                             "1"
                                                                                             ":"
                                                                                             " "
                                                                                             "l"
                                                                                             "o"
                                                                                             "s"
                                                                                             "t"
                                                                                             ":"
                                                                                             " "
                                                                                             "s"
                                                                                             "t"
                                                                                             "a"
                                                                                             "t"
                                                                                             "u"
                                                                                             "s"
                                                                                             " "
                                                                                             "0"
                                                                                             ":"
                                                                                             " "
                                                                                             "r"
                                                                                             "e"
                                                                                             "q"
                                                                                             "u"
                                                                                             "e"
                                                                                             "s"
                                                                                             "t"
                                                                                             " "
                                                                                             "t"
                                                                                             "a"
                                                                                             "k"
                                                                                             "e"
                                                                                             "n"
                                                                                             ","
                                                                                             " "
                                                                                             "c"
                                                                                             "o"
                                                                                             "n"
                                                                                             "n"
                                                                                             "e"
                                                                                             "c"
                                                                                             "t"
                                                                                             "i"
                                                                                             "o"
                                                                                             "n"
                                                                                             " "
                                                                                             "c"
                                                                                             "l"
                                                                                             "o"
                                                                                             "s"
                                                                                             "e"
                                                                                             "d"
                                                                                             " "
                                                                                             "w"
                                                                                             "i"
                                                                                             "t"
                                                                                             "h"
                                                                                             "o"
                                                                                             "u"
                                                                                             "t"
                                                                                             " "
                                                                                             "a"
                                                                                             "n"
                                                                                             " "
                                                                                             "a"
                                                                                             "n"
                                                                                             "s"
                                                                                             "w"
                                                                                             "e"
                                                                                             "r"
                                                                                             "\""
                                                                                             "]"
                                                                                             "}"
                                                                                             "\n");
    free(text);
    tally_close(tally);
}
END_TEST

START_TEST(report_of_no_requests_divides_by_nothing)
{
    struct options options = accepting_ok();
    struct tally *tally = opened(&options);
    char *text = printed(tally, false);
    ck_assert_ptr_nonnull(strstr(text, "requests                      0  in 0.00 s\n"));
    ck_assert_ptr_nonnull(strstr(text, "  ok                          0  answered"));
    ck_assert_ptr_nonnull(strstr(text, "throughput                  0.0  answers/s\n"));
    ck_assert_ptr_null(strstr(text, "latency of ok"));
    ck_assert_ptr_null(strstr(text, "not as expected"));
    free(text);
    tally_close(tally);
}
END_TEST

SUITE("tally", tally_counts_latency_of_ok_and_rejected_apart_and_of_nothing_else,
      tally_ages_a_request_from_when_it_was_due,
      tally_marks_each_tenth_of_a_second_by_what_ended_in_it,
      tally_puts_what_ends_too_late_into_the_last_place, tally_notes_the_times_that_an_answer_tells,
      tally_fails_the_run_for_what_was_not_accepted,
      tally_keeps_the_first_five_examples_with_their_reasons, report_prints_every_figure,
      report_tells_every_figure_as_json, report_of_no_requests_divides_by_nothing)
